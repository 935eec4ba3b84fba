import type { StorageKernel } from '../storage/storage';
import { COUNTS } from './statements';

/** How many there are of everything that lives and ends. */
export type LeaseCounts = Record<
  'leases' | 'irrevocable' | 'due' | 'ending' | 'tokens' | 'tokensDue' | 'intents',
  number
>;

/** Counting that takes longer is not repeated at every question. */
const QUICK_MS = 250;
/** Counting takes at most one part in this many of the time. */
const SHARE = 20;

/** Row counts for charts. Counting millions takes a while: the answer then serves for twenty times as long. */
export class RowCounts {
  private last: Promise<LeaseCounts> | undefined;
  private goodUntilMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly storage: Pick<StorageKernel, 'database' | 'clock'>,
    private readonly nowMs = () => performance.now(),
  ) {}

  now(): Promise<LeaseCounts> {
    if (this.last && this.nowMs() < this.goodUntilMs) return this.last;
    const beganMs = this.nowMs();
    this.goodUntilMs = Number.POSITIVE_INFINITY;
    const last = this.count();
    this.last = last;
    const over = (goodForMs: number) => {
      this.goodUntilMs = this.nowMs() + goodForMs;
    };
    last.then(
      () => {
        const tookMs = this.nowMs() - beganMs;
        over(tookMs > QUICK_MS ? tookMs * SHARE : 0);
      },
      () => over(0),
    );
    return last;
  }

  private async count(): Promise<LeaseCounts> {
    const { database, clock } = this.storage;
    const { rows } = await database.query<Record<string, string>>(COUNTS, [clock.now()]);
    const row = rows[0]!;
    const irrevocable = Number(row.irrevocable);
    return {
      leases: Number(row.leases),
      irrevocable,
      due: Number(row.due),
      ending: Number(row.not_live) - irrevocable,
      tokens: Number(row.tokens),
      tokensDue: Number(row.tokens_due),
      intents: Number(row.intents),
    };
  }
}
