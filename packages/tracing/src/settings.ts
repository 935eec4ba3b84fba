/**
 * Parses `name=value,…` with percent-encoded values, the format of OpenTelemetry for exporter headers. Throws an Error
 * that describes the problem.
 */
export function readHeaders(text: string): Readonly<Record<string, string>> {
  const headers: Record<string, string> = {};
  for (const pair of text.split(',')) {
    if (pair.trim() === '') continue;
    const at = pair.indexOf('=');
    const name = pair.slice(0, Math.max(at, 0)).trim();
    if (!/^[A-Za-z0-9-]+$/.test(name)) throw new Error('is not name=value, separated by commas');
    let value: string;
    try {
      value = decodeURIComponent(pair.slice(at + 1).trim());
    } catch {
      throw new Error(`has a value for ${name} that is not percent-encoded`);
    }
    if (/[^\t\x20-\x7e]/.test(value)) throw new Error(`has a value for ${name} that is not allowed in a header`);
    headers[name] = value;
  }
  return headers;
}
