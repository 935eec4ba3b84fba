import { tooManyBytes, tooManyValues } from '../pipeline/bounds';

/** Forms are typed by people; what is larger is sent as JSON. */
const maxFormBytes = 1024 * 1024;

/** Reads the fields of a form; a repeated one becomes a list. Throws `too-large`. */
export function parseForm(text: string, maxValues: number): Record<string, unknown> {
  if (text.length > maxFormBytes) throw tooManyBytes(maxFormBytes);
  let pairs = 1;
  for (let at = text.indexOf('&'); at >= 0; at = text.indexOf('&', at + 1)) {
    if (++pairs > maxValues) throw tooManyValues(maxValues);
  }
  return pairFields(new URLSearchParams(text));
}

/** Fields from pairs of names and texts; a repeated name becomes a list. */
export function pairFields(pairs: URLSearchParams): Record<string, unknown> {
  const fields: Record<string, unknown> = {};
  for (const [key, value] of pairs) {
    const before = Object.hasOwn(fields, key) ? fields[key] : undefined;
    if (before === undefined) {
      // Assigning would leave out a name that assignment treats specially.
      Object.defineProperty(fields, key, { value, enumerable: true, configurable: true, writable: true });
    } else if (Array.isArray(before)) before.push(value);
    else fields[key] = [before, value];
  }
  return fields;
}
