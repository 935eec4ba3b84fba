import type { Position } from './policy-tree';

/** Reads a string by UTF-16 unit and tracks line and column. */
export class TextCursor {
  offset = 0;
  private line = 1;
  private lineStart = 0;

  constructor(readonly text: string) {}

  get at(): Position {
    return { line: this.line, column: this.offset - this.lineStart + 1 };
  }

  /** The character `ahead` positions further; `''` past the end. */
  peek(ahead = 0): string {
    return this.text.charAt(this.offset + ahead);
  }

  /** Takes one character; `''` at the end. */
  next(): string {
    const character = this.text.charAt(this.offset);
    if (character === '') return character;
    this.offset += 1;
    if (character === '\n') {
      this.line += 1;
      this.lineStart = this.offset;
    }
    return character;
  }

  /** Takes characters while they are accepted, and returns them. */
  takeWhile(accepts: (character: string) => boolean): string {
    const { text, offset: start } = this;
    let end = start;
    for (; end < text.length; end += 1) {
      const character = text.charAt(end);
      if (!accepts(character)) break;
      if (character === '\n') {
        this.line += 1;
        this.lineStart = end + 1;
      }
    }
    this.offset = end;
    return text.slice(start, end);
  }
}

/** ASCII digit. */
export function isDigit(character: string): boolean {
  return character >= '0' && character <= '9';
}

/** Hexadecimal digit. */
export function isHexDigit(character: string): boolean {
  return isDigit(character) || (character >= 'a' && character <= 'f') || (character >= 'A' && character <= 'F');
}
