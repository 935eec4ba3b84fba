import type { Server } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import { Registry } from 'prom-client';
import request from 'supertest';
import { readConfig } from '../src/config';
import { startHousekeeping } from '../src/housekeeping';
import { createService, type Service } from '../src/service';
import { resource, startWorkspaces } from './start-workspaces';

// If this failed, a node whose clock is weeks ahead would permanently remove states that its organization wants to
// keep.

const DAY_MS = 86_400_000;

describe('a node whose machine has the wrong time', () => {
  const workspaces = startWorkspaces();
  const log = createLogger({ name: 'wrong', level: 'silent' });
  let aheadMs = 40 * DAY_MS;
  let node: Service;
  let server: Server;
  beforeAll(async () => {
    await workspaces.organization('acme');
    const config = readConfig({
      WORKSPACES_DATABASE_URL: workspaces.databaseUrl,
      WORKSPACES_DATABASE_CONNECTIONS: '6',
      WORKSPACES_SEAL_KEY: '07'.repeat(32),
      WORKSPACES_RATE_LIMIT: '0',
      WORKSPACES_MIGRATE: 'off',
    });
    node = await createService(config, { log, machineClock: () => Date.now() + aheadMs });
    server = createServer(node.app);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    server?.closeAllConnections();
    await new Promise((resolve) => server?.close(resolve));
    await node?.close();
  });

  it('refuses no token that is valid elsewhere, sweeps nothing, and becomes ready again by itself', async () => {
    const body = resource('authentication-tokens', {
      description: 'for a day',
      'expired-at': new Date(Date.now() + DAY_MS).toISOString(),
    });
    const made = await workspaces.admin.post('organizations/acme/authentication-token', body).expect(201);
    const token = made.body.data.attributes.token as string;
    const there = () =>
      request(server)
        .get('/api/v2/organizations/acme')
        .set('Authorization', `Bearer ${token}`)
        .then(({ status }) => status);
    expect(await there()).toBe(200);
    // On a busy machine a clock is accurate to a tenth of a second.
    const trouble = expect.stringMatching(/345(5999|6000)\.\d s ahead of the database \(2 s are allowed\)/);
    expect(await node.ready()).toEqual({ ready: false, reasons: [trouble] });

    const runs = async () => {
      const registry = new Registry();
      const { env, outage, clockTrouble } = node;
      const housekeeping = startHousekeeping(node.db, {
        log,
        outage,
        registry,
        clockTrouble,
        consoleIdleMinutes: 30,
        ...env,
      });
      await housekeeping.close();
      const metrics = await registry.metrics();
      return (job: string) => metrics.includes(`job_runs_total{job="${job}"} 1\n`);
    };
    const byTime = [
      'apply retention policies',
      'remove hidden results of runs',
      'remove unfinished uploads',
      'empty the quarantine',
      'delete expired idempotency keys',
    ];
    const apart = await runs();
    expect(byTime.map(apart)).toEqual(byTime.map(() => false));
    expect(apart('end locks without a heartbeat')).toBe(true);

    aheadMs = 0;
    while (!(await node.ready()).ready) await new Promise((resolve) => setTimeout(resolve, 20));
    const right = await runs();
    expect(byTime.map(right)).toEqual(byTime.map(() => true));
    expect(await there()).toBe(200);
  });
});
