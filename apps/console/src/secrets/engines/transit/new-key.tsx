import { useNavigate } from '@tanstack/react-router';
import { useState } from 'react';
import { CheckField, SelectField, TextField } from '../../../design/field';
import { FormDialog } from '../../../design/form';
import { mountPage } from '../../pages';
import { encodedPath, useChange } from '../../reads';
import { TtlField } from '../ttl-field';
import { keyTypes, rotationPeriods } from './key';

/** Creates a key. */
export function NewKey({
  mount,
  existing,
  onClose,
}: {
  readonly mount: string;
  readonly existing: readonly string[];
  readonly onClose: () => void;
}) {
  const navigate = useNavigate();
  const [form, setForm] = useState({
    name: '',
    type: 'aes256-gcm96',
    derived: false,
    convergent: false,
    exportable: false,
    period: '0',
    size: '32',
  });
  const set =
    <K extends keyof typeof form>(name: K) =>
    (value: (typeof form)[K]) =>
      setForm((before) => ({ ...before, [name]: value }));
  const { sentence, family } = keyTypes.find(({ value }) => value === form.type)!;
  const derives = family === 'aead' || family === 'ed25519';
  const derived = derives && form.derived;
  const name = form.name.trim();
  const change = useChange(() => void navigate(mountPage({ mount, tab: 'keys', name })));
  // Creating a key with an existing name changes nothing and reports no error.
  const isTaken = existing.includes(name);
  const send = () => {
    if (isTaken) return;
    change.mutate({
      method: 'POST',
      path: `${encodedPath(mount)}keys/${encodeURIComponent(name)}`,
      body: {
        type: form.type,
        derived,
        convergent_encryption: derived && family === 'aead' && form.convergent,
        exportable: form.exportable,
        auto_rotate_period: form.period,
        ...(family === 'hmac' ? { key_size: Number(form.size) } : {}),
      },
    });
  };
  return (
    <FormDialog title="Create key" action="Create key" change={change} onSend={send} onBack={onClose}>
      <TextField
        label="Name"
        required
        autoFocus
        value={form.name}
        onChange={set('name')}
        placeholder="orders"
        error={isTaken ? `There is already a key called ${name}.` : undefined}
      />
      <SelectField
        label="Type"
        value={form.type}
        onChange={set('type')}
        options={keyTypes.map(({ value, use }) => ({ value, label: `${value} – ${use}` }))}
        hint={sentence}
      />
      {family === 'hmac' ? (
        <TextField
          label="Key size in bytes"
          type="number"
          required
          value={form.size}
          onChange={set('size')}
          hint="From 32 to 512."
        />
      ) : null}
      <TtlField
        label="Auto-rotation"
        choices={rotationPeriods}
        value={form.period}
        onChange={set('period')}
        hint="A rotation adds a version; older ciphertexts still decrypt."
      />
      {derives ? (
        <CheckField
          label="Derived"
          checked={form.derived}
          onChange={set('derived')}
          hint="Every use names a context, and each context has its own key."
        />
      ) : null}
      {derived && family === 'aead' ? (
        <CheckField
          label="Convergent encryption"
          checked={form.convergent}
          onChange={set('convergent')}
          hint="The same text with the same context gives the same ciphertext, so that it can be searched for."
        />
      ) : null}
      <CheckField
        label="Exportable"
        checked={form.exportable}
        onChange={set('exportable')}
        hint="The key may leave this service. This cannot be undone."
      />
    </FormDialog>
  );
}
