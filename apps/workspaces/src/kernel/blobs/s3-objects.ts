import type { S3Client } from '@aws-sdk/client-s3';
import { during } from '@keystead/tracing';
import type { ObjectStore } from './objects';

/** Where an S3-compatible store is, and who asks it. */
export interface S3Config {
  readonly bucket: string;
  /** Before every key, with its slash; empty for none. */
  readonly prefix: string;
  readonly region: string;
  /** Undefined for the provider's own. */
  readonly endpoint: string | undefined;
  /** The bucket stands in the path, not in the host name. */
  readonly pathStyle: boolean;
  /** Undefined: as the environment, shared files or the machine's role say. */
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string } | undefined;
}

const connectMs = 3_000;
const requestMs = 20_000;

/** Reads `s3://bucket/prefix?endpoint=…&region=…&path-style=…`. Throws an Error that says what is wrong with it. */
export function parsePlace(text: string, credentials: S3Config['credentials']): S3Config {
  let url: URL;
  try {
    url = new URL(text);
  } catch {
    throw new Error('is not an address like s3://bucket/prefix');
  }
  if (url.protocol !== 's3:' || url.hostname === '') throw new Error('is not an address like s3://bucket/prefix');
  const known = ['endpoint', 'region', 'path-style'];
  for (const name of url.searchParams.keys()) {
    if (!known.includes(name)) throw new Error(`knows no ${name}; it may say ${known.join(', ')}`);
  }
  const endpoint = url.searchParams.get('endpoint') ?? undefined;
  if (endpoint !== undefined && !/^https?:\/\/[^/]/.test(endpoint)) throw new Error('its endpoint is no http address');
  const pathStyle = url.searchParams.get('path-style') ?? (endpoint === undefined ? 'off' : 'on');
  if (pathStyle !== 'on' && pathStyle !== 'off') throw new Error('its path-style is neither on nor off');
  const folder = decodeURIComponent(url.pathname).replace(/^\/+|(?<!\/)\/+$/g, '');
  return {
    bucket: url.hostname,
    prefix: folder === '' ? '' : `${folder}/`,
    region: url.searchParams.get('region') ?? 'us-east-1',
    endpoint,
    pathStyle: pathStyle === 'on',
    credentials,
  };
}

/** Objects in an S3-compatible store. The client library is loaded only where there is one. */
export async function openS3({ bucket, prefix, ...config }: S3Config): Promise<ObjectStore> {
  const s3 = await import('@aws-sdk/client-s3');
  const client = new s3.S3Client({
    region: config.region,
    endpoint: config.endpoint,
    forcePathStyle: config.pathStyle,
    credentials: config.credentials,
    maxAttempts: 3,
    // The chunks are authenticated by their seal; many compatible stores know nothing of these newer checksums.
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

// One by one: deleting many in one request needs a checksum that not every store agrees on.
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
