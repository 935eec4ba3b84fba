import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import sirv from 'sirv';

const root = '/ui';

/** Nothing foreign is loaded, nothing in a page itself runs, no page may be framed, and no text becomes markup. */
const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "font-src 'self'",
  "connect-src 'self'",
  "form-action 'self'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
  "require-trusted-types-for 'script'",
].join('; ');

const guards = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Cross-Origin-Opener-Policy': 'same-origin',
};

/** The built pages of a service: one index for every address below `/ui/`, and files that never change. */
export class Pages {
  private readonly folder = path.join(path.dirname(require.resolve('@keystead/console/package.json')), 'dist');
  private index: Promise<Buffer> | undefined;
  private readonly files = sirv(this.folder, {
    immutable: true,
    maxAge: 31_536_000,
    etag: true,
    brotli: true,
    gzip: true,
    extensions: [],
    // Found when asked for: a tree that was built after the service began is served as well.
    dev: true,
    setHeaders: (res) => setAll(res, { ...guards, 'Cache-Control': 'public, max-age=31536000, immutable' }),
  });

  /** @param entry The page of this service: `secrets` or `workspaces`. */
  constructor(private readonly entry: string) {}

  /** Answers a GET or HEAD below `/ui`, query included. Throws where the pages were not built. */
  async answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.method !== 'GET' && req.method !== 'HEAD') return end(res, 405, { Allow: 'GET, HEAD' });
    const [asked = ''] = req.url!.split('?', 1);
    if (asked === root) return end(res, 308, { Location: `${root}/` });
    if (asked.startsWith(`${root}/assets/`)) return this.files(req, res, () => end(res, 404, {}));
    const body = await this.read();
    setAll(res, {
      ...guards,
      'Content-Type': 'text/html; charset=utf-8',
      'Content-Security-Policy': policy,
      'Cache-Control': 'no-store',
      'Content-Length': String(body.length),
    });
    res.writeHead(200).end(req.method === 'HEAD' ? undefined : body);
  }

  // Read when first asked for; what could not be read is tried again.
  private read(): Promise<Buffer> {
    this.index ??= readFile(path.join(this.folder, 'ui', `${this.entry}.html`)).catch((error) => {
      this.index = undefined;
      throw error;
    });
    return this.index;
  }
}

function setAll(res: ServerResponse, headers: Readonly<Record<string, string>>): void {
  for (const [name, value] of Object.entries(headers)) res.setHeader(name, value);
}

function end(res: ServerResponse, status: number, headers: Record<string, string>): void {
  res.writeHead(status, { ...guards, 'Cache-Control': 'no-store', 'Content-Length': 0, ...headers }).end();
}
