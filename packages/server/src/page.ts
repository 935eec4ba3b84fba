import type { ServerResponse } from 'node:http';

/** Headers of a page and all its files: no content sniffing, no referrer, no use by other sites. */
export const pageGuards = {
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Resource-Policy': 'same-origin',
};

const strict = {
  'default-src': "'none'",
  'script-src': "'self'",
  'style-src': "'self'",
  'img-src': "'self' data:",
  'connect-src': "'self'",
  'form-action': "'none'",
  'frame-ancestors': "'none'",
  'base-uri': "'none'",
};

/**
 * The content security policy of a page: nothing is loaded from other origins, no inline script runs, and no site may
 * frame it. `additions` contains more sources for this page, by directive.
 */
export function contentPolicy(additions: Readonly<Record<string, string>> = {}): string {
  const all: Readonly<Record<string, string>> = { ...strict, ...additions };
  return Object.entries(all)
    .map(([name, sources]) => `${name} ${sources}`)
    .join('; ');
}

/** Answers with a status and no body; caches must revalidate. */
export function endPage(res: ServerResponse, status: number, headers: Readonly<Record<string, string>> = {}): void {
  res.writeHead(status, { ...pageGuards, 'Cache-Control': 'no-cache', 'Content-Length': 0, ...headers }).end();
}
