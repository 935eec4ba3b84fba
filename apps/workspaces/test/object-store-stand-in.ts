import { createHash, createHmac } from 'node:crypto';
import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';

const accessKeyId = 'AKIDSTANDIN';
const secretAccessKey = 'stand-in-secret';
const region = 'eu-test-1';
const pageSize = 3;
const escapeXml = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex');
const hmac = (key: string | Buffer, text: string) => createHmac('sha256', key).update(text).digest();

/**
 * One bucket of an S3-compatible store, over its real wire format: signatures are checked, lists come in short pages.
 * `fail` may answer any request in the store's place.
 */
export class ObjectStoreStandIn {
  readonly objects = new Map<string, Buffer>();
  readonly bucket = 'states';
  readonly credentials = { accessKeyId, secretAccessKey };
  /** A status to answer with instead of carrying out the request. */
  fail: (method: string, key: string) => number | undefined = () => undefined;
  /** What to wait for before an answer. */
  before: () => Promise<void> = async () => undefined;
  private readonly server = http.createServer((request, response) => void this.answer(request, response));

  async start(): Promise<void> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
  }

  get endpoint(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  /** The service's settings for it. */
  get variables(): Record<string, string> {
    return {
      WORKSPACES_BLOB_STORE: `s3://${this.bucket}/one/two?endpoint=${encodeURIComponent(this.endpoint)}&region=${region}`,
      WORKSPACES_BLOB_STORE_ACCESS_KEY_ID: accessKeyId,
      WORKSPACES_BLOB_STORE_SECRET_ACCESS_KEY: secretAccessKey,
    };
  }

  async stop(): Promise<void> {
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  /**
   * Stops like a killed process: incomplete uploads are lost. Returns a function that starts it again at the same
   * address.
   */
  async kill(): Promise<() => Promise<void>> {
    const { port } = this.server.address() as AddressInfo;
    const ended = new Promise((resolve) => this.server.close(resolve));
    this.server.closeAllConnections();
    await ended;
    return async () => {
      this.server.listen(port, '127.0.0.1');
      await once(this.server, 'listening');
    };
  }

  private async answer(request: http.IncomingMessage, response: http.ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const body = Buffer.concat(pieces);
    const url = new URL(request.url ?? '/', this.endpoint);
    const [, bucket, ...rest] = decodeURIComponent(url.pathname).split('/');
    const key = rest.join('/');
    const method = request.method ?? 'GET';
    await this.before();
    const status = this.fail(method, key);
    if (status !== undefined) return refuse(response, status, 'InternalError');
    if (!isSigned(request, url, body)) return refuse(response, 403, 'SignatureDoesNotMatch');
    if (bucket !== this.bucket) return refuse(response, 404, 'NoSuchBucket');
    if (method === 'PUT') this.objects.set(key, body);
    else if (method === 'DELETE') this.objects.delete(key);
    else if (method === 'GET' && key === '') return this.list(url, response);
    else if (method === 'GET') {
      const found = this.objects.get(key);
      return found ? void response.end(found) : refuse(response, 404, 'NoSuchKey');
    } else return refuse(response, 405, 'MethodNotAllowed');
    response.writeHead(method === 'DELETE' ? 204 : 200).end();
  }

  private list(url: URL, response: http.ServerResponse): void {
    const prefix = url.searchParams.get('prefix') ?? '';
    const keys = [...this.objects.keys()].filter((key) => key.startsWith(prefix)).sort();
    const shown = keys.slice(0, pageSize).map((key) => `<Contents><Key>${escapeXml(key)}</Key></Contents>`);
    response.writeHead(200, { 'Content-Type': 'application/xml' });
    response.end(
      `<?xml version="1.0"?><ListBucketResult><IsTruncated>${keys.length > pageSize}</IsTruncated>${shown.join('')}</ListBucketResult>`,
    );
  }
}

function refuse(response: http.ServerResponse, status: number, code: string): void {
  response.writeHead(status, { 'Content-Type': 'application/xml' });
  response.end(`<?xml version="1.0"?><Error><Code>${code}</Code><Message>refused</Message></Error>`);
}

/** Signature version 4, computed again from the request. */
function isSigned(request: http.IncomingMessage, url: URL, body: Buffer): boolean {
  const said =
    /Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, ?SignedHeaders=([^,]+), ?Signature=([0-9a-f]{64})/.exec(
      request.headers.authorization ?? '',
    );
  if (!said || said[1] !== accessKeyId || said[3] !== region) return false;
  const payload = String(request.headers['x-amz-content-sha256']);
  if (payload !== 'UNSIGNED-PAYLOAD' && payload !== sha256(body)) return false;
  const encoded = (text: string) =>
    encodeURIComponent(text).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16)}`);
  const query = [...url.searchParams].map(([name, value]) => `${encoded(name)}=${encoded(value)}`).sort();
  const names = said[4]!.split(';');
  const headers = names.map((name) => `${name}:${String(request.headers[name] ?? '').trim()}\n`).join('');
  const canonical = [request.method, url.pathname, query.join('&'), headers, names.join(';'), payload].join('\n');
  const scope = `${said[2]}/${region}/s3/aws4_request`;
  const text = ['AWS4-HMAC-SHA256', request.headers['x-amz-date'], scope, sha256(canonical)].join('\n');
  const key = [said[2]!, region, 's3', 'aws4_request'].reduce<string | Buffer>(hmac, `AWS4${secretAccessKey}`);
  return hmac(key, text).toString('hex') === said[5];
}
