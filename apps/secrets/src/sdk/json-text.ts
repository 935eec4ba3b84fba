import { parse } from 'lossless-json';

/** A JSON number a double cannot hold without changing its digits. */
export class ExactNumber {
  constructor(readonly digits: string) {}
  toString(): string {
    return this.digits;
  }
}

/** JSON text of a value that came out of a request, every number with the digits it was sent with. */
export function jsonText(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (value instanceof ExactNumber) return value.digits;
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  let text = '';
  for (const key of Object.keys(value)) {
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${jsonText((value as Record<string, unknown>)[key])}`;
  }
  return `{${text}}`;
}

// Numbers that a double might not give back digit by digit: long ones, fractions, exponents, minus zero. They stand at the
// start or after one of three signs; most strings with digits (addresses, versions, hashes) do not look like that.
const perhapsInexact = /(?:^|[:[,])\s*(?:-0|-?\d{1,15}[.eE]|-?\d{16})/;

/** Whether a JSON text may hold numbers that a double would change. */
export function mayBeInexact(text: string): boolean {
  return perhapsInexact.test(text);
}

/** Parses JSON so that every number keeps its digits; duplicate keys: the last wins. Throws what its parser throws. */
export function parseExact(text: string): unknown {
  if (!mayBeInexact(text)) return JSON.parse(text);
  return parse(text, null, {
    parseNumber: (digits) => (String(Number(digits)) === digits ? Number(digits) : new ExactNumber(digits)),
    onDuplicateKey: ({ newValue }) => newValue,
  });
}

/** The value with every exact number turned into the nearest double: for fields that are read as plain numbers. */
export function plainNumbers(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value;
  if (value instanceof ExactNumber) return Number(value.digits);
  if (Array.isArray(value)) return value.map(plainNumbers);
  const plain: Record<string, unknown> = {};
  for (const [key, item] of Object.entries(value)) {
    Object.defineProperty(plain, key, {
      value: plainNumbers(item),
      enumerable: true,
      configurable: true,
      writable: true,
    });
  }
  return plain;
}
