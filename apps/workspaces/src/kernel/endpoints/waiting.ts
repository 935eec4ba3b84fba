import { Refusal } from '@keystead/refusal';
import { during } from '@keystead/tracing';

const perNode = 5_000;

/** Requests on this node that wait for an event: the newest request of each caller. */
export class Waiting {
  private readonly newest = new Map<string, symbol>();
  private ending = false;

  /**
   * Runs `work`. The argument of `work` returns true when `work` must stop waiting, because the same caller waits again
   * or this node stops.
   */
  async run<T>(asker: string, work: (mustStop: () => boolean) => Promise<T>): Promise<T> {
    if (this.newest.size >= perNode && !this.newest.has(asker)) {
      throw new Refusal('unavailable', 'too many requests wait on this node');
    }
    const own = Symbol(asker);
    this.newest.set(asker, own);
    try {
      return await during('asked', 'wait', undefined, () => work(() => this.ending || this.newest.get(asker) !== own));
    } finally {
      if (this.newest.get(asker) === own) this.newest.delete(asker);
    }
  }

  /** Ends every wait on this node. */
  endAll(): void {
    this.ending = true;
  }
}
