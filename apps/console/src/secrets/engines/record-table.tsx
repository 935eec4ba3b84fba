import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { Skeleton } from '../../design/page';
import { Table } from '../../design/table';
import { useSession } from '../../shell/session';
import { mountPage } from '../pages';
import { encodedPath, useList } from '../reads';

/** Each record takes one request. */
const mostShown = 100;

interface RecordColumn<Item> {
  readonly head: string;
  readonly cell: (record: Item) => ReactNode;
  /** Undefined while the record is read. */
  readonly sortBy?: (record: Item | undefined) => string | number;
}

/** The records of a mount by name, with a search: each row reads its record. The tab is also the path of the list. */
export function RecordTable<Item>({
  mount,
  tab,
  add,
  empty,
  columns,
}: {
  readonly mount: string;
  readonly tab: 'keys' | 'roles';
  /** The button that creates one. */
  readonly add: ReactNode;
  readonly empty: ReactNode;
  readonly columns: readonly RecordColumn<Item>[];
}) {
  const { transport } = useSession();
  const at = `${encodedPath(mount)}${tab}`;
  const names = useList(at);
  const [text, setText] = useState('');
  const found = (names.data ?? []).filter((name) => name.toLowerCase().includes(text.toLowerCase()));
  const shown = found.slice(0, mostShown);
  const records = useQueries({
    queries: shown.map((name) => ({
      queryKey: ['v1', `${at}/${encodeURIComponent(name)}`],
      staleTime: 30_000,
      retry: false,
      queryFn: async () => (await transport.call<{ data: Item }>('GET', `/v1/${at}/${encodeURIComponent(name)}`)).data,
    })),
    combine: (answers) => new Map(shown.map((name, index) => [name, answers[index]?.data])),
  });
  if (names.data === undefined) {
    return names.error ? <ErrorNotice error={names.error} onRetry={() => void names.refetch()} /> : <Skeleton />;
  }
  if (names.data.length === 0) return empty;
  return (
    <div className="stack-tight">
      <div className="row spread bottom">
        <TextField label={`Search ${tab}`} type="search" value={text} onChange={setText} placeholder="Part of a name" />
        {add}
      </div>
      <Table
        label={tab === 'keys' ? 'Keys' : 'Roles'}
        rows={shown}
        keyOf={(name) => name}
        narrow="stacked"
        columns={[
          {
            head: 'Name',
            cell: (name) => <Link {...mountPage({ mount, tab, name })}>{name}</Link>,
            sortBy: (name) => name,
          },
          ...columns.map(({ head, cell, sortBy }) => ({
            head,
            cell: (name: string) => {
              const record = records.get(name);
              return record === undefined ? <span className="second">…</span> : cell(record);
            },
            ...(sortBy && { sortBy: (name: string) => sortBy(records.get(name)) }),
          })),
        ]}
      />
      {found.length > shown.length ? (
        <p className="second small">
          {shown.length} of {found.length} {tab} are shown: search for a part of a name.
        </p>
      ) : null}
    </div>
  );
}
