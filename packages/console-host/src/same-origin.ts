import type { IncomingMessage } from 'node:http';

/** The header that only our own pages set: a page of another origin would need a preflight that we do not allow. */
const consoleHeader = 'x-keystead-console';

/**
 * Whether a page of this service sent a request: the request has our header, and the browser reports that page and
 * service have the same origin. Browsers report this only over HTTPS and on loopback. Otherwise the `Origin` that they
 * add to writes is compared with the requested address.
 */
export function isOwnPage(req: IncomingMessage): boolean {
  if (req.headers[consoleHeader] !== '1') return false;
  const site = req.headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const { origin, host } = req.headers;
  return host !== undefined && (origin === `https://${host}` || origin === `http://${host}`);
}
