import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import request from 'supertest';
import { createService, type Service } from '../src/service';
import { until } from './fresh-storage';
import { startSecrets, testConfig } from './start-secrets';

// Without these rules, a node whose clock is two hours ahead would end all tokens and leases.

const HOUR_MS = 3_600_000;

describe('a node whose machine has the wrong time', () => {
  const secrets = startSecrets();
  let aheadMs = 0;
  let node: Service;
  let server: Server;
  const said: string[] = [];

  beforeAll(async () => {
    const destination = { write: (line: string) => void said.push(JSON.parse(line).msg) };
    const log = createLogger({ name: 'wrong', level: 'info', destination });
    aheadMs = 2 * HOUR_MS;
    node = await createService(testConfig(secrets.database.url), {
      log,
      machineClock: () => Date.now() + aheadMs,
    });
    server = createServer(node.app);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
    await node?.close();
  });

  const mint = async (fields: object) =>
    (await secrets.root.write('auth/token/create', fields).expect(200)).body.auth.client_token as string;
  const there = (token: string) =>
    request(server)
      .get('/v1/auth/token/lookup-self')
      .set('X-Service-Token', token)
      .then(({ status }) => status);
  const here = (token: string) =>
    secrets
      .as(token)
      .read('auth/token/lookup-self')
      .then(({ status }) => status);
  const ready = async () => (await node.ready()).reasons.join();
  const jumpTo = async (ms: number, says: string) => {
    aheadMs = ms;
    await until(async () => (await ready()).includes(says));
  };
  const complaints = () => said.filter((line) => line.includes('this node lets nothing expire')).length;

  it('expires nothing, refuses nothing, says once why it is not ready, and recovers by itself', async () => {
    const token = await mint({ ttl: '1h' });
    for (const [ms, says] of [
      [2 * HOUR_MS, '7200.0 s ahead of the database'],
      [-3 * HOUR_MS, '10800.0 s behind the database'],
      [40 * 24 * HOUR_MS, '3456000.0 s ahead of the database'],
    ] as const) {
      await jumpTo(ms, says);
      expect([await there(token), await here(token)]).toEqual([200, 200]);
    }
    expect(complaints()).toBe(1);
    await until(async () => {
      aheadMs = 0;
      return (await node.ready()).ready;
    });
    expect(said).toContain('the clock of this machine agrees with the database again');
    expect([await there(token), await here(token)]).toEqual([200, 200]);
  });

  it('creates tokens with the same lifetime as other nodes', async () => {
    await jumpTo(2 * HOUR_MS, 'ahead of the database');
    const made = await request(server)
      .post('/v1/auth/token/create')
      .set('X-Service-Token', secrets.rootToken)
      .send({ ttl: '1h' })
      .expect(200);
    const { body } = await secrets.as(made.body.auth.client_token).read('auth/token/lookup-self').expect(200);
    const leftMs = Date.parse(body.data.expire_time) - Date.now();
    expect(leftMs).toBeGreaterThan(HOUR_MS - 300_000);
    expect(leftMs).toBeLessThanOrEqual(HOUR_MS + 5000);
  });
});
