import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { LockKeyhole, Plus } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { Badge } from '../../../design/badge';
import { Button } from '../../../design/button';
import { ErrorNotice } from '../../../design/error-notice';
import { TextField } from '../../../design/field';
import { Empty, Skeleton } from '../../../design/page';
import { Table } from '../../../design/table';
import { useSession } from '../../../shell/session';
import { mountPage } from '../../pages';
import { encodedPath, useList } from '../../reads';
import { spanOf } from '../ttl-field';
import { encryptsFrom, type TransitKey } from './key';
import { NewKey } from './new-key';

/** Each key takes one request. */
const mostShown = 100;

/** The keys of a mount, with their rules. */
export function Keys({ mount }: { readonly mount: string }) {
  const { transport } = useSession();
  const at = encodedPath(mount);
  const names = useList(`${at}keys`);
  const [text, setText] = useState('');
  const [adding, setAdding] = useState(false);
  const found = (names.data ?? []).filter((name) => name.toLowerCase().includes(text.toLowerCase()));
  const shown = found.slice(0, mostShown);
  const keys = useQueries({
    queries: shown.map((name) => ({
      queryKey: ['v1', `${at}keys/${encodeURIComponent(name)}`],
      staleTime: 30_000,
      retry: false,
      queryFn: async () =>
        (await transport.call<{ data: TransitKey }>('GET', `/v1/${at}keys/${encodeURIComponent(name)}`)).data,
    })),
    combine: (answers) => new Map(answers.flatMap(({ data }) => (data === undefined ? [] : [[data.name, data]]))),
  });
  const add = (
    <Button kind="primary" icon={Plus} onClick={() => setAdding(true)}>
      Create key
    </Button>
  );
  const dialog = adding ? <NewKey mount={mount} taken={names.data ?? []} onClose={() => setAdding(false)} /> : null;
  if (names.data === undefined) {
    return names.error ? <ErrorNotice error={names.error} onRetry={() => void names.refetch()} /> : <Skeleton />;
  }
  if (names.data.length === 0) {
    return (
      <>
        <Empty icon={LockKeyhole} action={add} command={`keystead write -f ${mount}keys/orders`}>
          Applications encrypt, sign and verify with the keys of this engine without ever holding them. Create a key
          first: its page encrypts and signs, too.
        </Empty>
        {dialog}
      </>
    );
  }
  const cell = (show: (key: TransitKey) => ReactNode) => (name: string) => {
    const key = keys.get(name);
    return key === undefined ? <span className="second">…</span> : show(key);
  };
  return (
    <div className="stack-tight">
      <div className="row spread bottom">
        <TextField label="Search keys" type="search" value={text} onChange={setText} placeholder="Part of a name" />
        {add}
      </div>
      <Table
        label="Keys"
        rows={shown}
        keyOf={(name) => name}
        narrow="stacked"
        columns={[
          {
            head: 'Name',
            cell: (name) => <Link {...mountPage({ mount, tab: 'keys', name })}>{name}</Link>,
            sortBy: (name) => name,
          },
          {
            head: 'Type',
            cell: cell(({ type, soft_deleted }) => (
              <span className="row">
                {type}
                {soft_deleted ? <Badge tone="red">disabled</Badge> : null}
              </span>
            )),
            sortBy: (name) => keys.get(name)?.type ?? '',
          },
          {
            head: 'Newest version',
            cell: cell(({ latest_version }) => latest_version),
            sortBy: (name) => keys.get(name)?.latest_version ?? 0,
          },
          { head: 'Decrypts from', cell: cell(({ min_decryption_version }) => min_decryption_version) },
          { head: 'Encrypts from', cell: cell(encryptsFrom) },
          {
            head: 'Auto-rotation',
            cell: cell(({ auto_rotate_period: period }) =>
              period === 0 ? <span className="second">never</span> : `every ${spanOf(period)}`,
            ),
            sortBy: (name) => keys.get(name)?.auto_rotate_period ?? 0,
          },
          {
            head: 'Deletion',
            cell: cell(({ deletion_allowed }) =>
              deletion_allowed ? 'allowed' : <span className="second">not allowed</span>,
            ),
          },
        ]}
      />
      {found.length > shown.length ? (
        <p className="second small">
          {shown.length} of {found.length} keys are shown: search for a part of a name.
        </p>
      ) : null}
      {dialog}
    </div>
  );
}
