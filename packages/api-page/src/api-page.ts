import { createHash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { contentPolicy, endPage, pageGuards } from '@keystead/server';
import { type PageFile, readFiles } from './files';
import { type ApiPageOptions, markup } from './markup';

const root = '/docs';

/**
 * The page at `/docs` that shows the OpenAPI document of a service, and its files. The browser fetches the document
 * with the token that the user pasted. The page itself is the same for all users and contains no data.
 */
export class ApiPage {
  private files: Promise<ReadonlyMap<string, PageFile>> | undefined;

  constructor(private readonly options: ApiPageOptions) {}

  /** Whether the address, query included, belongs to the page or one of its files. */
  owns(url: string): boolean {
    return url.startsWith(root) && (url.length === root.length || '/?'.includes(url[root.length]!));
  }

  /** Answers a request for the page or one of its files. */
  async answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      endPage(res, 405, { Allow: 'GET, HEAD' });
      return;
    }
    const path = req.url!.replace(/\?.*$/s, '');
    if (path === `${root}/`) {
      endPage(res, 308, { Location: '../docs' });
      return;
    }
    const files = await this.read();
    if (path === root) {
      const body = Buffer.from(markup(this.options, addresses(files)));
      const headers = {
        'Content-Type': 'text/html; charset=utf-8',
        'Cache-Control': 'no-cache',
        'Content-Security-Policy': contentPolicy(),
        'Cross-Origin-Opener-Policy': 'same-origin',
      };
      send(req, res, headers, digestOf(body), body);
      return;
    }
    const [digest, name, ...more] = path.slice(root.length + 1).split('/');
    const file = more.length > 0 ? undefined : files.get(name ?? '');
    if (file === undefined) {
      endPage(res, 404);
      return;
    }
    const packed = takesGzip(req.headers['accept-encoding']);
    const headers = {
      'Content-Type': file.type,
      // While nodes of two versions answer, a page may ask for a file of the other version: it gets the file of this
      // version, and does not cache it.
      'Cache-Control': digest === file.digest ? 'public, max-age=31536000, immutable' : 'no-cache',
      Vary: 'Accept-Encoding',
      ...(packed ? { 'Content-Encoding': 'gzip' } : {}),
    };
    send(req, res, headers, file.digest, packed ? file.packed : file.body);
  }

  // Read on the first request, because most processes never get one. A failed read is retried.
  private read(): Promise<ReadonlyMap<string, PageFile>> {
    this.files ??= readFiles().catch((error) => {
      this.files = undefined;
      throw error;
    });
    return this.files;
  }
}

function addresses(files: ReadonlyMap<string, PageFile>): string[] {
  return [...files].map(([name, { digest }]) => `docs/${digest}/${name}`);
}

function digestOf(body: Buffer): string {
  return createHash('sha256').update(body).digest('hex').slice(0, 20);
}

function takesGzip(accepted: string | string[] | undefined): boolean {
  return String(accepted ?? '')
    .split(',')
    .map((one) => one.replace(/\s/g, '').toLowerCase())
    .some((one) => one === 'gzip' || (one.startsWith('gzip;q=') && Number(one.slice('gzip;q='.length)) > 0));
}

function send(
  req: IncomingMessage,
  res: ServerResponse,
  headers: Record<string, string>,
  digest: string,
  body: Buffer,
): void {
  // Weak: the packed and the plain file are the same to the browser.
  const etag = `W/"${digest}"`;
  if (req.headers['if-none-match'] === etag) {
    const { 'Content-Type': _type, 'Content-Encoding': _encoding, ...otherHeaders } = headers;
    res.writeHead(304, { ...pageGuards, ...otherHeaders, ETag: etag }).end();
    return;
  }
  res.writeHead(200, { ...pageGuards, ...headers, ETag: etag, 'Content-Length': body.length });
  res.end(req.method === 'HEAD' ? undefined : body);
}
