import type { Backend } from '../../sdk/backend';
import type { StorageKernel } from '../storage/storage';
import { COUNTS, EXPIRING } from './statements';

/** Counts of everything with a lifetime. */
export type LeaseCounts = Record<
  'leases' | 'irrevocable' | 'due' | 'ending' | 'tokens' | 'tokensDue' | 'intents',
  number
>;

/** Counts that take longer than this are not repeated for every scrape. */
const QUICK_MS = 250;
/** A node spends at most 1/n of its time on counting. */
const SHARE = 20;

/** Row counts for charts. If counting takes long, the result is reused for twenty times as long. */
export class RowCounts<Counts> {
  private last: Promise<Counts> | undefined;
  private goodUntilMs = Number.NEGATIVE_INFINITY;

  constructor(
    private readonly count: () => Promise<Counts>,
    private readonly nowMs = () => performance.now(),
  ) {}

  now(): Promise<Counts> {
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
}

type Rows = Pick<StorageKernel, 'database' | 'clock'>;

export async function countLeases({ database, clock }: Rows): Promise<LeaseCounts> {
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

/** The kinds of objects that are counted if they expire soon; `certificates` includes revoked ones. */
export type ExpiringKind = 'tokens' | NonNullable<Backend['expiring']>;

const DAY_MS = 86_400_000;
/** The periods of time until the expiry. */
export const withins = { '1d': DAY_MS, '7d': 7 * DAY_MS, '30d': 30 * DAY_MS } as const;

type ExpiringCounts = Readonly<Record<ExpiringKind, Readonly<Record<keyof typeof withins, number>>>>;

/**
 * Counts tokens, certificates and newest versions of secrets that expire within a day, a week and 30 days. `keyAt`
 * returns a key in the index by expiry, which some engines have.
 */
export async function countExpiring(
  { database, clock }: Rows,
  mounts: Iterable<{ readonly uuid: string; readonly namespaceId: string; readonly backend: Backend }>,
  keyAt: (ms: number) => string,
): Promise<ExpiringCounts> {
  const all = [...mounts];
  const indexed = all.filter(({ backend }) => backend.expiring);
  const now = clock.now();
  const times = [now, ...Object.values(withins).map((ms) => now + ms)];
  const { rows } = await database.query<Record<string, string>>(EXPIRING, [
    indexed.map(({ uuid }) => uuid),
    indexed.map(({ backend }) => backend.expiring),
    [...new Set(all.map(({ namespaceId }) => namespaceId))],
    ...times,
    ...times.map(keyAt),
  ]);
  const of = (kind: ExpiringKind) => {
    const row = rows.find((one) => one.kind === kind);
    return { '1d': Number(row?.day ?? 0), '7d': Number(row?.week ?? 0), '30d': Number(row?.month ?? 0) };
  };
  return { tokens: of('tokens'), certificates: of('certificates'), secrets: of('secrets') };
}
