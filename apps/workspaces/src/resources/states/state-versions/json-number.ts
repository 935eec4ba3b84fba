import { isDigit } from './json-bytes';

enum Part {
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
  private part: Part = Part.Minus;

  /** Begins anew. Answers false where no number begins with this byte. */
  begin(byte: number): boolean {
    this.part = byte === 0x2d ? Part.Minus : byte === 0x30 ? Part.Zero : Part.Int;
    return byte === 0x2d || isDigit(byte);
  }

  /** Whether the byte belongs to it; undefined where it may not follow what came before. */
  takes(byte: number): boolean | undefined {
    const digit = isDigit(byte);
    const e = (byte | 0x20) === 0x65;
    switch (this.part) {
      case Part.Minus:
        if (!digit) return undefined;
        this.part = byte === 0x30 ? Part.Zero : Part.Int;
        return true;
      case Part.Zero:
      case Part.Int:
        if (digit && this.part === Part.Int) return true;
        if (byte === 0x2e) this.part = Part.Dot;
        else if (e) this.part = Part.E;
        else return false;
        return true;
      case Part.Dot:
        if (!digit) return undefined;
        this.part = Part.Fraction;
        return true;
      case Part.Fraction:
        if (e) this.part = Part.E;
        return digit || e;
      case Part.E:
        if (byte === 0x2b || byte === 0x2d) this.part = Part.Sign;
        else if (digit) this.part = Part.Exponent;
        else return undefined;
        return true;
      case Part.Sign:
        if (!digit) return undefined;
        this.part = Part.Exponent;
        return true;
      default:
        return digit;
    }
  }

  /** Whether it may end here. */
  get complete(): boolean {
    const { part } = this;
    return part === Part.Zero || part === Part.Int || part === Part.Fraction || part === Part.Exponent;
  }
}
