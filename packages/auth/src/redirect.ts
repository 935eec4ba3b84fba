const loopback = new Set(['localhost', '127.0.0.1', '[::1]']);

/**
 * Whether a redirect URI is allowed: it must match the list exactly, except that a listener on the user's own machine
 * may use any port (RFC 8252, 7.3).
 */
export function isAllowedRedirect(address: string, allowed: readonly string[]): boolean {
  if (!isPlainAddress(address)) return false;
  if (allowed.includes(address)) return true;
  const url = new URL(address);
  if (url.protocol !== 'http:' || !loopback.has(url.hostname)) return false;
  return allowed.some((one) => isPlainAddress(one) && withoutPort(one) === withoutPort(address));
}

/**
 * An absolute address that all parsers read the same way: no fragment, no user, none of the characters that some read
 * as slashes.
 */
export function isPlainAddress(text: string): boolean {
  if (!URL.canParse(text) || /[\\\s\u0000-\u001f#]/.test(text)) return false;
  const { username, password } = new URL(text);
  return username === '' && password === '';
}

function withoutPort(text: string): string {
  const url = new URL(text);
  url.port = '';
  return url.href;
}
