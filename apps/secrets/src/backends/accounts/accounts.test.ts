import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { until } from '../../../test/fresh-storage';
import { countIntents } from '../../../test/intents';
import { AccountsStandIn } from '../../../test/stand-ins/accounts';
import { startSecrets } from '../../../test/start-secrets';

describe('the engine kubernetes', () => {
  const cluster = new AccountsStandIn();
  let aheadMs = 0;
  const clock = { now: () => Date.now() + aheadMs };
  const secrets = startSecrets({ clock });
  const core = '/api/v1/namespaces';
  const write = (path: string, body: object = {}) => secrets.root.write(`cluster/${path}`, body);
  const refused = async (path: string, body: object = {}) => (await write(path, body).expect(400)).body.errors[0];
  let made = 0;
  const role = async (fields: object) => {
    const name = `r${++made}`;
    await write(`roles/${name}`, { allowed_kubernetes_namespaces: 'shop', ...fields }).expect(204);
    return name;
  };
  const creds = async (fields: object, request: object = {}) =>
    (await write(`creds/${await role(fields)}`, request).expect(200)).body;
  const settings = () => ({
    kubernetes_host: cluster.address,
    kubernetes_ca_cert: cluster.ca,
    service_account_jwt: cluster.bearer,
  });
  const kinds = () => [...cluster.objects.values()].map(({ kind }) => kind).sort();

  beforeAll(async () => {
    cluster.nowMs = clock.now;
    await cluster.start();
    await secrets.root.write('sys/mounts/cluster', { type: 'kubernetes' }).expect(204);
    await write('config', settings()).expect(204);
  });
  afterAll(() => cluster.stop());
  beforeEach(() => {
    cluster.objects.clear();
    cluster.calls.length = 0;
    cluster.tokenRequests.length = 0;
    cluster.instead = () => undefined;
    cluster.objects.set(`${core}/shop/serviceaccounts/web`, { kind: 'ServiceAccount' });
  });

  it('issues tokens of an existing account, and never deletes the account (E11.1)', async () => {
    const { data, lease_id, lease_duration, renewable } = await creds(
      { service_account_name: 'web', token_default_audiences: 'a,b' },
      { ttl: '20m' },
    );
    expect(data).toEqual({
      service_account_name: 'web',
      service_account_namespace: 'shop',
      service_account_token: 'token-of-web',
    });
    expect(lease_duration).toBeGreaterThan(1190);
    expect([lease_duration <= 1200, renewable]).toEqual([true, false]);
    expect(cluster.tokenRequests[0].spec).toEqual({ expirationSeconds: 1200, audiences: ['a', 'b'] });
    await secrets.root.write('sys/leases/revoke', { lease_id }).expect(204);
    expect(kinds()).toEqual(['ServiceAccount']);
  });

  it.each([
    [{ kubernetes_role_name: 'reader' }, {}, ['RoleBinding', 'ServiceAccount'], 'reader'],
    [
      { kubernetes_role_name: 'view', kubernetes_role_type: 'clusterrole' },
      {},
      ['RoleBinding', 'ServiceAccount'],
      'view',
    ],
    [
      { kubernetes_role_name: 'view', kubernetes_role_type: 'ClusterRole' },
      { cluster_role_binding: true },
      ['ClusterRoleBinding', 'ServiceAccount'],
      'view',
    ],
    [
      { generated_role_rules: 'rules:\n- apiGroups: [""]\n  resources: [pods]\n  verbs: [get]\n' },
      {},
      ['Role', 'RoleBinding', 'ServiceAccount'],
      undefined,
    ],
    [
      { generated_role_rules: '{"rules":[{"verbs":["get"]}]}', kubernetes_role_type: 'ClusterRole' },
      { cluster_role_binding: true },
      ['ClusterRole', 'ClusterRoleBinding', 'ServiceAccount'],
      undefined,
    ],
  ])(
    'creates an account for %j with %j, and deletes all of it with the lease (E11.2)',
    async (fields, request, expected, bound) => {
      cluster.objects.clear();
      const { data, lease_id } = await creds(
        { ...fields, extra_labels: { team: 'x' }, extra_annotations: { note: 'y' } },
        request,
      );
      const name = data.service_account_name;
      expect(name).toMatch(/^v-root-r\d+-\d+-[a-z0-9]{24}$/);
      expect(data.service_account_token).toBe(`token-of-${name}`);
      expect(kinds()).toEqual(expected);
      for (const [path, { kind, metadata }] of cluster.objects) {
        expect(path).toContain(`/${kind.toLowerCase()}s`);
        expect(metadata).toMatchObject({
          name,
          labels: { team: 'x', 'app.kubernetes.io/managed-by': 'keystead' },
          annotations: { note: 'y' },
        });
      }
      const binding = [...cluster.objects.values()].find(({ kind }) => kind.endsWith('Binding'));
      expect(binding.roleRef.name).toBe(bound ?? name);
      expect(binding.subjects).toEqual([{ kind: 'ServiceAccount', name, namespace: 'shop' }]);
      await secrets.root.write('sys/leases/revoke', { lease_id, sync: true }).expect(204);
      expect(kinds()).toEqual([]);
      const deletions = cluster.calls.filter((call) => call.startsWith('DELETE'));
      expect(new Set(deletions).size).toBe(expected.length);
      expect(deletions).toHaveLength(expected.length);
    },
  );

  it.each([
    ['refused', (): [number, object] => [403, { message: 'forbidden' }]],
    ['lost', () => 'lost' as const],
    ['failing', (): [number, object] => [500, {}]],
  ])(
    'leaves nothing behind if any call is %s (E11.3)',
    async (_what, failure) => {
      const rules = { generated_role_rules: '{"rules":[{"verbs":["get"]}]}' };
      const name = await role(rules);
      for (const failing of [1, 2, 3, 4]) {
        const start = cluster.calls.length;
        cluster.instead = (call, count) =>
          count >= start + failing && call.startsWith('POST') ? failure() : undefined;
        const answer = await write(`creds/${name}`);
        expect(answer.status).toBeGreaterThanOrEqual(400);
        cluster.instead = () => undefined;
        // The recorded intent is due by then, and so is its second check.
        aheadMs += 6 * 60_000;
        await until(async () => (await countIntents(secrets.database)) === 0);
        expect(kinds()).toEqual(['ServiceAccount']);
      }
    },
    120_000,
  );

  it.each([
    ['the cluster refuses', [409, { message: 'the object has been modified' }]],
    ['the cluster denies it', [403, { message: 'forbidden' }]],
    ['the cluster fails', [500, {}]],
  ] as [string, [number, object]][])(
    'retries automatically to delete an account if %s, and keeps its lease until then (E11.3)',
    async (_what, answer) => {
      const { lease_id } = await creds({ kubernetes_role_name: 'reader' });
      const tries = () => cluster.calls.filter((call) => call.startsWith('DELETE')).length;
      cluster.instead = (call) => (call.startsWith('DELETE') ? answer : undefined);
      await secrets.root.write('sys/leases/revoke', { lease_id, sync: false }).expect(204);
      await until(() => tries() === 1);
      const lookUp = () => secrets.root.write('sys/leases/lookup', { lease_id });
      await lookUp().expect(200);
      cluster.instead = () => undefined;
      aheadMs += 60_000;
      await until(async () => (await lookUp()).status === 400);
      expect(kinds()).toEqual(['ServiceAccount']);
    },
    60_000,
  );

  it('deletes an account as soon as there are settings again, regardless of the retry time', async () => {
    const { lease_id } = await creds({ kubernetes_role_name: 'reader' });
    await secrets.root.delete('cluster/config').expect(204);
    await secrets.root.write('sys/leases/revoke', { lease_id, sync: false }).expect(204);
    const irrevocable = async () =>
      (await secrets.root.read('sys/leases/count?type=irrevocable').expect(200)).body.data.lease_count;
    await until(async () => (await irrevocable()) === 1);
    await write('config', settings()).expect(204);
    await until(async () => (await irrevocable()) === 0 && kinds().length === 1);
    expect(kinds()).toEqual(['ServiceAccount']);
  });

  it.each([
    [
      { service_account_name: 'web' },
      { kubernetes_namespace: 'lab' },
      /^kubernetes_namespace 'lab' is not present in role's/,
    ],
    [{ service_account_name: 'web' }, { kubernetes_namespace: 'shop/../lab' }, /is not present in role's/],
    [
      { service_account_name: 'web', allowed_kubernetes_namespaces: 'shop,lab' },
      {},
      /^'kubernetes_namespace' is required/,
    ],
    [{ service_account_name: 'web', allowed_kubernetes_namespaces: '*' }, {}, /^'kubernetes_namespace' is required/],
    [
      { service_account_name: 'absent' },
      {},
      /^failed to create a service account token for shop\/absent: serviceaccounts "absent" not found$/,
    ],
    [{ service_account_name: 'web' }, { ttl: '1m' }, /may not specify a duration less than 10 minutes$/],
    [{ kubernetes_role_name: 'x' }, { cluster_role_binding: true }, /^a ClusterRoleBinding cannot ref a Role$/],
    [
      { kubernetes_role_name: 'x', name_template: '{{ .DisplayName }}_{{ .RoleName }}' },
      {},
      /^the name template gives/,
    ],
  ])('refuses %j with %j (E11.4)', async (fields, request, text) => {
    expect(await refused(`creds/${await role(fields)}`, request)).toMatch(text);
    expect(kinds()).toEqual(['ServiceAccount']);
  });

  it('selects namespaces by labels (E11.4)', async () => {
    cluster.objects.set(`${core}/lab/serviceaccounts/web`, {});
    const fits = async (selector: string, kubernetes_namespace: string) => {
      const fields = {
        service_account_name: 'web',
        allowed_kubernetes_namespaces: [],
        allowed_kubernetes_namespace_selector: selector,
      };
      return (await write(`creds/${await role(fields)}`, { kubernetes_namespace })).status === 200;
    };
    const inList = 'matchExpressions:\n- { key: team, operator: In, values: [a] }\n';
    for (const selector of [
      '{"matchLabels":{"team":"a"}}',
      inList,
      '{"matchExpressions":[{"key":"team","operator":"NotIn","values":["b"]}]}',
    ]) {
      expect([await fits(selector, 'shop'), await fits(selector, 'lab'), await fits(selector, 'absent')]).toEqual([
        true,
        false,
        false,
      ]);
    }
  });

  it.each([
    [{}, 'one (and only one) of service_account_name, kubernetes_role_name or generated_role_rules must be set'],
    [
      { service_account_name: 'a', kubernetes_role_name: 'b' },
      'one (and only one) of service_account_name, kubernetes_role_name or generated_role_rules must be set',
    ],
    [
      { service_account_name: 'a', allowed_kubernetes_namespaces: [] },
      'one (at least) of allowed_kubernetes_namespaces or allowed_kubernetes_namespace_selector must be set',
    ],
    [
      { kubernetes_role_name: 'a', kubernetes_role_type: 'x' },
      "kubernetes_role_type must be either 'Role' or 'ClusterRole'",
    ],
    [
      { generated_role_rules: 'rules: 7' },
      "failed to parse 'generated_role_rules' as k8s.io/api/rbac/v1/Policy object",
    ],
    [
      { generated_role_rules: 'a: &a [1]\nb: [*a, *a]' },
      "failed to parse 'generated_role_rules' as k8s.io/api/rbac/v1/Policy object",
    ],
    [{ service_account_name: '../x' }, '"../x" is not a valid name of a cluster role'],
    [{ kubernetes_role_name: 'a', name_template: '{{ nope }}' }, /^unable to initialize name template: /],
    [
      { service_account_name: 'a', token_default_ttl: 60, token_max_ttl: 30 },
      'token_default_ttl 60s cannot be greater than token_max_ttl 30s',
    ],
    [
      { service_account_name: 'a', allowed_kubernetes_namespace_selector: '{"matchLabels":{"a":1}}' },
      /^failed to parse 'allowed_kubernetes_namespace_selector'/,
    ],
  ])('refuses a role %j (E11.5)', async (fields, text) => {
    const error = await refused('roles/wrong', { allowed_kubernetes_namespaces: 'shop', ...fields });
    if (typeof text === 'string') expect(error).toBe(text);
    else expect(error).toMatch(text);
    await secrets.root.read('cluster/roles/wrong').expect(404);
  });

  it('never shows the token it calls with, and names a missing setting (E11.6)', async () => {
    const { body } = await secrets.root.read('cluster/config').expect(200);
    expect(body.data).toEqual({
      kubernetes_host: cluster.address,
      kubernetes_ca_cert: cluster.ca,
      disable_local_ca_jwt: false,
    });
    await secrets.root.write('sys/mounts/other', { type: 'kubernetes' }).expect(204);
    const fields = { allowed_kubernetes_namespaces: 'shop', service_account_name: 'web' };
    await secrets.root.write('other/roles/a', fields).expect(204);
    const error = (await secrets.root.write('other/creds/a').expect(400)).body.errors[0];
    expect(error).toBe('could not load backend configuration');
    const moved = await write('config', { kubernetes_host: 'https://other.example' }).expect(400);
    expect(moved.body.errors[0]).toMatch(/service_account_jwt/);
  });
});
