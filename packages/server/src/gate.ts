/** There is no room, and was none in time. */
export class GateFull extends Error {
  override readonly name = 'GateFull';
  constructor(what: string) {
    super(`too many ${what} at once; try again`);
  }
}

/**
 * Lets a few through at once; others wait in line, and are turned away when the line is long or the wait is. For work
 * whose memory must not add up.
 */
export class Gate {
  private inside = 0;
  private readonly line: (() => void)[] = [];

  constructor(
    private readonly limits: { readonly atOnce: number; readonly waiting: number; readonly waitMs: number },
    private readonly what: string,
  ) {}

  /** How many wait in line. */
  get waiting(): number {
    return this.line.length;
  }

  /** Runs `work` when there is room. Throws `GateFull` when there is none in time. */
  async run<T>(work: () => Promise<T>): Promise<T> {
    const leave = await this.enter();
    try {
      return await work();
    } finally {
      leave();
    }
  }

  /** Comes in when there is room; answers how to leave again, once. Throws `GateFull` when there is none in time. */
  async enter(): Promise<() => void> {
    if (this.inside < this.limits.atOnce) this.inside++;
    else await this.turn();
    return () => {
      const next = this.line.shift();
      if (next) next();
      else this.inside--;
    };
  }

  private turn(): Promise<void> {
    return new Promise((resolve, reject) => {
      const refuse = () => reject(new GateFull(this.what));
      if (this.line.length >= this.limits.waiting) return refuse();
      const enter = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        this.line.splice(this.line.indexOf(enter), 1);
        refuse();
      }, this.limits.waitMs);
      this.line.push(enter);
    });
  }
}
