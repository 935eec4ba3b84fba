import type { ReactNode } from 'react';
import { Skeleton } from '../../../design/page';
import { encodedPath, useList } from '../../reads';
import { type FormOf, RecordForm } from '../record-form';
import { NewRecord, sameBy } from '../record-page';
import { useRecords } from '../record-table';
import type { Connection } from './connection';
import { newRole, newStaticRole, roleGroups, staticRoleGroups } from './role';

/** The settings of a role that creates users. */
export function RoleForm({ mount, name, stored }: FormOf) {
  const names = useList(`${encodedPath(mount)}config`).data ?? [];
  const connections = useRecords<Connection>(`${encodedPath(mount)}config`, names);
  return (
    <RecordForm
      mount={mount}
      tab="roles"
      name={name}
      stored={stored}
      groups={({ db_name }) => roleGroups(names, connections.get(String(db_name))?.plugin_name)}
      one="role"
      nameHint="app"
    />
  );
}

/** The settings of a static role. */
export function StaticRoleForm({ mount, name, stored }: FormOf) {
  const names = useList(`${encodedPath(mount)}config`).data ?? [];
  return (
    <RecordForm
      mount={mount}
      tab="static-roles"
      name={name}
      stored={stored}
      groups={(record) => staticRoleGroups(names, record, name === undefined)}
      unsent={['how', 'last_vault_rotation']}
      one="static role"
      nameHint="batch"
    />
  );
}

/** A form that begins with the connection if there is only one; otherwise with an empty name. */
function ForOnlyConnection({
  mount,
  children,
}: {
  readonly mount: string;
  readonly children: (connection: string) => ReactNode;
}) {
  const { data = [], isPending } = useList(`${encodedPath(mount)}config`);
  return isPending ? <Skeleton rows={4} /> : children(data.length === 1 ? data[0]! : '');
}

/** A page that creates a role. */
export function NewRole({ mount }: { readonly mount: string }) {
  return (
    <NewRecord
      mount={mount}
      tab="roles"
      title="Create role"
      same={sameBy('write', `${mount}roles/app`, 'db_name=app creation_statements=… default_ttl=1h')}
    >
      <ForOnlyConnection mount={mount}>
        {(db_name) => <RoleForm mount={mount} name={undefined} stored={{ ...newRole, db_name }} />}
      </ForOnlyConnection>
    </NewRecord>
  );
}

/** A page that takes over a user. */
export function NewStaticRole({ mount }: { readonly mount: string }) {
  return (
    <NewRecord
      mount={mount}
      tab="static-roles"
      title="Create static role"
      same={sameBy('write', `${mount}static-roles/batch`, 'db_name=app username=batch rotation_period=24h')}
    >
      <ForOnlyConnection mount={mount}>
        {(db_name) => <StaticRoleForm mount={mount} name={undefined} stored={{ ...newStaticRole, db_name }} />}
      </ForOnlyConnection>
    </NewRecord>
  );
}
