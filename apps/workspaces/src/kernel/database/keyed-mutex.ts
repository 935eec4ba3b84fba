import { Refusal } from '@keystead/refusal';
import { during } from '@keystead/tracing';

/** How long a request waits for other requests that change the same object before it gives up. */
export const patienceMs = 30_000;

/** The refusal of a request that waited too long. Nothing was done, so the caller may try again. */
export function tooMany(cause?: unknown): Refusal {
  return new Refusal('unavailable', 'too many simultaneous changes of the same object; try again', [], { cause });
}

/** Runs work under the same name one at a time, in order of arrival. Waiters hold no connection. */
export class KeyedMutex {
  private readonly lines = new Map<string, (() => void)[]>();

  constructor(private readonly longestMs = patienceMs) {}

  /**
   * Runs `work` when it is its turn. The argument of `work` is whether it had to wait. Throws `unavailable` after too
   * long a wait.
   */
  async run<T>(name: string, work: (waited: boolean) => Promise<T>): Promise<T> {
    const line = this.lines.get(name);
    if (line === undefined) this.lines.set(name, []);
    else await during('waiting', 'turn', undefined, () => this.wait(line));
    try {
      return await work(line !== undefined);
    } finally {
      this.leave(name);
    }
  }

  private wait(line: (() => void)[]): Promise<void> {
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => {
        line.splice(line.indexOf(go), 1);
        reject(tooMany());
      }, this.longestMs);
      timer.unref();
      const go = (): void => {
        clearTimeout(timer);
        resolve();
      };
      line.push(go);
    });
  }

  private leave(name: string): void {
    const next = this.lines.get(name)!.shift();
    if (next === undefined) this.lines.delete(name);
    else next();
  }
}
