import { useState } from 'react';
import { TextField } from '../../../design/field';
import { Command } from '../../../design/page';
import { LeasesOf } from '../../leases/leases-of';
import { encodedPath, useRead } from '../../reads';
import { Credentials } from '../credentials';
import { RecordPage, sameBy } from '../record-page';
import { namesOf, type SshRole } from './role';
import { RoleForm, usersOf } from './roles';
import { SignForm } from './sign';

/** A role: sign keys or create one-time passwords, and change the role. */
export function RolePage({ mount, name }: { readonly mount: string; readonly name: string }) {
  const isOtp = useRead<SshRole>(`${encodedPath(mount)}roles/${encodeURIComponent(name)}`).data?.key_type === 'otp';
  const use = isOtp
    ? { part: 'otp', label: 'One-time password', same: sameBy('write', `${mount}creds/${name}`, 'ip=10.0.0.5') }
    : {
        part: 'sign',
        label: 'Sign a key',
        same: sameBy('write', `${mount}sign/${name}`, 'public_key=@id_ed25519.pub'),
      };
  return (
    <RecordPage<SshRole>
      mount={mount}
      tab="roles"
      name={name}
      one="role"
      parts={[
        { ...use, readless: true },
        { part: 'settings', label: 'Settings', same: sameBy('write', `${mount}roles/${name}`, 'allowed_users=deploy') },
      ]}
      about={(role) => `${role.key_type === 'otp' ? 'One-time passwords' : 'Certificates'} for ${usersOf(role)}.`}
      deletion={
        isOtp
          ? 'It issues no more passwords. Passwords that it issued work until their leases end.'
          : 'It signs no more keys. Certificates that it signed stay valid until they expire.'
      }
    >
      {(part, role) => {
        if (part === 'otp') return <Otp mount={mount} name={name} role={role} />;
        if (part === 'sign' || role === undefined) return <SignForm mount={mount} name={name} role={role} />;
        return <RoleForm mount={mount} name={name} stored={{ ...role }} />;
      }}
    </RecordPage>
  );
}

const fields = [
  { name: 'username', label: 'Username' },
  { name: 'ip', label: 'IP address' },
  { name: 'port', label: 'Port' },
  { name: 'key', label: 'One-time password', isSecret: true },
] as const;

/** Creates a password for one login on one host. */
function Otp({
  mount,
  name,
  role,
}: {
  readonly mount: string;
  readonly name: string;
  readonly role: SshRole | undefined;
}) {
  const [ip, setIp] = useState('');
  const [username, setUsername] = useState('');
  const networks = namesOf(role?.cidr_list).join(', ');
  return (
    <div className="stack">
      <Credentials
        path={`${mount}creds/${name}`}
        method="POST"
        action="Generate OTP"
        body={{ ip: ip.trim(), ...(username.trim() === '' ? {} : { username: username.trim() }) }}
        fields={fields}
        commands={({ ip: host, port, username: user }) => (
          <div className="stack-tight">
            <p>Log in with it, and paste the password when the host asks:</p>
            <Command text={`ssh${Number(port) === 22 ? '' : ` -p ${Number(port)}`} ${String(user)}@${String(host)}`} />
          </div>
        )}
      >
        <TextField
          label="IP address"
          required
          value={ip}
          onChange={setIp}
          placeholder="10.0.0.5"
          hint={networks === '' ? 'The address of the host.' : `The address of the host, in ${networks}.`}
        />
        <TextField
          label="Username (optional)"
          value={username}
          onChange={setUsername}
          {...(role === undefined ? {} : { placeholder: role.default_user, hint: `Allowed: ${usersOf(role)}.` })}
        />
      </Credentials>
      <LeasesOf
        title="Passwords not used yet"
        of={{ prefix: `${mount}creds/${name}` }}
        none="No password of this role waits to be used."
      />
    </div>
  );
}
