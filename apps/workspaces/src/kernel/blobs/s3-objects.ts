import type { S3Client } from '@aws-sdk/client-s3';
import type { S3Address } from '@keystead/addresses';
import { during } from '@keystead/tracing';
import type { ObjectStore } from './chunks';

/** The address of an S3-compatible store, and the credentials for it. */
export interface S3Config extends S3Address {
  /** If undefined, credentials come from the environment, shared files or the machine's role. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
}

const connectMs = 3_000;
const requestMs = 20_000;

/** Objects in an S3-compatible store. The client library is loaded only if such a store is configured. */
export async function openS3({ bucket, prefix, ...config }: S3Config): Promise<ObjectStore> {
  const s3 = await import('@aws-sdk/client-s3');
  const client = new s3.S3Client({
    region: config.region,
    endpoint: config.endpoint,
    forcePathStyle: config.pathStyle,
    credentials: config.credentials,
    maxAttempts: 3,
    // These newer checksums are not needed, because the seal authenticates the chunks. Many compatible stores do not
    // support them.
    requestChecksumCalculation: 'WHEN_REQUIRED',
    responseChecksumValidation: 'WHEN_REQUIRED',
    requestHandler: { connectionTimeout: connectMs, requestTimeout: requestMs, throwOnRequestTimeout: true },
  });
  return {
    async put(key, bytes) {
      const object = new s3.PutObjectCommand({ Bucket: bucket, Key: prefix + key, Body: bytes });
      await during('outside', 'the object store', undefined, () => client.send(object));
    },
    async get(key) {
      try {
        const object = new s3.GetObjectCommand({ Bucket: bucket, Key: prefix + key });
        return await during('outside', 'the object store', undefined, async () => {
          const { Body } = await client.send(object);
          return Body?.transformToByteArray();
        });
      } catch (error) {
        if (error instanceof s3.NoSuchKey) return undefined;
        throw error;
      }
    },
    async removeAll(beginning) {
      await removeAll(client, s3, bucket, prefix + beginning);
    },
    close: () => client.destroy(),
  };
}

// Objects are deleted one at a time, because deleting several in one request needs a checksum that not every store
// supports.
async function removeAll(
  client: S3Client,
  s3: typeof import('@aws-sdk/client-s3'),
  bucket: string,
  beginning: string,
): Promise<void> {
  for (;;) {
    const page = await client.send(new s3.ListObjectsV2Command({ Bucket: bucket, Prefix: beginning }));
    for (const { Key } of page.Contents ?? []) {
      await client.send(new s3.DeleteObjectCommand({ Bucket: bucket, Key }));
    }
    if (!page.IsTruncated) return;
  }
}
