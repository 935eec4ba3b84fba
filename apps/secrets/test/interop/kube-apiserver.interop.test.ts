import { type ChildProcess, spawn } from 'node:child_process';
import { generateKeyPairSync } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { outsideCall } from '@keystead/outside';
import { freePort, testCertificate } from '@keystead/testing';
import { signRaw } from '../stand-ins/jwt';
import { startSecrets } from '../start-secrets';

const find = (name: string) =>
  (process.env.PATH ?? '')
    .split(path.delimiter)
    .map((folder) => path.join(folder, name))
    .find(existsSync);
const etcd = find('etcd');
const server = process.env.KEYSTEAD_KUBE_APISERVER ?? find('kube-apiserver');
const installed = etcd !== undefined && server !== undefined;
if (!installed) {
  process.stderr.write(
    'skipped: no kube-apiserver (KEYSTEAD_KUBE_APISERVER) and etcd, so no pod logs in by a real one\n',
  );
}
const withCluster = installed ? describe : describe.skip;

// The API server itself vouches for its service accounts; nothing else of a cluster is needed.
withCluster('login by a Kubernetes API server', () => {
  const secrets = startSecrets();
  const home = mkdtempSync(path.join(tmpdir(), 'kube-'));
  const file = (name: string) => path.join(home, name);
  const started: ChildProcess[] = [];
  let address = '';
  let reviewer = '';
  let arguments_: string[] = [];

  const run = (program: string, args: string[]) => {
    const child = spawn(program, args, { cwd: home, stdio: 'ignore' });
    started.push(child);
    return child;
  };
  const end = async (child: ChildProcess) => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    child.kill('SIGKILL');
    await ended;
  };
  const ready = async () => {
    for (let tries = 0; ; tries++) {
      const { status } = await outsideCall('the cluster', `${address}/readyz`, { ca: testCertificate.cert }).catch(
        () => ({ status: 0 }),
      );
      if (status === 200) return;
      if (tries > 900) throw new Error('the API server does not get ready');
      await sleep(100);
    }
  };
  const api = async (method: 'GET' | 'POST' | 'DELETE', at: string, json?: object) => {
    const headers = { authorization: 'Bearer admin-token' };
    const answer = await outsideCall('the cluster', address + at, { method, json, headers, ca: testCertificate.cert });
    if (answer.status > 299) throw new Error(`${method} ${at}: ${answer.status} ${answer.bytes.toString()}`);
    return answer.json as Record<string, Record<string, string>>;
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
      kubernetes_host: address,
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
  const login = (jwt: string, name = 'web') => secrets.nobody.write('auth/kubernetes/login', { role: name, jwt });

  beforeAll(async () => {
    const [client, peer, port] = await Promise.all([freePort(), freePort(), freePort()]);
    const key = generateKeyPairSync('rsa', { modulusLength: 2048 });
    writeFileSync(file('sa.key'), key.privateKey.export({ type: 'pkcs8', format: 'pem' }));
    writeFileSync(file('sa.pub'), key.publicKey.export({ type: 'spki', format: 'pem' }));
    writeFileSync(file('tls.pem'), testCertificate.cert);
    writeFileSync(file('tls.key'), testCertificate.key);
    writeFileSync(file('tokens.csv'), 'admin-token,admin,admin,system:masters\n');
    const store = `http://127.0.0.1:${client}`;
    const ring = `http://127.0.0.1:${peer}`;
    run(etcd!, [
      ...['--data-dir', file('etcd'), '--listen-client-urls', store, '--advertise-client-urls', store],
      ...['--listen-peer-urls', ring, '--initial-advertise-peer-urls', ring, '--initial-cluster', `default=${ring}`],
    ]);
    address = `https://127.0.0.1:${port}`;
    arguments_ = [
      `--etcd-servers=${store}`,
      `--secure-port=${port}`,
      '--bind-address=127.0.0.1',
      '--advertise-address=127.0.0.1',
      `--tls-cert-file=${file('tls.pem')}`,
      `--tls-private-key-file=${file('tls.key')}`,
      `--token-auth-file=${file('tokens.csv')}`,
      '--authorization-mode=RBAC',
      '--service-cluster-ip-range=10.0.0.0/24',
      '--service-account-issuer=https://kubernetes.default.svc',
      `--service-account-key-file=${file('sa.pub')}`,
      `--service-account-signing-key-file=${file('sa.key')}`,
      `--cert-dir=${home}`,
    ];
    run(server!, arguments_);
    await ready();
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
    for (const child of started.reverse()) await end(child);
    rmSync(home, { recursive: true, force: true });
  });

  it('lets in the account that the role names, and no other', async () => {
    const { body } = await login(await token('shop', 'web')).expect(200);
    expect(body.auth).toMatchObject({
      policies: ['default', 'of-shop'],
      metadata: { service_account_name: 'web', service_account_namespace: 'shop', role: 'web' },
    });
    await login(await token('shop', 'other')).expect(403, /service account name not authorized/);
    await login(await token('lab', 'web')).expect(403, /namespace not authorized/);
  });

  it('takes tokens for the audience of the role, and of the cluster alone where there is none', async () => {
    await role('named', { audience: 'keystead' });
    await login(await token('shop', 'web', ['keystead']), 'named').expect(200);
    await login(await token('shop', 'web', ['somebody-else']), 'named').expect(403, /audience/);
    await login(await token('shop', 'web'), 'named').expect(403, /audience/);
  });

  it('goes by the labels of the namespace where the role says so', async () => {
    const selector = '{"matchLabels":{"team":"b"}}';
    const fields = {
      bound_service_account_namespaces: '',
      bound_service_account_namespace_selector: selector,
    };
    await role('labelled', fields);
    await login(await token('lab', 'web'), 'labelled').expect(200);
    await login(await token('shop', 'web'), 'labelled').expect(403);
  });

  it('believes no token that the cluster did not sign, whatever it says', async () => {
    const jwt = await token('shop', 'web');
    const claims = JSON.parse(Buffer.from(jwt.split('.')[1]!, 'base64url').toString());
    const { kid } = JSON.parse(Buffer.from(jwt.split('.')[0]!, 'base64url').toString());
    const pair = generateKeyPairSync('rsa', { modulusLength: 2048 });
    const forged = signRaw({ alg: 'RS256', kid }, claims, { kid, algorithm: 'RS256', ...pair });
    await login(forged).expect(403);
    const [head, , signature] = (await token('shop', 'other')).split('.');
    await login([head, jwt.split('.')[1], signature].join('.')).expect(403);
  });

  it('knows an account that was made anew under the same name as another, and refuses the token of the one before', async () => {
    await account('shop', 'brief');
    await role('brief', { bound_service_account_names: 'brief' });
    const old = await token('shop', 'brief');
    const before = (await login(old, 'brief').expect(200)).body.auth.entity_id;
    await api('DELETE', '/api/v1/namespaces/shop/serviceaccounts/brief');
    await account('shop', 'brief');
    // The server looks accounts up in what it has cached, for a moment.
    for (let tries = 0; (await login(old, 'brief')).status !== 403; tries++) {
      if (tries > 150) throw new Error('the token of a deleted account is still taken');
      await sleep(100);
    }
    const { body } = await login(await token('shop', 'brief'), 'brief').expect(200);
    expect(body.auth.entity_id).not.toBe(before);
  });

  it('lets a token vouch for itself, where its account may ask', async () => {
    await configure({ token_reviewer_jwt: '' }).expect(204);
    await login(await token('shop', 'web')).expect(502, /may not ask for token reviews/);
    await role('reviewer', { bound_service_account_names: 'reviewer', bound_service_account_namespaces: 'vault' });
    await login(await token('vault', 'reviewer'), 'reviewer').expect(200);
    await configure().expect(204);
  });

  it('says that the cluster is away, and goes on when it is back', async () => {
    const jwt = await token('shop', 'web');
    await end(started[1]!);
    await login(jwt).expect(502);
    run(server!, arguments_);
    await ready();
    await login(jwt).expect(200);
  }, 120_000);
});
