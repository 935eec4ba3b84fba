export { Circuit, NotNow, Unreachable } from '@keystead/outside';

/** What clients of outside systems are lent: time, and the named places where tests stop a process. */
export interface OutsideParts {
  readonly clock: { now(): number };
  readonly fault: (name: string) => void | Promise<void>;
}

/** For clients that live outside a service, as in tests. */
export const plainParts: OutsideParts = { clock: Date, fault: () => {} };

const perTurn = 4;

/**
 * Lets those who call, or are answered, at the same moment go on a few at a time: when hundreds come at once, or a slow
 * system answers them at once, other work gets a turn in between.
 */
export class Throttle {
  private readonly waiting: (() => void)[] = [];
  private taken = 0;

  /** Nothing to wait for while few come. */
  take(): Promise<void> | undefined {
    if (this.taken < perTurn && this.waiting.length === 0) {
      if (this.taken++ === 0) setImmediate(() => this.next());
      return undefined;
    }
    return new Promise((go) => this.waiting.push(go));
  }

  private next(): void {
    this.taken = 0;
    if (this.waiting.length === 0) return;
    setImmediate(() => this.next());
    for (const go of this.waiting.splice(0, perTurn)) {
      this.taken++;
      go();
    }
  }
}
