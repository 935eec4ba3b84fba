/** A JSON number that a double cannot hold without changing its digits. */
export class ExactNumber {
  constructor(readonly digits: string) {}
  toString(): string {
    return this.digits;
  }
}

const exponentParts = /^([eE]([+-]?))/;

/** A double represents the sum of an exponent with this many digits and the length of a string exactly. */
const longestExponent = 15;

/**
 * The canonical spelling of a decimal number: the same for `42`, `42.0` and `4.2e1`, for any number of digits. A number
 * without a canonical spelling, for example because its exponent is too long, is returned unchanged. Takes linear time.
 */
export function decimalValue(digits: string): string {
  const start = digits.startsWith('-') ? 1 : 0;
  const point = endOf(digits, start, isDigit);
  const hasFraction = digits[point] === '.';
  const mantissaEnd = hasFraction ? endOf(digits, point + 1, isDigit) : point;
  if (point === start || (hasFraction && mantissaEnd === point + 1)) return digits;
  const [, exponent = '', below = ''] = exponentParts.exec(digits.slice(mantissaEnd, mantissaEnd + 2)) ?? [];
  const exponentStart = endOf(digits, mantissaEnd + exponent.length, isZero);
  if (endOf(digits, exponentStart, isDigit) !== digits.length) return digits;
  const whole = digits.slice(start, point);
  const all = hasFraction ? whole + digits.slice(point + 1, mantissaEnd) : whole;
  let end = all.length;
  while (end > 0 && isZero(all.charCodeAt(end - 1))) end--;
  if (end === 0) return '0';
  if (digits.length - exponentStart > longestExponent) return digits;
  const shift = Number(`${below}${digits.slice(exponentStart) || 0}`) + whole.length - end;
  return `${digits.slice(0, start)}${all.slice(endOf(all, 0, isZero), end)}e${shift}`;
}

/** Where a run of characters ends. For millions of them, a regular expression runs out of stack. */
function endOf(text: string, from: number, isMember: (c: number) => boolean): number {
  let at = from;
  while (at < text.length && isMember(text.charCodeAt(at))) at++;
  return at;
}

/** JSON text of a value from a request. Every number keeps its digits. */
export function jsonText(value: unknown): string {
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  if (value instanceof ExactNumber) return value.digits;
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  let text = '';
  for (const key of Object.keys(value)) {
    if ((value as Record<string, unknown>)[key] === undefined) continue;
    text += `${text === '' ? '' : ','}${JSON.stringify(key)}:${jsonText((value as Record<string, unknown>)[key])}`;
  }
  return `{${text}}`;
}

/** How `JSON.stringify` writes an exact number. */
const unmarkedNumber = '{"digits":"';

/** Like `JSON.stringify`, but exact numbers keep their digits. Equally fast if the value has no exact numbers. */
export function exactJson(value: unknown, space?: number): string {
  const plain = space === undefined ? JSON.stringify(value) : undefined;
  if (plain !== undefined && !plain.includes(unmarkedNumber)) return plain;
  const name = unguessable();
  const text = JSON.stringify(value, (_key, one) => (one instanceof ExactNumber ? name + one.digits : one), space);
  return text === undefined ? 'null' : text.replace(new RegExp(`"${name}([^"]*)"`, 'g'), '$1');
}

/** Text that no request can contain, by chance or on purpose. Made without Node, because browsers read JSON, too. */
const unguessable = (): string => crypto.getRandomValues(new Uint32Array(4)).join('-');

// Numbers whose digits a double might not preserve: long ones, fractions, exponents, minus zero. They are at the start
// or after one of three characters; most strings with digits (addresses, versions, hashes) do not match.
const perhapsInexact = /(?:^|[:[,])\s*(?:-0|-?\d{1,15}[.eE]|-?\d{16})/;

/** Whether a JSON text may contain numbers that a double would change. */
export function mayBeInexact(text: string): boolean {
  return perhapsInexact.test(text);
}

/**
 * Parses JSON so that every number keeps its digits. The last of duplicate keys is used. Throws what `JSON.parse`
 * throws.
 *
 * Numbers that a double would change are passed to the native parser as strings with a random prefix that no sender can
 * guess, and become `ExactNumber` afterwards. This is about as fast as the native parser.
 */
export function parseExact(text: string): unknown {
  if (!mayBeInexact(text)) return JSON.parse(text);
  const name = unguessable();
  const marked = markInexact(text, name);
  return marked === undefined ? JSON.parse(text) : unmarked(JSON.parse(marked), name);
}

const numberSyntax = /^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/;

/**
 * The text with every number that a double would change replaced by a string that begins with `name`; undefined if
 * there are no such numbers.
 */
function markInexact(text: string, name: string): string | undefined {
  const parts: string[] = [];
  let copied = 0;
  for (let at = 0; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === 34) at = closingQuote(text, at);
    else if (c === 45 || isDigit(c)) {
      const end = endOfNumber(text, at);
      const digits = text.slice(at, end);
      if (String(Number(digits)) !== digits && numberSyntax.test(digits) && !isKey(text, end)) {
        parts.push(text.slice(copied, at), `"${name}${digits}"`);
        copied = end;
      }
      at = end - 1;
    }
  }
  if (parts.length === 0) return undefined;
  parts.push(text.slice(copied));
  return parts.join('');
}

function closingQuote(text: string, from: number): number {
  for (let at = from + 1; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c === 92) at++;
    else if (c === 34) return at;
  }
  return text.length;
}

function endOfNumber(text: string, from: number): number {
  let at = from + 1;
  for (; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (!isDigit(c) && c !== 43 && c !== 45 && c !== 46 && c !== 69 && c !== 101) break;
  }
  return at;
}

/** A number as a key is not JSON, and must not become valid JSON. */
function isKey(text: string, from: number): boolean {
  for (let at = from; at < text.length; at++) {
    const c = text.charCodeAt(at);
    if (c !== 32 && c !== 9 && c !== 10 && c !== 13) return c === 58;
  }
  return false;
}

const isZero = (c: number): boolean => c === 48;
const isDigit = (c: number): boolean => c >= 48 && c <= 57;

function unmarked(value: unknown, name: string): unknown {
  if (typeof value === 'string') return value.startsWith(name) ? new ExactNumber(value.slice(name.length)) : value;
  if (typeof value !== 'object' || value === null) return value;
  if (Array.isArray(value)) {
    for (let i = 0; i < value.length; i++) value[i] = unmarked(value[i], name);
  } else {
    // All keys are own properties, even `__proto__`, so assigning to them cannot reach a prototype.
    const object = value as Record<string, unknown>;
    for (const key of Object.keys(object)) object[key] = unmarked(object[key], name);
  }
  return value;
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
