import { RecordPage, sameBy } from '../record-page';
import { IssueForm, SignForm } from './issue';
import { allowedBy, type PkiRole } from './role';
import { RoleForm } from './role-form';

/** A role: issue, sign, and change the role. */
export function RolePage({ mount, name }: { readonly mount: string; readonly name: string }) {
  const part = (part: string, label: string, use: string) => ({
    part,
    label,
    same: sameBy('write', `${mount}${use}/${name}`, 'common_name=…'),
    readless: true,
  });
  return (
    <RecordPage<PkiRole>
      mount={mount}
      tab="roles"
      name={name}
      one="role"
      parts={[
        part('issue', 'Issue certificate', 'issue'),
        part('sign', 'Sign CSR', 'sign'),
        {
          part: 'settings',
          label: 'Settings',
          same: sameBy('write', `${mount}roles/${name}`, 'allowed_domains=…'),
        },
      ]}
      about={(role) => `Allows ${allowedBy(role)}.`}
      deletion="It issues no more certificates. Those that it issued stay valid."
    >
      {(part, role) => {
        if (part === 'sign') return <SignForm mount={mount} name={name} role={role} />;
        if (part === 'issue' || role === undefined) return <IssueForm mount={mount} name={name} role={role} />;
        return <RoleForm mount={mount} name={name} stored={role} />;
      }}
    </RecordPage>
  );
}
