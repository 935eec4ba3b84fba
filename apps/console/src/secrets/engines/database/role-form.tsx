import { PageHead, SameBy } from '../../../design/page';
import { encodedPath, useList } from '../../reads';
import { crumbsTo } from '../own-page';
import { type FormRecord, RecordForm } from '../record-form';
import { sameBy } from '../record-page';
import { useRecords } from '../record-table';
import type { Connection } from './connection';
import { newRole, newStaticRole, roleGroups, staticRoleGroups } from './role';

interface RoleFormProps {
  readonly mount: string;
  /** Undefined for a new role. */
  readonly name: string | undefined;
  readonly stored: FormRecord;
}

/** The settings of a role that creates users. */
export function RoleForm({ mount, name, stored }: RoleFormProps) {
  const names = useList(`${encodedPath(mount)}config`).data ?? [];
  const connections = useRecords<Connection>(`${encodedPath(mount)}config`, names);
  return (
    <RecordForm
      mount={mount}
      tab="roles"
      name={name}
      stored={stored}
      groups={({ db_name }) => roleGroups(names, connections.get(String(db_name))?.plugin_name)}
      action={name === undefined ? 'Create role' : 'Save'}
      nameHint="app"
    />
  );
}

/** The settings of a static role. */
export function StaticRoleForm({ mount, name, stored }: RoleFormProps) {
  const names = useList(`${encodedPath(mount)}config`).data ?? [];
  return (
    <RecordForm
      mount={mount}
      tab="static-roles"
      name={name}
      stored={stored}
      groups={(record) => staticRoleGroups(names, record, name === undefined)}
      unsent={['how', 'last_vault_rotation']}
      action={name === undefined ? 'Create static role' : 'Save'}
      nameHint="batch"
    />
  );
}

/** A page that creates a role. */
export function NewRole({ mount }: { readonly mount: string }) {
  return (
    <div className="stack">
      <PageHead title="Create role" crumbs={crumbsTo(mount, 'roles')} />
      <RoleForm mount={mount} name={undefined} stored={newRole} />
      <SameBy {...sameBy('write', `${mount}roles/app`, 'db_name=app creation_statements=… default_ttl=1h')} />
    </div>
  );
}

/** A page that takes over a user. */
export function NewStaticRole({ mount }: { readonly mount: string }) {
  return (
    <div className="stack">
      <PageHead title="Create static role" crumbs={crumbsTo(mount, 'static-roles')} />
      <StaticRoleForm mount={mount} name={undefined} stored={newStaticRole} />
      <SameBy {...sameBy('write', `${mount}static-roles/batch`, 'db_name=app username=batch rotation_period=24h')} />
    </div>
  );
}
