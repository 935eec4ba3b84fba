import { exitCodes, Problem } from './problem';

const signals = ['SIGINT', 'SIGTERM'] as const;

/**
 * Ctrl-C during long work: the current step is finished or undone, nothing is left behind, and the user sees how to
 * continue. A second Ctrl-C ends the program immediately.
 */
export class Interruption {
  private next: string | undefined;
  private requested = false;

  constructor(
    private readonly tell: (text: string) => void,
    private readonly source: Pick<NodeJS.Process, 'on' | 'off' | 'exit'> = process,
  ) {}

  /** Does work whose steps call `check`. If the user stops it, `next` explains what is done and how to continue. */
  async during<T>(next: string, work: () => Promise<T>): Promise<T> {
    const stop = () => {
      if (this.requested) return this.source.exit(exitCodes.stopped);
      this.requested = true;
      this.tell('stopping; Ctrl-C again stops at once');
    };
    this.next = next;
    for (const signal of signals) this.source.on(signal, stop);
    try {
      return await work();
    } finally {
      for (const signal of signals) this.source.off(signal, stop);
    }
  }

  /** Throws `Problem` after the user has pressed Ctrl-C. */
  check(): void {
    if (this.requested) throw new Problem(`stopped: ${this.next}`, exitCodes.stopped);
  }
}
