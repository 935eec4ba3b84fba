import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { applyMigrations, type EmbeddedServer, ensureDatabase, startEmbedded } from '@keystead/postgres';
import { freePort, freshDatabase, type TestDatabase } from '@keystead/testing';
import { until } from './fresh-storage';
import { initialise, type NodeProcess, startNode } from './nodes';
import { staleAnswers } from './staleness';

describe('several processes on one database', () => {
  let database: TestDatabase;
  let nodes: NodeProcess[];
  let root: string;
  let shares: string[];

  beforeAll(async () => {
    database = await freshDatabase('secrets');
    nodes = await Promise.all([0, 1, 2].map(() => startNode(database.url)));
    ({ token: root, shares } = await initialise(nodes[0]!));
    await Promise.all(nodes.map((node) => until(async () => (await node.ask('GET', 'sys/health')).status === 200)));
    // Caches are in use once all nodes know each other.
    await new Promise((resolve) => setTimeout(resolve, 1500));
  });
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.kill()));
    await database.drop();
  });

  const everywhere = (holds: (node: NodeProcess) => Promise<boolean>, among = nodes) =>
    Promise.all(among.map((node) => until(() => holds(node))));
  /** Fails if a node gives an outdated answer to a request sent a second or more after the change. */
  const overdue = async (upToDate: (node: NodeProcess) => Promise<boolean>) => {
    const seen = await Promise.all(nodes.map((node) => staleAnswers(() => upToDate(node))));
    expect(seen.map(({ stale }) => stale)).toEqual([0, 0, 0]);
  };
  const create = async (body: object = {}) =>
    (await nodes[0]!.ask('POST', 'auth/token/create', root, { policies: ['default'], ...body })).body.auth;
  const self = async (node: NodeProcess, token: string) =>
    (await node.ask('GET', 'auth/token/lookup-self', token)).status;

  it('refuse a revoked token everywhere within a second', async () => {
    // If this failed, a stolen token would still work on other nodes after it was revoked on one.
    for (let round = 0; round < 3; round++) {
      const { client_token } = await create();
      for (const node of nodes) for (let n = 0; n < 3; n++) expect(await self(node, client_token)).toBe(200);
      const by = nodes[round % 3]!;
      expect((await by.ask('POST', 'auth/token/revoke-self', client_token)).status).toBe(204);
      await overdue(async (node) => (await self(node, client_token)) !== 200);
      expect(await Promise.all(nodes.map((node) => self(node, client_token)))).toEqual([403, 403, 403]);
    }
  });

  it('act on a changed policy everywhere within a second', async () => {
    const rule = (what: string) => ({ policy: `path "cubbyhole/*" { capabilities = [${what}] }` });
    await nodes[0]!.ask('POST', 'sys/policies/acl/changing', root, rule('"create", "update"'));
    const { client_token } = await create({ policies: ['changing'], no_default_policy: true });
    await everywhere(async (node) => (await node.ask('POST', 'cubbyhole/x', client_token, { a: '1' })).status === 204);
    await nodes[1]!.ask('POST', 'sys/policies/acl/changing', root, rule('"deny"'));
    await overdue(async (node) => (await node.ask('POST', 'cubbyhole/y', client_token, { a: '1' })).status !== 204);
    await everywhere(async (node) => (await node.ask('POST', 'cubbyhole/y', client_token, { a: '1' })).status === 403);
  });

  it('see writes and mounts of another process within a second', async () => {
    const { client_token } = await create();
    for (const node of nodes) expect((await node.ask('GET', 'cubbyhole/shared', client_token)).status).toBe(404);
    await nodes[2]!.ask('POST', 'cubbyhole/shared', client_token, { from: 'three' });
    await nodes[1]!.ask('POST', 'sys/mounts/extra', root, { type: 'kv' });
    await overdue(
      async (node) =>
        (await node.ask('GET', 'cubbyhole/shared', client_token)).status !== 404 &&
        (await node.ask('GET', 'sys/mounts/extra', root)).status !== 400,
    );
    await everywhere(async (node) => (await node.ask('GET', 'cubbyhole/shared', client_token)).status === 200);
    await everywhere(async (node) => (await node.ask('GET', 'sys/mounts/extra', root)).status === 200);
  });

  it('list all nodes', async () => {
    for (const node of nodes) {
      // A node with a late heartbeat is missing from the list for a moment.
      const listed = async () => (await node.ask('GET', 'sys/ha-status', root)).body;
      await until(async () => (await listed()).data.nodes.length === 3);
      const body = await listed();
      expect(body.data.nodes.filter((one: { version: string }) => one.version !== '')).toHaveLength(1);
      for (const { active_node, last_echo } of body.data.nodes) {
        expect(active_node).toBe(true);
        expect(Date.parse(last_echo)).toBeGreaterThan(Date.now() - 60_000);
      }
    }
  });

  it('give the last use of a token to only one request', async () => {
    for (let round = 0; round < 5; round++) {
      const { client_token } = await create({ num_uses: 1 });
      const answers = await Promise.all([...nodes, ...nodes].map((node) => self(node, client_token)));
      expect(answers.sort()).toEqual([200, 403, 403, 403, 403, 403]);
    }
  });

  it('fail no request while the keys are rotated under load', async () => {
    const { client_token } = await create();
    const failed: string[] = [];
    let done = 0;
    let going = true;
    const expectOk = async (
      what: string,
      node: NodeProcess,
      method: string,
      at: string,
      token: string,
      body?: object,
    ) => {
      const { status, body: answer } = await node.ask(method, at, token, body);
      if (status !== 200 && status !== 204) failed.push(`${what}: ${status} ${JSON.stringify(answer)}`);
      return answer;
    };
    // Written by one node and read by another, which may not have the key yet.
    const writer = async (index: number) => {
      for (let n = 0; going; n++) {
        const [here, there] = [nodes[(index + n) % 3]!, nodes[(index + n + 1) % 3]!];
        await expectOk('write', here, 'POST', `cubbyhole/rotated/${index}-${n}`, client_token, { n: String(n) });
        await expectOk('read', there, 'GET', `cubbyhole/rotated/${index}-${n}`, client_token);
        const rules = { policy: 'path "cubbyhole/*" { capabilities = ["read"] }' };
        await expectOk('policy', here, 'POST', `sys/policies/acl/rotated-${index}-${n}`, root, rules);
        await expectOk('policy read', there, 'GET', `sys/policies/acl/rotated-${index}-${n}`, root);
        const type = n % 2 === 0 ? 'service' : 'batch';
        const made = await expectOk('token', here, 'POST', 'auth/token/create', root, { policies: ['default'], type });
        await expectOk(`${type} token used`, there, 'GET', 'auth/token/lookup-self', made?.auth.client_token);
        done++;
      }
    };
    const writers = Promise.all(Array.from({ length: 6 }, (_, index) => writer(index)));
    for (let round = 0; round < 4; round++) {
      const before = done;
      await until(() => done > before + 12);
      await expectOk('rotate', nodes[round % 3]!, 'POST', 'sys/rotate', root);
    }
    going = false;
    await writers;
    expect(failed).toEqual([]);
  });

  it('are all sealed by one request, and unsealed by shares sent to one of them', async () => {
    expect((await nodes[0]!.ask('POST', 'sys/seal', root)).status).toBe(204);
    await everywhere(async (node) => (await node.ask('GET', 'cubbyhole/shared', root)).status === 503);
    for (const key of shares.slice(0, 3)) await nodes[2]!.ask('POST', 'sys/unseal', undefined, { key });
    await everywhere(async (node) => (await self(node, root)) === 200);
  });

  it('lose no acknowledged write when one process is killed and started again under load', async () => {
    const { client_token } = await create();
    const written: string[] = [];
    let going = true;
    const writer = async (index: number) => {
      for (let n = 0; going; n++) {
        const node = nodes[(index + n) % 3]!;
        const name = `load/${index}-${n}`;
        const { status } = await node.ask('POST', `cubbyhole/${name}`, client_token, { n: String(n) });
        if (status === 204) written.push(name);
        else {
          expect([0, 500, 503]).toContain(status);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    };
    const writers = Promise.all(Array.from({ length: 8 }, (_, index) => writer(index)));
    for (let round = 0; round < 2; round++) {
      const before = written.length;
      await until(() => written.length > before + 50);
      const victim = 1 + (round % 2);
      await nodes[victim]!.kill();
      nodes[victim] = await startNode(database.url);
    }
    going = false;
    await writers;
    expect(written.length).toBeGreaterThan(100);
    const { body } = await nodes[0]!.ask('GET', 'cubbyhole/load/?list=true', client_token);
    const there = new Set((body.data.keys as string[]).map((name) => `load/${name}`));
    expect(written.filter((name) => !there.has(name))).toEqual([]);
  });
});

describe('a restart of PostgreSQL under load', () => {
  const dataDir = mkdtempSync(path.join(tmpdir(), 'keystead-restart-'));
  let server: EmbeddedServer;
  let nodes: NodeProcess[] = [];

  beforeAll(async () => {
    server = await startEmbedded({ dataDir: path.join(dataDir, 'pg'), port: await freePort() });
    const url = server.url('secrets');
    await ensureDatabase(url);
    await applyMigrations({ url, dir: path.resolve(__dirname, '../../../prisma/secrets/migrations') });
    nodes = await Promise.all([0, 1].map(() => startNode(url)));
  });
  afterAll(async () => {
    await Promise.all(nodes.map((node) => node.kill()));
    await server.stop({ immediate: true });
    rmSync(dataDir, { recursive: true, force: true });
  });

  it('fails requests cleanly in the meantime, and every node recovers by itself', async () => {
    const { token } = await initialise(nodes[0]!);
    await Promise.all(nodes.map((node) => until(async () => (await node.ask('GET', 'sys/health')).status === 200)));
    const written: string[] = [];
    const statuses = new Set<number>();
    let going = true;
    const writer = async (index: number) => {
      const node = nodes[index % 2]!;
      for (let n = 0; going; n++) {
        const name = `load/${index}-${n}`;
        const { status, body } = await node.ask('POST', `cubbyhole/${name}`, token, { n: String(n) });
        statuses.add(status);
        if (status === 204) written.push(name);
        else {
          expect(body.errors).toEqual([expect.any(String)]);
          await new Promise((resolve) => setTimeout(resolve, 20));
        }
      }
    };
    const writers = Promise.all(Array.from({ length: 8 }, (_, index) => writer(index)));
    await until(() => written.length > 50);
    const { port } = server;
    await server.stop({ immediate: true });
    await new Promise((resolve) => setTimeout(resolve, 1500));
    for (const node of nodes) expect((await node.ask('GET', 'auth/token/lookup-self', token)).status).toBe(503);
    server = await startEmbedded({ dataDir: path.join(dataDir, 'pg'), port });
    await Promise.all(
      nodes.map((node) => until(async () => (await node.ask('GET', 'auth/token/lookup-self', token)).status === 200)),
    );
    const before = written.length;
    await until(() => written.length > before + 50);
    going = false;
    await writers;
    expect([...statuses].sort()).toEqual([204, 503]);
    const { body } = await nodes[1]!.ask('GET', 'cubbyhole/load/?list=true', token);
    const there = new Set((body.data.keys as string[]).map((name) => `load/${name}`));
    expect(written.filter((name) => !there.has(name))).toEqual([]);
  });
});
