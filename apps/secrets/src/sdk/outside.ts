export { Circuit, NotNow, Unreachable } from '@keystead/outside';

/** The dependencies of clients of outside systems: the clock, and the fault points at which tests stop a process. */
export interface OutsideParts {
  readonly clock: { now(): number };
  readonly fault: (name: string) => void | Promise<void>;
}

/** The dependencies of clients outside a service, for example in tests. */
export const plainParts: OutsideParts = { clock: Date, fault: () => {} };

const perTurn = 4;

/**
 * Resumes simultaneous callers a few at a time. If hundreds arrive or are answered at the same time, other work still
 * gets its turn.
 */
export class Throttle {
  private readonly waiting: (() => void)[] = [];
  private used = 0;

  /** Waits until a caller may continue; undefined if there are only a few callers, which need not wait. */
  take(): Promise<void> | undefined {
    if (this.used < perTurn && this.waiting.length === 0) {
      if (this.used++ === 0) setImmediate(() => this.next());
      return undefined;
    }
    return new Promise((go) => this.waiting.push(go));
  }

  private next(): void {
    this.used = 0;
    if (this.waiting.length === 0) return;
    setImmediate(() => this.next());
    for (const go of this.waiting.splice(0, perTurn)) {
      this.used++;
      go();
    }
  }
}
