const stars = Buffer.from('***');

/** Replaces secret texts in a stream of bytes, even if one is split over pieces. */
export class Concealer {
  private held: Buffer = Buffer.alloc(0);
  private texts: readonly Buffer[] = [];
  private taken = 0;

  /** `given` may grow. */
  constructor(private readonly given: readonly string[]) {}

  /** The bytes that can be shown; an end that may be the beginning of a secret is held back. */
  push(bytes: Buffer): Buffer {
    if (this.taken < this.given.length) {
      this.taken = this.given.length;
      this.texts = this.given.filter((text) => text !== '').map((text) => Buffer.from(text));
    }
    if (this.texts.length === 0) return bytes;
    let all: Buffer = this.held.length === 0 ? bytes : Buffer.concat([this.held, bytes]);
    for (const text of this.texts) all = replaced(all, text);
    const keep = Math.max(...this.texts.map((text) => beginningAtEnd(all, text)));
    this.held = Buffer.from(all.subarray(all.length - keep));
    return all.subarray(0, all.length - keep);
  }

  /** The bytes that were held back: nothing follows. */
  end(): Buffer {
    const rest = this.held;
    this.held = Buffer.alloc(0);
    return rest;
  }
}

function replaced(all: Buffer, text: Buffer): Buffer {
  let found = all.indexOf(text);
  if (found < 0) return all;
  const pieces: Buffer[] = [];
  let from = 0;
  for (; found >= 0; found = all.indexOf(text, from)) {
    pieces.push(all.subarray(from, found), stars);
    from = found + text.length;
  }
  return Buffer.concat([...pieces, all.subarray(from)]);
}

/** How many bytes at the end are a beginning of the text. */
function beginningAtEnd(all: Buffer, text: Buffer): number {
  for (let length = Math.min(all.length, text.length - 1); length > 0; length--) {
    if (all.subarray(all.length - length).equals(text.subarray(0, length))) return length;
  }
  return 0;
}
