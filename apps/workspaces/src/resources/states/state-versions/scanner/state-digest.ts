import { createHash } from 'node:crypto';
import { NoState, type ParsedState } from './parse-state';
import { StateReader } from './state-reader';

/** What is known of bytes that passed; `parsed` is undefined if they are not a state. */
export interface Digest {
  readonly md5: string;
  readonly parsed: ParsedState | undefined;
}

/** Takes the bytes of a state one after the other: their MD5, and what they say of themselves. */
export class StateDigest {
  private readonly hash = createHash('md5');
  private readonly reader = new StateReader();
  private broken = false;

  write(piece: Uint8Array): void {
    this.hash.update(piece);
    this.judge(() => this.reader.write(piece));
  }

  end(): Digest {
    return { md5: this.hash.digest('hex'), parsed: this.judge(() => this.reader.end()) };
  }

  private judge<T>(read: () => T): T | undefined {
    try {
      return this.broken ? undefined : read();
    } catch (error) {
      if (!(error instanceof NoState)) throw error;
      this.broken = true;
      return undefined;
    }
  }
}
