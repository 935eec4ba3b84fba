import { useState } from 'react';
import { Button } from '../../design/button';
import { ErrorNotice } from '../../design/error-notice';
import { SelectField, TextField } from '../../design/field';
import { Notice } from '../../design/notice';
import { useOne, useSend } from '../data/use-api';

interface Found {
  readonly count: number;
  readonly 'first-ids': readonly string[];
}

/** How long old states and configurations are kept, and what that would delete now. */
export function Retention({ path, rule }: { readonly path: string; readonly rule: string | undefined }) {
  const policy = useOne<{ 'delete-older-than-n-days'?: number }>(path);
  const [asked, setAsked] = useState(false);
  const preview = useOne<Readonly<Record<string, Found>>>(asked ? `${path}/preview` : undefined);
  const days = policy.data?.data?.attributes['delete-older-than-n-days'];
  const said =
    policy.data?.data == null
      ? 'Nothing says how long: all is kept.'
      : days === undefined
        ? 'All is kept.'
        : `Kept for ${days} days.`;
  return (
    <section className="form">
      <h2>Retention</h2>
      <p className="second">{said} The current state is never deleted.</p>
      <Change key={String(days)} path={path} days={days} rule={rule} />
      <div className="row">
        <Button
          small
          onClick={() => (asked ? void preview.refetch() : setAsked(true))}
          busy={preview.isFetching}
          forbidden={rule}
        >
          What would be deleted now?
        </Button>
      </div>
      <ErrorNotice error={preview.error} />
      {preview.data === undefined ? null : (
        <Notice tone="amber">
          {Object.entries(preview.data.data.attributes).map(([kind, { count, 'first-ids': ids }]) => (
            <span key={kind}>
              {count} {kind.replace(/-/g, ' ')}
              {ids.length === 0 ? '' : `: ${ids.slice(0, 5).join(', ')}${count > 5 ? ' …' : ''}`}
            </span>
          ))}
        </Notice>
      )}
    </section>
  );
}

function Change({
  path,
  days,
  rule,
}: {
  readonly path: string;
  readonly days: number | undefined;
  readonly rule: string | undefined;
}) {
  const [kind, setKind] = useState(days === undefined ? 'inherit' : 'days');
  const [count, setCount] = useState(String(days ?? 90));
  const save = useSend(() => {
    if (kind === 'inherit') return { method: 'DELETE', path };
    if (kind === 'never')
      return { method: 'POST', path, body: { data: { type: 'data-retention-policy-dont-deletes', attributes: {} } } };
    const attributes = { 'delete-older-than-n-days': Number(count) };
    return { method: 'POST', path, body: { data: { type: 'data-retention-policy-delete-olders', attributes } } };
  });
  return (
    <form
      className="stack-tight"
      onSubmit={(event) => {
        event.preventDefault();
        save.run();
      }}
    >
      <SelectField
        label="Keep old states and configurations"
        value={kind}
        onChange={setKind}
        options={[
          { value: 'inherit', label: 'as what is above says' },
          { value: 'never', label: 'for ever' },
          { value: 'days', label: 'for some days' },
        ]}
      />
      {kind === 'days' ? <TextField label="Days" type="number" value={count} onChange={setCount} /> : null}
      <ErrorNotice error={save.error} />
      <div>
        <Button type="submit" small busy={save.busy} forbidden={rule}>
          Save retention
        </Button>
      </div>
    </form>
  );
}
