import { Refusal } from '@keystead/refusal';
import { during } from '@keystead/tracing';

/** The longest wait in a queue. After this time the client gives up soon. */
const PATIENCE_MS = 60_000;

/** Runs work under one name in order of arrival; other names do not wait. */
export class SerialQueue {
  private readonly last = new Map<string, Promise<void>>();

  /** Throws `unavailable` if the turn does not come in time; nothing has then been done. */
  async stand<T>(name: string, work: () => Promise<T>): Promise<T> {
    const before = this.last.get(name);
    let leave = () => {};
    const turn = new Promise<void>((resolve) => {
      leave = resolve;
    });
    this.last.set(name, turn);
    const untilMs = performance.now() + PATIENCE_MS;
    try {
      if (before) await during('waiting', 'turn', undefined, () => before);
      if (performance.now() > untilMs)
        throw new Refusal('unavailable', 'too many simultaneous changes of the same object; try again');
      return await work();
    } finally {
      if (this.last.get(name) === turn) this.last.delete(name);
      leave();
    }
  }
}
