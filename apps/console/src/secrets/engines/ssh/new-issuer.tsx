import { useState } from 'react';
import { CheckField, SelectField, TextField } from '../../../design/field';
import { FormDialog } from '../../../design/form';
import { encodedPath, useChange } from '../../reads';
import { PastedField } from '../pasted-field';

const types = [
  { value: 'ssh-ed25519 0', label: 'ed25519' },
  { value: 'ssh-rsa 4096', label: 'rsa, 4096 bits' },
  { value: 'ssh-rsa 3072', label: 'rsa, 3072 bits' },
  { value: 'ecdsa-sha2-nistp256 0', label: 'ecdsa, P-256' },
  { value: 'ecdsa-sha2-nistp384 0', label: 'ecdsa, P-384' },
  { value: 'ecdsa-sha2-nistp521 0', label: 'ecdsa, P-521' },
] as const;

/** Generates or imports a CA key. */
export function NewIssuer({
  mount,
  isImported,
  isFirst,
  onClose,
}: {
  readonly mount: string;
  readonly isImported: boolean;
  readonly isFirst: boolean;
  readonly onClose: () => void;
}) {
  const [form, setForm] = useState({
    name: '',
    type: 'ssh-ed25519 0',
    private_key: '',
    public_key: '',
    isDefault: isFirst,
  });
  const set =
    <K extends keyof typeof form>(name: K) =>
    (value: (typeof form)[K]) =>
      setForm((before) => ({ ...before, [name]: value }));
  const change = useChange(() => onClose());
  const [key_type, bits] = form.type.split(' ');
  const key = isImported
    ? { private_key: form.private_key, public_key: form.public_key }
    : { generate_signing_key: true, key_type, key_bits: Number(bits) };
  const send = () =>
    change.mutate({
      method: 'POST',
      path: `${encodedPath(mount)}issuers/import`,
      body: {
        ...key,
        ...(form.name.trim() === '' ? {} : { issuer_name: form.name.trim() }),
        set_default: form.isDefault,
      },
    });
  const title = isImported ? 'Import CA key' : 'Generate CA key';
  return (
    <FormDialog title={title} action={title} change={change} onSend={send} onBack={onClose}>
      <TextField
        label="Name (optional)"
        autoFocus
        value={form.name}
        onChange={set('name')}
        placeholder="users-2027"
        hint="Roles can refer to it by this name."
      />
      {isImported ? (
        <>
          <PastedField
            label="Private key"
            masked
            rows={5}
            value={form.private_key}
            onChange={set('private_key')}
            placeholder="-----BEGIN OPENSSH PRIVATE KEY-----"
            hint="A private key without a passphrase. It is stored and never shown again."
          />
          <PastedField
            label="Public key"
            rows={3}
            value={form.public_key}
            onChange={set('public_key')}
            placeholder="ssh-ed25519 AAAA…"
          />
        </>
      ) : (
        <SelectField
          label="Key type"
          value={form.type}
          onChange={set('type')}
          options={types}
          hint="ed25519 is fast and short; rsa is for hosts with OpenSSH before 6.5."
        />
      )}
      {isFirst ? null : (
        <CheckField
          label="Make it the default"
          checked={form.isDefault}
          onChange={set('isDefault')}
          hint="Hosts should trust its public key first."
        />
      )}
    </FormDialog>
  );
}
