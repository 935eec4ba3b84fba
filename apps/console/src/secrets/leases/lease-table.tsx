import { Link } from '@tanstack/react-router';
import { Badge } from '../../design/badge';
import { Time } from '../../design/time';
import { mountOf, useMounts } from '../mounts';
import { leasePage, mountPage, page } from '../pages';
import { type Lease, Lifeline, spanOf } from './lifeline';

/** Leases with their timelines. If they are selectable, Shift-click selects a range. */
export function LeaseTable({
  leases,
  chosen,
  onChoose,
  isOfOne = false,
}: {
  readonly leases: readonly Lease[];
  /** Whether all leases were requested by the same token. Then the token is not shown. */
  readonly isOfOne?: boolean;
  readonly chosen?: ReadonlySet<string>;
  readonly onChoose?: (chosen: ReadonlySet<string>) => void;
}) {
  const now = Date.now();
  const span = spanOf(leases, now);
  const ids = leases.map(({ lease_id }) => lease_id);
  const choose = (which: readonly string[], isChosen: boolean) => {
    const after = new Set(chosen);
    for (const id of which) {
      if (isChosen) after.add(id);
      else after.delete(id);
    }
    onChoose?.(after);
  };
  const allChosen = ids.length > 0 && ids.every((id) => chosen?.has(id));
  return (
    <div className="table-frame">
      <table className="table flow" aria-label="Leases">
        <thead>
          <tr>
            {chosen === undefined ? null : (
              <th>
                <input
                  type="checkbox"
                  aria-label="Select all shown"
                  checked={allChosen}
                  onChange={() => choose(ids, !allChosen)}
                />
              </th>
            )}
            <th>Path</th>
            <th className="lifeline-column">From issue to latest expiry</th>
            <th>Expires</th>
            <th>State</th>
            {isOfOne ? null : <th>Requested by</th>}
          </tr>
        </thead>
        <tbody>
          {leases.map((lease, index) => (
            <tr key={lease.lease_id}>
              {chosen === undefined ? null : (
                <td className="tight">
                  <input
                    type="checkbox"
                    aria-label={`Choose ${lease.lease_id}`}
                    checked={chosen.has(lease.lease_id)}
                    onChange={(event) => {
                      const isChosen = event.target.checked;
                      const { shiftKey } = event.nativeEvent as unknown as MouseEvent;
                      const before = ids.slice(0, index).findLastIndex((id) => chosen.has(id));
                      choose(ids.slice(shiftKey && before >= 0 ? before : index, index + 1), isChosen);
                    }}
                  />
                </td>
              )}
              <td>
                <Origin path={lease.path} />
                <p className="second small">
                  <Link {...leasePage(lease.lease_id)}>lease …{lease.lease_id.slice(-6)}</Link> ·{' '}
                  <Time at={lease.issue_time} />
                </p>
              </td>
              <td className="lifeline-column">
                <Lifeline lease={lease} span={span} now={now} />
              </td>
              <td className="tight">
                <Time at={lease.expire_time} />
              </td>
              <td>
                <LeaseState lease={lease} />
              </td>
              {isOfOne ? null : (
                <td className="tight">
                  <Holder lease={lease} />
                </td>
              )}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Links a lease to the secret or engine path that issued it. */
export function Origin({ path }: { readonly path: string }) {
  const mounts = useMounts();
  const mount = mountOf(mounts.secret, path);
  if (mount === undefined) return <code>{path}</code>;
  const there =
    mount.type === 'kv'
      ? page('/secrets', { at: path })
      : mountPage({ mount: mount.path, at: path.slice(mount.path.length) });
  return (
    <Link {...there}>
      <code>{path}</code>
    </Link>
  );
}

/** Links a lease to the token that requested it. */
export function Holder({ lease: { token_accessor: accessor } }: { readonly lease: Lease }) {
  return accessor === null ? (
    <span className="second">a token that is gone</span>
  ) : (
    <Link {...page('/access/tokens', { accessor })}>token …{accessor.slice(-6)}</Link>
  );
}

/** Whether a lease is active, or the status of its revocation. */
export function LeaseState({ lease }: { readonly lease: Lease }) {
  const { state, error, attempts, next_attempt: next, away_since: away } = lease;
  if (next === null) return <Badge tone={state === 'live' ? 'green' : 'amber'}>{state}</Badge>;
  return (
    <div className="stack-tight">
      <div>
        <Badge tone="red">
          {away === null ? `could not be revoked, ${attempts} attempts` : 'its system does not answer'}
        </Badge>
      </div>
      <p className="small">
        tries again <Time at={next} />
        {error === null ? '' : `: ${error}`}
      </p>
    </div>
  );
}
