import { useState } from 'react';
import { ErrorNotice } from '../../../design/error-notice';
import { CheckField, TextField } from '../../../design/field';
import { Form } from '../../../design/form';
import { Notice } from '../../../design/notice';
import { Skeleton } from '../../../design/page';
import { useMay } from '../../may';
import { encodedPath, useChange, useReadOrNone } from '../../reads';
import { PastedField } from '../pasted-field';

interface ClusterSettings {
  readonly kubernetes_host: string;
  readonly kubernetes_ca_cert: string;
  readonly disable_local_ca_jwt: boolean;
}

const none: ClusterSettings = { kubernetes_host: '', kubernetes_ca_cert: '', disable_local_ca_jwt: false };

/** The cluster of a mount. */
export function Configuration({ mount }: { readonly mount: string }) {
  const { data, error, refetch } = useReadOrNone<ClusterSettings>(`${encodedPath(mount)}config`);
  if (data !== undefined) return <SettingsForm mount={mount} stored={data ?? none} isNew={data === null} />;
  return error === null ? <Skeleton /> : <ErrorNotice error={error} onRetry={() => void refetch()} />;
}

interface ConfigurationAnswer {
  readonly warnings?: readonly string[] | null;
}

function SettingsForm({
  mount,
  stored,
  isNew,
}: {
  readonly mount: string;
  readonly stored: ClusterSettings;
  readonly isNew: boolean;
}) {
  const path = `${mount}config`;
  const [form, setForm] = useState({ ...stored, service_account_jwt: '' });
  const may = useMay([path]);
  const change = useChange<ConfigurationAnswer | undefined>(() => set({ service_account_jwt: '' }));
  const set = (part: Partial<typeof form>) => setForm((before) => ({ ...before, ...part }));
  const { service_account_jwt: token, ...settings } = form;
  return (
    <Form
      action="Save"
      change={change}
      {...may({ path, capabilities: ['update'] })}
      onSend={() =>
        change.mutate({
          method: 'POST',
          path: encodedPath(path),
          body: { ...settings, ...(token === '' ? {} : { service_account_jwt: token.trim() }) },
        })
      }
    >
      <TextField
        label="Kubernetes host"
        required
        type="url"
        value={form.kubernetes_host}
        onChange={(kubernetes_host) => set({ kubernetes_host })}
        placeholder="https://cluster.example.com:6443"
        hint="The address of its API server; kubectl cluster-info prints it."
      />
      <PastedField
        label="Kubernetes CA certificate"
        isOptional
        rows={6}
        value={form.kubernetes_ca_cert}
        onChange={(kubernetes_ca_cert) => set({ kubernetes_ca_cert })}
        hint="Empty: that of the pod that this service runs in."
      />
      <TextField
        label="Service account JWT"
        masked
        value={form.service_account_jwt}
        onChange={(service_account_jwt) => set({ service_account_jwt })}
        hint={
          isNew
            ? 'A token that may create tokens, accounts and bindings. Empty: that of the pod that this service runs in.'
            : 'Empty: it stays as it is.'
        }
      />
      <CheckField
        label="Disable local CA and JWT"
        checked={form.disable_local_ca_jwt}
        onChange={(disable_local_ca_jwt) => set({ disable_local_ca_jwt })}
        hint="Never uses the certificates and the token of the pod that this service runs in."
      />
      {change.isSuccess ? <Notice tone="green">Saved.</Notice> : null}
      {(change.data?.warnings ?? []).map((text) => (
        <Notice key={text} tone="amber">
          {text}
        </Notice>
      ))}
    </Form>
  );
}
