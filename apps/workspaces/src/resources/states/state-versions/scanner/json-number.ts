import { isDigit } from './json-bytes';

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

/** A number of JSON, byte by byte: pieces may end anywhere in it. */
export class JsonNumber {
  private part: NumberPart = NumberPart.Minus;

  /** Begins a number. Returns false if no number begins with this byte. */
  begin(byte: number): boolean {
    this.part = byte === 0x2d ? NumberPart.Minus : byte === 0x30 ? NumberPart.Zero : NumberPart.Int;
    return byte === 0x2d || isDigit(byte);
  }

  /** Whether the byte belongs to it; undefined if it may not follow what came before. */
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

  /** Whether it may end here. */
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
