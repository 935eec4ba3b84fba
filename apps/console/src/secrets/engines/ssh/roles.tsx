import { IdCard, KeySquare } from 'lucide-react';
import { CreateLink } from '../create-link';
import { NewByWay } from '../new-by-way';
import { type FormOf, RecordForm } from '../record-form';
import { sameBy } from '../record-page';
import { RecordTable } from '../record-table';
import { ttlOfRole } from '../ttl-field';
import { namesOf, newRoles, roleGroups, type SshRole } from './role';

/** The users or hosts of a role, in words. */
export function usersOf({ allowed_users, default_user }: SshRole): string {
  const names = [...new Set([...namesOf(default_user), ...namesOf(allowed_users)])];
  if (names.includes('*')) return 'any user';
  return names.length === 0 ? 'no user yet' : names.join(', ');
}

/** The roles of a mount. */
export function Roles({ mount }: { readonly mount: string }) {
  return (
    <RecordTable<SshRole>
      mount={mount}
      tab="roles"
      add={
        <CreateLink mount={mount} tab="roles">
          Create role
        </CreateLink>
      }
      empty={{
        icon: IdCard,
        command: `keystead write ${mount}roles/deploy key_type=ca allowed_users=deploy …`,
        text: 'A role defines for which users certificates or one-time passwords may be requested, and for how long.',
      }}
      columns={[
        {
          head: 'Key type',
          cell: ({ key_type }) => (key_type === 'otp' ? 'one-time passwords' : 'certificates'),
          sortBy: (role) => role?.key_type ?? '',
        },
        { head: 'Users', cell: usersOf },
        {
          head: 'Hosts',
          cell: ({ key_type, cidr_list, allow_host_certificates, allowed_domains }) =>
            key_type === 'otp' ? (
              namesOf(cidr_list).join(', ') || <span className="second">none</span>
            ) : allow_host_certificates ? (
              namesOf(allowed_domains).join(', ')
            ) : (
              <span className="second">–</span>
            ),
        },
        {
          head: 'Maximum TTL',
          cell: ({ key_type, max_ttl }) => ttlOfRole(key_type === 'otp' ? 0 : max_ttl),
        },
      ]}
    />
  );
}

const kinds = [
  {
    part: 'ca',
    icon: IdCard,
    title: 'Certificates',
    text: 'Signs the keys of people and hosts. Use it if you can change the configuration of the hosts.',
  },
  {
    part: 'otp',
    icon: KeySquare,
    title: 'One-time passwords',
    text: 'A password for one login on one host. The host asks this service whether the password is valid.',
  },
] as const;

/** Creates a role: first choose its key type, then fill in its form. */
export function NewRole({ mount }: { readonly mount: string }) {
  return (
    <NewByWay
      mount={mount}
      tab="roles"
      title="Create role"
      label="Key type"
      ways={kinds}
      same={(way) => sameBy('write', `${mount}roles/deploy`, `key_type=${way?.part ?? 'ca'} allowed_users=deploy`)}
    >
      {({ part }) => <RoleForm mount={mount} name={undefined} stored={newRoles[part]} />}
    </NewByWay>
  );
}

/** The settings of a role, or of a new role if no name is given. */
export const RoleForm = (of: FormOf) => (
  <RecordForm {...of} tab="roles" one="role" groups={roleGroups} isWhole nameHint="deploy" />
);
