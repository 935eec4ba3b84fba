/** A due item with its organization. */
export interface OwnedWork {
  readonly organization_id: string;
}

const keepEveryMs = 10_000;

/** The number of organizations whose hosts may be called at the same time. */
const mostWaitedFor = 8;

/**
 * The organizations for whose hosts a background job is waiting. A call that takes longer than `patienceMs` no longer
 * delays other organizations; its own organization is skipped until the call ends. Without `patienceMs`, the job waits
 * for all calls.
 */
export class Turns {
  private readonly underWay = new Map<string, Promise<void>>();
  private late: unknown;

  constructor(
    private readonly patienceMs = Number.POSITIVE_INFINITY,
    private readonly keepMs = keepEveryMs,
  ) {}

  /** Organizations whose hosts have not answered yet. */
  get busy(): string[] {
    return [...this.underWay.keys()];
  }

  /**
   * Processes due items, up to a maximum. `take` receives the organizations to skip, and returns one item, or undefined
   * if no item is due. `keep` extends its claim. Throws the first error at the end, after all due items.
   */
  async each<T extends OwnedWork>(
    most: number,
    take: (busy: string[]) => PromiseLike<readonly T[]>,
    work: (due: T) => Promise<unknown>,
    keep?: (due: T) => Promise<unknown>,
  ): Promise<void> {
    for (let done = 0; done < most; done++) {
      while (this.underWay.size >= mostWaitedFor) await Promise.race(this.underWay.values());
      const [due] = await take(this.busy);
      if (!due) break;
      await this.begin(due.organization_id, keep ? this.keepWhile(() => keep(due), work(due)) : work(due));
    }
    this.throwLate();
  }

  /** Waits for all work that has started. */
  async settled(): Promise<void> {
    await Promise.all(this.underWay.values());
  }

  /** Extends a claim repeatedly while the work continues. */
  private async keepWhile(keep: () => Promise<unknown>, work: Promise<unknown>): Promise<void> {
    let keeping: Promise<unknown> = Promise.resolve();
    const timer = setInterval(() => {
      // A node that cannot reach the database loses its claim, as if it had died.
      keeping = keeping.then(keep).catch(() => undefined);
    }, this.keepMs);
    try {
      await work;
    } finally {
      clearInterval(timer);
      await keeping;
    }
  }

  /** Waits until the time is over. */
  private async begin(organization: string, work: Promise<unknown>): Promise<void> {
    let timer: NodeJS.Timeout | undefined;
    const working = work
      .then(
        () => undefined,
        (error) => {
          this.late ??= error;
        },
      )
      .finally(() => {
        clearTimeout(timer);
        this.underWay.delete(organization);
      });
    this.underWay.set(organization, working);
    if (this.patienceMs === Number.POSITIVE_INFINITY) return working;
    const patience = new Promise<void>((resolve) => {
      timer = setTimeout(resolve, this.patienceMs);
    });
    await Promise.race([working, patience]);
  }

  private throwLate(): void {
    const { late } = this;
    this.late = undefined;
    if (late !== undefined) throw late;
  }
}
