/** A lease as `sys/leases/timeline` returns it. */
export interface Lease {
  readonly lease_id: string;
  readonly path: string;
  readonly mount_type: string;
  readonly state: 'live' | 'ending' | 'irrevocable';
  readonly renewable: boolean;
  readonly issue_time: string;
  readonly last_renewal: string | null;
  readonly expire_time: string;
  readonly max_expire_time: string | null;
  readonly token_accessor: string | null;
  readonly attempts: number;
  readonly error: string | null;
  readonly next_attempt: string | null;
  readonly away_since: string | null;
}

/** Which of the chosen leases can be renewed. */
export const renewableOf = (leases: readonly Lease[], chosen: ReadonlySet<string>): ReadonlySet<string> =>
  new Set(
    leases.flatMap(({ lease_id: id, renewable, state }) =>
      chosen.has(id) && renewable && state === 'live' ? [id] : [],
    ),
  );

/** Start and end of a timeline in epoch milliseconds. */
export interface Span {
  readonly from: number;
  readonly to: number;
}

/** The span that includes all leases up to their maximum TTL, and the current time. */
export function spanOf(leases: readonly Lease[], now: number): Span {
  const begins = leases.map(({ issue_time }) => Date.parse(issue_time));
  const ends = leases.map(({ expire_time, max_expire_time }) => Date.parse(max_expire_time ?? expire_time));
  const from = Math.min(now, ...begins);
  return { from, to: Math.max(now + 60_000, from + 60_000, ...ends) };
}

/** A lease as a line: issue, expiry, latest possible expiry, and the current time. */
export function Lifeline({ lease, span, now }: { readonly lease: Lease; readonly span: Span; readonly now: number }) {
  const at = (ms: number) => (100 * (ms - span.from)) / (span.to - span.from);
  const issued = at(Date.parse(lease.issue_time));
  const ends = at(Date.parse(lease.expire_time));
  const most = lease.max_expire_time === null ? ends : at(Date.parse(lease.max_expire_time));
  const today = at(now);
  const failing = lease.next_attempt !== null;
  const description = `issued ${lease.issue_time}, ends ${lease.expire_time}, at most ${lease.max_expire_time ?? 'as long as it is renewed'}`;
  return (
    <svg
      preserveAspectRatio="none"
      className={failing ? 'lifeline failing' : 'lifeline'}
      viewBox="0 0 100 16"
      role="img"
      aria-label={description}
    >
      <title>{description}</title>
      <line className="furthest" x1={issued} x2={most} y1="8" y2="8" vectorEffect="non-scaling-stroke" />
      <rect className="life" x={issued} y="4" width={Math.max(0.5, ends - issued)} height="8" />
      <line className="end" x1={most} x2={most} y1="3" y2="13" vectorEffect="non-scaling-stroke" />
      <line className="now" x1={today} x2={today} y1="0" y2="16" vectorEffect="non-scaling-stroke" />
    </svg>
  );
}
