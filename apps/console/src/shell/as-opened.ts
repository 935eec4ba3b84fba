/** The names of this machine. */
const loopback: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * An address of an installation on this machine, by the name that the person opened the page with: `localhost`, say, instead
 * of 127.0.0.1, whose cookies and passkeys are others. Any other address stays as it is.
 */
export function asOpened(url: string, { hostname } = location): string {
  const given = URL.canParse(url) ? new URL(url) : undefined;
  if (given === undefined || !loopback.has(given.hostname) || !loopback.has(hostname)) return url;
  const { origin } = given;
  given.hostname = hostname;
  return given.origin + url.slice(origin.length);
}
