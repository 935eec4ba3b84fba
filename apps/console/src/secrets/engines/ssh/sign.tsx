import { Download } from 'lucide-react';
import { useState } from 'react';
import { ApiError } from '../../../api/api-error';
import { Button } from '../../../design/button';
import { Facts } from '../../../design/facts';
import { SelectField } from '../../../design/field';
import { Form } from '../../../design/form';
import { Notice } from '../../../design/notice';
import { Command, Lines } from '../../../design/page';
import { PickerField } from '../../../design/picker';
import { saveFile } from '../../../design/save-file';
import { Time } from '../../../design/time';
import { useMay } from '../../may';
import { encodedPath, useChange } from '../../reads';
import { PastedField } from '../pasted-field';
import { spanOf, TtlField } from '../ttl-field';
import { readCertificate } from './certificate';
import { namesOf, type SshRole } from './role';

interface SignedKey {
  readonly data: { readonly serial_number: string; readonly signed_key: string };
  readonly warnings?: readonly string[] | null;
}

const lifetimes = [
  ['1800', '30 minutes'],
  ['3600', '1 hour'],
  ['28800', '8 hours'],
  ['86400', '1 day'],
] as const;

/** Signs a public key, and shows the certificate and how to use it. */
export function SignForm({
  mount,
  name,
  role,
}: {
  readonly mount: string;
  readonly name: string;
  readonly role: SshRole | undefined;
}) {
  const hostsOnly = role?.allow_user_certificates === false && role.allow_host_certificates === true;
  const [form, setForm] = useState({ key: '', principals: [] as readonly string[], ttl: '', type: '' });
  const type = form.type || (hostsOnly ? 'host' : 'user');
  const path = `${mount}sign/${name}`;
  const may = useMay([path]);
  const change = useChange<SignedKey>();
  const set = (part: Partial<typeof form>) => {
    if (!change.isIdle) change.reset();
    setForm((before) => ({ ...before, ...part }));
  };
  const allowedUsers = namesOf(role?.allowed_users).filter((one) => one !== '*' && !one.includes('{{'));
  const most = role?.max_ttl || Number.POSITIVE_INFINITY;
  const refused = change.error instanceof ApiError && change.error.status === 400 ? change.error.message : undefined;
  const isAboutKey = refused !== undefined && /public_key|SSH key/.test(refused);
  const send = () =>
    change.mutate({
      method: 'POST',
      path: encodedPath(path),
      body: {
        public_key: form.key,
        cert_type: type,
        ...(form.principals.length === 0 ? {} : { valid_principals: form.principals.join(',') }),
        ...(form.ttl === '' ? {} : { ttl: form.ttl }),
      },
    });
  if (change.data !== undefined) {
    return <Certificate of={change.data} type={type} onAgain={() => set({ key: '' })} />;
  }
  return (
    <Form
      action="Sign"
      change={{ isPending: change.isPending, error: isAboutKey ? null : change.error }}
      {...may({ path, capabilities: ['update'] })}
      onSend={send}
    >
      <PastedField
        label="Public key"
        rows={4}
        value={form.key}
        onChange={(key) => set({ key })}
        placeholder="ssh-ed25519 AAAA… you@laptop"
        hint="The file that ends in .pub, such as ~/.ssh/id_ed25519.pub. Paste it, or drop the file here."
        error={isAboutKey ? refused : undefined}
      />
      {role?.allow_host_certificates && role.allow_user_certificates ? (
        <SelectField
          label="Certificate type"
          value={type}
          onChange={(next) => set({ type: next })}
          options={[
            { value: 'user', label: 'of a user' },
            { value: 'host', label: 'of a host' },
          ]}
        />
      ) : null}
      <PickerField
        label={`Principals${role?.default_user ? ' (optional)' : ''}`}
        options={type === 'host' ? [] : allowedUsers.map((value) => ({ value, label: value }))}
        chosen={form.principals}
        onChange={(principals) => set({ principals })}
        free
        placeholder={type === 'host' ? 'web.example.com' : role?.default_user || 'deploy'}
        hint={`Names of ${type === 'host' ? 'the host' : 'users on the hosts'}; press Enter after each.`}
      />
      <TtlField
        label="TTL"
        choices={[
          ['', role?.ttl ? `Default (${spanOf(role.ttl)})` : 'Default'],
          ...lifetimes.filter(([seconds]) => Number(seconds) <= most),
        ]}
        value={form.ttl}
        onChange={(ttl) => set({ ttl })}
        {...(role?.max_ttl ? { hint: `At most ${spanOf(role.max_ttl)}.` } : {})}
      />
    </Form>
  );
}

function Certificate({
  of,
  type,
  onAgain,
}: {
  readonly of: SignedKey;
  readonly type: string;
  readonly onAgain: () => void;
}) {
  const { signed_key: line, serial_number: serial } = of.data;
  const read = readCertificate(line);
  const [principal = 'user'] = read?.principals ?? [];
  const kind = /^(?:sk-)?(?:ssh-)?(ed25519|rsa|ecdsa)/.exec(line)?.[1] ?? 'ed25519';
  const file = type === 'host' ? `ssh_host_${kind}_key-cert.pub` : `id_${kind}-cert.pub`;
  return (
    <section className="stack" role="status" aria-label="Signed key">
      <Notice tone="green">The key was signed.</Notice>
      {(of.warnings ?? []).map((text) => (
        <Notice key={text} tone="amber">
          {text}
        </Notice>
      ))}
      <Facts
        rows={[
          ['Serial number', <code key="serial">{serial}</code>],
          ...(read === undefined
            ? []
            : ([
                ['Principals', read.principals.join(', ') || 'all'],
                ['Key ID', <code key="id">{read.keyId}</code>],
                ['Expires', <Time key="end" at={read.validBefore} />],
              ] as const)),
        ]}
      />
      <Lines text={line} what="certificate" />
      <div className="row">
        <Button icon={Download} onClick={() => saveFile(file, line)}>
          Download {file}
        </Button>
        <Button onClick={onAgain}>Sign another</Button>
      </div>
      {type === 'host' ? (
        <div className="stack-tight">
          <p>
            Put it into <code>/etc/ssh</code>, add this line to <code>sshd_config</code>, and reload <code>sshd</code>:
          </p>
          <Command text={`HostCertificate /etc/ssh/${file}`} />
        </div>
      ) : (
        <div className="stack-tight">
          <p>
            Saved next to its key, <code>~/.ssh/id_{kind}</code>, it is used by itself. From elsewhere:
          </p>
          <Command text={`ssh -i ~/.ssh/id_${kind} -o CertificateFile=${file} ${principal}@host.example.com`} />
          <p>The contents of the certificate:</p>
          <Command text={`ssh-keygen -L -f ${file}`} />
        </div>
      )}
    </section>
  );
}
