import { generateKeyPairSync } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { hasKubeApiServer, KubeApiServer, testCertificate } from '@keystead/testing';
import { signRaw } from '../stand-ins/jwt';
import { startSecrets } from '../start-secrets';

if (!hasKubeApiServer) {
  process.stderr.write(
    'skipped: no kube-apiserver (KEYSTEAD_KUBE_APISERVER) and etcd, so no pod logs in by a real one\n',
  );
}
const withCluster = hasKubeApiServer ? describe : describe.skip;

// The API server itself reviews tokens of service accounts; no other part of a cluster is needed.
withCluster('login by a Kubernetes API server', () => {
  const secrets = startSecrets();
  const cluster = new KubeApiServer();
  let reviewer = '';

  const api = async (method: 'GET' | 'POST' | 'DELETE', at: string, json?: object) => {
    const { status, text } = await cluster.call(method, at, json && JSON.stringify(json));
    if (status > 299) throw new Error(`${method} ${at}: ${status} ${text}`);
    return JSON.parse(text) as Record<string, Record<string, string>>;
  };
  const account = (namespace: string, name: string) =>
    api('POST', `/api/v1/namespaces/${namespace}/serviceaccounts`, { metadata: { name } });
  const token = async (namespace: string, name: string, audiences?: string[]) => {
    const at = `/api/v1/namespaces/${namespace}/serviceaccounts/${name}/token`;
    return (await api('POST', at, { spec: { ...(audiences ? { audiences } : {}), expirationSeconds: 600 } })).status!
      .token!;
  };
  const configure = (fields: object = {}) =>
    secrets.root.write('auth/kubernetes/config', {
      kubernetes_host: cluster.address,
      kubernetes_ca_cert: testCertificate.cert,
      token_reviewer_jwt: reviewer,
      ...fields,
    });
  const role = (name: string, fields: object = {}) =>
    secrets.root
      .write(`auth/kubernetes/role/${name}`, {
        bound_service_account_names: 'web',
        bound_service_account_namespaces: 'shop',
        ...fields,
      })
      .expect(204);
  const login = (jwt: string, name = 'web') => secrets.anonymous.write('auth/kubernetes/login', { role: name, jwt });

  beforeAll(async () => {
    await cluster.start();
    for (const [name, labels] of [
      ['shop', { team: 'a' }],
      ['lab', { team: 'b' }],
      ['vault', {}],
    ] as const) {
      await api('POST', '/api/v1/namespaces', { metadata: { name, labels } });
    }
    await account('shop', 'web');
    await account('shop', 'other');
    await account('lab', 'web');
    await account('vault', 'reviewer');
    const reviewing = { apiGroup: 'rbac.authorization.k8s.io', kind: 'ClusterRole', name: 'system:auth-delegator' };
    const viewing = { ...reviewing, name: 'view-namespaces' };
    await api('POST', '/apis/rbac.authorization.k8s.io/v1/clusterroles', {
      metadata: { name: 'view-namespaces' },
      rules: [{ apiGroups: [''], resources: ['namespaces'], verbs: ['get'] }],
    });
    const subjects = [{ kind: 'ServiceAccount', name: 'reviewer', namespace: 'vault' }];
    for (const [name, roleRef] of [
      ['reviews', reviewing],
      ['views', viewing],
    ] as const) {
      await api('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
        metadata: { name },
        roleRef,
        subjects,
      });
    }
    reviewer = await token('vault', 'reviewer');
    await secrets.root.write('sys/auth/kubernetes', { type: 'kubernetes' }).expect(204);
    await configure().expect(204);
    await role('web', { token_policies: 'of-shop' });
  }, 180_000);
  afterAll(async () => {
    await cluster.stop();
  });

  it('accepts the account that the role names, and no other', async () => {
    const { body } = await login(await token('shop', 'web')).expect(200);
    expect(body.auth).toMatchObject({
      policies: ['default', 'of-shop'],
      metadata: { service_account_name: 'web', service_account_namespace: 'shop', role: 'web' },
    });
    await login(await token('shop', 'other')).expect(403, /service account name not authorized/);
    await login(await token('lab', 'web')).expect(403, /namespace not authorized/);
  });

  it('accepts tokens for the audience of the role, or for that of the cluster if the role names none', async () => {
    await role('named', { audience: 'keystead' });
    await login(await token('shop', 'web', ['keystead']), 'named').expect(200);
    await login(await token('shop', 'web', ['another']), 'named').expect(403, /audience/);
    await login(await token('shop', 'web'), 'named').expect(403, /audience/);
  });

  it('checks the labels of the namespace if the role requires it', async () => {
    const selector = '{"matchLabels":{"team":"b"}}';
    const fields = {
      bound_service_account_namespaces: '',
      bound_service_account_namespace_selector: selector,
    };
    await role('labelled', fields);
    await login(await token('lab', 'web'), 'labelled').expect(200);
    await login(await token('shop', 'web'), 'labelled').expect(403);
  });

  it('accepts no token that the cluster did not sign, with any claims', async () => {
    const jwt = await token('shop', 'web');
    const claims = JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString());
    const { kid } = JSON.parse(Buffer.from(jwt.split('.')[0]!, 'base64url').toString());
    const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const forged = signRaw({ alg: 'RS256', kid }, claims, { kid, algorithm: 'RS256', ...pair });
    await login(forged).expect(403);
    const [head, , signature] = (await token('shop', 'other')).split('.');
    await login([head, jwt.split('.')[1], signature].join('.')).expect(403);
  });

  it('distinguishes an account from an earlier one of the same name, and refuses the token of the earlier one', async () => {
    await account('shop', 'brief');
    await role('brief', { bound_service_account_names: 'brief' });
    const old = await token('shop', 'brief');
    const before = (await login(old, 'brief').expect(200)).body.auth.entity_id;
    await api('DELETE', '/api/v1/namespaces/shop/serviceaccounts/brief');
    await account('shop', 'brief');
    // The API server caches accounts for a moment.
    for (let tries = 0; (await login(old, 'brief')).status !== 403; tries++) {
      if (tries > 150) throw new Error('the token of a deleted account is still taken');
      await sleep(100);
    }
    const { body } = await login(await token('shop', 'brief'), 'brief').expect(200);
    expect(body.auth.entity_id).not.toBe(before);
  });

  it('reviews a token with itself, if its account has the right', async () => {
    await configure({ token_reviewer_jwt: '' }).expect(204);
    await login(await token('shop', 'web')).expect(502, /not allowed to create token reviews/);
    await role('reviewer', { bound_service_account_names: 'reviewer', bound_service_account_namespaces: 'vault' });
    await login(await token('vault', 'reviewer'), 'reviewer').expect(200);
    await configure().expect(204);
  });

  describe('verifies tokens by the published keys of the cluster, without a review of each token', () => {
    const pods = (fields: object) => secrets.root.write('auth/pods/config', fields);
    const ca = testCertificate.cert;
    const enter = (jwt: string) => secrets.anonymous.write('auth/pods/login', { role: 'web', jwt });
    const sources = (): [string, object][] => [
      ['oidc_discovery_url', { oidc_discovery_url: cluster.address, oidc_discovery_ca_pem: ca }],
      ['jwks_url', { jwks_url: `${cluster.address}/openid/v1/jwks`, jwks_ca_pem: ca, bound_issuer: cluster.address }],
    ];

    beforeAll(async () => {
      await secrets.root.write('sys/auth/pods', { type: 'jwt' }).expect(204);
      const role = {
        role_type: 'jwt',
        bound_audiences: 'keystead',
        bound_claims: { '/kubernetes.io/namespace': 'shop', '/kubernetes.io/serviceaccount/name': 'web' },
        user_claim: '/kubernetes.io/serviceaccount/uid',
        user_claim_json_pointer: true,
        claim_mappings: { '/kubernetes.io/namespace': 'namespace' },
        token_policies: 'of-shop',
      };
      await secrets.root.write('auth/pods/role/web', role).expect(204);
    });

    it('reports that a cluster does not publish its keys, until it does', async () => {
      for (const [field, source] of sources()) {
        await pods(source).expect(400, new RegExp(`error checking ${field}: .*answered 40[13]`));
      }
      await api('POST', '/apis/rbac.authorization.k8s.io/v1/clusterrolebindings', {
        metadata: { name: 'keys' },
        roleRef: {
          apiGroup: 'rbac.authorization.k8s.io',
          kind: 'ClusterRole',
          name: 'system:service-account-issuer-discovery',
        },
        subjects: [{ apiGroup: 'rbac.authorization.k8s.io', kind: 'Group', name: 'system:unauthenticated' }],
      });
      // The API server caches roles for a moment.
      for (let tries = 0; (await pods(sources()[0]![1])).status !== 204; tries++) {
        if (tries > 150) throw new Error('the cluster does not show its keys');
        await sleep(100);
      }
    });

    it.each(['oidc_discovery_url', 'jwks_url'])('accepts the account that the role names, by %s', async (field) => {
      await pods(Object.fromEntries(sources())[field]!).expect(204);
      const jwt = await token('shop', 'web', ['keystead']);
      const { body } = await enter(jwt).expect(200);
      expect(body.auth).toMatchObject({
        policies: ['default', 'of-shop'],
        metadata: { namespace: 'shop', role: 'web' },
      });
      await enter(await token('shop', 'web')).expect(400, /audience/);
      await enter(await token('lab', 'web', ['keystead'])).expect(400, /namespace/);
      await enter(await token('shop', 'other', ['keystead'])).expect(400, /name/);
      const [head, , signature] = (await token('shop', 'other', ['keystead'])).split('.');
      await enter([head, jwt.split('.')[1], signature].join('.')).expect(400, /signature/);
      await pods({ ...Object.fromEntries(sources())[field], bound_issuer: 'https://elsewhere.example' }).expect(204);
      await enter(jwt).expect(400, /issuer/);
    });

    it('accepts a pod while the cluster is down, and does not notice deleted accounts', async () => {
      await pods(sources()[0]![1]).expect(204);
      await account('shop', 'gone');
      const role = { role_type: 'jwt', bound_subject: 'system:serviceaccount:shop:gone', user_claim: 'sub' };
      await secrets.root.write('auth/pods/role/gone', { ...role, bound_audiences: 'keystead' }).expect(204);
      const jwt = await token('shop', 'gone', ['keystead']);
      await api('DELETE', '/api/v1/namespaces/shop/serviceaccounts/gone');
      await cluster.kill();
      await secrets.anonymous.write('auth/pods/login', { role: 'gone', jwt }).expect(200);
      await cluster.resume();
    }, 120_000);
  });

  it('reports that the cluster is down, and continues when it is back', async () => {
    const jwt = await token('shop', 'web');
    await cluster.kill();
    await login(jwt).expect(502);
    await cluster.resume();
    await login(jwt).expect(200);
  }, 120_000);
});
