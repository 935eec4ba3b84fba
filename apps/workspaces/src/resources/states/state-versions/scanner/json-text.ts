const slots = 256;
const knownBytes = 64;

/** Short texts of a document that come again and again: made once, and found by their bytes. */
export class KnownTexts {
  private readonly bytes = new Uint8Array(slots * knownBytes);
  private readonly lengths = new Uint8Array(slots);
  private readonly texts: string[] = [];

  of(bytes: Buffer, from: number, to: number): string {
    const length = to - from;
    if (length > knownBytes || length < 2) return bytes.toString('utf8', from, to);
    // Of a string the first and the last byte are quotes.
    const middle = bytes[from + (length >> 1)]!;
    const slot = (bytes[from + 1]! * 7 + bytes[to - 2]! * 31 + middle * 13 + length) & (slots - 1);
    const start = slot * knownBytes;
    if (this.lengths[slot] === length && this.isAt(start, bytes, from, to)) return this.texts[slot]!;
    for (let i = 0; i < length; i++) this.bytes[start + i] = bytes[from + i]!;
    this.lengths[slot] = length;
    const text = bytes.toString('utf8', from, to);
    this.texts[slot] = text;
    return text;
  }

  private isAt(start: number, bytes: Buffer, from: number, to: number): boolean {
    const kept = this.bytes;
    for (let i = from, k = start; i < to; i++, k++) if (kept[k] !== bytes[i]) return false;
    return true;
  }
}

/** Text being put together from the pieces in which it comes. */
export class TextBuilder {
  private parts: Buffer[] | undefined;
  private length = 0;
  constructor(
    readonly depth: number,
    private room: number,
    /** Where it begins in the piece at hand. */
    public from: number,
  ) {}

  take(bytes: Buffer, to: number): void {
    this.length += to - this.from;
    if (this.length > this.room) {
      this.parts = undefined;
      this.room = -1;
    } else {
      // The caller may reuse the piece: what is needed of it is copied.
      this.parts ??= [];
      this.parts.push(Buffer.from(bytes.subarray(this.from, to)));
    }
    this.from = 0;
  }

  /** All of it, which ends before `to`. */
  text(bytes: Buffer, to: number, known: KnownTexts): string | undefined {
    // Most texts come in one piece: they are never copied.
    if (this.length === 0) return to - this.from > this.room ? undefined : known.of(bytes, this.from, to);
    this.take(bytes, to);
    return this.room < 0 ? undefined : Buffer.concat(this.parts ?? []).toString('utf8');
  }
}

/** The value of a valid JSON string. */
export function stringOf(json: string): string {
  return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
}
