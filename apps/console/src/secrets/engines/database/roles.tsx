import { Link } from '@tanstack/react-router';
import { UserRoundCog, UsersRound } from 'lucide-react';
import { Time } from '../../../design/time';
import { mountPage } from '../../pages';
import { CreateLink } from '../create-link';
import { RecordTable } from '../record-table';
import { ttlOfRole } from '../ttl-field';
import { type DatabaseRole, nextRotation, type StaticRole } from './role';

const connectionLink = (mount: string, name: string) => (
  <Link {...mountPage({ mount, tab: 'connections', name })}>{name}</Link>
);

/** Roles that create users. */
export function Roles({ mount }: { readonly mount: string }) {
  return (
    <RecordTable<DatabaseRole>
      mount={mount}
      tab="roles"
      add={
        <CreateLink mount={mount} tab="roles">
          Create role
        </CreateLink>
      }
      empty={{
        icon: UsersRound,
        command: `keystead write ${mount}roles/app db_name=app …`,
        text: 'A role defines the statements that create a user, and how long the user exists. Everyone who gets credentials gets a separate user.',
      }}
      columns={[
        {
          head: 'Connection',
          cell: ({ db_name }) => connectionLink(mount, db_name),
          sortBy: (one) => one?.db_name ?? '',
        },
        {
          head: 'Default TTL',
          cell: ({ default_ttl }) => ttlOfRole(default_ttl),
          sortBy: (one) => one?.default_ttl ?? 0,
        },
        { head: 'Maximum TTL', cell: ({ max_ttl }) => ttlOfRole(max_ttl), sortBy: (one) => one?.max_ttl ?? 0 },
      ]}
    />
  );
}

/** Existing users whose passwords the service changes. */
export function StaticRoles({ mount }: { readonly mount: string }) {
  return (
    <RecordTable<StaticRole>
      mount={mount}
      tab="static-roles"
      add={
        <CreateLink mount={mount} tab="static-roles">
          Create static role
        </CreateLink>
      }
      empty={{
        icon: UserRoundCog,
        command: `keystead write ${mount}static-roles/batch db_name=app username=batch rotation_period=24h`,
        text: 'A static role takes over an existing user and changes its password regularly. Use it for programs that cannot get a new user each time.',
      }}
      columns={[
        { head: 'Username', cell: ({ username }) => <code>{username}</code>, sortBy: (one) => one?.username ?? '' },
        { head: 'Connection', cell: ({ db_name }) => connectionLink(mount, db_name) },
        { head: 'Last rotation', cell: ({ last_vault_rotation: last }) => <Time at={last} /> },
        { head: 'Next rotation', cell: (role) => <Next of={role} /> },
      ]}
    />
  );
}

/** Shows when a password is changed next. */
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
