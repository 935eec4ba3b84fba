import { isUtf8 } from 'node:buffer';

/** The bytes are not JSON. */
export class NotJson extends Error {
  override readonly name = 'NotJson';
}

/** What a listener of `JsonScanner` is told. Depth 0 is the document's own value. */
export interface JsonListener {
  /** Up to this depth keys are told, and values one level deeper; those below are only checked. */
  readonly keyDepth: number;
  /** A key of the object at `depth`. */
  key(depth: number, key: string): void;
  /** A value begins; answers whether its text is wanted, up to how many bytes. */
  begin(depth: number, kind: 'object' | 'array' | 'scalar', position: number): number;
  /** The value at `depth` has ended; `text` is there if it was wanted and not too long. */
  end(depth: number, text: string | undefined, position: number): void;
}

const deepest = 10_000;

enum At {
  Value,
  ValueOrEnd,
  Key,
  KeyOrEnd,
  Colon,
  CommaOrEnd,
  Done,
  String,
  Escape,
  Hex,
  Number,
  Word,
}

enum Num {
  Minus,
  Zero,
  Int,
  Dot,
  Fraction,
  E,
  Sign,
  Exponent,
}

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COMMA = 0x2c;
const COLON = 0x3a;
const words: Readonly<Record<number, string>> = { 116: 'true', 102: 'false', 110: 'null' };
const escapes = new Set([...'"\\/bfnrt'].map((letter) => letter.charCodeAt(0)));
const isDigit = (byte: number): boolean => byte >= 0x30 && byte <= 0x39;
const isSpace = (byte: number): boolean => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;
const isHex = (byte: number): boolean => isDigit(byte) || ((byte | 0x20) >= 0x61 && (byte | 0x20) <= 0x66);

/** Bytes of an unfinished UTF-8 sequence at the end of a piece. */
function unfinished(bytes: Uint8Array): number {
  for (let back = 1; back <= Math.min(3, bytes.length); back++) {
    const byte = bytes[bytes.length - back]!;
    if (byte >= 0xc0) return back < (byte >= 0xf0 ? 4 : byte >= 0xe0 ? 3 : 2) ? back : 0;
    if (byte < 0x80) return 0;
  }
  return 0;
}

/** Text being put together from the pieces in which it comes. */
class Wanted {
  private readonly parts: Buffer[] = [];
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
      this.parts.length = 0;
      this.room = -1;
    } else {
      // The piece belongs to whoever sent it: what is needed of it is copied.
      this.parts.push(Buffer.from(bytes.subarray(this.from, to)));
    }
    this.from = 0;
  }

  /** All of it, which ends before `to`. */
  text(bytes: Buffer, to: number): string | undefined {
    // Most texts come in one piece: they are never copied.
    if (this.length === 0) return to - this.from > this.room ? undefined : bytes.toString('utf8', this.from, to);
    this.take(bytes, to);
    return this.room < 0 ? undefined : Buffer.concat(this.parts).toString('utf8');
  }
}

/**
 * Reads JSON as its bytes come, in any pieces, and holds none of them but what its listener wants: a document of any
 * size is read in the same memory. Accepts exactly what `JSON.parse` accepts, up to 10,000 levels deep.
 */
export class JsonScanner {
  private at: At = At.Value;
  private depth = 0;
  /** 1 where the container at a depth is an object. */
  private readonly objects = new Uint8Array(deepest + 1);
  private isKey = false;
  private number: Num = Num.Minus;
  private word = '';
  private count = 0;
  private base = 0;
  private tail: Buffer = Buffer.alloc(0);
  private value: Wanted | undefined;
  private name: Wanted | undefined;

  constructor(private readonly listener: JsonListener) {}

  /** Reads on. Throws NotJson. */
  write(piece: Uint8Array): void {
    const given = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    const bytes = this.tail.length === 0 ? given : Buffer.concat([this.tail, given]);
    const whole = bytes.length - unfinished(bytes);
    this.tail = Buffer.from(bytes.subarray(whole));
    const sound = bytes.subarray(0, whole);
    if (!isUtf8(sound)) throw new NotJson('not UTF-8');
    this.read(sound);
    this.value?.take(sound, whole);
    this.name?.take(sound, whole);
    this.base += whole;
  }

  /** No more comes. Throws NotJson where the document is not complete. */
  end(): void {
    if (this.tail.length > 0) throw new NotJson('not UTF-8');
    if (this.at === At.Number) this.endNumber(0, Buffer.alloc(0));
    if (this.at !== At.Done) throw new NotJson('incomplete');
  }

  private read(bytes: Buffer): void {
    const { length } = bytes;
    let i = 0;
    while (i < length) {
      switch (this.at) {
        case At.String: {
          i = inString(bytes, i);
          if (i === length) return;
          const byte = bytes[i]!;
          if (byte === BACKSLASH) this.at = At.Escape;
          else if (byte === QUOTE) this.endString(i + 1, bytes);
          else throw new NotJson('control character');
          i++;
          break;
        }
        case At.Escape:
        case At.Hex:
          this.escaped(bytes[i++]!);
          break;
        case At.Number:
          while (i < length && this.inNumber(bytes[i]!)) i++;
          if (i < length) this.endNumber(i, bytes);
          break;
        case At.Word:
          if (bytes[i]! !== this.word.charCodeAt(this.count++)) throw new NotJson('unknown word');
          i++;
          if (this.count === this.word.length) this.endValue(i, bytes);
          break;
        default:
          if (this.depth > this.floor()) i = this.skim(bytes, i);
          while (i < length && isSpace(bytes[i]!)) i++;
          if (i < length) this.structure(bytes[i]!, i++, bytes);
      }
    }
  }

  /** Of what lies deeper than this nobody is told anything. */
  private floor(): number {
    return this.value?.depth ?? Math.max(0, this.listener.keyDepth + 1);
  }

  /**
   * Checks whole tokens as long as nobody is to be told of them; answers where that ended. Most of a state lies so deep,
   * therefore this is one loop over local variables. Whatever it does not know at sight (errors among it) is left to
   * the others, which read byte by byte.
   */
  private skim(bytes: Buffer, from: number): number {
    const { objects } = this;
    const { length } = bytes;
    const lowest = this.floor() + 1;
    let { at, depth } = this;
    let i = from;
    while (i < length) {
      const byte = bytes[i]!;
      if (isSpace(byte)) {
        do i++;
        while (bytes[i] === 0x20);
      } else if (at === At.CommaOrEnd && byte === COMMA) {
        at = objects[depth] === 1 ? At.Key : At.Value;
        i++;
      } else if (at === At.Colon) {
        if (byte !== COLON) break;
        at = At.Value;
        i++;
      } else if (byte === QUOTE && at !== At.CommaOrEnd) {
        const to = afterString(bytes, i + 1);
        if (to === 0) break;
        at = at === At.Key || at === At.KeyOrEnd ? At.Colon : At.CommaOrEnd;
        i = to;
      } else if (byte === 0x7d || byte === 0x5d) {
        const fits = byte === 0x7d ? objects[depth] === 1 && at !== At.Key : objects[depth] === 0;
        const mayEnd = at === At.CommaOrEnd || at === At.KeyOrEnd || at === At.ValueOrEnd;
        if (!fits || !mayEnd || depth === lowest) break;
        depth--;
        at = At.CommaOrEnd;
        i++;
      } else if (at !== At.Value && at !== At.ValueOrEnd) {
        break;
      } else if (byte === 0x7b || byte === 0x5b) {
        if (depth === deepest) break;
        objects[++depth] = byte === 0x7b ? 1 : 0;
        at = byte === 0x7b ? At.KeyOrEnd : At.ValueOrEnd;
        i++;
      } else {
        const to = afterWord(bytes, i) || afterInteger(bytes, i);
        if (to === 0) break;
        at = At.CommaOrEnd;
        i = to;
      }
    }
    this.at = at;
    this.depth = depth;
    return i;
  }

  private structure(byte: number, i: number, bytes: Buffer): void {
    switch (this.at) {
      case At.ValueOrEnd:
        if (byte === 0x5d) this.close(i, bytes);
        else this.beginValue(byte, i);
        break;
      case At.Value:
        this.beginValue(byte, i);
        break;
      case At.KeyOrEnd:
        if (byte === 0x7d) this.close(i, bytes);
        else this.beginKey(byte, i);
        break;
      case At.Key:
        this.beginKey(byte, i);
        break;
      case At.Colon:
        if (byte !== 0x3a) throw new NotJson('no colon');
        this.at = At.Value;
        break;
      case At.CommaOrEnd: {
        const isObject = this.objects[this.depth] === 1;
        if (byte === 0x2c) this.at = isObject ? At.Key : At.Value;
        else if (byte === (isObject ? 0x7d : 0x5d)) this.close(i, bytes);
        else throw new NotJson('no comma');
        break;
      }
      default:
        throw new NotJson('more than one value');
    }
  }

  private beginKey(byte: number, i: number): void {
    if (byte !== QUOTE) throw new NotJson('no key');
    this.isKey = true;
    this.at = At.String;
    if (this.value === undefined && this.depth <= this.listener.keyDepth)
      this.name = new Wanted(this.depth, 1024 * 1024, i);
  }

  private beginValue(byte: number, i: number): void {
    const kind = byte === 0x7b ? 'object' : byte === 0x5b ? 'array' : 'scalar';
    if (this.value === undefined && this.depth <= this.listener.keyDepth + 1) {
      const room = this.listener.begin(this.depth, kind, this.base + i);
      if (room > 0) this.value = new Wanted(this.depth, room, i);
    }
    if (kind !== 'scalar') {
      if (++this.depth > deepest) throw new NotJson('too deep');
      this.objects[this.depth] = kind === 'object' ? 1 : 0;
      this.at = kind === 'object' ? At.KeyOrEnd : At.ValueOrEnd;
    } else if (byte === QUOTE) {
      this.isKey = false;
      this.at = At.String;
    } else if (byte === 0x2d || isDigit(byte)) {
      this.number = byte === 0x2d ? Num.Minus : byte === 0x30 ? Num.Zero : Num.Int;
      this.at = At.Number;
    } else {
      const word = words[byte];
      if (word === undefined) throw new NotJson('no value');
      this.word = word;
      this.count = 1;
      this.at = At.Word;
    }
  }

  private escaped(byte: number): void {
    if (this.at === At.Hex) {
      if (!isHex(byte)) throw new NotJson('bad escape');
      if (--this.count === 0) this.at = At.String;
    } else if (byte === 0x75) {
      this.at = At.Hex;
      this.count = 4;
    } else {
      if (!escapes.has(byte)) throw new NotJson('bad escape');
      this.at = At.String;
    }
  }

  private endString(to: number, bytes: Buffer): void {
    if (!this.isKey) {
      this.endValue(to, bytes);
      return;
    }
    this.at = At.Colon;
    const { name } = this;
    if (name === undefined) return;
    this.name = undefined;
    this.listener.key(name.depth, stringOf(name.text(bytes, to) ?? '""'));
  }

  /** Whether the byte belongs to the number. Throws NotJson where it may not follow what came before. */
  private inNumber(byte: number): boolean {
    const digit = isDigit(byte);
    const e = (byte | 0x20) === 0x65;
    switch (this.number) {
      case Num.Minus:
        if (!digit) throw new NotJson('bad number');
        this.number = byte === 0x30 ? Num.Zero : Num.Int;
        return true;
      case Num.Zero:
      case Num.Int:
        if (digit && this.number === Num.Int) return true;
        if (byte === 0x2e) this.number = Num.Dot;
        else if (e) this.number = Num.E;
        else return false;
        return true;
      case Num.Dot:
        if (!digit) throw new NotJson('bad number');
        this.number = Num.Fraction;
        return true;
      case Num.Fraction:
        if (e) this.number = Num.E;
        return digit || e;
      case Num.E:
        if (byte === 0x2b || byte === 0x2d) this.number = Num.Sign;
        else if (digit) this.number = Num.Exponent;
        else throw new NotJson('bad number');
        return true;
      case Num.Sign:
        if (!digit) throw new NotJson('bad number');
        this.number = Num.Exponent;
        return true;
      default:
        return digit;
    }
  }

  private endNumber(to: number, bytes: Buffer): void {
    const { number } = this;
    const complete = number === Num.Zero || number === Num.Int || number === Num.Fraction || number === Num.Exponent;
    if (!complete) throw new NotJson('bad number');
    this.endValue(to, bytes);
  }

  private close(i: number, bytes: Buffer): void {
    this.depth--;
    this.endValue(i + 1, bytes);
  }

  /** The value that began at the present depth ends before `to`. */
  private endValue(to: number, bytes: Buffer): void {
    const { depth, value } = this;
    this.at = depth === 0 ? At.Done : At.CommaOrEnd;
    if (value === undefined) {
      if (depth <= this.listener.keyDepth + 1) this.listener.end(depth, undefined, this.base + to);
    } else if (value.depth === depth) {
      this.value = undefined;
      this.listener.end(depth, value.text(bytes, to), this.base + to);
    }
  }
}

/** The text that a sound JSON string stands for. */
export function stringOf(json: string): string {
  return json.includes('\\') ? (JSON.parse(json) as string) : json.slice(1, -1);
}

/** The first byte from `i` on that ends a run of plain characters in a string. */
function inString(bytes: Buffer, i: number): number {
  const { length } = bytes;
  for (; i < length; i++) {
    const byte = bytes[i]!;
    if (byte === QUOTE || byte === BACKSLASH || byte < 0x20) return i;
  }
  return length;
}

/** Behind the quote that ends the string at `i`; 0 where it does not end in these bytes, or is not a simple one. */
function afterString(bytes: Buffer, i: number): number {
  const { length } = bytes;
  for (; i < length; i++) {
    const byte = bytes[i]!;
    if (byte === QUOTE) return i + 1;
    if (byte < 0x20) return 0;
    if (byte === BACKSLASH && (++i === length || !escapes.has(bytes[i]!))) return 0;
  }
  return 0;
}

/** Behind `true`, `false` or `null`; 0 where there is none. */
function afterWord(bytes: Buffer, i: number): number {
  const word = words[bytes[i]!];
  if (word === undefined || i + word.length > bytes.length) return 0;
  for (let n = 1; n < word.length; n++) if (bytes[i + n] !== word.charCodeAt(n)) return 0;
  return i + word.length;
}

/** Behind a whole number without sign; 0 where there is none, or it may go on. */
function afterInteger(bytes: Buffer, i: number): number {
  const from = i;
  while (i < bytes.length && isDigit(bytes[i]!)) i++;
  const byte = bytes[i];
  const begins = i > from && (bytes[from] !== 0x30 || i === from + 1);
  return begins && (byte === COMMA || byte === 0x7d || byte === 0x5d || byte === 0x0a) ? i : 0;
}
