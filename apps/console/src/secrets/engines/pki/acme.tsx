import { useState } from 'react';
import { Badge } from '../../../design/badge';
import { Button } from '../../../design/button';
import { Copied } from '../../../design/copy';
import { ErrorNotice } from '../../../design/error-notice';
import { CheckField, SelectField, TextField } from '../../../design/field';
import { Form } from '../../../design/form';
import { Notice } from '../../../design/notice';
import { Lines, Skeleton } from '../../../design/page';
import { SecretValue } from '../../../design/secret-value';
import { TabList } from '../../../design/tab-list';
import { useMay } from '../../may';
import { encodedPath, useChange, useList, useRead } from '../../reads';
import { useAddressOf } from './root-ca';

interface AcmeConfig {
  readonly enabled: boolean;
  readonly default_directory_policy: string;
  readonly eab_policy: string;
}
interface Cluster {
  readonly path: string;
}

/** The ACME settings, and how clients get certificates with ACME. */
export function Acme({ mount }: { readonly mount: string }) {
  const at = encodedPath(mount);
  const config = useRead<AcmeConfig>(`${at}config/acme`);
  const cluster = useRead<Cluster>(`${at}config/cluster`);
  const error = config.error ?? cluster.error;
  if (error !== null) return <ErrorNotice error={error} />;
  if (config.data === undefined || cluster.data === undefined) return <Skeleton rows={5} />;
  return (
    <div className="stack">
      <p className="second narrow">
        Web servers and ACME clients get and renew certificates from this CA by themselves, as from Let’s Encrypt. They
        need no token: they prove that they control the names.
      </p>
      <Settings mount={mount} stored={config.data} cluster={cluster.data} />
      {config.data.enabled ? <Clients mount={mount} config={config.data} cluster={cluster.data} /> : null}
    </div>
  );
}

function Settings({
  mount,
  stored,
  cluster,
}: {
  readonly mount: string;
  readonly stored: AcmeConfig;
  readonly cluster: Cluster;
}) {
  const at = encodedPath(mount);
  const usual = useAddressOf(mount);
  const roles = useList(`${at}roles`);
  const [enabled, setEnabled] = useState(stored.enabled);
  const [address, setAddress] = useState(cluster.path || usual);
  const [policy, setPolicy] = useState(stored.default_directory_policy);
  const [eab, setEab] = useState(stored.eab_policy);
  const path = `${mount}config/acme`;
  const may = useMay([path]);
  const place = useChange();
  const change = useChange();
  const send = async () => {
    if (address !== cluster.path) {
      await place.mutateAsync({ method: 'POST', path: `${at}config/cluster`, body: { path: address } });
    }
    change.mutate({
      method: 'POST',
      path: `${at}config/acme`,
      body: { enabled, default_directory_policy: policy, eab_policy: eab },
    });
  };
  return (
    <Form
      layout="panel"
      title="Settings"
      action="Save"
      change={{ isPending: place.isPending || change.isPending, error: place.error ?? change.error }}
      {...may({ path, capabilities: ['update'] })}
      onSend={() => void send().catch(() => undefined)}
    >
      <CheckField label="Serve ACME" checked={enabled} onChange={setEnabled} />
      <TextField
        label="Address of this mount"
        type="url"
        required
        value={address}
        onChange={setAddress}
        hint="The address at which clients reach it."
      />
      <SelectField
        label="Certificates without a role in the address"
        value={policy}
        onChange={setPolicy}
        options={[
          ...(roles.data ?? []).map((name) => ({ value: `role:${name}`, label: `by the role ${name}` })),
          { value: 'sign-verbatim', label: 'any name (sign-verbatim)' },
          { value: 'forbid', label: 'are refused (forbid)' },
        ]}
        hint="The role should allow any key type, because clients choose theirs."
      />
      <SelectField
        label="External account binding (EAB)"
        value={eab}
        onChange={setEab}
        options={[
          { value: 'not-required', label: 'not needed' },
          { value: 'new-account-required', label: 'new accounts need a key' },
          { value: 'always-required', label: 'all accounts need a key' },
        ]}
        hint="If keys are required, only people with a key can create an account."
      />
      {change.isSuccess ? <Notice tone="green">Saved.</Notice> : null}
    </Form>
  );
}

interface BindingKey {
  readonly data: { readonly id: string; readonly key: string };
}

const clients = [
  { tab: 'certbot', label: 'certbot' },
  { tab: 'lego', label: 'lego' },
  { tab: 'caddy', label: 'Caddy' },
] as const;
type Client = (typeof clients)[number]['tab'];

/** The settings for a client, with the external account binding key if there is one. */
function textFor(client: Client, directory: string, eab: string | undefined): string {
  const host = 'shop.example.com';
  if (client === 'certbot') {
    return [
      `certbot certonly --standalone --server ${directory}`,
      ...(eab === undefined ? [] : [`  --eab-kid ${eab} --eab-hmac-key KEY`]),
      `  --agree-tos --register-unsafely-without-email -d ${host}`,
    ].join(' \\\n');
  }
  if (client === 'lego') {
    return [
      `lego --server ${directory} --accept-tos --email ops@example.com`,
      ...(eab === undefined ? [] : [`  --eab --kid ${eab} --hmac KEY`]),
      `  --http --domains ${host} run`,
    ].join(' \\\n');
  }
  const binding = eab === undefined ? '' : `  acme_eab {\n    key_id ${eab}\n    mac_key KEY\n  }\n`;
  return `{\n  acme_ca ${directory}\n${binding}}\n${host} {\n  reverse_proxy localhost:8080\n}`;
}

function Clients({
  mount,
  config,
  cluster,
}: {
  readonly mount: string;
  readonly config: AcmeConfig;
  readonly cluster: Cluster;
}) {
  const roles = useList(`${encodedPath(mount)}roles`);
  const [role, setRole] = useState('');
  const [client, setClient] = useState<Client>('certbot');
  const below = role === '' ? 'acme' : `roles/${encodeURIComponent(role)}/acme`;
  const directory = `${cluster.path.replace(/\/$/, '')}/${below}/directory`;
  const path = `${mount}${below}/new-eab`;
  const may = useMay([path]);
  const create = useChange<BindingKey>();
  const needsKey = config.eab_policy !== 'not-required';
  const key = create.data?.data;
  return (
    <section className="stack" aria-labelledby="clients">
      <div className="row">
        <h2 id="clients">Clients</h2>
        <Badge tone="green">ACME is on</Badge>
      </div>
      <div className="form">
        <SelectField
          label="Certificates by the role"
          value={role}
          onChange={(next) => {
            setRole(next);
            create.reset();
          }}
          options={[{ value: '', label: 'of the settings above' }, ...(roles.data ?? [])]}
        />
      </div>
      <dl className="facts">
        <dt>Directory</dt>
        <dd>
          <Copied text={directory} what="directory" />
        </dd>
      </dl>
      {needsKey ? (
        <div className="stack-tight">
          <div>
            <Button
              busy={create.isPending}
              {...may({ path, capabilities: ['update'] })}
              onClick={() => create.mutate({ method: 'POST', path: encodedPath(path) })}
            >
              Create EAB key
            </Button>
          </div>
          <ErrorNotice error={create.error} />
          {key === undefined ? (
            <p className="second small">Each key creates one account, in this directory.</p>
          ) : (
            <Notice tone="amber" alert>
              <span>Copy the key now: it is not shown again. It replaces KEY below.</span>
              <span>
                ID <Copied text={key.id} what="key ID" />
              </span>
              <SecretValue name="EAB key" value={key.key} />
            </Notice>
          )}
        </div>
      ) : null}
      <TabList label="Clients" tabs={clients} chosen={client} onChange={setClient} />
      <div role="tabpanel" aria-label={client}>
        <Lines text={textFor(client, directory, needsKey ? (key?.id ?? 'ID') : undefined)} what={`${client} lines`} />
      </div>
      <p className="second small">
        The service calls the host of each name to check it. Private addresses are blocked until the setting{' '}
        <code>SECRETS_ACME_NETWORKS</code> allows them.
      </p>
    </section>
  );
}
