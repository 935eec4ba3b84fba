/** Host names of this machine. */
const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Changes an address on this machine to the host name that the user opened the page with: for example `localhost`
 * instead of 127.0.0.1, which has separate cookies and passkeys. Other addresses are unchanged.
 */
export function asOpened(url: string, { hostname } = location): string {
  const parsed = URL.canParse(url) ? new URL(url) : undefined;
  if (parsed === undefined || !loopback.has(parsed.hostname) || !loopback.has(hostname)) return url;
  const { origin } = parsed;
  parsed.hostname = hostname;
  return parsed.origin + url.slice(origin.length);
}
