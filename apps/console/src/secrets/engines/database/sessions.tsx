import { Link } from '@tanstack/react-router';
import { Badge } from '../../../design/badge';
import { ErrorNotice } from '../../../design/error-notice';
import { Notice } from '../../../design/notice';
import { Skeleton } from '../../../design/page';
import { Table } from '../../../design/table';
import { Time } from '../../../design/time';
import { mountPage } from '../../pages';
import { encodedPath, useRead } from '../../reads';

interface UserSession {
  readonly id: string;
  readonly address: string;
  readonly application: string;
  readonly state: string;
  readonly connect_time: string | null;
}

interface DatabaseUser {
  readonly username: string;
  readonly kind: 'dynamic' | 'static' | 'root' | 'other';
  readonly role: string | null;
  readonly expire_time: string | null;
  readonly sessions: readonly UserSession[];
}

const kinds = { dynamic: 'dynamic', static: 'static', root: 'configured user', other: 'not managed here' } as const;

/** The current connections to a database, each with its user. */
export function Sessions({ mount, name }: { readonly mount: string; readonly name: string }) {
  const found = useRead<{ users: readonly DatabaseUser[]; complete: boolean }>(
    `${encodedPath(mount)}config/${encodeURIComponent(name)}/sessions`,
  );
  if (found.isPending) return <Skeleton rows={4} />;
  return (
    <div className="stack">
      <ErrorNotice error={found.error} onRetry={() => void found.refetch()} />
      {found.data?.complete === false ? (
        <Notice tone="amber">There are more sessions, leases or static roles than are shown.</Notice>
      ) : null}
      {found.data === undefined ? null : (
        <Table
          label="Users and sessions"
          rows={found.data.users}
          keyOf={({ username }) => username}
          columns={[
            { head: 'Username', cell: ({ username }) => <code>{username}</code>, sortBy: ({ username }) => username },
            { head: 'Role', cell: (user) => <RoleOf user={user} mount={mount} />, sortBy: ({ role }) => role ?? '' },
            {
              head: 'Expires',
              cell: ({ expire_time }) => (expire_time === null ? null : <Time at={expire_time} />),
              sortBy: ({ expire_time }) => expire_time ?? '',
            },
            {
              head: 'Sessions',
              cell: ({ sessions }) => <SessionList sessions={sessions} />,
              sortBy: ({ sessions }) => sessions.length,
            },
          ]}
        />
      )}
    </div>
  );
}

function RoleOf({ mount, user: { kind, role } }: { readonly mount: string; readonly user: DatabaseUser }) {
  if (role === null) return <Badge>{kinds[kind]}</Badge>;
  return (
    <span className="row">
      <Link {...mountPage({ mount, tab: kind === 'static' ? 'static-roles' : 'roles', name: role })}>{role}</Link>
      <Badge>{kinds[kind]}</Badge>
    </span>
  );
}

function SessionList({ sessions }: { readonly sessions: readonly UserSession[] }) {
  if (sessions.length === 0) return <span className="second">none</span>;
  return (
    <ul>
      {sessions.map(({ id, address, application, state, connect_time }) => (
        <li key={id}>
          {[address, application, state].filter(Boolean).join(', ') || `session ${id}`}
          {connect_time === null ? null : (
            <span className="second">
              , connected <Time at={connect_time} />
            </span>
          )}
        </li>
      ))}
    </ul>
  );
}
