import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hasKubeApiServer, KubeApiServer, testCertificate } from '@keystead/testing';
import { countIntents } from '../intents';
import { startSecrets } from '../start-secrets';

if (!hasKubeApiServer) {
  process.stderr.write(
    'skipped: no kube-apiserver (KEYSTEAD_KUBE_APISERVER) and etcd, so no accounts are made in a real one\n',
  );
}
const withCluster = hasKubeApiServer ? describe : describe.skip;

const rbac = '/apis/rbac.authorization.k8s.io/v1';
const rights = [
  { apiGroups: [''], resources: ['serviceaccounts'], verbs: ['create', 'delete'] },
  { apiGroups: [''], resources: ['serviceaccounts/token'], verbs: ['create'] },
  { apiGroups: [''], resources: ['namespaces'], verbs: ['get'] },
  {
    apiGroups: ['rbac.authorization.k8s.io'],
    resources: ['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'],
    verbs: ['create', 'delete', 'bind', 'escalate'],
  },
];

// The API server validates the engine's objects: names, bindings, tokens, and their rights.
withCluster('accounts of a Kubernetes API server', () => {
  let aheadMs = 0;
  const secrets = startSecrets({ clock: { now: () => Date.now() + aheadMs } });
  const cluster = new KubeApiServer();
  let made = 0;

  const api = async (method: 'GET' | 'POST', at: string, json?: object) => {
    const { status, text } = await cluster.call(method, at, json && JSON.stringify(json));
    if (status > 299) throw new Error(`${method} ${at}: ${status} ${text}`);
    return JSON.parse(text);
  };
  /** The status of a request with a token of the engine. */
  const as = async (token: string, at: string): Promise<number> =>
    (await cluster.call('GET', at, undefined, undefined, token)).status;
  const creds = async (fields: object, asked: object = {}) => {
    const name = `r${++made}`;
    await secrets.root.write(`cluster/roles/${name}`, { allowed_kubernetes_namespaces: 'shop', ...fields }).expect(204);
    return (await secrets.root.write(`cluster/creds/${name}`, asked).expect(200)).body;
  };
  /** Names of the objects that the engine has created, in any namespace. */
  const left = async (): Promise<string[]> => {
    const lists = [
      '/api/v1/serviceaccounts',
      ...['roles', 'rolebindings', 'clusterroles', 'clusterrolebindings'].map((kind) => `${rbac}/${kind}`),
    ];
    const found = await Promise.all(
      lists.map((at) => api('GET', `${at}?labelSelector=app.kubernetes.io/managed-by=keystead`)),
    );
    return found.flatMap(({ items }) => items.map(({ metadata }: { metadata: { name: string } }) => metadata.name));
  };
  const end = (lease_id: string) => secrets.root.write('sys/leases/revoke', { lease_id, sync: true }).expect(204);
  const until = async (fits: () => Promise<boolean>) => {
    for (let tries = 0; !(await fits()); tries++) {
      if (tries > 300) throw new Error('it does not become so');
      await sleep(100);
    }
  };
  const pods = '/api/v1/namespaces/shop/pods';

  beforeAll(async () => {
    await cluster.start();
    for (const [name, labels] of [
      ['shop', { team: 'a' }],
      ['lab', { team: 'b' }],
      ['vault', {}],
    ] as const) {
      await api('POST', '/api/v1/namespaces', { metadata: { name, labels } });
    }
    for (const [namespace, name] of [
      ['shop', 'web'],
      ['vault', 'engine'],
    ]) {
      await api('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
    }
    const reading = [{ apiGroups: [''], resources: ['pods'], verbs: ['get', 'list'] }];
    await api('POST', `${rbac}/clusterroles`, { metadata: { name: 'engine' }, rules: rights });
    await api('POST', `${rbac}/clusterroles`, { metadata: { name: 'reader' }, rules: reading });
    await api('POST', `${rbac}/namespaces/shop/roles`, { metadata: { name: 'reader' }, rules: reading });
    await api('POST', `${rbac}/clusterrolebindings`, {
      metadata: { name: 'engine' },
      roleRef: { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'engine' },
      subjects: [{ kind: 'ServiceAccount', name: 'engine', namespace: 'vault' }],
    });
    const { status } = await api('POST', '/api/v1/namespaces/vault/serviceaccounts/engine/token', {
      spec: { expirationSeconds: 3600 },
    });
    await secrets.root.write('sys/mounts/cluster', { type: 'kubernetes' }).expect(204);
    await secrets.root
      .write('cluster/config', {
        kubernetes_host: cluster.address,
        kubernetes_ca_cert: testCertificate.cert,
        service_account_jwt: status.token,
      })
      .expect(204);
  }, 180_000);
  afterAll(() => cluster.stop());

  it('creates tokens of an existing account, for the requested lifetime and audiences', async () => {
    const { data, lease_id, lease_duration } = await creds(
      { service_account_name: 'web' },
      { ttl: '20m', audiences: 'a,b' },
    );
    const claims = JSON.parse(Buffer.from(data.service_account_token.split('.')[1], 'base64url').toString());
    expect(claims).toMatchObject({ aud: ['a', 'b'], sub: 'system:serviceaccount:shop:web' });
    expect(claims.exp - claims.iat).toBe(1200);
    expect(lease_duration).toBeGreaterThan(1190);
    await end(lease_id);
    expect((await api('GET', '/api/v1/namespaces/shop/serviceaccounts/web')).metadata.name).toBe('web');
  });

  it.each([
    ['a role', { kubernetes_role_name: 'reader' }, {}, [200, 403]],
    [
      'a cluster role in one namespace',
      { kubernetes_role_name: 'reader', kubernetes_role_type: 'ClusterRole' },
      {},
      [200, 403],
    ],
    [
      'a cluster role in all namespaces',
      { kubernetes_role_name: 'reader', kubernetes_role_type: 'ClusterRole' },
      { cluster_role_binding: true },
      [200, 200],
    ],
    [
      'separate rules',
      { generated_role_rules: 'rules:\n- apiGroups: [""]\n  resources: [pods]\n  verbs: [list]\n' },
      {},
      [200, 403],
    ],
    [
      'separate rules in all namespaces',
      {
        generated_role_rules: '{"rules":[{"apiGroups":[""],"resources":["pods"],"verbs":["list"]}]}',
        kubernetes_role_type: 'ClusterRole',
      },
      { cluster_role_binding: true },
      [200, 200],
    ],
  ])(
    'creates an account with %s, which has only these rights until its lease ends',
    async (_what, fields, asked, may) => {
      const labels = { extra_labels: { team: 'x' }, extra_annotations: { note: 'y' } };
      const { data, lease_id } = await creds({ ...fields, ...labels }, asked);
      const { service_account_name: name, service_account_token: token } = data;
      const account = await api('GET', `/api/v1/namespaces/shop/serviceaccounts/${name}`);
      expect(account.metadata).toMatchObject({ labels: { team: 'x' }, annotations: { note: 'y' } });
      // The API server caches bindings for a moment.
      await until(async () => (await as(token, pods)) === 200);
      expect([await as(token, pods), await as(token, '/api/v1/namespaces/lab/pods')]).toEqual(may);
      expect(await as(token, '/api/v1/namespaces/shop/secrets')).toBe(403);
      await end(lease_id);
      expect(await left()).toEqual([]);
      await until(async () => (await as(token, pods)) === 401);
    },
  );

  it('selects namespaces by labels', async () => {
    const fields = {
      service_account_name: 'web',
      allowed_kubernetes_namespaces: [],
      allowed_kubernetes_namespace_selector: '{"matchLabels":{"team":"a"}}',
    };
    expect((await creds(fields, { kubernetes_namespace: 'shop' })).data.service_account_namespace).toBe('shop');
    for (const kubernetes_namespace of ['lab', 'absent']) {
      const { body } = await secrets.root.write(`cluster/creds/r${made}`, { kubernetes_namespace }).expect(400);
      expect(body.errors[0]).toMatch(/is not present in role's/);
    }
  });

  it('leaves nothing behind if the server refuses the binding', async () => {
    const name = `r${++made}`;
    const fields = { generated_role_rules: '{"rules":[{"verbs":["get"]}]}' };
    await secrets.root.write(`cluster/roles/${name}`, { allowed_kubernetes_namespaces: 'shop', ...fields }).expect(204);
    const { body } = await secrets.root.write(`cluster/creds/${name}`).expect(400);
    expect(body.errors[0]).toMatch(/^failed to create roles shop\/v-root-/);
    aheadMs += 6 * 60_000;
    await until(async () => (await countIntents(secrets.database)) === 0);
    expect(await left()).toEqual([]);
  });

  it('keeps a lease that cannot be revoked while the server is down, and revokes it when the server is back', async () => {
    const { data, lease_id } = await creds({ kubernetes_role_name: 'reader' });
    await cluster.kill();
    await secrets.root.write('sys/leases/revoke', { lease_id, sync: true }).expect(400);
    await cluster.resume();
    expect(await left()).toContain(data.service_account_name);
    await end(lease_id);
    expect(await left()).toEqual([]);
  }, 120_000);
});
