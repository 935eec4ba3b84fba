import { useQueries } from '@tanstack/react-query';
import { useState } from 'react';
import { Button, CreateButton } from '../../design/button';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { SelectField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Empty, PageHead, SameBy, Skeleton } from '../../design/page';
import { Table } from '../../design/table';
import { useSession } from '../../shell/session';
import { useChange, useList } from '../reads';

interface Limit {
  readonly name: string;
  readonly type: 'rate-limit' | 'lease-count';
  readonly path: string;
  readonly role?: string;
  readonly rate?: number;
  readonly interval?: number;
  readonly max_leases?: number;
  readonly counter?: number;
}
const kinds = ['rate-limit', 'lease-count'] as const;

/** Rate limit and lease count quotas. */
export function Limits() {
  const { transport } = useSession();
  const rates = useList('sys/quotas/rate-limit');
  const leases = useList('sys/quotas/lease-count');
  const names = kinds.flatMap((kind) =>
    ((kind === 'rate-limit' ? rates : leases).data ?? []).map((name) => ({ kind, name })),
  );
  const limits = useQueries({
    queries: names.map(({ kind, name }) => ({
      queryKey: ['v1', 'quota', kind, name],
      queryFn: async () =>
        (await transport.call<{ data: Limit }>('GET', `/v1/sys/quotas/${kind}/${encodeURIComponent(name)}`)).data,
    })),
  });
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<Limit>();
  const change = useChange();
  const existing = limits.flatMap(({ data }) => data ?? []);
  return (
    <div className="stack">
      <PageHead title="Quotas" actions={<CreateButton onClick={() => setAdding(true)}>Create quota</CreateButton>} />
      <ErrorNotice error={rates.error ?? leases.error ?? change.error} />
      {rates.data === undefined && rates.error === null ? <Skeleton rows={2} /> : null}
      {rates.data !== undefined && names.length === 0 ? (
        <Empty action={<CreateButton onClick={() => setAdding(true)}>Create quota</CreateButton>}>
          A quota limits the rate of requests or the number of leases, so that one caller does not slow down all others.
        </Empty>
      ) : null}
      {existing.length === 0 ? null : (
        <Table
          label="Quotas"
          rows={existing}
          keyOf={({ type, name }) => `${type} ${name}`}
          columns={[
            { head: 'Name', cell: ({ name }) => name },
            {
              head: 'Where',
              cell: ({ path }) => (path === '' ? <span className="second">everywhere</span> : <code>{path}</code>),
            },
            {
              head: 'Limit',
              cell: (limit) =>
                limit.type === 'rate-limit'
                  ? `${limit.rate} requests per ${limit.interval === 1 ? 'second' : `${limit.interval} s`}`
                  : `${limit.max_leases?.toLocaleString()} leases`,
            },
            {
              head: 'Now',
              cell: ({ counter }) =>
                counter === undefined ? <span className="second">counted per caller</span> : counter.toLocaleString(),
            },
            {
              head: '',
              className: 'tight',
              cell: (limit) => (
                <Button small kind="quiet" label={`Remove ${limit.name}`} onClick={() => setRemoving(limit)}>
                  Remove
                </Button>
              ),
            },
          ]}
        />
      )}
      {adding ? <NewLimit onClose={() => setAdding(false)} /> : null}
      {removing === undefined ? null : (
        <Confirm
          title={`Delete quota ${removing.name}?`}
          action="Delete quota"
          danger
          busy={change.isPending}
          onClose={() => setRemoving(undefined)}
          onConfirm={() =>
            change.mutate(
              { method: 'DELETE', path: `sys/quotas/${removing.type}/${encodeURIComponent(removing.name)}` },
              { onSettled: () => setRemoving(undefined) },
            )
          }
        >
          <p>Its requests or leases are no longer limited.</p>
        </Confirm>
      )}
      <SameBy api="LIST /v1/sys/quotas/rate-limit" command="keystead list sys/quotas/rate-limit" />
    </div>
  );
}

function NewLimit({ onClose }: { readonly onClose: () => void }) {
  const [kind, setKind] = useState<string>('rate-limit');
  const [form, setForm] = useState({ name: '', path: '', most: '' });
  const change = useChange(() => onClose());
  const set = (name: keyof typeof form) => (value: string) => setForm((before) => ({ ...before, [name]: value }));
  const send = () => {
    const { name, path, most } = form;
    const body = kind === 'rate-limit' ? { path, rate: Number(most) } : { path, max_leases: Number(most) };
    change.mutate({ method: 'POST', path: `sys/quotas/${kind}/${encodeURIComponent(name)}`, body });
  };
  return (
    <FormDialog title="Create quota" action="Create quota" change={change} onSend={send} onBack={onClose}>
      <SelectField
        label="Type"
        value={kind}
        onChange={setKind}
        options={[
          { value: 'rate-limit', label: 'Requests' },
          { value: 'lease-count', label: 'Leases' },
        ]}
      />
      <TextField label="Name" required autoFocus value={form.name} onChange={set('name')} />
      <TextField
        label="Path"
        value={form.path}
        onChange={set('path')}
        placeholder="everywhere"
        hint="A mount, or a path below one."
      />
      <TextField
        label={kind === 'rate-limit' ? 'Requests per second' : 'Leases'}
        type="number"
        required
        value={form.most}
        onChange={set('most')}
      />
    </FormDialog>
  );
}
