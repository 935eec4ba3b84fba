import { createHash } from 'node:crypto';
import { gzipSync } from 'node:zlib';
import { expect } from '@jest/globals';
import type { TestInstallation } from '../../../../local/test/installation';
import { waitFor } from '../../../../local/test/start';
import { hostile, readme, tarOf } from '../stand-in-tool';

/** Ids of the planted resources. */
export interface Planted {
  readonly project: string;
  readonly team: string;
  readonly pool: string;
  readonly addresses: string;
  readonly run: string;
  readonly provider: string;
  readonly connection: string;
  readonly notification: string;
  readonly set: string;
  readonly module: string;
  readonly test: string;
  readonly policy: string;
  readonly policySet: string;
  readonly dryRun: string;
  readonly query: string;
  readonly state: string;
}

async function send(url: string, headers: Record<string, string>, body?: unknown, method = 'POST'): Promise<unknown> {
  const sent = body === undefined ? { method: 'GET', headers } : { method, headers, body: JSON.stringify(body) };
  const answer = await fetch(url, sent);
  const text = await answer.text();
  expect([url, answer.status < 300, answer.status < 300 || text]).toEqual([url, true, true]);
  return text === '' ? undefined : JSON.parse(text);
}

let vault: Promise<void> | undefined;
let garden: Promise<Planted> | undefined;

/** A secrets service in which every text that a person can write is hostile. Created once. */
export function vaultOf({ secretsUrl, firstRun }: TestInstallation): Promise<void> {
  const write = (path: string, body: object) =>
    send(`${secretsUrl}/v1/${path}`, { 'X-Service-Token': firstRun().secrets.root_token }, body);
  vault ??= (async () => {
    const name = encodeURIComponent(hostile.replace(/[/\u202e]/g, ''));
    await write('sys/mounts/every', { type: 'kv', description: hostile, options: { version: '2' } });
    for (const v of [1, 2]) await write('every/data/a/b', { data: { v, [hostile]: hostile } });
    await write(`every/data/${name}`, { data: { [hostile]: hostile } });
    await write('every/metadata/a/b', { custom_metadata: { hostile } });
    await write('identity/entity', { name: 'thicket', metadata: { hostile } });
    await write('identity/group', { name: 'thicket', metadata: { hostile } });
    await write('identity/oidc/client/thicket', {
      redirect_uris: 'https://thicket.example/',
      assignments: 'allow_all',
    });
    await write('identity/oidc/provider/thicket', { allowed_client_ids: '*' });
    await write('sys/policies/acl/thicket', { policy: `# ${hostile}` });
    await write('sys/mounts/thorns', { type: 'transit', description: hostile });
    await write('thorns/keys/briar', { type: 'ed25519' });
    await write('thorns/keys/thistle', { derived: true, exportable: true });
    await write('thorns/keys/thistle/rotate', {});
    await write('sys/mounts/nettles', { type: 'pki', description: hostile });
    await write('nettles/root/generate/internal', { common_name: hostile, issuer_name: 'stem', key_type: 'ec' });
    await write('nettles/roles/leaf', { allow_any_name: true, enforce_hostnames: false, cn_validations: 'disabled' });
    await write('nettles/issue/leaf', { common_name: hostile, exclude_cn_from_sans: true, ttl: '20h' });
    await write('sys/mounts/brambles', { type: 'database', description: hostile });
    await write('brambles/config/hedge', {
      plugin_name: 'postgresql-database-plugin',
      connection_url: 'postgresql://{{username}}:{{password}}@db.example/app',
      username: hostile,
      password: 'unseen',
      verify_connection: false,
    });
    await write('brambles/roles/berry', { db_name: 'hedge', creation_statements: [hostile] });
    await write('sys/mounts/burrs', { type: 'ssh', description: hostile });
    await write('burrs/issuers/import/bur', { key_type: 'ssh-ed25519' });
    await write('burrs/roles/stalk', { key_type: 'ca', allow_user_certificates: true, allowed_users: hostile });
    await write('burrs/roles/spine', { key_type: 'otp', default_user: hostile, cidr_list: '192.0.2.0/24' });
    await write('sys/mounts/ivy', { type: 'totp', description: hostile });
    await write('ivy/keys/leaf', { key: 'JBSWY3DPEHPK3PXP', account_name: hostile, issuer: hostile });
    await write('sys/mounts/moss', { type: 'kubernetes', description: hostile });
    await write('moss/config', { kubernetes_host: 'https://cluster.example', service_account_jwt: 'unseen' });
    await write('moss/roles/sporeling', {
      allowed_kubernetes_namespaces: [hostile],
      generated_role_rules: JSON.stringify({ rules: [{ verbs: [hostile] }] }),
    });
    await write('auth/token/create', { display_name: hostile, meta: { hostile }, ttl: '1h', policies: ['default'] });
  })();
  return vault;
}

/** An organization in which every text that a person can write is hostile, with a run that waits. Created once. */
export function gardenOf({ workspacesUrl, firstRun }: TestInstallation, outside: string): Promise<Planted> {
  interface Answer {
    readonly data: { readonly id: string; readonly attributes: Readonly<Record<string, string>> };
  }
  const headers = () => ({
    Authorization: `Bearer ${firstRun().workspaces.token}`,
    'Content-Type': 'application/vnd.api+json',
  });
  const make = async (path: string, type: string, attributes: object, relationships: object = {}) =>
    (
      (await send(`${workspacesUrl}/api/v2/${path}`, headers(), {
        data: { type, attributes, relationships },
      })) as Answer
    ).data;
  garden ??= (async () => {
    const below = 'organizations/thicket';
    await make('organizations', 'organizations', { name: 'thicket', email: 'ops@example.com' });
    const project = await make(`${below}/projects`, 'projects', { name: 'paths', description: hostile });
    const team = await make(`${below}/teams`, 'teams', { name: 'gardeners' });
    const pool = await make(`${below}/agent-pools`, 'agent-pools', { name: 'shed' });
    const addresses = await make(`${below}/cidr-range-lists`, 'cidr-range-lists', {
      name: hostile,
      description: hostile,
    });
    const range = { range: '192.0.2.0/24', description: hostile, enabled: false };
    await make(`cidr-range-lists/${addresses.id}/relationships/cidr-ranges`, 'cidr-ranges', range);
    const hedge = await make(`${below}/workspaces`, 'workspaces', { name: 'hedge', description: hostile });
    // A workspace with no configuration, no run and no state.
    await make(`${below}/workspaces`, 'workspaces', { name: 'bare' });
    const set = await make(`${below}/varsets`, 'varsets', { name: 'all', description: hostile, global: true });
    const variable = { key: 'colour', value: hostile, description: hostile, category: 'terraform' };
    await make(`workspaces/${hedge.id}/vars`, 'vars', variable);
    const version = await make(`workspaces/${hedge.id}/configuration-versions`, 'configuration-versions', {
      'auto-queue-runs': false,
    });
    const files = { 'main.tf': 'output "height" { value = 3 }', 'README.md': readme };
    const upload = async ({ attributes }: Answer['data']) => {
      const { pathname, search } = new URL(attributes['upload-url']!);
      const put = await fetch(workspacesUrl + pathname + search, {
        method: 'PUT',
        headers: { 'Content-Type': 'application/octet-stream' },
        body: new Uint8Array(gzipSync(tarOf(files))),
      });
      expect(put.status).toBe(200);
    };
    await upload(version);
    const workspace = { data: { type: 'workspaces', id: hedge.id } };
    const run = await make('runs', 'runs', { message: hostile }, { workspace });
    await waitFor(async () => {
      const { data } = (await send(`${workspacesUrl}/api/v2/runs/${run.id}`, headers())) as Answer;
      return data.attributes.status === 'planned';
    });
    const provider = await make('admin/sign-in-providers', 'sign-in-providers', {
      name: hostile,
      issuer: 'https://id.example.com/thicket',
      'client-id': hostile,
      'client-secret': 'unseen',
      'groups-claim': hostile,
    });
    const connection = await make(`${below}/oauth-clients`, 'oauth-clients', {
      name: hostile,
      'service-provider': 'gitea',
      'http-url': outside,
      'api-url': `${outside}/api/v1`,
      'oauth-token-string': 'unseen',
    });
    // The receiver answers every notification with a hostile text.
    const notification = await make(
      `workspaces/${hedge.id}/notification-configurations`,
      'notification-configurations',
      {
        name: hostile,
        'destination-type': 'generic',
        url: `${outside}/hooks/open`,
        triggers: ['run:completed'],
        enabled: true,
      },
    );
    const module = await make(`${below}/registry-modules`, 'registry-modules', {
      name: 'wall',
      provider: 'stone',
      'test-config': { 'tests-enabled': true },
    });
    const tests = `${below}/tests/registry-modules/private/thicket/wall/stone`;
    await make(`${tests}/vars`, 'vars', variable);
    const tested = await make(`${tests}/test-runs/configuration-versions`, 'configuration-versions', {});
    await upload(tested);
    const configuration = { 'configuration-version': { data: { type: 'configuration-versions', id: tested.id } } };
    const test = await make(`${tests}/test-runs`, 'test-runs', {}, configuration);
    const query = await make('queries', 'queries', {}, { workspace });
    const policy = await make(`${below}/policies`, 'policies', {
      name: 'owners',
      description: hostile,
      kind: 'opa',
      query: 'data.terraform.owners.deny',
      'enforcement-level': 'mandatory',
    });
    const text = await fetch(`${workspacesUrl}/api/v2/policies/${policy.id}/upload`, {
      method: 'PUT',
      headers: { ...headers(), 'Content-Type': 'application/octet-stream' },
      body: 'package terraform.owners\n\ndeny contains "no owner" if true\n',
    });
    expect(text.status).toBe(200);
    const named = { policies: { data: [{ type: 'policies', id: policy.id }] } };
    const policySet = await make(
      `${below}/policy-sets`,
      'policy-sets',
      { name: 'few', description: hostile, kind: 'opa' },
      named,
    );
    const dryRun = await make(`${below}/policy-dry-runs`, 'policy-dry-runs', {}, named);
    const past = await make(`${below}/workspaces`, 'workspaces', { name: 'past' });
    await send(`${workspacesUrl}/api/v2/workspaces/${past.id}/actions/lock`, headers(), { reason: hostile });
    const state = JSON.stringify({
      version: 4,
      terraform_version: '1.11.4',
      serial: 1,
      lineage: 'thicket',
      outputs: { label: { value: hostile, type: 'string' } },
      resources: [],
    });
    const stored = await make(`workspaces/${past.id}/state-versions`, 'state-versions', {
      serial: 1,
      lineage: 'thicket',
      md5: createHash('md5').update(state).digest('hex'),
      state: Buffer.from(state).toString('base64'),
    });
    // The page shows the result of these runs, so wait until they have ended.
    const isOver = async (path: string) => {
      const { data } = (await send(`${workspacesUrl}/api/v2/${path}`, headers())) as Answer;
      return !['queued', 'running'].includes(data.attributes.status!);
    };
    await waitFor(() => isOver(`${tests}/test-runs/${test.id}`));
    await waitFor(() => isOver(`queries/${query.id}`));
    await waitFor(() => isOver(`policy-dry-runs/${dryRun.id}`));
    return {
      set: set.id,
      module: module.id,
      test: test.id,
      policy: policy.id,
      policySet: policySet.id,
      dryRun: dryRun.id,
      query: query.id,
      state: stored.id,
      project: project.id,
      team: team.id,
      pool: pool.id,
      addresses: addresses.id,
      run: run.id,
      provider: provider.id,
      connection: connection.id,
      notification: notification.id,
    };
  })();
  return garden;
}
