import { Refusal } from '@keystead/refusal';
import { during } from '@keystead/tracing';

/** The longest wait in a line; the client is about to give up. */
const PATIENCE_MS = 60_000;

/** Work under one name, one after the other, in the order in which it came; other names are not waited for. */
export class SerialQueue {
  private readonly last = new Map<string, Promise<void>>();

  /** Throws `unavailable` when the turn did not come in time; then nothing was done. */
  async stand<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(name);
    let leave = () => {};
    const mine = new Promise<void>((resolve) => {
      leave = resolve;
    });
    this.last.set(name, mine);
    const untilMs = performance.now() + PATIENCE_MS;
    try {
      if (before) await during('waiting', 'turn', undefined, () => before);
      if (performance.now() > untilMs)
        throw new Refusal('unavailable', 'too many simultaneous changes of the same object; try again');
      return await work();
    } finally {
      if (this.last.get(name) === mine) this.last.delete(name);
      leave();
    }
  }
}
