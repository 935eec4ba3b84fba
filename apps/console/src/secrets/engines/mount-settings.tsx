import { useState } from 'react';
import { Dialog } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { CheckField, TextField } from '../../design/field';
import { Form } from '../../design/form';
import { Skeleton } from '../../design/page';
import { encodedPath, useChange, useRead } from '../reads';
import { secondsOf, type TtlChoice, TtlField } from './ttl-field';

interface Tuning {
  readonly description: string;
  readonly default_lease_ttl: number;
  readonly max_lease_ttl: number;
  readonly listing_visibility?: string;
}

const daySeconds = 86_400;
const ttls: readonly TtlChoice[] = [
  ['3600', '1 hour'],
  [`${daySeconds}`, '1 day'],
  [`${7 * daySeconds}`, '7 days'],
  [`${32 * daySeconds}`, '32 days'],
  [`${365 * daySeconds}`, '1 year'],
  [`${3650 * daySeconds}`, '10 years'],
];

/** The settings that every engine and auth method has. Only what was changed is sent. */
export function MountSettings({
  title,
  path,
  onClose,
}: {
  readonly title: string;
  /** The path that tunes it: `sys/mounts/kv/tune`. */
  readonly path: string;
  readonly onClose: () => void;
}) {
  const stored = useRead<Tuning>(encodedPath(path));
  return (
    <Dialog title={title} onClose={onClose}>
      <ErrorNotice error={stored.error} />
      {stored.data === undefined ? (
        stored.error === null ? (
          <Skeleton rows={3} />
        ) : null
      ) : (
        <Fields path={path} stored={stored.data} onClose={onClose} />
      )}
    </Dialog>
  );
}

function Fields({
  path,
  stored,
  onClose,
}: {
  readonly path: string;
  readonly stored: Tuning;
  readonly onClose: () => void;
}) {
  const before = {
    description: stored.description,
    default_lease_ttl: String(stored.default_lease_ttl),
    max_lease_ttl: String(stored.max_lease_ttl),
    listing_visibility: stored.listing_visibility ?? 'hidden',
  };
  const [form, setForm] = useState(before);
  const set = (name: keyof typeof form) => (value: string) => setForm((old) => ({ ...old, [name]: value }));
  const change = useChange(onClose);
  const changed = Object.entries(form).filter(([name, value]) => value !== before[name as keyof typeof before]);
  const send = () => {
    if (wrong !== undefined) return;
    change.mutate({ method: 'POST', path: encodedPath(path), body: Object.fromEntries(changed) });
  };
  const isAuth = path.startsWith('sys/auth/');
  const wrong = [form.default_lease_ttl, form.max_lease_ttl].find((ttl) => secondsOf(ttl) === undefined);
  return (
    <Form
      layout="dialog"
      action="Save settings"
      change={change}
      problem={wrong === undefined ? undefined : `${wrong} is not a duration, such as 90m, 36h or 45d.`}
      forbidden={changed.length > 0 ? undefined : 'Nothing has been changed.'}
      onSend={send}
      onBack={onClose}
    >
      <TextField label="Description" autoFocus value={form.description} onChange={set('description')} />
      <TtlField
        label="Default lease TTL"
        choices={ttls}
        value={form.default_lease_ttl}
        onChange={set('default_lease_ttl')}
      />
      <TtlField label="Maximum lease TTL" choices={ttls} value={form.max_lease_ttl} onChange={set('max_lease_ttl')} />
      {isAuth ? (
        <CheckField
          label="List method when unauthenticated"
          hint="The sign-in page then offers it to everyone."
          checked={form.listing_visibility === 'unauth'}
          onChange={(checked) => set('listing_visibility')(checked ? 'unauth' : 'hidden')}
        />
      ) : null}
    </Form>
  );
}
