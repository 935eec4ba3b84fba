import { Link } from '@tanstack/react-router';
import { IdCard, Plus } from 'lucide-react';
import { Empty } from '../../../design/page';
import { mountPage } from '../../pages';
import { RecordTable } from '../record-table';
import { spanOf } from '../ttl-field';
import { allowedBy, keyOfRole, type PkiRole } from './role';

/** The roles of a mount, with what they allow. */
export function Roles({ mount }: { readonly mount: string }) {
  const add = (
    <Link className="button primary" {...mountPage({ mount, tab: 'roles', create: true })}>
      <Plus size={16} aria-hidden="true" />
      Create role
    </Link>
  );
  return (
    <RecordTable<PkiRole>
      mount={mount}
      tab="roles"
      add={add}
      empty={
        <Empty
          icon={IdCard}
          action={add}
          command={`keystead write ${mount}roles/web allowed_domains=example.com allow_subdomains=true`}
        >
          A role says which names its certificates may have, for how long they are valid, and what they are for.
          Certificates are issued by roles.
        </Empty>
      }
      columns={[
        { head: 'Allowed names', cell: allowedBy },
        {
          head: 'Maximum TTL',
          cell: ({ max_ttl }) => (max_ttl === 0 ? <span className="second">that of the mount</span> : spanOf(max_ttl)),
          sortBy: (role) => role?.max_ttl ?? 0,
        },
        { head: 'Key', cell: keyOfRole },
      ]}
    />
  );
}
