import { once } from 'node:events';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import { fightForLock, isLinearizable, lockClients, lockModel } from '@keystead/testing';
import { readConfig } from '../src/config';
import { releaseExpired } from '../src/resources/workspaces/workspaces/lock';
import { createService, type Service } from '../src/service';
import { type Client, resource, startWorkspaces } from './start-workspaces';

const long = process.env.KEYSTEAD_LONG !== undefined;

describe('the lock of a workspace', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const origin = () => `http://127.0.0.1:${(workspaces.server.address() as AddressInfo).port}`;
  let counter = 0;
  beforeAll(() => workspaces.organization('acme'));

  const fresh = async (): Promise<{ id: string; holders: Client[] }> => {
    const { id } = await workspaces.workspace('acme', `w${++counter}`);
    const clients = await lockClients(origin(), admin.token!, 'acme', id, 2);
    return { id, holders: clients.map(({ token }) => workspaces.as(token)) };
  };
  const act = (client: Client, id: string, name: string, attributes?: object) =>
    client.post(`workspaces/${id}/actions/${name}`, attributes && { data: { type: '', attributes } });
  const stopBeating = (id: string) =>
    workspaces.service.pool.query(
      `UPDATE workspace_lock SET expires_at = now() - interval '1 second' WHERE workspace_id = $1`,
      [id],
    );
  const locksOf = async (id: string) =>
    (await admin.get(`workspaces/${id}/locks`).expect(200)).body.data.map(
      (lock: { attributes: object }) => lock.attributes,
    );

  it('goes to the next caller if a holder who opted in sends no heartbeats', async () => {
    const { id, holders } = await fresh();
    const [one, two] = holders as [Client, Client];
    await act(one, id, 'lock', { 'heartbeat-seconds': 30, reason: 'at work' }).expect(200);
    await act(two, id, 'lock').expect(409);
    await act(two, id, 'heartbeat').expect(409);
    await stopBeating(id);
    await act(two, id, 'lock').expect(200);
    await act(one, id, 'heartbeat').expect(409);
    await act(one, id, 'unlock').expect(409);
    const [now, before] = await locksOf(id);
    expect(now).toMatchObject({ 'heartbeat-seconds': null, 'expired-at': null, 'unlocked-at': null });
    expect(before).toMatchObject({ reason: 'at work', 'heartbeat-seconds': 30, forced: true });
  });

  it('is extended by every heartbeat', async () => {
    const { id, holders } = await fresh();
    const [one] = holders as [Client];
    await act(one, id, 'lock', { 'heartbeat-seconds': 30 }).expect(200);
    await stopBeating(id);
    await act(one, id, 'heartbeat').expect(200);
    expect(await releaseExpired(workspaces.service.db)).toBe(0);
    await act(one, id, 'unlock').expect(200);
  });

  it('is released by any node, and uploads pending under it are refused', async () => {
    const { id, holders } = await fresh();
    const [one] = holders as [Client];
    await act(one, id, 'lock', { 'heartbeat-seconds': 10 }).expect(200);
    const body = resource('state-versions', { serial: 1, md5: 'a'.repeat(32) });
    const announced = await one.post(`workspaces/${id}/state-versions`, body).expect(201);
    await stopBeating(id);
    const { db } = workspaces.service;
    const freed = await Promise.all([releaseExpired(db), releaseExpired(db)]);
    expect(freed[0] + freed[1]).toBe(1);
    const shown = await admin.get(`state-versions/${announced.body.data.id}`).expect(200);
    expect(shown.body.data.attributes.status).toBe('discarded');
    expect((await admin.get(`workspaces/${id}`).expect(200)).body.data.attributes.locked).toBe(false);
  });

  it('delays no other lock once its organization is deleted', async () => {
    await workspaces.organization('gone');
    const { id: left } = await workspaces.workspace('gone', 'web');
    await act(admin, left, 'lock', { 'heartbeat-seconds': 10 }).expect(200);
    const { id, holders } = await fresh();
    await act(holders[0]!, id, 'lock', { 'heartbeat-seconds': 10 }).expect(200);
    const { pool, db } = workspaces.service;
    // The organization is only marked as deleted: the worker would delete it.
    await pool.query(`UPDATE organization SET removed_at = now() WHERE name = 'gone'`);
    await stopBeating(left);
    await stopBeating(id);
    expect(await releaseExpired(db)).toBe(1);
    expect((await admin.get(`workspaces/${id}`).expect(200)).body.data.attributes.locked).toBe(false);
  });

  it('does not expire without heartbeats if the holder did not opt in', async () => {
    const { id, holders } = await fresh();
    const [one, two] = holders as [Client, Client];
    await act(one, id, 'lock').expect(200);
    await workspaces.service.pool.query(
      `UPDATE workspace_lock SET locked_at = now() - interval '1 year' WHERE workspace_id = $1`,
      [id],
    );
    expect(await releaseExpired(workspaces.service.db)).toBe(0);
    await act(two, id, 'lock').expect(409);
    await act(one, id, 'heartbeat').expect(409);
  });

  it.each([[9], [1.5], ['30'], [86_401]])('refuses a heartbeat of %j seconds', async (seconds) => {
    const { id, holders } = await fresh();
    const { body } = await act(holders[0]!, id, 'lock', { 'heartbeat-seconds': seconds }).expect(422);
    expect(body.errors[0].source.pointer).toBe('/data/attributes/heartbeat-seconds');
  });

  it('is granted once and released once if many callers ask at the same time', async () => {
    const { id } = await workspaces.workspace('acme', `w${++counter}`);
    const clients = await lockClients(origin(), admin.token!, 'acme', id, 5);
    const holders = clients.map(({ token }) => workspaces.as(token));
    const all = (name: string) => Promise.all([...holders, ...holders].map((holder) => act(holder, id, name)));
    const statuses = (answers: readonly { status: number }[]) => answers.map(({ status }) => status).sort();
    const oneOfTen = [200, ...Array.from({ length: 9 }, () => 409)];
    expect(statuses(await all('lock'))).toEqual(oneOfTen);
    expect(statuses(await all('unlock'))).toEqual(oneOfTen);
    expect(await locksOf(id)).toEqual([expect.objectContaining({ forced: false, 'unlocked-at': expect.any(String) })]);
    const { rows } = await workspaces.service.pool.query(
      `SELECT action FROM audit_event WHERE target_id = $1 AND action LIKE 'workspace.%lock' ORDER BY id`,
      [id],
    );
    expect(rows.map(({ action }) => action)).toEqual(['workspace.lock', 'workspace.unlock']);
  });

  it('shows its new state to the next reader, also during any other change', async () => {
    const { id, holders } = await fresh();
    const [one] = holders as [Client];
    for (const name of ['lock', 'unlock', 'lock', 'unlock', 'lock', 'unlock']) {
      const body = { data: { type: 'workspaces', attributes: { description: `before ${name}` } } };
      const answers = await Promise.all([
        act(one, id, name),
        admin.patch(`workspaces/${id}`, body).expect(200),
        act(one, id, name),
      ]);
      const now = await one.get(`workspaces/${id}`).expect(200);
      expect(now.body.data.attributes).toMatchObject({ locked: name === 'lock', description: `before ${name}` });
      expect(answers.map(({ status }) => status).sort()).toEqual([200, 200, 409]);
      const same = answers.filter(({ headers, status }) => status === 200 && headers.etag === now.headers.etag);
      expect(same.length).toBe(1);
      const { permissions: _mine, ...attributes } = now.body.data.attributes;
      expect(same[0]!.body.data.attributes).toMatchObject(attributes);
      expect(same[0]!.body.data.relationships['locked-by']).toEqual(now.body.data.relationships['locked-by']);
    }
  });

  it('has times from the database, not from the clock of a node', async () => {
    const { id, holders } = await fresh();
    await act(holders[0]!, id, 'lock').expect(200);
    const { rows } = await workspaces.service.pool.query(
      'SELECT abs(extract(epoch FROM clock_timestamp() - locked_at)) < 60 AS near FROM workspace WHERE id = $1',
      [id],
    );
    expect(rows[0].near).toBe(true);
  });
});

describe('the lock of a workspace on two nodes', () => {
  // The second node's clock is an hour ahead.
  const workspaces = startWorkspaces();
  let second: Service;
  let server: Server;
  beforeAll(async () => {
    const config = readConfig({
      WORKSPACES_DATABASE_URL: workspaces.databaseUrl,
      WORKSPACES_DATABASE_CONNECTIONS: '6',
      WORKSPACES_SEAL_KEY: '07'.repeat(32),
      WORKSPACES_RATE_LIMIT: '0',
      WORKSPACES_MIGRATE: 'off',
    });
    const log = createLogger({ name: 'workspaces', level: 'silent' });
    second = await createService(config, { log, now: () => Date.now() + 3_600_000 });
    server = createServer(second.app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    await workspaces.organization('acme');
  });
  afterAll(async () => {
    server?.closeAllConnections();
    server?.close();
    await second?.close();
  });

  it('is never held by two callers, and no upload of another holder is accepted', async () => {
    const nodes = [workspaces.server, server].map((one) => `http://127.0.0.1:${(one.address() as AddressInfo).port}`);
    const rounds = long ? 60 : 2;
    let calls = 0;
    let accepted = 0;
    // Calls are random. A history without an accepted upload proves little, so then another history follows.
    for (let round = 0; round < rounds || (accepted === 0 && round < 20); round++) {
      const { id } = await workspaces.workspace('acme', `fought-${round}`);
      const clients = await lockClients(nodes[0]!, workspaces.admin.token!, 'acme', id, 4);
      const history = await fightForLock(() => nodes, clients, id, { calls: 120 });
      calls += history.length;
      accepted += history.filter(({ operation, answer }) => operation.what === 'upload' && answer === 'yes').length;
      expect(isLinearizable(history, lockModel, '')).toBe(true);
    }
    expect(accepted).toBeGreaterThan(0);
    expect(calls).toBeGreaterThanOrEqual(rounds * 100);
  }, 1_800_000);
});
