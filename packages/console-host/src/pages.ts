import { readFile } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { contentPolicy, endPage, pageGuards } from '@keystead/server';
import sirv from 'sirv';

const root = '/ui';

/** In addition to the policy of every page, strings never become markup, and forms are allowed for the sign-in. */
const policy = contentPolicy({
  'font-src': "'self'",
  'form-action': "'self'",
  'require-trusted-types-for': "'script'",
  // The page's own scripts may not create a policy that bypasses this, either.
  'trusted-types': "'none'",
});

const guards = { ...pageGuards, 'Cross-Origin-Opener-Policy': 'same-origin' };

const built = (): string => path.join(path.dirname(require.resolve('@keystead/console/package.json')), 'dist');

/** The built pages of a service: one index for all addresses below `/ui/`, and immutable files. */
export class Pages {
  private index: Promise<Buffer> | undefined;
  private readonly files: ReturnType<typeof sirv>;

  /** @param entry The page of this service: `secrets` or `workspaces`. */
  constructor(
    private readonly entry: string,
    private readonly folder = built(),
  ) {
    this.files = sirv(folder, {
      etag: true,
      brotli: true,
      gzip: true,
      extensions: [],
      // Looked up per request, so that pages built after the service started are served, too.
      dev: true,
      setHeaders: (res) => setAll(res, { ...guards, 'Cache-Control': 'public, max-age=31536000, immutable' }),
    });
  }

  /** Answers a GET or HEAD below `/ui`, query included. Throws if the pages were not built. */
  async answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    if (req.method !== 'GET' && req.method !== 'HEAD') return endPage(res, 405, { Allow: 'GET, HEAD' });
    const [path = ''] = req.url!.split('?', 1);
    if (path === root) return endPage(res, 308, { Location: `${root}/` });
    if (path.startsWith(`${root}/assets/`)) return this.files(req, res, () => endPage(res, 404));
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

  // Read on the first request; a failed read is tried again.
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
