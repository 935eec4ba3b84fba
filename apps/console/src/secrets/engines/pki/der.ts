/** A DER element: its tag and the position of its content. */
export interface Element {
  readonly tag: number;
  /** The position where the header of the element starts. */
  readonly from: number;
  readonly start: number;
  readonly end: number;
}

/** The elements between two positions. Stops at the end of the bytes, so that the start of a long list can be read. */
export function elementsIn(bytes: Uint8Array, start = 0, end = bytes.length): Element[] {
  const found: Element[] = [];
  for (let at = start; at + 1 < Math.min(end, bytes.length); ) {
    const first = bytes[at + 1]!;
    const more = first < 0x80 ? 0 : first & 0x7f;
    const length =
      first < 0x80 ? first : bytes.subarray(at + 2, at + 2 + more).reduce((sum, byte) => sum * 256 + byte, 0);
    const content = at + 2 + more;
    found.push({ tag: bytes[at]!, from: at, start: content, end: content + length });
    at = content + length;
  }
  return found;
}

export const childrenOf = (bytes: Uint8Array, { start, end }: Element): Element[] => elementsIn(bytes, start, end);

/** Bytes in hexadecimal. */
export const hexOf = (bytes: Uint8Array, between = ''): string =>
  Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join(between);

const joined = (parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> => {
  const all = new Uint8Array(parts.reduce((sum, { length }) => sum + length, 0));
  let at = 0;
  for (const part of parts) {
    all.set(part, at);
    at += part.length;
  }
  return all;
};

/** Encodes an element. */
export function element(tag: number, ...parts: readonly Uint8Array[]): Uint8Array<ArrayBuffer> {
  const content = joined(parts);
  const digits: number[] = [];
  for (let rest = content.length; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  const length = content.length < 0x80 ? [content.length] : [0x80 | digits.length, ...digits];
  return joined([Uint8Array.of(tag, ...length), content]);
}

export const sequence = (...parts: readonly Uint8Array[]) => element(0x30, ...parts);
export const octets = (bytes: Uint8Array) => element(0x04, bytes);
export const none = Uint8Array.of(0x05, 0);

/** Encodes a positive integer. */
export function integer(value: number): Uint8Array<ArrayBuffer> {
  const digits: number[] = [];
  for (let rest = value; rest > 0; rest = Math.floor(rest / 256)) digits.unshift(rest % 256);
  return element(0x02, Uint8Array.from(digits.length === 0 || digits[0]! >= 0x80 ? [0, ...digits] : digits));
}

/** Encodes an object identifier. */
export function identifier(text: string): Uint8Array<ArrayBuffer> {
  const [first = 0, second = 0, ...rest] = text.split('.').map(Number);
  const bytes = [40 * first + second, ...rest].flatMap((part) => {
    const digits = [part % 128];
    for (let left = Math.floor(part / 128); left > 0; left = Math.floor(left / 128))
      digits.unshift(0x80 | (left % 128));
    return digits;
  });
  return element(0x06, Uint8Array.from(bytes));
}
