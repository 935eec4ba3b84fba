import { IdCard } from 'lucide-react';
import { CreateLink } from '../create-link';
import { RecordTable } from '../record-table';
import { ttlOfRole } from '../ttl-field';
import { allowedBy, keyOfRole, type PkiRole } from './role';

/** The roles of a mount, with their main settings. */
export function Roles({ mount }: { readonly mount: string }) {
  return (
    <RecordTable<PkiRole>
      mount={mount}
      tab="roles"
      add={
        <CreateLink mount={mount} tab="roles">
          Create role
        </CreateLink>
      }
      empty={{
        icon: IdCard,
        command: `keystead write ${mount}roles/web allowed_domains=example.com allow_subdomains=true`,
        text: 'A role defines which names its certificates may have, for how long they are valid, and their purpose. Certificates are issued by roles.',
      }}
      columns={[
        { head: 'Allowed names', cell: allowedBy },
        {
          head: 'Maximum TTL',
          cell: ({ max_ttl }) => ttlOfRole(max_ttl),
          sortBy: (role) => role?.max_ttl ?? 0,
        },
        { head: 'Key', cell: keyOfRole },
      ]}
    />
  );
}
