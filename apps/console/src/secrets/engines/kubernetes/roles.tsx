import { Container } from 'lucide-react';
import { CreateLink } from '../create-link';
import { type FormOf, RecordForm } from '../record-form';
import { NewRecord, sameBy } from '../record-page';
import { RecordTable } from '../record-table';
import { ttlOfRole } from '../ttl-field';
import { type KubernetesRole, makes, makingOf, newRole, roleGroups } from './role';

/** The namespaces of a role, in words. */
export function namespacesOf(role: KubernetesRole): string {
  const { allowed_kubernetes_namespaces: names, allowed_kubernetes_namespace_selector: selector } = role;
  if (names.includes('*')) return 'any';
  return [...names, ...(selector === '' ? [] : ['those with some labels'])].join(', ');
}

/** The roles of a mount. */
export function Roles({ mount }: { readonly mount: string }) {
  return (
    <RecordTable<KubernetesRole>
      mount={mount}
      tab="roles"
      add={
        <CreateLink mount={mount} tab="roles">
          Create role
        </CreateLink>
      }
      empty={{
        icon: Container,
        command: `keystead write ${mount}roles/deploy allowed_kubernetes_namespaces=shop service_account_name=deployer`,
        text: 'A role defines for which service accounts tokens may be requested, in which namespaces of the cluster, and for how long.',
      }}
      columns={[
        { head: 'Creates', cell: (role) => makes[makingOf(role)] },
        { head: 'Namespaces', cell: namespacesOf },
        {
          head: 'Maximum TTL',
          cell: ({ token_max_ttl }) => ttlOfRole(token_max_ttl),
          sortBy: (role) => role?.token_max_ttl ?? 0,
        },
      ]}
    />
  );
}

/** A page that creates a role. */
export function NewRole({ mount }: { readonly mount: string }) {
  return (
    <NewRecord
      mount={mount}
      tab="roles"
      title="Create role"
      same={sameBy('write', `${mount}roles/deploy`, 'allowed_kubernetes_namespaces=shop service_account_name=deployer')}
    >
      <RoleForm mount={mount} name={undefined} stored={newRole} />
    </NewRecord>
  );
}

/** The settings of a role, or of a new role if no name is given. */
export const RoleForm = (of: FormOf) => (
  <RecordForm {...of} tab="roles" one="role" groups={roleGroups} unsent={['making', 'name']} nameHint="deploy" />
);
