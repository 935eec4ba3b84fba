import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import { ClusterStandIn } from '../../../test/stand-ins/kubernetes';
import { startSecrets } from '../../../test/start-secrets';
import { Cluster } from './cluster';

describe('login with a service account', () => {
  const clock = manualClock(Date.now());
  const cluster = new ClusterStandIn();
  const other = new ClusterStandIn();
  for (const one of [cluster, other]) one.nowMs = () => clock.now();
  beforeAll(() => Promise.all([cluster.start(), other.start()]));
  afterAll(() => Promise.all([cluster.stop(), other.stop()]));
  const secrets = startSecrets({ clock });
  const web = cluster.accounts[0]!;

  const configure = (fields: object = {}) =>
    secrets.root.write('auth/kubernetes/config', {
      kubernetes_host: cluster.address,
      kubernetes_ca_cert: cluster.ca,
      token_reviewer_jwt: cluster.reviewer,
      ...fields,
    });
  const role = (name: string, fields: object = {}) =>
    secrets.root.write(`auth/kubernetes/role/${name}`, {
      bound_service_account_names: 'web',
      bound_service_account_namespaces: 'shop',
      ...fields,
    });
  const login = (jwt: string, name = 'web') => secrets.anonymous.write('auth/kubernetes/login', { role: name, jwt });
  beforeAll(async () => {
    await secrets.root.write('sys/auth/kubernetes', { type: 'kubernetes' }).expect(204);
    await login('x').expect(400, /invalid role name/);
    await role('web', { token_policies: 'shop', token_ttl: '20m' }).expect(204);
    await login('x').expect(400, /could not load backend configuration/);
    await configure().expect(204);
  });
  beforeEach(() => {
    for (const one of [cluster, other]) Object.assign(one, { instead: undefined, status: {} });
  });

  it('keeps its configuration, and shows no token', async () => {
    const { body, text } = await secrets.root.read('auth/kubernetes/config').expect(200);
    expect(body.data).toEqual({
      kubernetes_host: cluster.address,
      kubernetes_ca_cert: cluster.ca,
      pem_keys: [],
      issuer: '',
      disable_iss_validation: true,
      disable_local_ca_jwt: false,
      token_reviewer_jwt_set: true,
    });
    expect(text).not.toContain(cluster.reviewer);
  });

  it.each([
    [{ kubernetes_host: '' }, 'no host provided'],
    [{ kubernetes_host: 'ftp://a' }, 'kubernetes_host must be an https address'],
    [{ kubernetes_host: 'https://a:b@c' }, 'kubernetes_host must be an https address'],
    [{ token_reviewer_jwt: 'pasted\n' }, 'token_reviewer_jwt'],
    [{ pem_keys: 'x' }, 'number 1 of pem_keys is not a public key'],
    [{ kubernetes_ca_cert: '', disable_local_ca_jwt: true }, 'kubernetes_ca_cert is required'],
  ])('refuses the configuration %j', async (fields, text) => {
    const { body } = await configure(fields).expect(400);
    expect(body.errors[0]).toContain(text);
  });

  it('warns of settings that cannot be right', async () => {
    expect((await configure({ kubernetes_ca_cert: 'x' }).expect(200)).body.warnings[0]).toContain('not an x509');
    expect((await configure({ kubernetes_host: 'http://a' }).expect(200)).body.warnings[0]).toContain('in the clear');
    await configure().expect(204);
  });

  it.each([
    [{ bound_service_account_names: '' }, '"bound_service_account_names" can not be empty'],
    [{ bound_service_account_namespaces: '' }, '"bound_service_account_namespaces" can not be empty'],
    [{ bound_service_account_names: '*,a' }, 'can not mix "*" with values'],
    [{ alias_name_source: 'pod' }, 'unrecognized alias_name_source pod'],
    [{ bound_service_account_namespace_selector: 'team: a' }, 'team is not supported'],
    [{ bound_service_account_namespace_selector: '{"matchExpressions":[]}' }, 'it must name a label'],
    [{ bound_service_account_namespace_selector: '{}' }, 'it must name a label'],
    [{ bound_service_account_namespace_selector: '{"matchLabels":{"a":1}}' }, 'labels must be strings'],
    [{ token_period: '9000h' }, 'is greater than'],
  ])('refuses the role %j', async (fields, text) => {
    const { body } = await role('bad', fields).expect(400);
    expect(body.errors[0]).toContain(text);
  });

  it('keeps roles, and shows them', async () => {
    await role('Shown', { audience: 'keystead', ttl: '5m' }).expect(204);
    await secrets.root.write('auth/kubernetes/role/shown', { token_max_ttl: '1h' }).expect(204);
    const { body } = await secrets.root.read('auth/kubernetes/role/shown').expect(200);
    expect(body.data).toMatchObject({
      bound_service_account_names: ['web'],
      audience: 'keystead',
      alias_name_source: 'serviceaccount_uid',
      token_ttl: 300,
      ttl: 300,
      token_max_ttl: 3600,
    });
    expect((await secrets.root.list('auth/kubernetes/role').expect(200)).body.data.keys).toEqual(['shown', 'web']);
    await secrets.root.delete('auth/kubernetes/role/shown').expect(204);
    await secrets.root.read('auth/kubernetes/role/shown').expect(404);
  });

  it('gives a token to an account that the cluster vouches for', async () => {
    const { body } = await login(cluster.token(web)).expect(200);
    const metadata = {
      service_account_uid: 'uid-1',
      service_account_name: 'web',
      service_account_namespace: 'shop',
      service_account_secret_name: '',
    };
    expect(body.auth).toMatchObject({
      token_policies: ['default', 'shop'],
      lease_duration: 1200,
      metadata: { ...metadata, role: 'web' },
    });
    const entity = await secrets.root.read(`identity/entity/id/${body.auth.entity_id}`).expect(200);
    expect(entity.body.data.aliases[0]).toMatchObject({ name: 'uid-1', metadata });
    expect(cluster.bearers.at(-1)).toBe(`Bearer ${cluster.reviewer}`);
    await role('named', { alias_name_source: 'serviceaccount_name' }).expect(204);
    const named = await login(cluster.token(web), 'named').expect(200);
    const known = await secrets.root.read(`identity/entity/id/${named.body.auth.entity_id}`).expect(200);
    expect(known.body.data.aliases[0].name).toBe('shop/web');
  });

  it('accepts tokens from Secrets as well', async () => {
    const of = (name: string) => `kubernetes.io/serviceaccount/${name}`;
    const legacy = {
      iss: 'kubernetes/serviceaccount',
      aud: undefined,
      exp: undefined,
      'kubernetes.io': undefined,
      [of('namespace')]: 'shop',
      [of('service-account.name')]: 'web',
      [of('service-account.uid')]: 'uid-1',
      [of('secret.name')]: 'web-token-x',
    };
    const { body } = await login(cluster.token(web, legacy)).expect(200);
    expect(body.auth.metadata.service_account_secret_name).toBe('web-token-x');
  });

  it.each<[string, () => string]>([
    ['that is malformed', () => 'x'],
    ['of another cluster', () => other.token(web)],
    ['of a deleted account', () => cluster.token({ ...web, uid: 'uid-0' })],
    ['that has expired', () => cluster.token(web, { exp: 1_000_000_000 })],
    ['that is not valid yet', () => cluster.token(web, { nbf: 9_000_000_000 })],
    ['without an account', () => cluster.token(web, { 'kubernetes.io': {} })],
    ['of a namespace with slashes', () => cluster.token({ ...web, namespace: '../../x' })],
    ['with other claims', () => cluster.token(web).replace(/\.[^.]+\./, `.${other.token(web).split('.')[1]}x.`)],
  ])('refuses a token %s, without details', async (_what, token) => {
    const { body } = await login(token()).expect(403);
    expect(body.errors).toEqual(['permission denied']);
  });

  it('accepts no review of another account, and nothing that is not a review', async () => {
    for (const user of [
      { username: 'system:serviceaccount:shop:admin', uid: 'uid-1' },
      { username: 'system:serviceaccount:shop:web', uid: 'uid-2' },
      { username: 'system:serviceaccount:kube-system:web', uid: 'uid-1' },
      { username: 'admin', uid: 'uid-1' },
      {},
    ]) {
      cluster.status = { user };
      await login(cluster.token(web)).expect(403, /permission denied/);
    }
    for (const status of [{ audiences: [] }, { authenticated: 'yes' }, { error: 'x' }]) {
      cluster.status = status;
      await login(cluster.token(web)).expect(403, /permission denied/);
    }
  });

  it('does not review an account that the role does not allow', async () => {
    await role('globs', { bound_service_account_names: 'w*', bound_service_account_namespaces: 's*p' }).expect(204);
    await login(cluster.token(web), 'globs').expect(200);
    const callsBefore = cluster.calls.length;
    await login(cluster.token({ ...web, name: 'admin' })).expect(403, /service account name not authorized/);
    await login(cluster.token({ ...web, namespace: 'bank' })).expect(403, /namespace not authorized/);
    await role('far', { token_bound_cidrs: '10.0.0.0/8' }).expect(204);
    await login(cluster.token(web), 'far').expect(403);
    expect(cluster.calls).toHaveLength(callsBefore);
  });

  it('requires the audience of the role', async () => {
    await role('aud', { audience: 'keystead' }).expect(204);
    await login(cluster.token(web), 'aud').expect(403, /audience claim does not match/);
    await login(cluster.token(web, { aud: ['keystead'] }), 'aud').expect(200);
  });

  it('looks up the labels of a namespace if the role selects by them', async () => {
    const selector = (team: string) => ({
      bound_service_account_namespaces: '',
      bound_service_account_namespace_selector: JSON.stringify({ matchLabels: { team } }),
    });
    await role('team', selector('a')).expect(204);
    await login(cluster.token(web), 'team').expect(200);
    await role('team', selector('b')).expect(204);
    await login(cluster.token(web), 'team').expect(403, /namespace not authorized/);
    await configure({ token_reviewer_jwt: '' }).expect(204);
    await login(cluster.token(web), 'team').expect(400, /needs token_reviewer_jwt/);
    await configure().expect(204);
  });

  it('verifies signatures with configured keys, and issuers if configured', async () => {
    const pem = (of: ClusterStandIn) => of.key.publicKey.export({ type: 'spki', format: 'pem' }).toString();
    await configure({ pem_keys: [pem(other)] }).expect(204);
    await login(cluster.token(web)).expect(403);
    await configure({ pem_keys: [pem(other), pem(cluster)] }).expect(204);
    await login(cluster.token(web)).expect(200);
    await configure({ disable_iss_validation: false, issuer: 'https://elsewhere' }).expect(204);
    await login(cluster.token(web)).expect(403);
    await configure({ disable_iss_validation: false, issuer: 'https://kubernetes.default.svc' }).expect(204);
    await login(cluster.token(web)).expect(200);
    await configure().expect(204);
  });

  it('reviews a token with itself if there is no other reviewer', async () => {
    await configure({ token_reviewer_jwt: '' }).expect(204);
    const token = cluster.token(web);
    await login(token).expect(200);
    expect(cluster.bearers.at(-1)).toBe(`Bearer ${token}`);
    await login(other.token(web)).expect(403, /permission denied/);
    await configure().expect(204);
  });

  it.each<[string, [number, unknown]]>([
    ['answers 500', [500, {}]],
    ['does not accept our token', [401, {}]],
    ['denies our request', [403, {}]],
    ['returns a string', [201, 'x']],
  ])('says 502 while the cluster %s', async (_what, answer) => {
    cluster.instead = answer;
    await login(cluster.token(web)).expect(502, /the cluster answered|response of the cluster/);
  });

  it('trusts only the configured certificates', async () => {
    await configure({ kubernetes_ca_cert: '' }).expect(204);
    await login(cluster.token(web)).expect(502, /the cluster is unreachable/);
    await configure().expect(204);
  });

  it('renews by the current role, and not once the role is deleted', async () => {
    await role('brief', { token_ttl: '10m' }).expect(204);
    const { body } = await login(cluster.token(web), 'brief').expect(200);
    await role('brief', { token_ttl: '25m' }).expect(204);
    const renew = () => secrets.as(body.auth.client_token).write('auth/token/renew-self', {});
    expect((await renew().expect(200)).body.auth.lease_duration).toBe(1500);
    await secrets.root.delete('auth/kubernetes/role/brief').expect(204);
    await renew().expect(400, /role brief does not exist during renewal/);
  });

  it('sends its own pod’s token only to servers with its own pod’s CA', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'keystead-pod-'));
    const pod = { caFile: join(folder, 'ca.crt'), tokenFile: join(folder, 'token') };
    writeFileSync(pod.caFile, cluster.ca);
    writeFileSync(pod.tokenFile, `${cluster.reviewer}\n`);
    const within = new Cluster(clock, pod);
    const base = { kubernetes_host: cluster.address, kubernetes_ca_cert: '', token_reviewer_jwt: '', issuer: '' };
    const config = { ...base, pem_keys: [], disable_iss_validation: true, disable_local_ca_jwt: false };
    const token = cluster.token(web);
    try {
      await within.review(config, token, []);
      expect(cluster.bearers.at(-1)).toBe(`Bearer ${cluster.reviewer}`);
      await within.review({ ...config, kubernetes_ca_cert: cluster.ca }, token, []);
      expect(cluster.bearers.at(-1)).toBe(`Bearer ${token}`);
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
