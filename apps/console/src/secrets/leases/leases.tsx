import { useInfiniteQuery } from '@tanstack/react-query';
import { useNavigate } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { Button } from '../../design/button';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { CheckField, TextField } from '../../design/field';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { useSession } from '../../shell/session';
import { useMay } from '../may';
import { page, useAddress } from '../pages';
import { encodedPath, useChange } from '../reads';
import { LeaseTable } from './lease-table';
import { type Lease, renewableOf } from './lifeline';
import { RenewChosen } from './renew-chosen';
import { RevokeChosen } from './revoke-chosen';
import type { LeaseSearch } from './search';

interface LeasePage {
  readonly leases: readonly Lease[];
  readonly next: string | null;
}

/** Leases: when they expire, and which revocations failed. */
export function Leases() {
  const { transport } = useSession();
  const search = useAddress('/leases');
  const navigate = useNavigate();
  const [prefix, setPrefix] = useState(search.prefix ?? '');
  const [accessor, setAccessor] = useState(search.accessor ?? '');
  const [chosen, setChosen] = useState<ReadonlySet<string>>(new Set());
  const [ending, setEnding] = useState(false);
  const found = useInfiniteQuery({
    queryKey: ['v1', 'leases', search],
    initialPageParam: '',
    refetchInterval: 10_000,
    queryFn: async ({ pageParam }) => {
      const query = new URLSearchParams({ limit: '200' });
      if (search.prefix !== undefined) query.set('prefix', search.prefix);
      if (search.accessor !== undefined) query.set('accessor', search.accessor);
      if (search.failing) query.set('failing', 'true');
      if (pageParam !== '') query.set('after', pageParam);
      return (await transport.call<{ data: LeasePage }>('GET', `/v1/sys/leases/timeline?${query}`)).data;
    },
    getNextPageParam: (last) => last.next ?? undefined,
  });
  const change = useChange();
  const below = `sys/leases/revoke-prefix/${search.prefix ?? ''}`;
  const may = useMay([below]);
  const leases = found.data?.pages.flatMap((page) => page.leases) ?? [];
  const now = Date.now();
  const failing = leases.filter(({ next_attempt }) => next_attempt !== null);
  const soon = leases.filter(({ state, expire_time }) => state === 'live' && Date.parse(expire_time) - now < 300_000);
  const searchFor = (failing: boolean): LeaseSearch => ({
    ...(prefix === '' ? {} : { prefix }),
    ...(accessor === '' ? {} : { accessor }),
    ...(failing ? { failing } : {}),
  });
  const look = (next: LeaseSearch) => void navigate(page('/leases', next));
  const submit = (event: FormEvent) => {
    event.preventDefault();
    look(searchFor(search.failing ?? false));
  };
  const queryText = new URLSearchParams(
    Object.entries(search)
      .filter(([name]) => name !== 'ns')
      .map(([name, value]): [string, string] => [name, String(value)]),
  ).toString();
  const count = `${leases.length}${found.hasNextPage ? ' or more' : ''}`;
  return (
    <div className="stack">
      <PageHead
        title="Leases"
        state={
          leases.length === 0 ? null : (
            <span className="second">
              {count} in all · {soon.length} end within 5 min
              {failing.length === 0 ? '' : ` · ${failing.length} could not be revoked`}
            </span>
          )
        }
        actions={
          chosen.size > 0 ? (
            <>
              <RenewChosen chosen={renewableOf(leases, chosen)} />
              <RevokeChosen chosen={chosen} onDone={() => setChosen(new Set())} />
            </>
          ) : search.prefix === undefined || search.accessor !== undefined ? undefined : (
            <Button
              kind="danger"
              {...may({ path: below, capabilities: ['update', 'sudo'] })}
              onClick={() => setEnding(true)}
            >
              Revoke everything below {search.prefix}
            </Button>
          )
        }
      />
      <form className="filters at-end" onSubmit={submit}>
        <TextField label="Prefix" type="search" value={prefix} onChange={setPrefix} placeholder="database/creds/app" />
        <TextField
          label="Requested by"
          type="search"
          value={accessor}
          onChange={setAccessor}
          placeholder="accessor of a token"
        />
        <CheckField
          label="Only failed revocations"
          checked={search.failing ?? false}
          onChange={(failingOnly) => look(searchFor(failingOnly))}
        />
        <div>
          <Button type="submit">Show</Button>
        </div>
      </form>
      <ErrorNotice error={found.error ?? change.error} onRetry={() => void found.refetch()} />
      {found.isPending ? <Skeleton rows={5} /> : null}
      {found.data !== undefined && leases.length === 0 ? (
        <Empty command="keystead read database/creds/app">
          No leases here. Dynamic credentials get a lease, which revokes them when it expires.
        </Empty>
      ) : null}
      {leases.length === 0 ? null : <LeaseTable leases={leases} chosen={chosen} onChoose={setChosen} />}
      {found.hasNextPage ? (
        <div>
          <Button busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
            Load more
          </Button>
        </div>
      ) : null}
      {ending && search.prefix !== undefined ? (
        <Confirm
          title={`Revoke everything below ${search.prefix}?`}
          action={`Revoke ${count} leases`}
          name={search.prefix}
          danger
          busy={change.isPending}
          onClose={() => setEnding(false)}
          onConfirm={() =>
            change.mutate(
              { method: 'PUT', path: `sys/leases/revoke-prefix/${encodedPath(search.prefix!)}` },
              { onSettled: () => setEnding(false) },
            )
          }
        >
          <p>All leases and tokens below this prefix are revoked, including those not shown.</p>
        </Confirm>
      ) : null}
      <SameBy
        api={`GET /v1/sys/leases/timeline${queryText === '' ? '' : `?${queryText}`}`}
        command={`keystead list sys/leases/lookup/${search.prefix ?? ''}`}
      />
    </div>
  );
}
