import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { connectionsTo } from './connections';
import { until } from './fresh-storage';
import { withSecondNode } from './second-node';
import { root as makeRoot } from './stand-ins/authority';
import { DirectoryStandIn } from './stand-ins/cloudone';
import { CloudStandIn } from './stand-ins/cloudtwo';
import { IssuerStandIn, signRaw } from './stand-ins/jwt';
import { DirectoryStandIn as LdapStandIn } from './stand-ins/ldap';
import { ProviderStandIn } from './stand-ins/oidc';
import { answerOf, RevocationStandIn } from './stand-ins/revocation';
import { SchedulerStandIn } from './stand-ins/scheduler';
import { StsStandIn } from './stand-ins/sts';
import { startSecrets } from './start-secrets';
import { TlsListener } from './tls-listener';
import { mountEveryKind } from './visits';

/** A kind of mount that caches something of an outside system. */
interface Remembering {
  readonly at: string;
  readonly config: () => object;
  readonly prepare?: () => Promise<unknown>;
  /** Sends a request that needs the outside system, to the node that does not write; returns its status. */
  readonly use: () => Promise<number>;
  /** How often the cached value was requested from the outside system. */
  readonly asked: () => number;
  readonly down: (isDown: boolean) => void;
}

/** Kinds without a cache: they ask at each login, or connect to a database for each call. */
const asksEachTime = ['kubernetes', 'github', 'database'];

describe('the data that a node caches about an outside system', () => {
  const directory = new DirectoryStandIn();
  const issuer = new IssuerStandIn();
  const provider = new ProviderStandIn();
  const people = new LdapStandIn();
  const jobs = new SchedulerStandIn();
  const cloud = new CloudStandIn();
  const sts = new StsStandIn();
  const responder = new RevocationStandIn();
  const standIns = [directory, issuer, provider, people, jobs, cloud, sts, responder];
  const env: Record<string, string> = {};
  beforeAll(async () => {
    await Promise.all(standIns.map((one) => one.start()));
    Object.assign(env, {
      CLOUDONE_AUTHORITY_HOST: directory.address,
      CLOUDONE_RESOURCE_MANAGER: directory.address,
      CLOUDONE_TENANT_ID: directory.tenant,
      CLOUDONE_AD_RESOURCE: directory.resource,
    });
  });
  afterAll(() => Promise.all(standIns.map((one) => one.stop())));
  const secrets = startSecrets({ env });
  const nodes = withSecondNode(secrets, env);
  const tls = new TlsListener();
  const toCloud = connectionsTo(() => cloud.address);
  const toSts = connectionsTo(() => sts.address);
  beforeAll(async () => {
    await mountEveryKind(secrets);
    await tls.start(secrets.service.app);
    await secrets.root.write('sys/auth/oidc', { type: 'oidc' }).expect(204);
  });
  afterAll(() => tls.stop());

  /** Sends a request to the node that writes configurations. */
  const ask = async (method: string, path: string, body?: object): Promise<{ status: number; text: string }> => {
    const headers = { 'X-Service-Token': secrets.rootToken, 'Content-Type': 'application/json' };
    const answer = await fetch(`${nodes[1]}/v1/${path}`, { method, headers, body: body && JSON.stringify(body) });
    return { status: answer.status, text: await answer.text() };
  };
  const elsewhere = async (method: string, path: string, body?: object) => (await ask(method, path, body)).status;
  const write = async (path: string, body: object): Promise<void> => {
    const { status, text } = await ask('POST', path, body);
    if (status >= 300) throw new Error(`${path} was answered ${status}: ${text}`);
  };
  const login = async (path: string, body: object) => (await secrets.anonymous.write(path, body)).status;
  const authority = makeRoot('Acme Root');
  const client = authority.issue('web');
  const now = () => Math.floor(Date.now() / 1000);
  const where = { subscription: randomUUID(), group: 'rg' };
  const placed = { subscription_id: where.subscription, resource_group_name: where.group };
  const machine = `/subscriptions/${where.subscription}/resourcegroups/rg/providers/Microsoft.Compute/virtualMachines/vm`;
  const rows: Readonly<Record<string, Remembering>> = {
    'the keys of cloudone': {
      at: 'auth/cloudone/config',
      config: () => ({ tenant_id: directory.tenant, resource: directory.resource }),
      prepare: () => write('auth/cloudone/role/any', { bound_service_principal_ids: 'oid-1' }),
      use: () => login('auth/cloudone/login', { role: 'any', jwt: directory.sign(), ...placed }),
      asked: () => directory.calls.filter((call) => call === 'GET /keys').length,
      down: (isDown) => Object.assign(directory, { down: isDown }),
    },
    'the token of cloudone': {
      at: 'auth/cloudone/config',
      config: () => ({
        tenant_id: directory.tenant,
        resource: directory.resource,
        client_id: 'reader',
        client_secret: directory.clientSecret,
      }),
      async prepare() {
        directory.addMachine('vm', where, { principalId: 'oid-1' });
        await write('auth/cloudone/role/machines', { bound_resource_groups: where.group });
      },
      use: () =>
        login('auth/cloudone/login', {
          role: 'machines',
          jwt: directory.sign({ xms_mirid: machine }),
          ...placed,
          vm_name: 'vm',
        }),
      asked: () => directory.calls.filter((call) => call.endsWith('/oauth2/v2.0/token')).length,
      down: (isDown) => Object.assign(directory, { down: isDown }),
    },
    'the keys of jwt': {
      at: 'auth/jwt/config',
      config: () => ({ jwks_url: issuer.keysAddress, skip_jwks_validation: true }),
      prepare: () => write('auth/jwt/role/any', { role_type: 'jwt', user_claim: 'sub', bound_subject: 'ada' }),
      use: () => {
        const { key } = issuer;
        const claims = { sub: 'ada', iat: now(), exp: now() + 600 };
        return login('auth/jwt/login', {
          role: 'any',
          jwt: signRaw({ alg: key.algorithm, kid: key.kid }, claims, key),
        });
      },
      asked: () => issuer.calls.length,
      down: (isDown) => Object.assign(issuer, { down: isDown }),
    },
    'the provider of oidc': {
      at: 'auth/oidc/config',
      config: () => ({
        oidc_discovery_url: provider.address,
        oidc_client_id: provider.clientId,
        oidc_client_secret: provider.clientSecret,
        skip_jwks_validation: true,
      }),
      prepare: () => write('auth/oidc/role/any', { user_claim: 'sub', allowed_redirect_uris: 'http://localhost/back' }),
      use: () => login('auth/oidc/oidc/auth_url', { role: 'any', redirect_uri: 'http://localhost/back' }),
      asked: () => provider.calls.length,
      down: (isDown) => Object.assign(provider, { down: isDown }),
    },
    'the connections of ldap': {
      at: 'auth/ldap/config',
      config: () => ({
        url: people.address,
        binddn: 'cn=service',
        bindpass: 'service-password',
        userdn: 'ou=people',
        userattr: 'uid',
      }),
      async prepare() {
        people.entries = [
          { dn: 'cn=service', password: 'service-password', attributes: {} },
          { dn: 'uid=ada,ou=people', password: 'right', attributes: { uid: ['ada'] } },
        ];
      },
      use: () => login('auth/ldap/login/ada', { password: 'right' }),
      asked: () => people.connections,
      down: (isDown) => Object.assign(people, { failure: isDown ? 52 : undefined }),
    },
    'what scheduler says': {
      at: 'scheduler/config/access',
      config: () => ({ address: jobs.address, token: jobs.management }),
      prepare: () => write('scheduler/role/ops', { policies: 'read' }),
      use: async () => (await secrets.root.read('scheduler/creds/ops')).status,
      asked: () => jobs.calls.filter((call) => call.includes('/v1/acl/policies')).length,
      down: (isDown) => Object.assign(jobs, { fail: () => (isDown ? { status: 503, text: 'down' } : undefined) }),
    },
    'the clients of cloudtwo': {
      at: 'cloudtwo/config/root',
      config: () => ({
        access_key: cloud.rootKey.id,
        secret_key: cloud.rootKey.secret,
        region: 'eu-west-1',
        max_retries: 0,
        iam_endpoint: toCloud.address,
        sts_endpoint: toCloud.address,
      }),
      prepare: () =>
        write('cloudtwo/roles/ops', {
          credential_type: 'iam_user',
          policy_arns: 'arn:aws:iam::aws:policy/ReadOnlyAccess',
        }),
      use: async () => (await secrets.root.read('cloudtwo/creds/ops')).status,
      asked: () => toCloud.count,
      down: (isDown) =>
        Object.assign(cloud, {
          fail: () => (isDown ? { status: 503, code: 'ServiceUnavailable', message: 'down' } : undefined),
        }),
    },
    'the clients of aws': {
      at: 'auth/aws/config/client',
      config: () => ({
        access_key: 'AKIALOOK',
        secret_key: 'secret of AKIALOOK',
        max_retries: 0,
        iam_endpoint: toSts.address,
        sts_endpoint: toSts.address,
      }),
      async prepare() {
        sts.signers.set('AKIALOOK', {
          secret: 'secret of AKIALOOK',
          arn: 'arn:aws:iam::123456789012:user/look',
          userId: 'AIDALOOK',
        });
        sts.users.set('ada', { id: 'AIDAADA', path: '/' });
      },
      use: async () => {
        const principal = { bound_iam_principal_arn: 'arn:aws:iam::123456789012:user/ada' };
        return (await secrets.root.write(`auth/aws/role/any`, { auth_type: 'iam', ...principal })).status;
      },
      asked: () => toSts.count,
      down: (isDown) => Object.assign(sts, { instead: isDown ? [503, 'down'] : undefined }),
    },
    'what responders say of certificates': {
      at: 'auth/cert/config',
      config: () => ({ ocsp_cache_size: 50 }),
      async prepare() {
        responder.answer = (question) =>
          answerOf(authority, question, { fromMs: Date.now() - 1000, toMs: Date.now() + 86_400_000 });
        const role = { certificate: authority.pem, ocsp_enabled: true, ocsp_servers_override: responder.address };
        await write('auth/cert/certs/web', role);
      },
      use: async () => (await tls.send('auth/cert/login', client, { body: { name: 'web' } })).status,
      asked: () => responder.asked,
      down: (isDown) => Object.assign(responder, { status: isDown ? 503 : 200 }),
    },
  };
  const mountOf = (at: string) => at.split('/').at(at.startsWith('auth/') ? 1 : 0)!;

  it('is checked for every kind that has a cache', () => {
    const outside = [...secrets.service.kernel.mounts.all()].filter(({ backend }) => backend.outside);
    const known = new Set([...asksEachTime, ...Object.values(rows).map(({ at }) => mountOf(at))]);
    const unknown = outside.map(({ path }) => mountOf(path)).filter((name) => !known.has(name));
    expect(outside.length).toBeGreaterThan(8);
    expect(unknown).toEqual([]);
  });

  it.each(Object.entries(rows))(
    '%s is not used once another node has written the configuration',
    async (_what, row) => {
      await write(row.at, row.config());
      await row.prepare?.();
      await until(async () => (await row.use()) < 300);
      const before = row.asked();
      expect(await row.use()).toBeLessThan(300);
      expect(row.asked()).toBe(before);
      await write(row.at, row.config());
      const written = row.asked();
      // Writes of another node are known within a second.
      await until(async () => (await row.use()) < 300 && row.asked() > written);
      const since = row.asked();
      expect(await row.use()).toBeLessThan(300);
      expect(row.asked()).toBe(since);
    },
  );

  it.each(Object.entries(rows))(
    '%s is refused clearly while the system does not answer, and works afterwards',
    async (_what, row) => {
      row.down(true);
      try {
        expect(await elsewhere('POST', row.at, row.config())).toBeLessThan(500);
        await until(async () => (await row.use()) >= 400);
        for (let i = 0; i < 3; i++) expect([400, 403, 502, 503]).toContain(await row.use());
      } finally {
        row.down(false);
      }
      await until(async () => (await row.use()) < 300);
    },
  );

  it.each(Object.entries(rows))('%s is right after many wrote the configuration at once', async (_what, row) => {
    const statuses = await Promise.all(
      Array.from({ length: 16 }, async (_, n) =>
        n % 2 ? (await secrets.root.write(row.at, row.config())).status : elsewhere('POST', row.at, row.config()),
      ),
    );
    expect(statuses.filter((status) => status >= 300)).toEqual([]);
    await until(async () => (await row.use()) < 300);
    await until(async () => {
      const before = row.asked();
      return (await row.use()) < 300 && row.asked() === before;
    });
  });

  it.each(['POST', 'DELETE'])(
    'does not include a key that was withdrawn before a %s of the configuration on another node',
    async (method) => {
      const row = rows['the keys of cloudone']!;
      await write(row.at, row.config());
      const written = row.asked();
      // Waits until this write is known here, so that its notice does not interfere with the following requests.
      await until(async () => (await row.use()) < 300 && row.asked() > written);
      const withdrawn = directory.sign();
      directory.rotate();
      const use = () => login('auth/cloudone/login', { role: 'any', jwt: withdrawn, ...placed });
      // The notice has not arrived yet.
      expect(await use()).toBe(200);
      expect(await elsewhere(method, row.at, row.config())).toBe(204);
      // After a deletion the environment applies.
      await until(async () => (await use()) === 403);
      expect(await row.use()).toBe(200);
    },
  );
});
