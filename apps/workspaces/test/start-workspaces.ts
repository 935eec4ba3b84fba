import { randomUUID, scryptSync } from 'node:crypto';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { afterAll, beforeAll, expect } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import { freshDatabase, keptConnections, Mistakes, urlOf } from '@keystead/testing';
import request, { type Test } from 'supertest';
import { readConfig } from '../src/config';
import { system } from '../src/kernel/audit/audit';
import { Routes } from '../src/kernel/endpoints/routes';
import * as tokens from '../src/resources/people/tokens/service';
import * as users from '../src/resources/people/users/service';
import { resources } from '../src/resources/registry';
import { createService, type Service } from '../src/service';
import { AnswerSchemas } from './answer-schemas';
import { CallsInTransactions } from './calls-in-transactions';

const JSON_API = 'application/vnd.api+json';
/** The password of each account that `person()` makes. */
export const PASSWORD = 'correct horse battery';
/** The token of agents of the installation in every service under test. */
export const WORKER_TOKEN = 'w'.repeat(32);
/** Opens the keyring of every service under test. */
export const SEAL_KEY = '07'.repeat(32);

/** Sends requests as one caller; bodies are sent as JSON:API. */
export interface Client {
  readonly token: string | undefined;
  get(path: string): Test;
  post(path: string, body?: unknown): Test;
  patch(path: string, body?: unknown): Test;
  put(path: string, body?: unknown): Test;
  delete(path: string, body?: unknown): Test;
}

/** A complete service on a separate database, for one test file. */
export interface Workspaces {
  /** The first site administrator. */
  readonly admin: Client;
  /** Without a token. */
  readonly anyone: Client;
  readonly service: Service;
  readonly server: Server;
  readonly databaseUrl: string;
  /** A client with a token. */
  as(token: string): Client;
  /** Creates a person and returns a client with a token of theirs. */
  person(username: string, options?: { siteAdmin?: boolean }): Promise<Client & { id: string; username: string }>;
  /** Creates an organization, by default as the administrator; returns the resource. */
  organization(
    name: string,
    attributes?: object,
    owner?: Client,
  ): Promise<{ id: string; attributes: Record<string, never> }>;
  /** Creates a workspace; returns the resource. */
  workspace(organization: string, name: string, attributes?: object): Promise<{ id: string }>;
}

/** The document in a request: `resource('teams', { name: 'ops' })`. */
export function resource(type: string, attributes: object = {}, relationships?: object): { data: object } {
  return { data: { type, attributes, ...(relationships === undefined ? {} : { relationships }) } };
}

/** A relationship in a request. */
export function ref(type: string, id: string): { data: { type: string; id: string } } {
  return { data: { type, id } };
}

/** Environment variables that a test sets, and a clock. */
export interface StartOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly now?: () => number;
  /** Receives the lines of the log; by default they go nowhere. */
  readonly log?: { write(line: string): void };
  /** Every create is sent with a new `Idempotency-Key`, as by clients that repeat unanswered requests. */
  readonly keyed?: boolean;
  /** Sits between the service and its database. */
  readonly through?: (databaseUrl: string) => Promise<string>;
}

/** The helpers for tests that use a service only through its API, wherever it runs; `server` may be its address. */
export type Spoken = Pick<Workspaces, 'admin' | 'as' | 'person' | 'organization'> & {
  readonly server: Server | string;
};

const routes = new Routes(resources.flatMap(({ endpoints }) => endpoints.filter(({ outside }) => !outside)));

/** A client of a server, or of an address, with a token; `watch` is called with every answer. */
export function clientOf(
  server: () => Server | string,
  token: string | undefined,
  watch?: AnswerSchemas,
  keyed = false,
): Client {
  const send = (method: 'get' | 'post' | 'patch' | 'put' | 'delete', path: string, body?: unknown): Test => {
    const url = /^\/(api\/|\.|scim\/|oauth2\/|app\/)/.test(path) ? path : `/api/v2/${path.replace(/^\//, '')}`;
    const to = server();
    const test = request(typeof to === 'string' ? to : urlOf(to))
      [method](url)
      .agent(keptConnections)
      .set('Accept', JSON_API);
    if (token !== undefined) {
      test.set('Authorization', `Bearer ${token}`);
    }
    const [, below = ''] = /^\/api\/v2(\/[^?]*)/.exec(url) ?? [];
    if (keyed && method === 'post' && routes.find('POST', below)?.endpoint.idempotent) {
      test.set('Idempotency-Key', randomUUID());
    }
    if (watch !== undefined) test.on('response', (response) => watch.add(response));
    return body === undefined ? test : test.set('Content-Type', JSON_API).send(JSON.stringify(body));
  };
  return {
    token,
    get: (path) => send('get', path),
    post: (path, body) => send('post', path, body),
    patch: (path, body) => send('patch', path, body),
    put: (path, body) => send('put', path, body),
    delete: (path, body) => send('delete', path, body),
  };
}

/** The hash of `PASSWORD`, with a cost for which no test has to wait: the hash contains its cost. */
const kept = (() => {
  const salt = Buffer.from('salt of every test');
  const key = scryptSync(PASSWORD, salt, 32, { N: 16, r: 1, p: 1 });
  return `scrypt$4$1$1$${salt.toString('base64')}$${key.toString('base64')}`;
})();

/** Creates a person with a token, bypassing the API. */
export async function personIn(
  { db, env }: Service,
  username: string,
  given: { siteAdmin?: boolean; email?: string; token?: Parameters<typeof tokens.create>[4] } = {},
) {
  const { siteAdmin, email = `${username}@example.com`, token = {} } = given;
  const { id } = await users.create(db, { username, email, siteAdmin });
  await db.prisma.user.update({ where: { id }, data: { passwordHash: kept, confirmed: true } });
  const { secret } = await tokens.create(db, env.keyring, system, { kind: 'user', userId: id }, token, env.now());
  return { id, secret };
}

/** What `firstRun` creates, whose password takes long to hash. */
const firstAdministrator = {
  siteAdmin: true,
  email: 'admin@localhost.localdomain',
  token: { description: 'first start', expiredAt: null },
} as const;

/** Creates an organization as its owner; returns the resource. */
export async function organizationOf(owner: Client, name: string, attributes: object = {}) {
  const body = resource('organizations', { name, email: `${name}@example.com`, ...attributes });
  return (await owner.post('organizations', body).expect(201)).body.data;
}

/** Starts a service for the tests of a `describe`; everything is created in `beforeAll` and removed in `afterAll`. */
export function startWorkspaces(options: StartOptions = {}): Workspaces {
  let service: Service;
  let server: Server;
  let token = '';
  let databaseUrl = '';
  const watch = new AnswerSchemas();
  const mistakes = new Mistakes(options.log);
  const calls = new CallsInTransactions();
  let drop: () => Promise<void>;

  beforeAll(async () => {
    const database = await freshDatabase('workspaces');
    databaseUrl = database.url;
    drop = () => database.drop();
    const config = readConfig({
      WORKSPACES_DATABASE_URL: (await options.through?.(database.url)) ?? database.url,
      WORKSPACES_DATABASE_CONNECTIONS: '8',
      WORKSPACES_SEAL_KEY: SEAL_KEY,
      WORKSPACES_AGENT_TOKEN: WORKER_TOKEN,
      WORKSPACES_PUBLIC_URL: 'https://workspaces.test',
      WORKSPACES_RATE_LIMIT: '0',
      WORKSPACES_VCS: 'off',
      WORKSPACES_MIGRATE: 'off',
      ...options.env,
    });
    const level = process.env.TEST_LOG ?? (options.log === undefined ? 'warn' : 'info');
    const destination = process.env.TEST_LOG === undefined ? mistakes : options.log;
    const log = createLogger({ name: 'workspaces', level, destination });
    service = await createService(config, { log, now: options.now });
    calls.begin(service.db);
    token = (await personIn(service, 'admin', firstAdministrator)).secret!;
    server = createServer(service.app).listen(0, '127.0.0.1');
    await once(server, 'listening');
  });

  afterAll(async () => {
    const problems = service === undefined ? [] : watch.problems(service);
    server?.closeAllConnections();
    if (server) await new Promise((resolve) => server.close(resolve));
    await service?.close();
    await drop?.();
    calls.end();
    expect([...problems, ...mistakes.found, ...calls.found]).toEqual([]);
  });

  const as = (given: string | undefined): Client => clientOf(() => server, given, watch, options.keyed);
  const admin: Client = {
    get token() {
      return token;
    },
    get: (path) => as(token).get(path),
    post: (path, body) => as(token).post(path, body),
    patch: (path, body) => as(token).patch(path, body),
    put: (path, body) => as(token).put(path, body),
    delete: (path, body) => as(token).delete(path, body),
  };
  return {
    admin,
    anyone: as(undefined),
    get service() {
      return service;
    },
    get server() {
      return server;
    },
    get databaseUrl() {
      return databaseUrl;
    },
    as,
    async person(username, given = {}) {
      const { id, secret } = await personIn(service, username, given);
      return { ...as(secret), id, username };
    },
    organization: (name, attributes, owner = admin) => organizationOf(owner, name, attributes),
    async workspace(organization, name, attributes = {}) {
      const body = resource('workspaces', { name, ...attributes });
      return (await admin.post(`organizations/${organization}/workspaces`, body).expect(201)).body.data;
    },
  };
}
