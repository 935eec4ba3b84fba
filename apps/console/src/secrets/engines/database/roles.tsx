import { Link } from '@tanstack/react-router';
import { Plus, UserRoundCog, UsersRound } from 'lucide-react';
import { Empty } from '../../../design/page';
import { Time } from '../../../design/time';
import { mountPage } from '../../pages';
import { RecordTable } from '../record-table';
import { spanOf } from '../ttl-field';
import { type DatabaseRole, nextRotation, type StaticRole } from './role';

const connectionLink = (mount: string, name: string) => (
  <Link {...mountPage({ mount, tab: 'connections', name })}>{name}</Link>
);
const ttlOf = (seconds: number) =>
  seconds === 0 ? <span className="second">that of the mount</span> : spanOf(seconds);

/** Roles that create users. */
export function Roles({ mount }: { readonly mount: string }) {
  const add = <AddLink mount={mount} tab="roles" label="Create role" />;
  return (
    <RecordTable<DatabaseRole>
      mount={mount}
      tab="roles"
      add={add}
      empty={
        <Empty icon={UsersRound} action={add} command={`keystead write ${mount}roles/app db_name=app …`}>
          A role says with which statements a user is created, and how long it lives. Everyone who gets its credentials
          gets a separate user.
        </Empty>
      }
      columns={[
        {
          head: 'Connection',
          cell: ({ db_name }) => connectionLink(mount, db_name),
          sortBy: (one) => one?.db_name ?? '',
        },
        { head: 'Default TTL', cell: ({ default_ttl }) => ttlOf(default_ttl), sortBy: (one) => one?.default_ttl ?? 0 },
        { head: 'Maximum TTL', cell: ({ max_ttl }) => ttlOf(max_ttl), sortBy: (one) => one?.max_ttl ?? 0 },
      ]}
    />
  );
}

/** Existing users whose passwords the service changes. */
export function StaticRoles({ mount }: { readonly mount: string }) {
  const add = <AddLink mount={mount} tab="static-roles" label="Create static role" />;
  return (
    <RecordTable<StaticRole>
      mount={mount}
      tab="static-roles"
      add={add}
      empty={
        <Empty
          icon={UserRoundCog}
          action={add}
          command={`keystead write ${mount}static-roles/batch db_name=app username=batch rotation_period=24h`}
        >
          A static role takes over a user that exists, and changes its password again and again. Use it for programs
          that cannot get a new user each time.
        </Empty>
      }
      columns={[
        { head: 'Username', cell: ({ username }) => <code>{username}</code>, sortBy: (one) => one?.username ?? '' },
        { head: 'Connection', cell: ({ db_name }) => connectionLink(mount, db_name) },
        { head: 'Last rotation', cell: ({ last_vault_rotation: last }) => <Time at={last} /> },
        { head: 'Next rotation', cell: (role) => <Next of={role} /> },
      ]}
    />
  );
}

/** When a password is changed next. */
export function Next({ of }: { readonly of: StaticRole }) {
  const next = nextRotation(of);
  return next === undefined ? (
    <span>
      by its schedule, <code>{of.rotation_schedule}</code>
    </span>
  ) : (
    <Time at={next} />
  );
}

function AddLink({ mount, tab, label }: { readonly mount: string; readonly tab: string; readonly label: string }) {
  return (
    <Link className="button primary" {...mountPage({ mount, tab, create: true })}>
      <Plus size={16} aria-hidden="true" />
      {label}
    </Link>
  );
}
