/** The bytes of JSON. Positions are offsets. Functions that search for an end get the start position. */
export const QUOTE = 0x22;
export const BACKSLASH = 0x5c;
export const COMMA = 0x2c;
export const COLON = 0x3a;
export const OPEN_OBJECT = 0x7b;
export const CLOSE_OBJECT = 0x7d;
export const OPEN_ARRAY = 0x5b;
export const CLOSE_ARRAY = 0x5d;
export const SPACE = 0x20;

/** The literals of JSON by their first letter. */
export const words: Readonly<Record<number, string>> = { 116: 'true', 102: 'false', 110: 'null' };

const escapes = new Uint8Array(256);
for (const letter of '"\\/bfnrt') escapes[letter.charCodeAt(0)] = 1;

/** Whether the byte may follow a backslash. The caller handles `u` with its digits. */
export const isEscape = (byte: number): boolean => escapes[byte] === 1;
const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;
export const isHex = (byte: number): boolean => isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);
export const isSpace = (byte: number): boolean => byte === SPACE || byte === 0x0a || byte === 0x0d || byte === 0x09;

/** Bytes of an unfinished UTF-8 sequence at the end of a piece. */
export function unfinished(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
}

/** A piece with a view of it, which reads four bytes in one step. */
export interface JsonChunk {
  readonly bytes: Buffer;
  readonly view: DataView;
}

/** The position after the spaces that begin at `i`. An indented state contains many. */
export function afterSpaces({ bytes, view }: JsonChunk, i: number): number {
  const lastFour = bytes.length - 4;
  while (i <= lastFour && view.getInt32(i, true) === 0x20202020) i += 4;
  while (bytes[i] === SPACE) i++;
  return i;
}

/** The first byte from `i` on that ends the plain part of a string: a quote, a backslash, a control character. */
export function endOfPlain({ bytes, view }: JsonChunk, i: number): number {
  const lastFour = bytes.length - 4;
  for (; i <= lastFour; i += 4) {
    // Subtraction sets the highest bit of a byte that becomes negative. This finds zero bytes, and bytes below a space.
    const four = view.getInt32(i, true);
    const quotes = four ^ 0x22222222;
    const slashes = four ^ 0x5c5c5c5c;
    const found =
      ((quotes - 0x01010101) & ~quotes) | ((slashes - 0x01010101) & ~slashes) | ((four - 0x20202020) & ~four);
    if ((found & 0x80808080) !== 0) break;
  }
  const { length } = bytes;
  for (; i < length; i++) {
    const byte = bytes[i]!;
    if (byte === QUOTE || byte === BACKSLASH || byte < SPACE) break;
  }
  return i;
}

/**
 * The position after the quote that ends the string at `i`; 0 if the string does not end in these bytes, or has an
 * escape that is invalid or begins with `\u`.
 */
export function afterString(piece: JsonChunk, i: number): number {
  const { bytes } = piece;
  for (;;) {
    i = endOfPlain(piece, i);
    const byte = bytes[i];
    if (byte === QUOTE) return i + 1;
    if (byte !== BACKSLASH || escapes[bytes[i + 1] ?? 0] === 0) return 0;
    i += 2;
  }
}

/** The position after `true`, `false` or `null`; 0 if there is no such word. */
export function afterWord({ bytes }: JsonChunk, i: number): number {
  const word = words[bytes[i]!];
  if (word === undefined || i + word.length > bytes.length) return 0;
  for (let n = 1; n < word.length; n++) if (bytes[i + n] !== word.charCodeAt(n)) return 0;
  return i + word.length;
}

/** The position after an unsigned integer; 0 if there is no integer, or the integer may continue in the next piece. */
export function afterInteger({ bytes }: JsonChunk, i: number): number {
  const from = i;
  while (i < bytes.length && isDigit(bytes[i]!)) i++;
  const byte = bytes[i];
  const begins = i > from && (bytes[from] !== 0x30 || i === from + 1);
  return begins && (byte === COMMA || byte === CLOSE_OBJECT || byte === CLOSE_ARRAY || byte === 0x0a) ? i : 0;
}

enum NumberPart {
  Minus,
  Zero,
  Int,
  Dot,
  Fraction,
  E,
  Sign,
  Exponent,
}

/** A JSON number, read byte by byte: pieces may end anywhere in it. */
export class JsonNumber {
  private part: NumberPart = NumberPart.Minus;

  /** Starts a number. Returns false if no number begins with this byte. */
  begin(byte: number): boolean {
    this.part = byte === 0x2d ? NumberPart.Minus : byte === 0x30 ? NumberPart.Zero : NumberPart.Int;
    return byte === 0x2d || isDigit(byte);
  }

  /** Whether the byte belongs to the number; undefined if it may not follow here. */
  takes(byte: number): boolean | undefined {
    const digit = isDigit(byte);
    const e = (byte | 0x20) === 0x65;
    switch (this.part) {
      case NumberPart.Minus:
        if (!digit) return undefined;
        this.part = byte === 0x30 ? NumberPart.Zero : NumberPart.Int;
        return true;
      case NumberPart.Zero:
      case NumberPart.Int:
        if (digit && this.part === NumberPart.Int) return true;
        if (byte === 0x2e) this.part = NumberPart.Dot;
        else if (e) this.part = NumberPart.E;
        else return false;
        return true;
      case NumberPart.Dot:
        if (!digit) return undefined;
        this.part = NumberPart.Fraction;
        return true;
      case NumberPart.Fraction:
        if (e) this.part = NumberPart.E;
        return digit || e;
      case NumberPart.E:
        if (byte === 0x2b || byte === 0x2d) this.part = NumberPart.Sign;
        else if (digit) this.part = NumberPart.Exponent;
        else return undefined;
        return true;
      case NumberPart.Sign:
        if (!digit) return undefined;
        this.part = NumberPart.Exponent;
        return true;
      default:
        return digit;
    }
  }

  /** Whether the number may end here. */
  get complete(): boolean {
    const { part } = this;
    return (
      part === NumberPart.Zero ||
      part === NumberPart.Int ||
      part === NumberPart.Fraction ||
      part === NumberPart.Exponent
    );
  }
}

const slots = 256;
const knownBytes = 64;

/** Short strings that are repeated in a document. They are created once and looked up by their bytes. */
export class KnownTexts {
  private readonly bytes = new Uint8Array(slots * knownBytes);
  private readonly lengths = new Uint8Array(slots);
  private readonly texts: string[] = [];

  of(bytes: Buffer, from: number, to: number): string {
    const length = to - from;
    if (length > knownBytes || length < 2) return bytes.toString('utf8', from, to);
    // The first and the last byte of a string are quotes.
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
    const earlier = this.bytes;
    for (let i = from, k = start; i < to; i++, k++) if (earlier[k] !== bytes[i]) return false;
    return true;
  }
}

/** Assembles a string from the pieces in which it arrives. */
export class TextBuilder {
  private parts: Buffer[] | undefined;
  private length = 0;
  constructor(
    readonly depth: number,
    private room: number,
    /** Where the text begins in the current piece. */
    public from: number,
  ) {}

  take(bytes: Buffer, to: number): void {
    this.length += to - this.from;
    if (this.length > this.room) {
      this.parts = undefined;
      this.room = -1;
    } else {
      // The caller may reuse the piece, so the needed part is copied.
      this.parts ??= [];
      this.parts.push(Buffer.from(bytes.subarray(this.from, to)));
    }
    this.from = 0;
  }

  /** The whole text, which ends before `to`. */
  text(bytes: Buffer, to: number, texts: KnownTexts): string | undefined {
    // Most strings arrive in one piece, and are never copied.
    if (this.length === 0) return to - this.from > this.room ? undefined : texts.of(bytes, this.from, to);
    this.take(bytes, to);
    return this.room < 0 ? undefined : Buffer.concat(this.parts ?? []).toString('utf8');
  }
}

/** The value of a valid JSON string. */
export function stringOf(json: string): string {
  return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
}
