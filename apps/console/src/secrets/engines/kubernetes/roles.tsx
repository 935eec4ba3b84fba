import { Link } from '@tanstack/react-router';
import { Container, Plus } from 'lucide-react';
import { Empty, PageHead, SameBy } from '../../../design/page';
import { mountPage } from '../../pages';
import { crumbsTo } from '../own-page';
import { type FormRecord, RecordForm } from '../record-form';
import { sameBy } from '../record-page';
import { RecordTable } from '../record-table';
import { spanOf } from '../ttl-field';
import { type KubernetesRole, makes, makingOf, newRole, roleGroups } from './role';

/** The namespaces of a role, in words. */
export function namespacesOf(role: KubernetesRole): string {
  const { allowed_kubernetes_namespaces: names, allowed_kubernetes_namespace_selector: selector } = role;
  if (names.includes('*')) return 'any';
  return [...names, ...(selector === '' ? [] : ['those with some labels'])].join(', ');
}

/** The roles of a mount. */
export function Roles({ mount }: { readonly mount: string }) {
  const add = (
    <Link className="button primary" {...mountPage({ mount, tab: 'roles', create: true })}>
      <Plus size={16} aria-hidden="true" />
      Create role
    </Link>
  );
  return (
    <RecordTable<KubernetesRole>
      mount={mount}
      tab="roles"
      add={add}
      empty={
        <Empty
          icon={Container}
          action={add}
          command={`keystead write ${mount}roles/deploy allowed_kubernetes_namespaces=shop service_account_name=deployer`}
        >
          A role says of which service account tokens may be requested, in which namespaces of the cluster, and for how
          long.
        </Empty>
      }
      columns={[
        { head: 'Creates', cell: (role) => makes[makingOf(role)] },
        { head: 'Namespaces', cell: namespacesOf },
        {
          head: 'Maximum TTL',
          cell: ({ token_max_ttl: most }) =>
            most === 0 ? <span className="second">that of the mount</span> : spanOf(most),
          sortBy: (role) => role?.token_max_ttl ?? 0,
        },
      ]}
    />
  );
}

/** A page that creates a role. */
export function NewRole({ mount }: { readonly mount: string }) {
  return (
    <div className="stack">
      <PageHead title="Create role" crumbs={crumbsTo(mount, 'roles')} />
      <RoleForm mount={mount} name={undefined} stored={newRole} />
      <SameBy
        {...sameBy('write', `${mount}roles/deploy`, 'allowed_kubernetes_namespaces=shop service_account_name=deployer')}
      />
    </div>
  );
}

/** The settings of a role; without a name, of a new one. */
export function RoleForm({
  mount,
  name,
  stored,
}: {
  readonly mount: string;
  readonly name: string | undefined;
  readonly stored: FormRecord;
}) {
  return (
    <RecordForm
      mount={mount}
      tab="roles"
      name={name}
      stored={stored}
      groups={roleGroups}
      unsent={['making', 'name']}
      action={name === undefined ? 'Create role' : 'Save'}
      nameHint="deploy"
    />
  );
}
