/** A DER value: its tag, its content, and all its bytes. */
export interface Element {
  readonly tag: number;
  readonly content: Buffer;
  readonly whole: Buffer;
}

export const tags = { boolean: 0x01, integer: 0x02, bits: 0x03, utcTime: 0x17, time: 0x18, sequence: 0x30 } as const;

/** A sequence of values, to the last byte. Throws `RangeError` for anything else. */
export function elementsOf(bytes: Buffer): Element[] {
  const found: Element[] = [];
  for (let at = 0; at < bytes.length; ) {
    const { element, end } = elementAt(bytes, at);
    found.push(element);
    at = end;
  }
  return found;
}

function elementAt(bytes: Buffer, start: number): { element: Element; end: number } {
  const tag = bytes.readUInt8(start);
  const first = bytes.readUInt8(start + 1);
  // Multi-byte tags and indefinite lengths do not occur in the data that is read here.
  const lengthBytes = first < 0x80 ? 0 : first & 0x7f;
  if ((tag & 0x1f) === 0x1f || first === 0x80 || lengthBytes > 4) throw new RangeError('this is not DER');
  const from = start + 2 + lengthBytes;
  const length = lengthBytes === 0 ? first : bytes.readUIntBE(start + 2, lengthBytes);
  const end = from + length;
  if (end > bytes.length) throw new RangeError('this is cut off');
  return { element: { tag, content: bytes.subarray(from, end), whole: bytes.subarray(start, end) }, end };
}
