import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { Link, useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import type { Transport } from '../../api/transport';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { Command, Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { Table } from '../../design/table';
import { Time } from '../../design/time';
import { useSession } from '../../shell/session';
import { page, useAddress } from '../pages';
import { useReadable } from '../readable';
import { AuditTabs, Author, SearchForm } from './parts';
import { type ReadSearch, readFilters } from './search';

/** Reads of a path by one token, from one address, within an hour. */
interface ReadRow {
  readonly namespace_path: string;
  readonly path: string;
  readonly first_time: string;
  readonly last_time: string;
  readonly times: number;
  readonly entry: {
    readonly auth?: { readonly display_name?: string; readonly entity_id?: string };
    readonly request?: { readonly id?: string; readonly remote_address?: string };
  };
}
interface ReadsAnswer {
  readonly recording: boolean;
  readonly kept_days: number;
  readonly reads: readonly ReadRow[];
  readonly next: string | null;
}

const setting = 'SECRETS_AUDIT_READS=on';
const path = 'sys/audit-reads';

/** The table of reads covers the whole installation, so it is in the root namespace. */
const find = async (transport: Transport, query: Readonly<Record<string, string>>): Promise<ReadsAnswer> =>
  (
    await transport.call<{ data: ReadsAnswer }>('GET', `/v1/${path}?${new URLSearchParams(query)}`, undefined, {
      'X-Service-Namespace': '',
    })
  ).data;

function ReadsTable({ reads, of }: { readonly reads: readonly ReadRow[]; readonly of: 'one' | 'many' }) {
  const where = {
    head: 'Path',
    cell: ({ namespace_path, path: at }: ReadRow) => (
      <code>
        {namespace_path}
        {at}
      </code>
    ),
  };
  return (
    <Table
      label="Reads"
      narrow="flow"
      rows={reads}
      keyOf={({ entry, first_time }) => `${first_time} ${entry.request?.id}`}
      columns={[
        { head: 'Last read', className: 'tight', cell: ({ last_time }) => <Time at={last_time} /> },
        ...(of === 'many' ? [where] : []),
        { head: 'Who', cell: ({ entry }) => <Author auth={entry.auth} /> },
        { head: 'From', cell: ({ entry }) => entry.request?.remote_address },
        {
          head: 'How often',
          className: 'tight',
          cell: ({ times }) => (times === 1 ? 'once' : `${times.toLocaleString('en')} times within the hour`),
        },
      ]}
    />
  );
}

/** The recorded reads of all secrets. */
export function ReadsPage() {
  const { transport } = useSession();
  const search = useAddress('/audit/reads');
  const navigate = useNavigate();
  const found = useInfiniteQuery({
    queryKey: ['v1', 'reads', search],
    initialPageParam: '',
    queryFn: ({ pageParam }) =>
      find(transport, { limit: '100', ...search, ...(pageParam === '' ? {} : { after: pageParam }) }),
    getNextPageParam: (last) => last.next ?? undefined,
  });
  const reads = found.data?.pages.flatMap((one) => one.reads) ?? [];
  const [first] = found.data?.pages ?? [];
  return (
    <div className="stack">
      <PageHead title="Audit">
        <p className="second">
          Who read which secret. Reads of an hour by the same token, from the same address, are one row
          {first === undefined ? '' : `, kept for ${first.kept_days} days`}.
        </p>
      </PageHead>
      <AuditTabs />
      <SearchForm
        filters={readFilters}
        search={search}
        onSearch={(next: ReadSearch) => void navigate(page('/audit/reads', next))}
      />
      <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />
      {found.isPending ? <Skeleton rows={6} /> : null}
      {first !== undefined && reads.length === 0 ? (
        <Empty command={first.recording ? undefined : setting}>
          {!first.recording
            ? 'Reads are not recorded. The service records them once this setting is on.'
            : Object.keys(search).length === 0
              ? 'No one has read a secret yet.'
              : 'No recorded read matches this search.'}
        </Empty>
      ) : null}
      {reads.length === 0 ? null : <ReadsTable reads={reads} of="many" />}
      {found.hasNextPage ? (
        <Button busy={found.isFetchingNextPage} onClick={() => void found.fetchNextPage()}>
          Older
        </Button>
      ) : null}
      <SameBy api={`GET /v1/${path}?${new URLSearchParams({ ...search })}`} command={`keystead read ${path}`} />
    </div>
  );
}

/**
 * Sorts reads, newest first. Reads of several versions by the same token from the same address within an hour become
 * one row.
 */
function byReader(reads: readonly ReadRow[]): ReadRow[] {
  const rows = new Map<string, ReadRow>();
  for (const read of [...reads].sort((a, b) => (a.last_time < b.last_time ? 1 : -1))) {
    const { auth, request } = read.entry;
    const reader = JSON.stringify([read.first_time.slice(0, 'YYYY-MM-DDTHH'.length), auth, request?.remote_address]);
    const newer = rows.get(reader);
    rows.set(reader, newer === undefined ? read : { ...newer, times: newer.times + read.times });
  }
  return [...rows.values()];
}

/** Shows who read a secret, if the session may see this. */
export function WhoRead({ at }: { readonly at: string }) {
  const { transport } = useSession();
  const [all, setAll] = useState(false);
  const namespace = transport.headers.get('X-Service-Namespace') ?? '/';
  const found = useQuery({
    queryKey: ['v1', 'reads-of', namespace, at],
    retry: false,
    enabled: useReadable([], [path]).has(path),
    queryFn: () => find(transport, { path: at, namespace, limit: '50' }),
  });
  if (found.data === undefined) return null;
  const { recording, reads, kept_days } = found.data;
  const sorted = byReader(reads);
  const shown = all ? sorted : sorted.slice(0, few);
  return (
    <section className="stack-tight" aria-labelledby="who-read">
      <div className="panel-head">
        <h2 id="who-read">Who read this</h2>
        {reads.length === 0 ? null : (
          <Link className="button small" {...page('/audit/reads', { path: at })}>
            Search reads
          </Link>
        )}
      </div>
      {reads.length > 0 ? (
        <ReadsTable reads={shown} of="one" />
      ) : recording ? (
        <p className="second">No read is recorded in the last {kept_days} days.</p>
      ) : (
        <>
          <p className="second">Reads are not recorded. The service records them once this setting is on.</p>
          <Command text={setting} />
        </>
      )}
      {shown.length < sorted.length ? (
        <div>
          <Button small onClick={() => setAll(true)}>
            Show {sorted.length - shown.length} more
          </Button>
        </div>
      ) : null}
    </section>
  );
}

const few = 5;
