import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import { DatabaseProxy } from '@keystead/testing';
import request from 'supertest';
import { createService, type Service } from '../src/service';
import { until } from './fresh-storage';
import { startSecrets, testConfig } from './start-secrets';

// Without a limit, all callers of a node with a frozen database, and those queued behind them, would wait for half a
// minute.

/** Much less than the timeout of statements, and much more than a node needs to notice. */
const SOON_MS = 20_000;

describe('a database that answers nothing', () => {
  const secrets = startSecrets();
  let proxy: DatabaseProxy;
  let node: Service;
  let server: Server;
  beforeAll(async () => {
    proxy = await DatabaseProxy.start(secrets.database.url);
    const log = createLogger({ name: 'cut off', level: 'silent' });
    node = await createService(testConfig(proxy.url), { log });
    server = createServer(node.app);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    proxy?.hold(undefined);
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
    await node?.close();
    await proxy?.close();
  });

  const ask = async (method: 'get' | 'post', path: string) => {
    const answer = request(server)[method](`/v1/${path}`).set('X-Service-Token', secrets.rootToken);
    const { status, body } = await (method === 'post' ? answer.send({ a: '1' }) : answer);
    return { status, errors: body.errors };
  };
  const soon = <T>(answer: Promise<T>) =>
    Promise.race([answer, new Promise<string>((resolve) => setTimeout(resolve, SOON_MS, 'still waiting').unref())]);
  const away = { status: 503, errors: ['storage is unavailable'] };

  it('delays no request for long: waiting ones get 503 soon, new ones at once', async () => {
    expect((await ask('post', 'cubbyhole/x')).status).toBe(204);
    proxy.hold('all');
    const early = Promise.all([
      ask('get', 'auth/token/lookup-self'),
      ask('post', 'cubbyhole/x'),
      ask('post', 'auth/token/create'),
      ...Array.from({ length: 20 }, () => ask('get', 'cubbyhole/x')),
    ]);
    const answers = await soon(early);
    const [lookup, write, create, ...reads] = answers as (typeof away)[];
    // The last answer of the database may still arrive, and confirm a read.
    const told = { status: 200, errors: undefined };
    expect([write, create]).toEqual([away, away]);
    for (const read of [lookup, ...reads]) expect([away, told]).toContainEqual(read);
    for (let n = 0; n < 5; n++) expect(await soon(ask('get', 'cubbyhole/x'))).toEqual(away);
    expect((await node.ready()).reasons).toContain('the database does not answer');
    expect((await secrets.root.read('auth/token/lookup-self')).status).toBe(200);
    proxy.hold(undefined);
    await until(async () => (await ask('get', 'cubbyhole/x')).status === 200);
    await until(async () => (await node.ready()).ready);
  });
});
