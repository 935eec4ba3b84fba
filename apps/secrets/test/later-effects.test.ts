import { describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import request from 'supertest';
import { authenticator } from './authenticator';
import { startSecrets } from './start-secrets';

interface Held {
  readonly namespace: string;
  readonly entity: string;
  readonly token: string;
}

// What would be lost: a right that was taken away still works, through what was begun while it was there.

describe('what was begun before a right was lost', () => {
  const clock = manualClock(Date.UTC(2027, 3, 1, 12, 0, 0));
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
    const policy = 'path "kv/*" { capabilities = ["read"] } path "auth/token/create" { capabilities = ["update"] }';
    await write(`${namespace}/sys/policies/acl/reader`, { policy }).expect(204);
    const user = { password: 'horse', token_policies: 'reader', token_ttl: '20m', token_max_ttl: '10h' };
    await write(`${namespace}/auth/up/users/ada`, user).expect(204);
    const { auth } = (await login(namespace).expect(200)).body;
    return { namespace, entity: auth.entity_id, token: auth.client_token };
  };
  const login = (namespace: string) => secrets.anonymous.write(`${namespace}/auth/up/login/ada`, { password: 'horse' });

  /** How a person loses what they could do. */
  const losses: Readonly<Record<string, (person: Held) => Promise<unknown>>> = {
    'is deleted as a user': async ({ namespace }) => remove(`${namespace}/auth/up/users/ada`),
    'is given other policies': ({ namespace }) =>
      write(`${namespace}/auth/up/users/ada`, { token_policies: 'other' }).expect(204),
    'has a disabled entity': ({ namespace, entity }) =>
      write(`${namespace}/identity/entity/id/${entity}`, { disabled: true }).expect(204),
    'has no auth method any more': async ({ namespace }) => remove(`${namespace}/sys/auth/up`),
    'is in a locked namespace': ({ namespace }) => write(`sys/namespaces/api-lock/lock/${namespace}`).expect(200),
    'has their token revoked': ({ namespace, token }) => write(`${namespace}/auth/token/revoke`, { token }).expect(204),
    'has a policy that grants nothing': ({ namespace }) =>
      write(`${namespace}/sys/policies/acl/reader`, { policy: 'path "x" { capabilities = ["deny"] }' }).expect(204),
  };

  /** What takes effect later: it is begun, and answers how it goes on, which says whether it had its effect. */
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
        // A locked namespace tells nothing, so it is unlocked to look.
        await write(`sys/namespaces/api-lock/unlock/${namespace}`);
        const after = await ends();
        return after !== undefined && after !== before;
      };
    },
    'a token made with theirs': async ({ namespace, token }) => {
      const made = await secrets.as(token).write(`${namespace}/auth/token/create`, {});
      const child = made.body.auth?.client_token as string;
      return async () => (await secrets.as(child).read(`${namespace}/kv/a`)).status === 200;
    },
  };

  /** Rights that an effect does not depend on, each with the reason. */
  const goesOn: Readonly<Record<string, string>> = {
    'a login that waits for a second factor, has their token revoked': 'it makes another token',
    'a session to be prolonged, has their token revoked': 'it has another token',
    'a session to be prolonged, has a policy that grants nothing': 'policies of the same name: it may do nothing',
    'a token to be renewed, has a policy that grants nothing': 'the default policy lets tokens renew themselves',
    'a token made with theirs, is deleted as a user': 'tokens live until they have to be renewed',
    'a token made with theirs, is given other policies': 'tokens keep the policies they were made with',
  };

  const cases = Object.keys(effects).flatMap((effect) => Object.keys(losses).map((loss) => [effect, loss] as const));

  it.each(Object.keys(effects))('has its effect while nothing is lost: %s', async (effect) => {
    expect(await (await effects[effect]!(await someone()))()).toBe(true);
  });

  it.each(cases)('has no effect any more, unless it does not depend on that: %s of who %s', async (effect, loss) => {
    const person = await someone();
    const goOn = await effects[effect]!(person);
    await losses[loss]!(person);
    expect(await goOn()).toBe(`${effect}, ${loss}` in goesOn);
  });

  it('unwraps nothing out of a locked namespace', async () => {
    const { namespace } = await someone();
    const wrapped = await secrets.as(secrets.root.token!, { 'X-Service-Wrap-TTL': '60' }).read(`${namespace}/kv/a`);
    const { token } = wrapped.body.wrap_info;
    await write(`sys/namespaces/api-lock/lock/${namespace}`).expect(200);
    await write('sys/wrapping/unwrap', { token }).expect(503);
  });
});
