import type { ServerResponse } from 'node:http';

/**
 * Headers of everything that a page consists of: it is what it says to be, tells no address on, and belongs to its own
 * site.
 */
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
 * The content policy of a page: nothing foreign is loaded, no inline script runs, and no site may frame it. What
 * a page needs beyond that it names, directive by directive.
 */
export function contentPolicy(own: Readonly<Record<string, string>> = {}): string {
  const all: Readonly<Record<string, string>> = { ...strict, ...own };
  return Object.entries(all)
    .map(([name, sources]) => `${name} ${sources}`)
    .join('; ');
}

/** Answers with a status and no body; it may be kept, but is asked for again. */
export function endPage(res: ServerResponse, status: number, headers: Readonly<Record<string, string>> = {}): void {
  res.writeHead(status, { ...pageGuards, 'Cache-Control': 'no-cache', 'Content-Length': 0, ...headers }).end();
}
