import { type FormEvent, useState } from 'react';
import type { Resource } from '../../api/workspaces';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { SelectField, TextField } from '../../design/field';

type RetentionPolicy = Resource<'DataRetentionResource'>;

/** A policy: a number of days, `null` to keep everything, `undefined` to inherit. */
export type Wish = number | null | undefined;

/** Chooses a policy: delete after a number of days, keep everything, or inherit. */
export function PolicyForm({
  policy,
  above,
  onSave,
  busy,
  error,
  forbidden,
}: {
  readonly policy: RetentionPolicy | null;
  readonly above: string | undefined;
  readonly onSave: (choice: Wish) => void;
  readonly busy: boolean;
  readonly error: unknown;
  readonly forbidden: string | undefined;
}) {
  const stored = policy === null ? 'above' : policy.type.endsWith('dont-deletes') ? 'ever' : 'days';
  const [kind, setKind] = useState(stored);
  const [days, setDays] = useState(String(policy?.attributes['delete-older-than-n-days'] ?? 90));
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (forbidden !== undefined) return;
    onSave(kind === 'days' ? Number(days) : kind === 'ever' ? null : undefined);
  };
  return (
    <form className="form" onSubmit={send}>
      <SelectField
        label="Data retention"
        value={kind}
        onChange={setKind}
        options={[
          { value: 'days', label: 'Delete after a number of days' },
          { value: 'ever', label: 'Never delete' },
          { value: 'above', label: above === undefined ? 'No policy' : `Inherit from ${above}` },
        ]}
      />
      {kind === 'days' ? <TextField label="Days" inputMode="numeric" required value={days} onChange={setDays} /> : null}
      <ErrorNotice error={error} />
      <span>
        <Button type="submit" kind="primary" busy={busy} forbidden={forbidden}>
          Save policy
        </Button>
      </span>
    </form>
  );
}

/** The policy as sent. */
export function policyBody(days: number | null) {
  return {
    data:
      days === null
        ? ({ type: 'data-retention-policy-dont-deletes' } as never)
        : {
            type: 'data-retention-policy-delete-olders' as const,
            attributes: { 'delete-older-than-n-days': days },
          },
  };
}
