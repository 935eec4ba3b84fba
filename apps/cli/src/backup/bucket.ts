import { createWriteStream } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { type S3Address, type S3Defaults, s3Address } from '@keystead/addresses';
import type { AwsClient } from 'aws4fetch';
import { awsCredentials } from '../aws-credentials';
import { exitCodes, Problem } from '../problem';

/** S3 accepts at most 10,000 parts, each of at least 5 MiB. */
const smallestPart = 16 * 1024 * 1024;
const mostParts = 10_000;

/** A folder of an S3-compatible store. Every call throws `Problem` if the store refuses. */
export interface BackupBucket {
  /** The names of its objects, sorted. */
  names(): Promise<string[]>;
  /** Stores a file under a name, atomically. */
  put(name: string, file: string, sent?: (bytes: number) => void): Promise<void>;
  /** Fetches an object into a file that does not exist yet. */
  get(name: string, file: string, received?: (bytes: number, total: number | undefined) => void): Promise<void>;
  remove(name: string): Promise<void>;
}

interface BucketAddress {
  /** The URL of the bucket, without a trailing slash. */
  readonly url: string;
  /** The prefix of every name, with a trailing slash; empty for none. */
  readonly prefix: string;
  readonly region: string;
}

/** The URL of a folder. Missing parts come from the environment variables of AWS tools. */
function placeOf(text: string, env: NodeJS.ProcessEnv): BucketAddress {
  const { bucket, prefix, region, pathStyle, ...place } = addressOf(text, {
    region: env.AWS_REGION || env.AWS_DEFAULT_REGION,
    endpoint: env.AWS_ENDPOINT_URL_S3 || env.AWS_ENDPOINT_URL || undefined,
  });
  const endpoint = new URL(place.endpoint ?? `https://s3.${region}.amazonaws.com`);
  if (!pathStyle) endpoint.hostname = `${bucket}.${endpoint.hostname}`;
  const base = endpoint.href.replace(/(?<!\/)\/+$/, '');
  return { url: pathStyle ? `${base}/${bucket}` : base, prefix, region };
}

function addressOf(text: string, defaults: S3Defaults): S3Address {
  try {
    return s3Address(text, defaults);
  } catch (error) {
    throw new Problem(`${text} ${(error as Error).message}`);
  }
}

/** Opens a folder of a store with credentials from the environment (`AWS_ACCESS_KEY_ID` and so on). */
export async function openBucket(text: string, env: NodeJS.ProcessEnv): Promise<BackupBucket> {
  const place = placeOf(text, env);
  const credentials = awsCredentials(env, 'an S3 address needs AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY');
  const { AwsClient } = await import('aws4fetch');
  return inBucket(place, new AwsClient({ ...credentials, region: place.region, service: 's3', retries: 4 }));
}

function inBucket({ url, prefix }: BucketAddress, client: AwsClient): BackupBucket {
  const at = (name: string) => `${url}/${`${prefix}${name}`.split('/').map(encoded).join('/')}`;
  const ask = async (method: string, address: string, body?: Uint8Array<ArrayBuffer> | string): Promise<Response> => {
    const answer = await client.fetch(address, { method, body }).catch((error: Error & { cause?: Error }) => {
      throw new Problem(`the store cannot be reached: ${error.cause?.message ?? error.message}`, exitCodes.unreachable);
    });
    if (answer.ok) return answer;
    const reason = tag(await answer.text(), 'Code') ?? answer.statusText;
    throw new Problem(`the store answered ${answer.status} ${reason} to ${method} ${new URL(address).pathname}`);
  };
  return {
    async names() {
      const names: string[] = [];
      for (let token: string | undefined = ''; token !== undefined; ) {
        const query = new URLSearchParams({ 'list-type': '2', prefix, ...(token && { 'continuation-token': token }) });
        const page = await (await ask('GET', `${url}/?${query}`)).text();
        for (const [, key = ''] of page.matchAll(/<Key>([^<]*)<\/Key>/g))
          names.push(unescaped(key).slice(prefix.length));
        token = tag(page, 'IsTruncated') === 'true' ? tag(page, 'NextContinuationToken') : undefined;
      }
      return names.sort();
    },
    async put(name, file, sent = () => {}) {
      const handle = await open(file);
      try {
        const { size } = await handle.stat();
        const part = Math.max(smallestPart, Math.ceil(size / mostParts));
        const read = async (start: number) => {
          const bytes = Buffer.allocUnsafeSlow(Math.min(part, size - start));
          await handle.read(bytes, 0, bytes.length, start);
          return bytes;
        };
        if (size <= part) {
          await ask('PUT', at(name), await read(0));
          sent(size);
          return;
        }
        const id = tag(await (await ask('POST', `${at(name)}?uploads=`)).text(), 'UploadId') ?? '';
        const upload = `uploadId=${encodeURIComponent(id)}`;
        try {
          const tags: string[] = [];
          for (let start = 0; start < size; start += part) {
            const number = tags.length + 1;
            const answer = await ask('PUT', `${at(name)}?partNumber=${number}&${upload}`, await read(start));
            tags.push(answer.headers.get('etag') ?? '');
            sent(Math.min(start + part, size));
          }
          const parts = tags.map(
            (etag, index) => `<Part><PartNumber>${index + 1}</PartNumber><ETag>${etag}</ETag></Part>`,
          );
          const whole = `<CompleteMultipartUpload>${parts.join('')}</CompleteMultipartUpload>`;
          const answer = await (await ask('POST', `${at(name)}?${upload}`, whole)).text();
          // S3 reports this error with status 200.
          if (answer.includes('<Error>'))
            throw new Problem(`the store answered ${tag(answer, 'Code')} at the end of the upload`);
        } catch (error) {
          await ask('DELETE', `${at(name)}?${upload}`).catch(() => {});
          throw error;
        }
      } finally {
        await handle.close();
      }
    },
    async get(name, file, received = () => {}) {
      const { body, headers } = await ask('GET', at(name));
      const total = Number(headers.get('content-length')) || undefined;
      async function* countBytes(pieces: AsyncIterable<Uint8Array>) {
        let bytes = 0;
        for await (const piece of pieces) {
          bytes += piece.length;
          received(bytes, total);
          yield piece;
        }
      }
      const target = createWriteStream(file, { flags: 'wx', mode: 0o600 });
      const source = body ? Readable.fromWeb(body as never) : Readable.from([]);
      await pipeline(source, countBytes, target).catch(async (error: Error) => {
        await rm(file, { force: true });
        if (error instanceof Problem) throw error;
        throw new Problem(`${name} was not received completely: ${error.message}`, exitCodes.unreachable);
      });
    },
    async remove(name) {
      await ask('DELETE', at(name));
    },
  };
}

/** Encodes as S3 signatures require, which is stricter than `encodeURIComponent`. */
const encoded = (text: string): string =>
  encodeURIComponent(text).replace(/[!'()*]/g, (sign) => `%${sign.charCodeAt(0).toString(16).toUpperCase()}`);

const tag = (xml: string, name: string): string | undefined => {
  const found = new RegExp(`<${name}>([^<]*)</${name}>`).exec(xml)?.[1];
  return found === undefined ? undefined : unescaped(found);
};

const unescaped = (text: string): string =>
  text.replace(/&(lt|gt|quot|apos|amp|#\d+);/g, (_, name: string) =>
    name.startsWith('#')
      ? String.fromCodePoint(Number(name.slice(1)))
      : ({ lt: '<', gt: '>', quot: '"', apos: "'", amp: '&' } as Record<string, string>)[name]!,
  );
