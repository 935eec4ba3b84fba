import { useQuery } from '@tanstack/react-query';
import { useState } from 'react';
import { ApiError } from '../../api/api-error';
import { Button, CreateButton } from '../../design/button';
import { Confirm } from '../../design/dialog';
import { ErrorNotice } from '../../design/error-notice';
import { CheckField, TextField } from '../../design/field';
import { FormDialog } from '../../design/form';
import { Skeleton } from '../../design/page';
import { PickerField } from '../../design/picker';
import { useSession } from '../../shell/session';
import { kindOf, useMounts } from '../mounts';
import { useChange } from '../reads';
import { IdentityPicker, useIdentities } from './identity-pickers';

interface Enforcement {
  readonly name: string;
  readonly mfa_method_ids: readonly string[];
  readonly auth_method_accessors: readonly string[];
  readonly auth_method_types: readonly string[];
  readonly identity_group_ids: readonly string[];
  readonly identity_entity_ids: readonly string[];
}
interface EnforcementList {
  readonly keys: readonly string[];
  readonly key_info: Readonly<Record<string, Enforcement>>;
}
interface NamedMethod {
  readonly id: string;
  readonly name: string;
}

const path = 'identity/mfa/login-enforcement';

/** Which logins require which MFA methods. */
export function Enforcements({ methods }: { readonly methods: readonly NamedMethod[] }) {
  const { transport } = useSession();
  const mounts = useMounts();
  const entities = useIdentities('entity');
  const groups = useIdentities('group');
  const [adding, setAdding] = useState(false);
  const [removing, setRemoving] = useState<string>();
  const change = useChange(() => setRemoving(undefined));
  const found = useQuery<EnforcementList>({
    queryKey: ['v1', path],
    queryFn: async () => {
      try {
        return (await transport.call<{ data: EnforcementList }>('GET', `/v1/${path}?list=true`)).data;
      } catch (error) {
        if (error instanceof ApiError && error.status === 404) return { keys: [], key_info: {} };
        throw error;
      }
    },
  });
  const mountOf = (accessor: string) => mounts.auth.find((one) => one.accessor === accessor)?.path ?? accessor;
  const whoOf = (one: Enforcement): string =>
    [
      ...one.auth_method_accessors.map((accessor) => `at ${mountOf(accessor)}`),
      ...one.auth_method_types.map((type) => `at every ${type} method`),
      ...one.identity_group_ids.map((id) => `of the group ${groups.data?.key_info?.[id]?.name ?? id}`),
      ...one.identity_entity_ids.map((id) => `of ${entities.data?.key_info?.[id]?.name ?? id}`),
    ].join(', ');
  const nameOf = (id: string) => methods.find((method) => method.id === id)?.name ?? id;
  return (
    <section className="stack-tight" aria-labelledby="enforcements">
      <div className="row spread">
        <h2 id="enforcements">Login enforcements</h2>
        <CreateButton
          forbidden={methods.length === 0 ? 'there is no method yet: create one first' : undefined}
          onClick={() => setAdding(true)}
        >
          Create enforcement
        </CreateButton>
      </div>
      <ErrorNotice error={found.error ?? (removing === undefined ? change.error : null)} />
      {found.isPending ? <Skeleton rows={2} /> : null}
      {found.data?.keys.length === 0 ? (
        <p className="second">No login needs MFA. An enforcement says which do.</p>
      ) : null}
      {found.data === undefined || found.data.keys.length === 0 ? null : (
        <ul className="list" aria-label="Login enforcements">
          {found.data.keys.map((name) => {
            const one = found.data.key_info[name];
            return (
              <li key={name}>
                <span className="strong">{name}</span>
                {one === undefined ? null : (
                  <span className="second small grow">
                    logins {whoOf(one)} need a code of {one.mfa_method_ids.map(nameOf).join(' or ')}
                  </span>
                )}
                <Button small kind="danger" label={`Delete enforcement ${name}`} onClick={() => setRemoving(name)}>
                  Delete
                </Button>
              </li>
            );
          })}
        </ul>
      )}
      {adding ? <NewEnforcement methods={methods} onClose={() => setAdding(false)} /> : null}
      {removing === undefined ? null : (
        <Confirm
          title={`Delete enforcement ${removing}?`}
          action="Delete enforcement"
          danger
          busy={change.isPending}
          onClose={() => setRemoving(undefined)}
          onConfirm={() => change.mutate({ method: 'DELETE', path: `${path}/${encodeURIComponent(removing)}` })}
        >
          <p>Logins that only this enforcement covers no longer need MFA.</p>
          <ErrorNotice error={change.error} />
        </Confirm>
      )}
    </section>
  );
}

/** The logins that an enforcement applies to: all that match at least one of these fields. */
type Covered = Pick<
  Enforcement,
  'auth_method_accessors' | 'auth_method_types' | 'identity_group_ids' | 'identity_entity_ids'
>;

function NewEnforcement({
  methods,
  onClose,
}: {
  readonly methods: readonly NamedMethod[];
  readonly onClose: () => void;
}) {
  const mounts = useMounts();
  const [name, setName] = useState('');
  const [method, setMethod] = useState<readonly string[]>(methods.slice(0, 1).map(({ id }) => id));
  const [covered, setCovered] = useState<Covered>({
    auth_method_accessors: [],
    auth_method_types: [],
    identity_group_ids: [],
    identity_entity_ids: [],
  });
  const { auth_method_accessors: accessors } = covered;
  const change = useChange(onClose);
  const set = (part: keyof Covered) => (chosen: readonly string[]) =>
    setCovered((before) => ({ ...before, [part]: chosen }));
  const send = () => {
    const body = { mfa_method_ids: method, ...covered };
    change.mutate({ method: 'POST', path: `${path}/${encodeURIComponent(name.trim())}`, body });
  };
  const ways = mounts.auth.filter(({ type }) => type !== 'token');
  const problem =
    method.length === 0
      ? 'choose an MFA method'
      : Object.values(covered).every(({ length }) => length === 0)
        ? 'choose the logins it applies to: a method, a type, groups or entities'
        : undefined;
  return (
    <FormDialog
      title="Create enforcement"
      action="Create enforcement"
      change={change}
      forbidden={problem}
      onSend={send}
      onBack={onClose}
    >
      <TextField label="Name" required autoFocus value={name} onChange={setName} />
      <PickerField
        label="MFA methods"
        chosen={method}
        onChange={setMethod}
        options={methods.map(({ id, name }) => ({ value: id, label: name }))}
        hint={method.length > 1 ? 'A code of any one of them is enough.' : undefined}
      />
      <fieldset className="fields">
        <legend className="label">At every login with</legend>
        {ways.length === 0 ? (
          <p className="second small">Only the token auth method is mounted, which needs no second factor.</p>
        ) : null}
        {ways.map((way) => (
          <CheckField
            key={way.accessor}
            label={`${way.path} (${kindOf(way)})`}
            checked={accessors.includes(way.accessor)}
            onChange={(on) =>
              set('auth_method_accessors')(
                on ? [...accessors, way.accessor] : accessors.filter((one) => one !== way.accessor),
              )
            }
          />
        ))}
      </fieldset>
      <PickerField
        label="At every auth method of the types"
        options={[...new Set(ways.map(({ type }) => type))].map((type) => ({ value: type, label: type }))}
        chosen={covered.auth_method_types}
        onChange={set('auth_method_types')}
        placeholder="Choose types"
        hint="This includes methods that are enabled later."
      />
      <IdentityPicker
        kind="group"
        label="At every login of members of"
        chosen={covered.identity_group_ids}
        onChange={set('identity_group_ids')}
      />
      <IdentityPicker
        kind="entity"
        label="At every login of these people and programs"
        chosen={covered.identity_entity_ids}
        onChange={set('identity_entity_ids')}
      />
      <p className="second small">People without an MFA secret can no longer log in with it: enroll them first.</p>
    </FormDialog>
  );
}
