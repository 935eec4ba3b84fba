import { isUtf8 } from 'node:buffer';
import { invalid } from '@keystead/jsonapi';
import {
  afterInteger,
  afterSpaces,
  afterString,
  afterWord,
  BACKSLASH,
  CLOSE_ARRAY,
  CLOSE_OBJECT,
  COLON,
  COMMA,
  endOfPlain,
  isEscape,
  isHex,
  isSpace,
  type JsonChunk,
  JsonNumber,
  KnownTexts,
  OPEN_ARRAY,
  OPEN_OBJECT,
  QUOTE,
  SPACE,
  stringOf,
  TextBuilder,
  unfinished,
  words,
} from './json-bytes';

/** The bytes are not JSON. */
export class NotJson extends Error {
  override readonly name = 'NotJson';
}

/** The events of `JsonScanner`. Depth 0 is the document itself. */
export interface JsonListener {
  /** Keys and values are reported up to this depth. Deeper keys and values are only checked. */
  readonly deepest: number;
  /** A key of the object at `depth`. */
  key(depth: number, key: string): void;
  /** Called when a value begins. Returns the maximum number of bytes of its text that the listener needs. */
  begin(depth: number, kind: 'object' | 'array' | 'scalar', position: number): number;
  /** Called when the value at `depth` has ended. `text` is present if it was requested and is not too long. */
  end(depth: number, text: string | undefined, position: number): void;
}

const deepest = 1_000;

// The order matters: states before `Key` accept a value, and states before `Colon` accept a string.
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

/**
 * Reads JSON as its bytes arrive, in any pieces, and stores only what its listener needs, so that a document of any
 * size is read in constant memory. Accepts exactly what `JSON.parse` accepts, up to 1,000 levels deep.
 */
export class JsonScanner {
  private at: At = At.Value;
  private depth = 0;
  /** 1 if the container at a depth is an object. */
  private readonly objects = new Uint8Array(deepest + 1);
  private isKey = false;
  private readonly number = new JsonNumber();
  private readonly texts = new KnownTexts();
  private word = '';
  private count = 0;
  private base = 0;
  private tail: Buffer = Buffer.alloc(0);
  private value: TextBuilder | undefined;
  private name: TextBuilder | undefined;

  constructor(private readonly listener: JsonListener) {}

  /** Reads the next piece. Throws NotJson. */
  write(piece: Uint8Array): void {
    const received = Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength);
    const bytes = this.tail.length === 0 ? received : Buffer.concat([this.tail, received]);
    const whole = bytes.length - unfinished(bytes);
    this.tail = Buffer.from(bytes.subarray(whole));
    const sound = bytes.subarray(0, whole);
    if (!isUtf8(sound)) throw new NotJson('not UTF-8');
    this.read({ bytes: sound, view: new DataView(sound.buffer, sound.byteOffset, whole) });
    this.value?.take(sound, whole);
    this.name?.take(sound, whole);
    this.base += whole;
  }

  /** Ends the document. Throws NotJson if it is not complete. */
  end(): void {
    if (this.tail.length > 0) throw new NotJson('not UTF-8');
    if (this.at === At.Number) this.endNumber(0, Buffer.alloc(0));
    if (this.at !== At.Done) throw new NotJson('incomplete');
  }

  private read(piece: JsonChunk): void {
    const { bytes } = piece;
    const { length } = bytes;
    let i = 0;
    while (i < length) {
      switch (this.at) {
        case At.String: {
          i = endOfPlain(piece, i);
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
          if (this.depth > this.floor()) i = this.skim(piece, i);
          while (i < length && isSpace(bytes[i]!)) i = afterSpaces(piece, i + 1);
          if (i < length) this.structure(bytes[i]!, i++, bytes);
      }
    }
  }

  /** The depth below which nothing is reported. */
  private floor(): number {
    return this.value?.depth ?? Math.max(0, this.listener.deepest);
  }

  /**
   * Checks whole tokens that are not reported; returns the position where it stopped. Most of a state is below the
   * reported depth, so this is one loop over local variables, with the most frequent tokens first. The other functions,
   * which read byte by byte, handle everything that it does not recognize at once, including errors.
   */
  private skim(piece: JsonChunk, from: number): number {
    const { objects } = this;
    const { bytes } = piece;
    const { length } = bytes;
    const lowest = this.floor() + 1;
    let { at, depth } = this;
    let i = from;
    while (i < length) {
      const byte = bytes[i]!;
      if (byte === QUOTE) {
        if (at > At.KeyOrEnd) break;
        const to = afterString(piece, i + 1);
        if (to === 0) break;
        i = to;
        if (at < At.Key) {
          at = At.CommaOrEnd;
        } else if (bytes[i] === COLON) {
          at = At.Value;
          i++;
          if (bytes[i] === SPACE) i++;
        } else {
          at = At.Colon;
        }
      } else if (isSpace(byte)) {
        i = afterSpaces(piece, i + 1);
      } else if (byte === COMMA) {
        if (at !== At.CommaOrEnd) break;
        at = objects[depth] === 1 ? At.Key : At.Value;
        i++;
      } else if (byte === CLOSE_OBJECT || byte === CLOSE_ARRAY) {
        const fits = byte === CLOSE_OBJECT ? objects[depth] === 1 && at !== At.Key : objects[depth] === 0;
        const mayEnd = at === At.CommaOrEnd || at === At.KeyOrEnd || at === At.ValueOrEnd;
        if (!fits || !mayEnd || depth === lowest) break;
        depth--;
        at = At.CommaOrEnd;
        i++;
      } else if (byte === COLON) {
        if (at !== At.Colon) break;
        at = At.Value;
        i++;
      } else if (at > At.ValueOrEnd) {
        break;
      } else if (byte === OPEN_OBJECT || byte === OPEN_ARRAY) {
        if (depth === deepest) break;
        objects[++depth] = byte === OPEN_OBJECT ? 1 : 0;
        at = byte === OPEN_OBJECT ? At.KeyOrEnd : At.ValueOrEnd;
        i++;
      } else {
        const to = afterWord(piece, i) || afterInteger(piece, i);
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
        if (byte === CLOSE_ARRAY) this.close(i, bytes);
        else this.beginValue(byte, i);
        break;
      case At.Value:
        this.beginValue(byte, i);
        break;
      case At.KeyOrEnd:
        if (byte === CLOSE_OBJECT) this.close(i, bytes);
        else this.beginKey(byte, i);
        break;
      case At.Key:
        this.beginKey(byte, i);
        break;
      case At.Colon:
        if (byte !== COLON) throw new NotJson('no colon');
        this.at = At.Value;
        break;
      case At.CommaOrEnd: {
        const isObject = this.objects[this.depth] === 1;
        if (byte === COMMA) this.at = isObject ? At.Key : At.Value;
        else if (byte === (isObject ? CLOSE_OBJECT : CLOSE_ARRAY)) this.close(i, bytes);
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
    if (this.value === undefined && this.depth <= this.listener.deepest)
      this.name = new TextBuilder(this.depth, 1024 * 1024, i);
  }

  private beginValue(byte: number, i: number): void {
    const kind = byte === OPEN_OBJECT ? 'object' : byte === OPEN_ARRAY ? 'array' : 'scalar';
    if (this.value === undefined && this.depth <= this.listener.deepest) {
      const room = this.listener.begin(this.depth, kind, this.base + i);
      if (room > 0) this.value = new TextBuilder(this.depth, room, i);
    }
    if (kind !== 'scalar') {
      if (++this.depth > deepest) throw new NotJson('too deep');
      this.objects[this.depth] = kind === 'object' ? 1 : 0;
      this.at = kind === 'object' ? At.KeyOrEnd : At.ValueOrEnd;
    } else if (byte === QUOTE) {
      this.isKey = false;
      this.at = At.String;
    } else if (this.number.begin(byte)) {
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
      if (!isEscape(byte)) throw new NotJson('bad escape');
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
    this.listener.key(name.depth, stringOf(name.text(bytes, to, this.texts) ?? '""'));
  }

  private inNumber(byte: number): boolean {
    const isPart = this.number.takes(byte);
    if (isPart === undefined) throw new NotJson('bad number');
    return isPart;
  }

  private endNumber(to: number, bytes: Buffer): void {
    if (!this.number.complete) throw new NotJson('bad number');
    this.endValue(to, bytes);
  }

  private close(i: number, bytes: Buffer): void {
    this.depth--;
    this.endValue(i + 1, bytes);
  }

  /** Ends the value that began at the current depth; its text ends before `to`. */
  private endValue(to: number, bytes: Buffer): void {
    const { depth, value } = this;
    this.at = depth === 0 ? At.Done : At.CommaOrEnd;
    if (value === undefined) {
      if (depth <= this.listener.deepest) this.listener.end(depth, undefined, this.base + to);
    } else if (value.depth === depth) {
      this.value = undefined;
      this.listener.end(depth, value.text(bytes, to, this.texts), this.base + to);
    }
  }
}

/**
 * Passes the bytes on unchanged, in constant memory. At the end, throws `invalid` for `field` if they are not a JSON
 * object, so do not use the bytes before the end.
 */
export async function* jsonObject(source: AsyncIterable<Uint8Array>, field: string): AsyncGenerator<Uint8Array> {
  let isObject = false;
  const scanner = new JsonScanner({
    deepest: 0,
    key: () => undefined,
    begin: (depth, kind) => {
      if (depth === 0) isObject = kind === 'object';
      return 0;
    },
    end: () => undefined,
  });
  try {
    for await (const piece of source) {
      scanner.write(piece);
      yield piece;
    }
    scanner.end();
  } catch (error) {
    if (!(error instanceof NotJson)) throw error;
    isObject = false;
  }
  if (!isObject) throw invalid(field, 'must be a JSON object');
}
