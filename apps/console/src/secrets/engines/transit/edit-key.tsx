import { useState } from 'react';
import { CheckField, SelectField } from '../../../design/field';
import { FormDialog } from '../../../design/form';
import { encodedPath, useChange } from '../../reads';
import { TtlField } from '../ttl-field';
import { rotationPeriods, type TransitKey } from './key';

/** Changes the configuration of a key. */
export function EditKey({
  mount,
  of,
  onClose,
}: {
  readonly mount: string;
  readonly of: TransitKey;
  readonly onClose: () => void;
}) {
  const before = {
    min_decryption_version: String(of.min_decryption_version),
    min_encryption_version: String(of.min_encryption_version),
    auto_rotate_period: String(of.auto_rotate_period),
    deletion_allowed: of.deletion_allowed,
    exportable: of.exportable,
  };
  const [form, setForm] = useState(before);
  const set =
    <K extends keyof typeof form>(name: K) =>
    (value: (typeof form)[K]) =>
      setForm((now) => ({ ...now, [name]: value }));
  const change = useChange(() => onClose());
  const oldest = Math.max(1, of.min_available_version);
  const versions = Array.from({ length: of.latest_version - oldest + 1 }, (_, at) => String(of.latest_version - at));
  const label = (version: string) => (Number(version) === of.latest_version ? `${version} (newest)` : version);
  const options = versions.map((value) => ({ value, label: label(value) }));
  const least = Number(form.min_encryption_version);
  const problem =
    least !== 0 && least < Number(form.min_decryption_version)
      ? 'Data encrypted with this version could not be decrypted: choose a version that may decrypt.'
      : undefined;
  const send = () => {
    const changed = Object.entries(form).filter(([name, value]) => value !== before[name as keyof typeof before]);
    if (problem === undefined) {
      change.mutate({
        method: 'POST',
        path: `${encodedPath(mount)}keys/${encodeURIComponent(of.name)}/config`,
        body: Object.fromEntries(changed),
      });
    }
  };
  return (
    <FormDialog title={`Edit ${of.name}`} action="Save" change={change} onSend={send} onBack={onClose}>
      <SelectField
        label="Minimum decryption version"
        value={form.min_decryption_version}
        onChange={set('min_decryption_version')}
        options={options}
        hint="Ciphertexts and signatures of older versions are refused. Rewrap them first."
      />
      <SelectField
        label="Minimum encryption version"
        value={form.min_encryption_version}
        onChange={set('min_encryption_version')}
        options={[{ value: '0', label: 'Always the newest' }, ...options]}
        hint="Older versions may not encrypt, even if a request names them."
        error={problem}
      />
      <TtlField
        label="Auto-rotation"
        choices={rotationPeriods}
        value={form.auto_rotate_period}
        onChange={set('auto_rotate_period')}
        hint="An hour or more."
      />
      <CheckField
        label="Allow deletion"
        checked={form.deletion_allowed}
        onChange={set('deletion_allowed')}
        hint="Until then the key cannot be deleted."
      />
      {of.exportable ? null : (
        <CheckField
          label="Exportable"
          checked={form.exportable}
          onChange={set('exportable')}
          hint="The key may leave this service. This cannot be undone."
        />
      )}
    </FormDialog>
  );
}
