import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import type { LucideIcon } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { ErrorNotice } from '../../design/error-notice';
import { TextField } from '../../design/field';
import { Empty, Skeleton } from '../../design/page';
import { Table } from '../../design/table';
import { useSession } from '../../shell/session';
import { mountPage } from '../pages';
import { encodedPath, useList } from '../reads';

/** The maximum number of records that are shown, because each record takes one request. */
const mostShown = 100;

interface RecordColumn<Item> {
  readonly head: string;
  readonly cell: (record: Item, name: string) => ReactNode;
  /** The value to sort by. The record is undefined while it is being read. */
  readonly sortBy?: (record: Item | undefined) => string | number;
}

/** The records by name. A record is undefined while it is being read, or if the session may not read it. */
export function useRecords<Item>(at: string, names: readonly string[]): ReadonlyMap<string, Item | undefined> {
  const { transport } = useSession();
  return useQueries({
    queries: names.map((name) => ({
      queryKey: ['v1', `${at}/${encodeURIComponent(name)}`],
      staleTime: 30_000,
      retry: false,
      queryFn: async () => (await transport.call<{ data: Item }>('GET', `/v1/${at}/${encodeURIComponent(name)}`)).data,
    })),
    combine: (answers) => new Map(names.map((name, index) => [name, answers[index]?.data])),
  });
}

/** A readable title of a list: `static-roles` becomes "Static roles". */
const titleOf = (tab: string): string => tab.replace(/-/g, ' ').replace(/^./, (letter) => letter.toUpperCase());

/** The records of a mount by name, with a search: each row reads its record. */
export function RecordTable<Item>({
  mount,
  tab,
  list = tab,
  add,
  empty,
  columns,
}: {
  readonly mount: string;
  readonly tab: string;
  /** The path of the list, if it is not the name of the tab. */
  readonly list?: string;
  /** The button that creates a record. */
  readonly add: ReactNode;
  /** Shown while there is no record, with the button. */
  readonly empty: { readonly icon: LucideIcon; readonly command: string; readonly text: ReactNode };
  readonly columns: readonly RecordColumn<Item>[];
}) {
  const at = `${encodedPath(mount)}${list}`;
  const title = titleOf(tab);
  const names = useList(at);
  const [text, setText] = useState('');
  const found = (names.data ?? []).filter((name) => name.toLowerCase().includes(text.toLowerCase()));
  const shown = found.slice(0, mostShown);
  const records = useRecords<Item>(at, shown);
  if (names.data === undefined) {
    return names.error ? <ErrorNotice error={names.error} onRetry={() => void names.refetch()} /> : <Skeleton />;
  }
  if (names.data.length === 0) {
    return (
      <Empty icon={empty.icon} action={add} command={empty.command}>
        {empty.text}
      </Empty>
    );
  }
  return (
    <div className="stack-tight">
      <div className="row spread bottom">
        <TextField
          label={`Search ${title.toLowerCase()}`}
          type="search"
          value={text}
          onChange={setText}
          placeholder="Part of a name"
        />
        {add}
      </div>
      <Table
        label={title}
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
              return record === undefined ? <span className="second">…</span> : cell(record, name);
            },
            ...(sortBy && { sortBy: (name: string) => sortBy(records.get(name)) }),
          })),
        ]}
      />
      {found.length > shown.length ? (
        <p className="second small">
          {shown.length} of {found.length} {title.toLowerCase()} are shown: search for a part of a name.
        </p>
      ) : null}
    </div>
  );
}
