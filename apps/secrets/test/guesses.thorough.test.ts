import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import { manualClock, SoftwareAuthenticator } from '@keystead/testing';
import request from 'supertest';
import { Attempts } from '../src/kernel/attempts/attempts';
import type { AnyOperation } from '../src/sdk/path';
import { createService, type Service } from '../src/service';
import { authMethods } from './auth-methods';
import { authenticator, methods, newMethod } from './authenticator';
import { until } from './fresh-storage';
import { DirectoryStandIn } from './stand-ins/ldap';
import { startSecrets, testConfig } from './start-secrets';

/** The number of simultaneous guesses; only a few of them may be checked. */
const guesses = 40;
const allowed = 5;

type Node = 'one' | 'other';

/** A secret that can be guessed, and ways to guess. */
interface Target {
  /** The status of a wrong guess, whether it was checked or not. */
  wrong(node: Node): Promise<number>;
  right(node: Node): Promise<number>;
  readonly refused: number;
  /** How long the lock after the last checked guess lasts. */
  readonly lockSeconds: number;
}

describe('every secret that can be guessed', () => {
  const clock = manualClock(Date.UTC(2027, 5, 1));
  const env = { SECRETS_PUBLIC_URL: 'https://secrets.example.com' };
  const secrets = startSecrets({ clock, env });
  const directory = new DirectoryStandIn();
  let second: Service;
  let other: Server;
  let made = 0;
  const operations = new Map<string, AnyOperation>();

  beforeAll(async () => {
    await directory.start();
    await secrets.root.write('sys/mounts/totp', { type: 'totp' }).expect(204);
    for (const type of authMethods) {
      await secrets.root.write(`sys/auth/${type}`, { type }).expect(204);
    }
    second = await createService(testConfig(secrets.database.url, env), {
      log: createLogger({ name: 'secrets', level: 'silent' }),
      clock,
    });
    other = createServer(second.app);
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
    for (const mount of secrets.service.kernel.mounts.all()) {
      for (const declared of mount.backend.paths) {
        for (const [verb, operation] of Object.entries(declared.operations)) {
          const auth = operation.auth ?? declared.auth;
          const sent = (verb === 'write' || verb === 'patch') && Object.keys(operation.input?.shape ?? {}).length > 0;
          if (operation.judges || (sent && (auth === 'none' || auth === 'wrapping'))) {
            operations.set(`${mount.type}/${declared.pattern}`, operation);
          }
        }
      }
    }
  });
  afterAll(async () => {
    other.closeAllConnections();
    await new Promise((resolve) => other.close(resolve));
    await second.close();
    await directory.stop();
  });

  const send = (node: Node, verb: 'get' | 'post', path: string, body?: object, headers: Record<string, string> = {}) =>
    request(node === 'one' ? secrets.server : other)
      [verb](`/v1/${path}`)
      .set(headers)
      .send(body);

  /** A machine with its own entity and a one-time code that its logins or requests need. */
  const machine = async (policy: string) => {
    const name = `g${++made}`;
    await secrets.root.write(`sys/policies/acl/${name}`, { policy });
    const role = { role_id: name, bind_secret_id: false, token_bound_cidrs: '127.0.0.0/8', token_policies: name };
    await secrets.root.write(`auth/approle/role/${name}`, role).expect(204);
    const { auth } = (await secrets.anonymous.write('auth/approle/login', { role_id: name }).expect(200)).body;
    const method_id = await newMethod(secrets, { qr_size: 0, period: 30, max_validation_attempts: allowed });
    const about = { method_id, entity_id: auth.entity_id };
    const { url } = (await secrets.root.write(`${methods}/admin-generate`, about).expect(200)).body.data;
    const app = authenticator(url);
    const enforce = async () => {
      const rule = { mfa_method_ids: [method_id], identity_entity_ids: [auth.entity_id] };
      await secrets.root.write(`identity/mfa/login-enforcement/${name}`, rule).expect(204);
      // The other node knows the enforcement within a second.
      await until(async () => (await begin('other')) !== undefined);
    };
    const begin = async (node: Node): Promise<string | undefined> =>
      (await send(node, 'post', 'auth/approle/login', { role_id: name })).body.auth.mfa_requirement?.mfa_request_id;
    const right = () => app.code(clock.now());
    const wrong = () => (right() === '000000' ? '111111' : '000000');
    return { name, method_id, token: auth.client_token as string, enforce, begin, right, wrong };
  };

  const targets: Record<string, () => Promise<Target>> = {
    'userpass/login/:username': async () => {
      const path = `auth/userpass/login/u${++made}`;
      await secrets.root.write(path.replace('login', 'users'), { password: 'right' }).expect(204);
      const guess = async (node: Node, password: string) => (await send(node, 'post', path, { password })).status;
      return {
        wrong: (node) => guess(node, 'wrong'),
        right: (node) => guess(node, 'right'),
        refused: 400,
        lockSeconds: 15 * 60,
      };
    },
    'userpass/passkey/register': async () => {
      const name = `u${++made}`;
      await secrets.root.write(`auth/userpass/users/${name}`, { password: 'right' }).expect(204);
      const { auth } = (await secrets.anonymous.write(`auth/userpass/login/${name}`, { password: 'right' })).body;
      const headers = { 'X-Service-Token': auth.client_token };
      const path = 'auth/userpass/passkey/register';
      const guess = async (node: Node, password: string) => {
        const { body } = await send(node, 'post', `${path}/begin`, {}, headers);
        const credential = new SoftwareAuthenticator(env.SECRETS_PUBLIC_URL).make(body.data);
        return (await send(node, 'post', path, { name: 'key', password, credential }, headers)).status;
      };
      return {
        wrong: (node) => guess(node, 'wrong'),
        right: (node) => guess(node, 'right'),
        refused: 400,
        lockSeconds: 15 * 60,
      };
    },
    'ldap/login/:username': async () => {
      const username = `p${++made}`;
      directory.entries.push({ dn: `cn=${username},dc=acme`, password: 'right', attributes: {} });
      await secrets.root.write('auth/ldap/config', { url: directory.address, userdn: 'dc=acme' }).expect(204);
      const path = `auth/ldap/login/${username}`;
      const guess = async (node: Node, password: string) => (await send(node, 'post', path, { password })).status;
      return {
        wrong: (node) => guess(node, 'wrong'),
        right: (node) => guess(node, 'right'),
        refused: 400,
        lockSeconds: 15 * 60,
      };
    },
    'totp/code/:name': async () => {
      const name = `k${++made}`;
      const fields = { generate: true, issuer: 'Acme', account_name: name };
      const { url } = (await secrets.root.write(`totp/keys/${name}`, fields).expect(200)).body.data;
      const app = authenticator(url);
      const guess = async (node: Node, code: string) => {
        const headers = { 'X-Service-Token': secrets.rootToken };
        return (await send(node, 'post', `totp/code/${name}`, { code }, headers)).body.data.valid ? 200 : 400;
      };
      return {
        wrong: (node) => guess(node, app.code(clock.now(), 7)),
        right: (node) => guess(node, app.code(clock.now())),
        refused: 400,
        lockSeconds: 15 * 60,
      };
    },
    'system/mfa/validate': async () => {
      const { enforce, begin, method_id, right, wrong } = await machine(
        'path "cubbyhole/a" { capabilities = ["read"] }',
      );
      await enforce();
      const guess = async (node: Node, code: string) => {
        const mfa_request_id = await begin(node);
        return (await send(node, 'post', 'sys/mfa/validate', { mfa_request_id, mfa_payload: { [method_id]: [code] } }))
          .status;
      };
      return {
        wrong: (node) => guess(node, wrong()),
        right: (node) => guess(node, right()),
        refused: 403,
        lockSeconds: 30,
      };
    },
    'any login, with the code sent along': async () => {
      const { enforce, name, method_id, right, wrong } = await machine(
        'path "cubbyhole/a" { capabilities = ["read"] }',
      );
      await enforce();
      const guess = async (node: Node, code: string) =>
        (await send(node, 'post', 'auth/approle/login', { role_id: name }, { 'X-Service-MFA': `${method_id}:${code}` }))
          .status;
      return {
        wrong: (node) => guess(node, wrong()),
        right: (node) => guess(node, right()),
        refused: 403,
        lockSeconds: 30,
      };
    },
    'any request whose policy names a method': async () => {
      const method = `m${made + 1}`;
      const { method_id, token, right, wrong } = await machine(
        `path "auth/token/lookup-accessor" { capabilities = ["update"] mfa_methods = ["${method}"] }`,
      );
      await secrets.root.write(`${methods}/${method_id}`, { method_name: method, issuer: 'Acme' }).expect(204);
      const { accessor } = (await secrets.root.read('auth/token/lookup-self')).body.data;
      const guess = async (node: Node, code: string) => {
        const headers = { 'X-Service-Token': token, 'X-Service-MFA': `${method_id}:${code}` };
        return (await send(node, 'post', 'auth/token/lookup-accessor', { accessor }, headers)).status;
      };
      return {
        wrong: (node) => guess(node, wrong()),
        right: (node) => guess(node, right()),
        refused: 403,
        lockSeconds: 30,
      };
    },
  };

  it('is declared for operations without a token', () => {
    expect(operations.size).toBeGreaterThan(10);
    expect([...operations].filter(([, { judges }]) => judges === undefined).map(([name]) => name)).toEqual([]);
  });

  it('is tested here', () => {
    const guessable = [...operations].filter(([, { judges }]) => judges === 'password' || judges === 'one-time code');
    expect(guessable.map(([name]) => name).filter((name) => !targets[name])).toEqual([]);
    expect(guessable.length).toBeGreaterThan(1);
  });

  describe.each(Object.keys(targets))('%s', (name) => {
    it.each([
      ['one node', (): Node => 'one'],
      ['two nodes', (i: number): Node => (i % 2 === 0 ? 'one' : 'other')],
    ])('is checked no more often than allowed, and stays locked, at %s', async (_where, nodeOf) => {
      const target = await targets[name]!();
      const take = jest.spyOn(Attempts.prototype, 'take');
      const judged = async () =>
        (await Promise.all(take.mock.results.map(({ value }) => value as ReturnType<Attempts['take']>))).filter(
          (a) => a.allowed,
        );
      for (const count of [guesses, 6, 10, 10]) {
        const answers = await Promise.all(Array.from({ length: count }, (_, i) => target.wrong(nodeOf(i))));
        expect(answers).toEqual(answers.map(() => target.refused));
      }
      expect(take.mock.calls.length).toBe(guesses + 26);
      expect(await judged()).toHaveLength(allowed);
      // Neither the right secret nor too short a time ends the lock.
      for (const node of ['one', 'other'] as const) expect(await target.right(node)).toBe(target.refused);
      clock.advance((target.lockSeconds - 1) * 1000);
      expect(await target.right('one')).toBe(target.refused);
      expect(await judged()).toHaveLength(allowed);
      clock.advance(1000);
      expect(await target.right('one')).toBe(200);
      take.mockRestore();
    });
  });
});
