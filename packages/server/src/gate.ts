import { during } from '@keystead/tracing';

/** The caller waited too long, or too many callers were waiting. */
export class GateFull extends Error {
  override readonly name = 'GateFull';
  constructor(what: string) {
    super(`too many ${what} at once; try again`);
  }
}

interface QueuedRequest {
  readonly key: string | undefined;
  enter(): void;
}

/**
 * Limits concurrency: a few callers run at the same time. Others queue, and are refused if the queue or the wait is too
 * long. Use it for work that needs much memory. Callers with the same key (a token, a workspace) never get all places,
 * so a slow caller does not block the others.
 */
export class Gate {
  private inside = 0;
  private readonly insideByKey = new Map<string, number>();
  private readonly line: QueuedRequest[] = [];

  constructor(
    private readonly limits: { readonly atOnce: number; readonly waiting: number; readonly waitMs: number },
    private readonly what: string,
  ) {}

  /** The number of callers in the queue. */
  get waiting(): number {
    return this.line.length;
  }

  /** Runs `work` when there is room. Throws `GateFull` if there is no room in time. */
  async run<T>(work: () => Promise<T>, key?: string): Promise<T> {
    const leave = await this.enter(key);
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** Waits for a place and returns the function that frees it again. Throws `GateFull` if there is no place in time. */
  async enter(key?: string): Promise<() => void> {
    const place = this.place(key);
    await place.enter();
    return () => place.leave();
  }

  /** A place that the caller may leave at any time, also while it still waits for the place. */
  place(key?: string): GatePlace {
    return new GatePlace(async (place) => {
      if (this.hasRoomFor(key)) this.admit(place, key);
      else await during('waiting', this.what, undefined, () => this.turn(place, key));
    });
  }

  private admit(place: GatePlace, key: string | undefined): void {
    this.count(key, 1);
    place.wayOut = () => {
      this.count(key, -1);
      const at = this.line.findIndex((waiting) => this.hasRoomFor(waiting.key));
      if (at >= 0) this.line.splice(at, 1)[0]!.enter();
    };
  }

  private hasRoomFor(key: string | undefined): boolean {
    const { atOnce } = this.limits;
    if (this.inside >= atOnce) return false;
    return key === undefined || (this.insideByKey.get(key) ?? 0) < Math.max(1, atOnce - 1);
  }

  private count(key: string | undefined, by: 1 | -1): void {
    this.inside += by;
    if (key === undefined) return;
    const now = (this.insideByKey.get(key) ?? 0) + by;
    if (now === 0) this.insideByKey.delete(key);
    else this.insideByKey.set(key, now);
  }

  private turn(place: GatePlace, key: string | undefined): Promise<void> {
    return new Promise((resolve, reject) => {
      const refuse = () => reject(new GateFull(this.what));
      if (this.line.length >= this.limits.waiting) return refuse();
      const waiting: QueuedRequest = {
        key,
        enter: () => {
          clearTimeout(timer);
          this.admit(place, key);
          resolve();
        },
      };
      const timer = setTimeout(() => place.leave(), this.limits.waitMs);
      place.wayOut = () => {
        clearTimeout(timer);
        this.line.splice(this.line.indexOf(waiting), 1);
        refuse();
      };
      this.line.push(waiting);
    });
  }
}

/** A caller's place in a gate, or in the line before it. */
export class GatePlace {
  /** Leaves the gate or the line; undefined outside. */
  wayOut: (() => void) | undefined;

  constructor(private readonly admission: (place: GatePlace) => Promise<void>) {}

  /** Waits for the place. Throws `GateFull` if there is no place in time, or if the caller has left. */
  enter(): Promise<void> {
    return this.admission(this);
  }

  leave(): void {
    const { wayOut } = this;
    this.wayOut = undefined;
    wayOut?.();
  }
}
