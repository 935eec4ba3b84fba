import type { StorageKernel } from '../storage/storage';
import { COUNTS } from './statements';

/** Counts of everything with a lifetime. */
export type LeaseCounts = Record<
  'leases' | 'irrevocable' | 'due' | 'ending' | 'tokens' | 'tokensDue' | 'intents',
  number
>;

/** If counting takes longer, it is not repeated for every scrape. */
const QUICK_MS = 250;
/** Counting takes at most 1/n of the time. */
const SHARE = 20;

/** Row counts for charts. Counting millions takes a while: then the result is used for twenty times as long. */
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
    const isOlderThan = (goodForMs: number) => {
      this.goodUntilMs = this.nowMs() + goodForMs;
    };
    last.then(
      () => {
        const tookMs = this.nowMs() - beganMs;
        isOlderThan(tookMs > QUICK_MS ? tookMs * SHARE : 0);
      },
      () => isOlderThan(0),
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
