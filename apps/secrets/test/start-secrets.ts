import { scryptSync } from 'node:crypto';
import type { Server } from 'node:http';
import { afterAll, beforeAll, expect, jest } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import { freshDatabase, keptConnections, Mistakes, type TestDatabase, urlOf } from '@keystead/testing';
import request, { type Test } from 'supertest';
import { type PasswordHash, Passwords } from '../src/backends/userpass/password';
import { type Config, readConfig } from '../src/config';
import { rescueList } from '../src/http/list-verb';
import type { Clock, Fault } from '../src/kernel/storage/types';
import { createService, type Service } from '../src/service';
import { ResponseSchemas } from './response-schemas';

/** Options of a test's service. */
export interface SecretsOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly config?: Partial<Config>;
  readonly clock?: Clock;
  readonly fault?: Fault;
  /** Receives all log lines, of every level. */
  readonly log?: (line: string) => void;
  /** Leave the service uninitialised. */
  readonly bare?: boolean;
}

/** Requests with one token. */
export interface Client {
  read(path: string): Test;
  list(path: string): Test;
  scan(path: string): Test;
  write(path: string, body?: object | string): Test;
  put(path: string, body?: object | string): Test;
  patch(path: string, body: object): Test;
  delete(path: string): Test;
  readonly token: string | undefined;
}

/** A service of one test file, on its own database, initialised and unsealed. */
export interface Secrets {
  readonly root: Client;
  /** Requests without a token. */
  readonly anonymous: Client;
  readonly rootToken: string;
  readonly recoveryKeys: readonly string[];
  readonly service: Service;
  readonly database: TestDatabase;
  readonly server: Server;
  /** Adds an answer to a request sent in another way, to check it against the document, too. */
  saw(method: string, url: string, status: number, body: unknown, media: string): void;
  as(token: string | undefined, headers?: Readonly<Record<string, string>>): Client;
  /** A token with exactly these rules, made through a separate policy. */
  withPolicy(rules: string, options?: object): Promise<Client>;
}

const sealKey = 'ab'.repeat(32);

/** The configuration of a test's service; nothing outside its database is touched. */
export function testConfig(url: string, env: Readonly<Record<string, string>> = {}): Config {
  return readConfig({
    SECRETS_DATABASE_URL: url,
    SECRETS_SEAL_KEY: sealKey,
    SECRETS_MIGRATE: 'off',
    SECRETS_LOG_LEVEL: 'silent',
    SECRETS_DATABASE_CONNECTIONS: '5',
    ...env,
  });
}

/** A stored password with a low cost, so that tests do not wait: the cost is stored with it. */
function hashCheaply(password: string): PasswordHash {
  const salt = 'c2FsdCBvZiBldmVyeSB0ZXN0';
  const [cost, blockSize, parallelization] = [16, 1, 1] as const;
  const key = scryptSync(password.normalize('NFC'), Buffer.from(salt, 'base64'), 32, {
    cost,
    blockSize,
    parallelization,
  });
  return { algorithm: 'scrypt', cost, blockSize, parallelization, salt, hash: key.toString('base64') };
}

/** Starts a service before the tests of a file (or of a describe) and ends it after them. */
export function startSecrets(options: SecretsOptions = {}): Secrets {
  const running = {} as { -readonly [K in keyof Secrets]: Secrets[K] };
  const watch = new ResponseSchemas();
  const mistakes = new Mistakes(options.log && { write: options.log });
  let counter = 0;
  beforeAll(async () => {
    const database = await freshDatabase('secrets');
    const config = { ...testConfig(database.url, options.env), ...options.config };
    jest.spyOn(Passwords.prototype, 'hash').mockImplementation(async (password) => hashCheaply(password));
    const level = process.env.SECRETS_TEST_LOG;
    const log = createLogger({
      name: 'secrets',
      level: options.log ? 'trace' : (level ?? 'warn'),
      destination: level === undefined || options.log ? mistakes : undefined,
    });
    const service = await createService(config, { log, clock: options.clock, fault: options.fault });
    const server = createServer(service.app);
    rescueList(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    running.as = (token, headers) => client(server, watch, token, headers);
    running.saw = (...answer) => watch.add(...answer);
    Object.assign(running, { service, server, database, anonymous: running.as(undefined) });
    if (options.bare) return;
    const { body } = await running.anonymous
      .write('sys/init', { recovery_shares: 5, recovery_threshold: 3, secret_shares: 1, secret_threshold: 1 })
      .expect(200);
    running.rootToken = body.root_token;
    running.recoveryKeys = body.recovery_keys ?? body.keys;
    running.root = running.as(body.root_token);
    running.withPolicy = async (rules, more) => {
      const name = `test-${++counter}`;
      await running.root.write(`sys/policies/acl/${name}`, { policy: rules }).expect(204);
      const made = await running.root
        .write('auth/token/create', { policies: [name], no_default_policy: true, ...more })
        .expect(200);
      return running.as(made.body.auth.client_token);
    };
  });
  afterAll(async () => {
    const problems = running.service ? watch.problems(running.service) : [];
    const { server } = running;
    server?.closeAllConnections();
    if (server) await new Promise((resolve) => server.close(resolve));
    await running.service?.close();
    await running.database?.drop();
    expect([...problems, ...mistakes.found]).toEqual([]);
  });
  return running;
}

function client(
  server: Server,
  watch: ResponseSchemas,
  token: string | undefined,
  headers: Readonly<Record<string, string>> = {},
): Client {
  const url = urlOf(server);
  const prepare = (test: Test): Test => {
    test.agent(keptConnections);
    if (token !== undefined) test.set('X-Service-Token', token);
    for (const [name, value] of Object.entries(headers)) test.set(name, value);
    if (headers['X-Service-Namespace'] === undefined) {
      test.on('response', ({ req, status, body, type }) => watch.add(req.method, req.path, status, body, type));
    }
    return test;
  };
  const send = (test: Test, body: object | string | undefined): Test => {
    const prepared = prepare(test);
    if (body === undefined) return prepared;
    return prepared
      .set('Content-Type', 'application/json')
      .send(typeof body === 'string' ? body : JSON.stringify(body));
  };
  const at = (path: string) => `/v1/${path}`;
  return {
    token,
    read: (path) => prepare(request(url).get(at(path))),
    list: (path) => prepare(request(url).get(`${at(path)}${path.includes('?') ? '&' : '?'}list=true`)),
    scan: (path) => prepare(request(url).get(`${at(path)}${path.includes('?') ? '&' : '?'}scan=true`)),
    write: (path, body) => send(request(url).post(at(path)), body),
    put: (path, body) => send(request(url).put(at(path)), body),
    patch: (path, body) =>
      prepare(request(url).patch(at(path)))
        .set('Content-Type', 'application/merge-patch+json')
        .send(JSON.stringify(body)),
    delete: (path) => prepare(request(url).delete(at(path))),
  };
}
