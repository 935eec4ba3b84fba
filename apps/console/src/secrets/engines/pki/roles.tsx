import { useQueries } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { IdCard, Plus } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { ErrorNotice } from '../../../design/error-notice';
import { TextField } from '../../../design/field';
import { Empty, Skeleton } from '../../../design/page';
import { Table } from '../../../design/table';
import { useSession } from '../../../shell/session';
import { mountPage } from '../../pages';
import { encodedPath, useList } from '../../reads';
import { spanOf } from '../ttl-field';
import { allowedBy, keyOfRole, type PkiRole } from './role';

/** Each role takes one request. */
const mostShown = 100;

/** The roles of a mount, with what they allow. */
export function Roles({ mount }: { readonly mount: string }) {
  const { transport } = useSession();
  const at = encodedPath(mount);
  const names = useList(`${at}roles`);
  const [text, setText] = useState('');
  const found = (names.data ?? []).filter((name) => name.toLowerCase().includes(text.toLowerCase()));
  const shown = found.slice(0, mostShown);
  const roles = useQueries({
    queries: shown.map((name) => ({
      queryKey: ['v1', `${at}roles/${encodeURIComponent(name)}`],
      staleTime: 30_000,
      retry: false,
      queryFn: async () =>
        (await transport.call<{ data: PkiRole }>('GET', `/v1/${at}roles/${encodeURIComponent(name)}`)).data,
    })),
    combine: (answers) => new Map(shown.map((name, index) => [name, answers[index]?.data])),
  });
  const add = (
    <Link className="button primary" {...mountPage({ mount, tab: 'roles', create: true })}>
      <Plus size={16} aria-hidden="true" />
      Create role
    </Link>
  );
  if (names.data === undefined) {
    return names.error ? <ErrorNotice error={names.error} onRetry={() => void names.refetch()} /> : <Skeleton />;
  }
  if (names.data.length === 0) {
    return (
      <Empty
        icon={IdCard}
        action={add}
        command={`keystead write ${mount}roles/web allowed_domains=example.com allow_subdomains=true`}
      >
        A role says which names its certificates may have, for how long they are valid, and what they are for.
        Certificates are issued by roles.
      </Empty>
    );
  }
  const cell = (show: (role: PkiRole) => ReactNode) => (name: string) => {
    const role = roles.get(name);
    return role === undefined ? <span className="second">…</span> : show(role);
  };
  return (
    <div className="stack-tight">
      <div className="row spread bottom">
        <TextField label="Search roles" type="search" value={text} onChange={setText} placeholder="Part of a name" />
        {add}
      </div>
      <Table
        label="Roles"
        rows={shown}
        keyOf={(name) => name}
        narrow="stacked"
        columns={[
          {
            head: 'Name',
            cell: (name) => <Link {...mountPage({ mount, tab: 'roles', name })}>{name}</Link>,
            sortBy: (name) => name,
          },
          { head: 'Allowed names', cell: cell(allowedBy) },
          {
            head: 'Maximum TTL',
            cell: cell(({ max_ttl }) =>
              max_ttl === 0 ? <span className="second">that of the mount</span> : spanOf(max_ttl),
            ),
            sortBy: (name) => roles.get(name)?.max_ttl ?? 0,
          },
          {
            head: 'Key',
            cell: cell(keyOfRole),
          },
        ]}
      />
      {found.length > shown.length ? (
        <p className="second small">
          {shown.length} of {found.length} roles are shown: search for a part of a name.
        </p>
      ) : null}
    </div>
  );
}
