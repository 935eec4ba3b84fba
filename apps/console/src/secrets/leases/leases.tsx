import { useInfiniteQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { Badge } from '../../design/badge';
import { Button } from '../../design/button';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { CheckField, TextField } from '../../design/field';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { encodedPath, useChange } from '../reads';
import { type Lease, Lifeline, spanOf } from './lifeline';
import type { LeaseSearch } from './search';

interface LeasePage {
  readonly leases: readonly Lease[];
  readonly next: string | null;
}

/** What lives, when it ends, and what could not be ended. */
export function Leases() {
  const { transport } = useSession();
  const search = useSearch({ strict: false }) as LeaseSearch;
  const navigate = useNavigate();
  const [prefix, setPrefix] = useState(search.prefix ?? '');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [ending, setEnding] = useState<'chosen' | 'prefix'>();
  const found = useInfiniteQuery({
    queryKey: ['v1', 'leases', search],
    initialPageParam: '',
    refetchInterval: 10_000,
    queryFn: async ({ pageParam }) => {
      const query = new URLSearchParams({ limit: '200' });
      if (search.prefix !== undefined) query.set('prefix', search.prefix);
      if (search.failing) query.set('failing', 'true');
      if (pageParam !== '') query.set('after', pageParam);
      return (await transport.call<{ data: LeasePage }>('GET', `/v1/sys/leases/timeline?${query}`)).data;
    },
    getNextPageParam: (last) => last.next ?? undefined,
  });
  const change = useChange();
  const leases = found.data?.pages.flatMap((page) => page.leases) ?? [];
  const now = Date.now();
  const span = spanOf(leases, now);
  const failing = leases.filter(({ next_attempt }) => next_attempt !== null);
  const soon = leases.filter(({ state, expire_time }) => state === 'live' && Date.parse(expire_time) - now < 300_000);
  const look = (next: LeaseSearch) => void navigate({ to: '/leases', search: next as never });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    look({ ...(prefix === '' ? {} : { prefix }), ...(search.failing ? { failing: true } : {}) });
  };
  const revoke = async () => {
    for (const lease_id of chosen) {
      await change.mutateAsync({ method: 'PUT', path: 'sys/leases/revoke', body: { lease_id } }).catch(() => undefined);
    }
    setChosen(new Set());
    setEnding(undefined);
  };
  const toggle = (id: string) =>
    setChosen((before) => {
      const after = new Set(before);
      if (!after.delete(id)) after.add(id);
      return after;
    });
  const count = `${leases.length}${found.hasNextPage ? ' or more' : ''}`;
  return (
    <div className="stack">
      <PageHead
        title="Leases"
        state={
          leases.length === 0 ? null : (
            <span className="second">
              {count} in all · {soon.length} end within 5 min
              {failing.length === 0 ? '' : ` · ${failing.length} could not be ended`}
            </span>
          )
        }
        actions={
          chosen.size > 0 ? (
            <Button kind="danger" onClick={() => setEnding('chosen')}>
              Revoke {chosen.size} {chosen.size === 1 ? 'lease' : 'leases'}
            </Button>
          ) : search.prefix === undefined ? undefined : (
            <Button kind="danger" onClick={() => setEnding('prefix')}>
              Revoke all below {search.prefix}
            </Button>
          )
        }
      />
      <form className="filters at-end" onSubmit={submit}>
        <TextField
          label="Issued below"
          type="search"
          value={prefix}
          onChange={setPrefix}
          placeholder="scheduler/creds/ops"
        />
        <CheckField
          label="Only what could not be ended"
          checked={search.failing ?? false}
          onChange={(failingOnly) =>
            look({ ...(prefix === '' ? {} : { prefix }), ...(failingOnly ? { failing: true } : {}) })
          }
        />
        <div>
          <Button type="submit">Show</Button>
        </div>
      </form>
      <ErrorNotice error={found.error ?? change.error} onRetry={() => void found.refetch()} />
      {found.isPending ? <Skeleton rows={5} /> : null}
      {found.data !== undefined && leases.length === 0 ? (
        <Empty command="keystead read scheduler/creds/ops">
          Nothing that was handed out lives here. A lease begins with credentials that an engine makes, and ends them.
        </Empty>
      ) : null}
      {leases.length === 0 ? null : (
        <div className="table-frame">
          <table className="table flow">
            <thead>
              <tr>
                <th>
                  <span className="visually-hidden">Choose</span>
                </th>
                <th>Issued at</th>
                <th className="lifeline-column">Issue to furthest end</th>
                <th>Ends</th>
                <th>State</th>
                <th>Asked for by</th>
              </tr>
            </thead>
            <tbody>
              {leases.map((lease) => (
                <tr key={lease.lease_id}>
                  <td className="tight">
                    <input
                      type="checkbox"
                      aria-label={`Choose ${lease.lease_id}`}
                      checked={chosen.has(lease.lease_id)}
                      onChange={() => toggle(lease.lease_id)}
                    />
                  </td>
                  <td>
                    <code>{lease.path}</code>
                    <p className="second small">
                      …{lease.lease_id.slice(-6)} · <Time at={lease.issue_time} />
                    </p>
                  </td>
                  <td className="lifeline-column">
                    <Lifeline lease={lease} span={span} now={now} />
                  </td>
                  <td className="tight">
                    <Time at={lease.expire_time} />
                  </td>
                  <td>
                    <State lease={lease} />
                  </td>
                  <td className="tight">
                    {lease.token_accessor === null ? (
                      <span className="second">a token that is gone</span>
                    ) : (
                      <Link to="/access/tokens" search={{ accessor: lease.token_accessor } as never}>
                        token …{lease.token_accessor.slice(-6)}
                      </Link>
                    )}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      )}
      {found.hasNextPage ? (
        <div>
          <Button busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
            Those that end later
          </Button>
        </div>
      ) : null}
      {ending === 'chosen' ? (
        <Confirm
          title={`Revoke ${chosen.size} ${chosen.size === 1 ? 'lease' : 'leases'}?`}
          action={`Revoke ${chosen.size} ${chosen.size === 1 ? 'lease' : 'leases'}`}
          danger
          busy={change.isPending}
          onClose={() => setEnding(undefined)}
          onConfirm={() => void revoke()}
        >
          <p>What was handed out under them stops working at once:</p>
          <ul className="stack-tight small">
            {[...chosen].slice(0, 10).map((id) => (
              <li key={id}>
                <code>{id}</code>
              </li>
            ))}
          </ul>
          {chosen.size > 10 ? <p className="second small">and {chosen.size - 10} more</p> : null}
        </Confirm>
      ) : null}
      {ending === 'prefix' && search.prefix !== undefined ? (
        <Confirm
          title={`Revoke everything below ${search.prefix}?`}
          action={`Revoke ${count} leases`}
          name={search.prefix}
          danger
          busy={change.isPending}
          onClose={() => setEnding(undefined)}
          onConfirm={() =>
            change.mutate(
              { method: 'PUT', path: `sys/leases/revoke-prefix/${encodedPath(search.prefix!)}` },
              { onSettled: () => setEnding(undefined) },
            )
          }
        >
          <p>All leases and tokens that were issued there end, also those that are not shown.</p>
        </Confirm>
      ) : null}
      <SameBy
        api={`GET /v1/sys/leases/timeline${search.prefix === undefined ? '' : `?prefix=${search.prefix}`}`}
        command={`keystead list sys/leases/lookup/${search.prefix ?? ''}`}
      />
    </div>
  );
}

function State({ lease }: { readonly lease: Lease }) {
  const { state, error, attempts, next_attempt: next, away_since: away } = lease;
  if (next === null) return <Badge tone={state === 'live' ? 'green' : 'amber'}>{state}</Badge>;
  return (
    <div className="stack-tight">
      <div>
        <Badge tone="red">
          {away === null ? `could not be ended, ${attempts} tries` : 'its system does not answer'}
        </Badge>
      </div>
      <p className="small">
        tries again <Time at={next} />
        {error === null ? '' : `: ${error}`}
      </p>
    </div>
  );
}
