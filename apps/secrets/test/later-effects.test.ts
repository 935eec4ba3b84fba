import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import request from 'supertest';
import { backgroundCalls } from '../src/service/background-calls';
import { authMethods } from './auth-methods';
import { authenticator, methods, newMethod } from './authenticator';
import { MethodLogins } from './method-logins';
import { CloudStandIn } from './stand-ins/cloudtwo';
import { SchedulerStandIn } from './stand-ins/scheduler';
import { startSecrets } from './start-secrets';

interface Held {
  readonly namespace: string;
  readonly entity: string;
  readonly token: string;
}

// If this failed, a revoked right could still be used through something that was started before.

describe('an operation that began before a right was lost', () => {
  const clock = manualClock(Date.UTC(2027, 3, 1, 12, 0, 0));
  const scheduler = new SchedulerStandIn();
  beforeAll(() => scheduler.start());
  afterAll(() => scheduler.stop());
  const secrets = startSecrets({ clock, env: { SECRETS_UI: 'true' } });
  const write = (path: string, body: object = {}) => secrets.root.write(path, body);
  const remove = (path: string) => secrets.root.delete(path).expect(204);
  let count = 0;

  const someone = async (): Promise<Held> => {
    const namespace = `later${++count}`;
    await write(`sys/namespaces/${namespace}`).expect(200);
    await write(`${namespace}/sys/mounts/kv`, { type: 'kv' }).expect(204);
    await write(`${namespace}/kv/a`, { a: 1 }).expect(204);
    await write(`${namespace}/sys/auth/up`, { type: 'userpass' }).expect(204);
    const access = { address: scheduler.address, token: scheduler.management };
    await write(`${namespace}/sys/mounts/jobs`, { type: 'scheduler' }).expect(204);
    await write(`${namespace}/jobs/config/access`, access);
    await write(`${namespace}/jobs/role/one`, { policies: 'read' }).expect(204);
    const policy = 'path "+/*" { capabilities = ["read"] } path "auth/token/create" { capabilities = ["update"] }';
    await write(`${namespace}/sys/policies/acl/reader`, { policy }).expect(204);
    const user = { password: 'horse', token_policies: 'reader', token_ttl: '20m', token_max_ttl: '10h' };
    await write(`${namespace}/auth/up/users/ada`, user).expect(204);
    const { auth } = (await login(namespace).expect(200)).body;
    return { namespace, entity: auth.entity_id, token: auth.client_token };
  };
  const login = (namespace: string) => secrets.anonymous.write(`${namespace}/auth/up/login/ada`, { password: 'horse' });

  /** The ways in which a person loses rights. */
  const losses: Readonly<Record<string, (person: Held) => Promise<unknown>>> = {
    'is deleted as a user': async ({ namespace }) => remove(`${namespace}/auth/up/users/ada`),
    'is given other policies': ({ namespace }) =>
      write(`${namespace}/auth/up/users/ada`, { token_policies: 'other' }).expect(204),
    'has a disabled entity': ({ namespace, entity }) =>
      write(`${namespace}/identity/entity/id/${entity}`, { disabled: true }).expect(204),
    'no longer has an auth method': async ({ namespace }) => remove(`${namespace}/sys/auth/up`),
    'is in a locked namespace': ({ namespace }) => write(`sys/namespaces/api-lock/lock/${namespace}`).expect(200),
    'has their token revoked': ({ namespace, token }) => write(`${namespace}/auth/token/revoke`, { token }).expect(204),
    'has a policy that grants nothing': ({ namespace }) =>
      write(`${namespace}/sys/policies/acl/reader`, { policy: 'path "x" { capabilities = ["deny"] }' }).expect(204),
  };

  /**
   * An operation with a later effect: starts it, and returns a function that continues and tells whether it took
   * effect.
   */
  const effects: Readonly<Record<string, (person: Held) => Promise<() => Promise<boolean>>>> = {
    'a login that waits for a second factor': async ({ namespace, entity }) => {
      const method = `${namespace}/identity/mfa/method/totp`;
      const made = await write(method, {
        issuer: 'i',
        period: 30,
        key_size: 20,
        algorithm: 'SHA1',
        digits: 6,
        skew: 1,
      });
      const id = made.body.data.method_id;
      const secret = await write(`${method}/admin-generate`, { method_id: id, entity_id: entity }).expect(200);
      const enforcement = { mfa_method_ids: [id], auth_method_types: ['userpass'] };
      await write(`${namespace}/identity/mfa/login-enforcement/all`, enforcement).expect(204);
      const { mfa_request_id } = (await login(namespace).expect(200)).body.auth.mfa_requirement;
      return async () => {
        const code = authenticator(secret.body.data.url).code(clock.now());
        const answer = await secrets.anonymous.write(`${namespace}/sys/mfa/validate`, {
          mfa_request_id,
          mfa_payload: { [id]: [code] },
        });
        if (answer.status !== 200) return false;
        const { status } = await secrets.as(answer.body.auth.client_token).read(`${namespace}/kv/a`);
        return status === 200;
      };
    },
    'a token to be renewed':
      async ({ namespace, token }) =>
      async () =>
        (await secrets.as(token).write(`${namespace}/auth/token/renew-self`, {})).status === 200,
    'a session to be prolonged': async ({ namespace }) => {
      const page = { 'X-Keystead-Console': '1', 'Sec-Fetch-Site': 'same-origin' };
      const proof = { method: 'userpass', mount: 'up', username: 'ada', password: 'horse', namespace };
      const made = await request(secrets.server).post('/ui/session').set(page).send(proof).expect(201);
      const [cookie] = (made.headers['set-cookie'] as unknown as string[])[0]!.split(';');
      const { accessor } = made.body;
      const ends = async () =>
        (await write(`${namespace}/auth/token/lookup-accessor`, { accessor })).body.data?.expire_time as string;
      const before = await ends();
      clock.advance(60_000);
      return async () => {
        await request(secrets.server).get(`/v1/${namespace}/kv/a`).set(page).set('Cookie', cookie!);
        // A locked namespace cannot be read, so it is unlocked for the check.
        await write(`sys/namespaces/api-lock/unlock/${namespace}`);
        const after = await ends();
        return after !== undefined && after !== before;
      };
    },
    'a lease to be renewed': async ({ namespace, token }) => {
      const { lease_id } = (await secrets.as(token).read(`${namespace}/jobs/creds/one`).expect(200)).body;
      return async () => (await secrets.as(token).write(`${namespace}/sys/leases/renew`, { lease_id })).status === 200;
    },
    'their lease, which another person renews': async ({ namespace, token }) => {
      const { lease_id } = (await secrets.as(token).read(`${namespace}/jobs/creds/one`).expect(200)).body;
      return async () => (await write(`${namespace}/sys/leases/renew`, { lease_id })).status === 200;
    },
    'an answer that they had wrapped': async ({ namespace, token }) => {
      const wrapped = await secrets.as(token, { 'X-Service-Wrap-TTL': '60' }).read(`${namespace}/kv/a`).expect(200);
      const unwrap = { token: wrapped.body.wrap_info.token };
      return async () => (await secrets.anonymous.write(`${namespace}/sys/wrapping/unwrap`, unwrap)).status === 200;
    },
    'a login that they had wrapped': async ({ namespace }) => {
      const path = `${namespace}/auth/up/login/ada`;
      const wrapped = await secrets.as(undefined, { 'X-Service-Wrap-TTL': '60' }).write(path, { password: 'horse' });
      const unwrap = { token: wrapped.body.wrap_info.token };
      return async () => {
        const { body } = await secrets.anonymous.write(`${namespace}/sys/wrapping/unwrap`, unwrap);
        return (await secrets.as(body.auth?.client_token ?? 'none').read(`${namespace}/kv/a`)).status === 200;
      };
    },
    'a token made with theirs': async ({ namespace, token }) => {
      const made = await secrets.as(token).write(`${namespace}/auth/token/create`, {});
      const child = made.body.auth?.client_token as string;
      return async () => (await secrets.as(child).read(`${namespace}/kv/a`)).status === 200;
    },
  };

  const except = (effect: string, reason: string, of: readonly string[]) =>
    Object.fromEntries(of.map((loss) => [`${effect}, ${loss}`, reason]));

  /** Rights that an effect does not depend on, each with the reason. */
  const goesOn: Readonly<Record<string, string>> = {
    'a login that waits for a second factor, has their token revoked': 'it makes another token',
    'a session to be prolonged, has their token revoked': 'it has another token',
    'a session to be prolonged, has a policy that grants nothing': 'policies of the same name: it may do nothing',
    'a token to be renewed, has a policy that grants nothing': 'the default policy lets tokens renew themselves',
    'a token made with theirs, is deleted as a user': 'tokens live until they have to be renewed',
    'a token made with theirs, is given other policies': 'tokens keep the policies they were made with',
    ...except('a lease to be renewed', 'leases live as long as the token that owns them', [
      'is deleted as a user',
      'is given other policies',
    ]),
    'a lease to be renewed, has a policy that grants nothing': 'the default policy lets tokens renew leases',
    ...except('their lease, which another person renews', 'that person may, while the token that owns it lives', [
      'is deleted as a user',
      'is given other policies',
      'has a disabled entity',
      'has a policy that grants nothing',
    ]),
    ...except(
      'an answer that they had wrapped',
      'it is a copy of what they could read, made to be handed to others',
      Object.keys(losses).filter((loss) => loss !== 'is in a locked namespace'),
    ),
    ...except('a login that they had wrapped', 'it is a token, and lives on as one', [
      'is deleted as a user',
      'is given other policies',
      'has their token revoked',
    ]),
  };

  const cases = Object.keys(effects).flatMap((effect) => Object.keys(losses).map((loss) => [effect, loss] as const));

  it.each(Object.keys(effects))('takes effect while no right is lost: %s', async (effect) => {
    expect(await (await effects[effect]!(await someone()))()).toBe(true);
  });

  it.each(cases)('no longer takes effect if it depends on the right: %s of someone who %s', async (effect, loss) => {
    const person = await someone();
    const goOn = await effects[effect]!(person);
    await losses[loss]!(person);
    expect(await goOn()).toBe(`${effect}, ${loss}` in goesOn);
  });

  it('unwraps nothing from a locked namespace', async () => {
    const { namespace } = await someone();
    const wrapped = await secrets.as(secrets.root.token!, { 'X-Service-Wrap-TTL': '60' }).read(`${namespace}/kv/a`);
    const { token } = wrapped.body.wrap_info;
    await write(`sys/namespaces/api-lock/lock/${namespace}`).expect(200);
    await write('sys/wrapping/unwrap', { token }).expect(503);
  });
});

describe('a pending login, which waits for a second factor or for the caller who began it', () => {
  const clock = manualClock(Date.now());
  const logins = new MethodLogins(() => clock.now());
  beforeAll(() => logins.start());
  const secrets = startSecrets({ clock, env: logins.env });
  beforeAll(() => logins.listen(secrets));
  afterAll(() => logins.stop());
  const types = [...authMethods, 'cloudone', 'oidc'];
  const terms = { token_policies: 'first', token_ttl: '20m' };

  /** Starts a login that waits; returns a function to finish it. */
  async function begin(type: string) {
    const method = logins.all(secrets.root)[type]!;
    const mount = `auth/${type}`;
    const at = (path: string) => `${mount}/${path}`;
    const [recordPath, fields] = method.record;
    const set = (path: string, body: object) => secrets.root.write(at(path), body);
    await secrets.root.delete(`sys/${mount}`).expect(204);
    await secrets.root.write(`sys/${mount}`, { type }).expect(204);
    if (method.config) await set(...method.config);
    expect((await set(recordPath, { ...fields, ...terms })).status).toBeLessThan(300);
    const change = (body: object) => set(recordPath, { ...fields, ...body });
    const remove = () => secrets.root.delete(at(recordPath));
    const facts = async (token: string) =>
      (await secrets.root.write('auth/token/lookup', { token }).expect(200)).body.data;
    const changes = { ...method, change, set, remove, facts };
    if (method.wait) return { ...changes, finish: await method.wait(secrets) };
    const logIn = async () => {
      const [path, body] = await method.login!();
      return logins.send(at(path), body);
    };
    const { entity_id } = (await logIn()).body.auth;
    const method_id = await newMethod(secrets);
    const made = await secrets.root.write(`${methods}/admin-generate`, { method_id, entity_id }).expect(200);
    const { accessor } = (await secrets.root.read('sys/auth').expect(200)).body.data[`${type}/`];
    await secrets.root
      .write('identity/mfa/login-enforcement/one', { mfa_method_ids: [method_id], auth_method_accessors: [accessor] })
      .expect(204);
    const { mfa_request_id } = (await logIn()).body.auth.mfa_requirement;
    const finish = () => {
      const code = authenticator(made.body.data.url).code(clock.now());
      return logins.send('sys/mfa/validate', { mfa_request_id, mfa_payload: { [method_id]: [code] } });
    };
    return { ...changes, finish };
  }

  it('is tested with every method', () => {
    expect(Object.keys(logins.all(secrets.root)).sort()).toEqual(types.sort());
  });

  it.each(types)('gets the current settings of the method when it completes: %s', async (type) => {
    const one = await begin(type);
    const ttl = { ...terms, token_ttl: '7m', token_period: '3m', token_num_uses: 5, token_strictly_bind_ip: true };
    expect((await one.change(ttl)).status).toBeLessThan(300);
    const { status, body } = await one.finish();
    expect({ status, body }).toMatchObject({ status: 200, body: { auth: { lease_duration: 180, num_uses: 5 } } });
    expect(body.auth.token_policies).toEqual(['default', 'first']);
    expect(await one.facts(body.auth.client_token)).toMatchObject({ bound_cidrs: ['127.0.0.1'] });
  });

  it.each(types)('has the current policies, or is refused: %s', async (type) => {
    const one = await begin(type);
    expect((await one.change({ ...terms, token_policies: 'second' })).status).toBeLessThan(300);
    const { status, body } = await one.finish();
    if (one.keepsPolicies) return expect({ status, body }).toMatchObject({ status: 400 });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { auth: { token_policies: ['default', 'second'] } },
    });
  });

  /** Their token parameters are in the configuration, which is not deleted. */
  const lasting = ['ldap', 'github'];
  const configured = ['jwt', 'kubernetes', 'aws', 'cloudone', 'oidc'];
  const losses = types.flatMap((type) => {
    const own = ['demands', ...(lasting.includes(type) ? [] : ['deletion'])];
    return [...own, ...(configured.includes(type) ? ['configuration'] : [])].map((loss) => [type, loss] as const);
  });

  it.each(losses)('ends when its basis has changed: %s, %s', async (type, loss) => {
    const one = await begin(type);
    const change = {
      demands: () => one.change({ ...terms, ...one.demands }),
      deletion: () => one.remove(),
      configuration: () => one.set(one.config![0], { ...one.config![1], ...one.configChange! }),
    };
    expect((await change[loss as keyof typeof change]()).status).toBeLessThan(300);
    expect((await one.finish()).status).toBe(loss === 'deletion' ? 400 : 403);
  });
});

describe('a scheduled rotation', () => {
  const clock = manualClock(Date.now());
  const cloud = new CloudStandIn();
  cloud.nowMs = () => clock.now();
  beforeAll(() => cloud.start());
  afterAll(() => cloud.stop());
  const secrets = startSecrets({ clock });
  const write = (path: string, body: object) => secrets.root.write(path, body);
  /** The periodic work of every node. */
  const look = async (path: string) => {
    const { mounts, entries, committer, decisions, namespaces, leases } = secrets.service.kernel;
    const mount = mounts.at(namespaces.root.uuid, path)!;
    await backgroundCalls({ entries, committer, decisions }, clock, () => leases)(mount, mount.backend.tick!);
  };
  const rootKey = () => {
    const [key] = [...cloud.keys.values()];
    const { address } = cloud;
    const where = { region: 'eu-west-1', iam_endpoint: address, sts_endpoint: address, max_retries: 0 };
    return { access_key: key!.id, secret_key: key!.secret, ...where };
  };

  /** A scheduled rotation: how it is configured, how often it has run, and how it is cancelled. */
  const rotations = {
    'the root key of a cloud': {
      plan: () => write('cloudtwo/config/root', { ...rootKey(), rotation_period: '1h' }).expect(204),
      mount: 'cloudtwo/',
      done: async () => cloud.actions().filter((action) => action === 'CreateAccessKey').length,
      losses: {
        'its period': () => write('cloudtwo/config/root/rotation', { rotation_period: 0 }),
        'its being automatic': () => write('cloudtwo/config/root/rotation', { disable_automated_rotation: true }),
        'its key': () => write('cloudtwo/config/root', { ...rootKey(), rotation_period: '30h' }),
        'its configuration': () => write('cloudtwo/config/root', rootKey()),
      },
    },
    'a key of transit': {
      plan: async () => {
        await secrets.root.delete('sys/mounts/transit');
        await write('sys/mounts/transit', { type: 'transit' }).expect(204);
        await write('transit/keys/one', { auto_rotate_period: '1h' });
        await write('transit/keys/one/config', { deletion_allowed: true });
      },
      mount: 'transit/',
      done: async () => (await secrets.root.read('transit/keys/one')).body.data?.latest_version ?? 1,
      losses: {
        'its period': () => write('transit/keys/one/config', { auto_rotate_period: 0 }),
        'its key': () => secrets.root.delete('transit/keys/one'),
      },
    },
  } as const;
  const planned = Object.entries(rotations);

  it.each(planned)('is done while nothing is lost: %s', async (_name, { plan, mount, done }) => {
    await plan();
    const before = await done();
    clock.advance(2 * 3_600_000);
    await look(mount);
    expect(await done()).toBe(before + 1);
  });

  const cases = planned.flatMap(([name, { losses }]) =>
    Object.entries(losses).map(([loss, lose]) => ({ name, loss, lose })),
  );

  it.each(cases)('stops once $name has lost $loss', async ({ name, lose }) => {
    const { plan, mount, done } = rotations[name as keyof typeof rotations];
    await plan();
    const before = await done();
    expect((await lose()).status).toBeLessThan(300);
    clock.advance(2 * 3_600_000);
    await look(mount);
    expect(await done()).toBe(before);
  });
});
