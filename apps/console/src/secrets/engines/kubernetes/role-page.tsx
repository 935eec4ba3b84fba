import { useState } from 'react';
import { CheckField, TextField } from '../../../design/field';
import { Command } from '../../../design/page';
import { PickerField } from '../../../design/picker';
import { LeasesOf } from '../../leases/leases-of';
import { Credentials } from '../credentials';
import { RecordPage, sameBy } from '../record-page';
import { spanOf, TtlField } from '../ttl-field';
import { type KubernetesRole, makes, makingOf } from './role';
import { namespacesOf, RoleForm } from './roles';

/** A role: get service account tokens, and change the role. */
export function RolePage({ mount, name }: { readonly mount: string; readonly name: string }) {
  return (
    <RecordPage<KubernetesRole>
      mount={mount}
      tab="roles"
      name={name}
      one="role"
      parts={[
        {
          part: 'credentials',
          label: 'Credentials',
          same: sameBy('write', `${mount}creds/${name}`, 'kubernetes_namespace=shop'),
          readless: true,
        },
        {
          part: 'settings',
          label: 'Settings',
          same: sameBy('write', `${mount}roles/${name}`, 'token_default_ttl=1h'),
        },
      ]}
      about={(role) => `Creates ${makes[makingOf(role)]}, in these namespaces: ${namespacesOf(role)}.`}
      deletion="It issues no more tokens. Everything that it created ends with its leases."
    >
      {(part, role) =>
        part === 'settings' && role !== undefined ? (
          <RoleForm mount={mount} name={name} stored={{ ...role, making: makingOf(role) }} />
        ) : (
          <Token mount={mount} name={name} role={role} />
        )
      }
    </RecordPage>
  );
}

const fields = [
  { name: 'service_account_name', label: 'Service account name' },
  { name: 'service_account_namespace', label: 'Service account namespace' },
  { name: 'service_account_token', label: 'Service account token', isSecret: true },
] as const;

const lifetimes = [
  ['1800', '30 minutes'],
  ['3600', '1 hour'],
  ['28800', '8 hours'],
] as const;

/** Creates a service account token. */
function Token({
  mount,
  name,
  role,
}: {
  readonly mount: string;
  readonly name: string;
  readonly role: KubernetesRole | undefined;
}) {
  const [only, ...more] = role?.allowed_kubernetes_namespaces ?? [];
  const [form, setForm] = useState({
    namespace: '',
    ttl: '',
    wholeCluster: false,
    audiences: [] as readonly string[],
  });
  const set = (part: Partial<typeof form>) => setForm((before) => ({ ...before, ...part }));
  const isSingle =
    only !== undefined && only !== '*' && more.length === 0 && !role?.allowed_kubernetes_namespace_selector;
  const most = role?.token_max_ttl || Number.POSITIVE_INFINITY;
  const namespace = form.namespace.trim();
  return (
    <div className="stack">
      <Credentials
        path={`${mount}creds/${name}`}
        method="POST"
        action="Get a service account token"
        body={{
          ...(namespace === '' ? {} : { kubernetes_namespace: namespace }),
          ...(form.ttl === '' ? {} : { ttl: form.ttl }),
          ...(form.wholeCluster ? { cluster_role_binding: true } : {}),
          ...(form.audiences.length === 0 ? {} : { audiences: form.audiences }),
        }}
        fields={fields}
        commands={({ service_account_namespace: within }) => (
          <div className="stack-tight">
            <p>
              With the token in the variable <code>TOKEN</code>:
            </p>
            <Command text={`kubectl --token "$TOKEN" --namespace ${String(within)} get pods`} />
          </div>
        )}
      >
        <TextField
          label={isSingle ? 'Kubernetes namespace (optional)' : 'Kubernetes namespace'}
          required={!isSingle}
          value={form.namespace}
          onChange={(namespace) => set({ namespace })}
          placeholder={only === undefined || only === '*' ? 'shop' : only}
          {...(role === undefined ? {} : { hint: `Allowed: ${namespacesOf(role)}.` })}
        />
        <TtlField
          label="TTL"
          choices={[
            ['', role?.token_default_ttl ? `Default (${spanOf(role.token_default_ttl)})` : 'Default'],
            ...lifetimes.filter(([seconds]) => Number(seconds) <= most),
          ]}
          value={form.ttl}
          onChange={(ttl) => set({ ttl })}
          {...(role?.token_max_ttl ? { hint: `At most ${spanOf(role.token_max_ttl)}.` } : {})}
        />
        <PickerField
          label="Audiences (optional)"
          options={[]}
          chosen={form.audiences}
          onChange={(audiences) => set({ audiences })}
          free
          hint="If empty, those of the role."
        />
        {role !== undefined && role.kubernetes_role_type === 'ClusterRole' && makingOf(role) !== 'token' ? (
          <CheckField
            label="Cluster role binding"
            checked={form.wholeCluster}
            onChange={(wholeCluster) => set({ wholeCluster })}
            hint="It applies to all namespaces of the cluster."
          />
        ) : null}
      </Credentials>
      <LeasesOf
        title="Tokens in use"
        of={{ prefix: `${mount}creds/${name}` }}
        none="No one has a token of this role now."
      />
    </div>
  );
}
