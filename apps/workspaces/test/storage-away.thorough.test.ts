import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withClient } from '@keystead/postgres';
import { type Away, DatabaseProxy } from '@keystead/testing';
import type { Endpoint } from '../src/kernel/endpoints/endpoint';
import { resources } from '../src/resources/registry';
import { resource, startWorkspaces } from './start-workspaces';

interface Line {
  readonly level: string;
  readonly msg: string;
}

describe('a service whose database is down', () => {
  const lines: Line[] = [];
  let proxy: DatabaseProxy;
  const workspaces = startWorkspaces({
    log: { write: (line) => lines.push(JSON.parse(line)) },
    async through(url) {
      proxy = await DatabaseProxy.start(url);
      return proxy.url;
    },
  });
  beforeAll(() => workspaces.organization('acme'));
  afterAll(() => proxy.close());

  const endpoints = resources.flatMap(({ endpoints: all }) => all).filter(({ edition }) => edition !== 'hosted');
  const send = ({ method, path, outside }: Endpoint, token: string | undefined) => {
    const there = `${outside ? '' : '/api/v2'}${path.replace(/:\w+/g, 'x')}`;
    const word = method.toLowerCase() as 'get' | 'post' | 'patch' | 'put' | 'delete';
    // Any body is fine: no request gets far enough for it to be read.
    const body = word === 'get' ? undefined : {};
    return workspaces.as(token ?? '')[word](there, body);
  };

  it.each<Away>(['gone', 'starting'])(
    'answers 503 to every operation while it is %s, and logs it once',
    async (away) => {
      lines.length = 0;
      proxy.leave(away);
      const wrong: string[] = [];
      for (const endpoint of endpoints.filter(({ auth }) => auth === 'token')) {
        const { status } = await send(endpoint, workspaces.admin.token);
        if (status !== 503) wrong.push(`${endpoint.method} ${endpoint.path}: ${status}`);
      }
      expect(wrong).toEqual([]);
      for (const endpoint of endpoints.filter(({ auth }) => auth !== 'token')) {
        const { status } = await send(endpoint, undefined);
        if (status >= 500 && status !== 503) wrong.push(`${endpoint.method} ${endpoint.path}: ${status}`);
      }
      const sign = resource('sessions', { username: 'x', password: 'x' });
      const refused = await workspaces.anyone.post('session', sign).expect(503);
      expect(refused.headers['retry-after']).toBe('1');
      expect(refused.body.errors[0]).toMatchObject({ status: '503', title: 'service unavailable' });
      expect(wrong).toEqual([]);
      expect(lines.filter(({ level }) => level === 'error')).toEqual([]);
      expect(lines.filter(({ msg }) => msg === 'storage is unavailable')).toHaveLength(1);
      proxy.leave(undefined);
      await again();
    },
  );

  it('answers no 500 when the server ends its connections, and soon works again for all', async () => {
    const statuses = new Map<number, number>();
    let over = false;
    const callers = Array.from({ length: 8 }, async (_, i) => {
      for (let n = 0; !over; n++) {
        const name = `w-${i}-${n}`;
        const asked = [
          workspaces.admin.get('organizations/acme/workspaces'),
          workspaces.admin.post('organizations/acme/workspaces', resource('workspaces', { name })),
          workspaces.admin.post('organizations/acme/teams', resource('teams', { name })),
        ];
        for (const { status } of await Promise.all(asked)) statuses.set(status, (statuses.get(status) ?? 0) + 1);
      }
    });
    for (let i = 0; i < 15; i++) {
      await withClient(workspaces.databaseUrl, (client) =>
        client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
          WHERE datname = current_database() AND pid <> pg_backend_pid()`),
      );
      await workspaces.admin.get('organizations/acme');
    }
    over = true;
    await Promise.all(callers);
    expect([...statuses.keys()].filter((status) => ![200, 201, 503].includes(status))).toEqual([]);
    await again();
  });

  it('answers 503 while it is frozen: soon to pending requests, at once to later ones', async () => {
    lines.length = 0;
    proxy.hold('all');
    const state = () => workspaces.admin.get('organizations/acme').then(({ status }) => status);
    const early = Promise.all([
      ...Array.from({ length: 30 }, state),
      workspaces.admin
        .post('organizations/acme/workspaces', resource('workspaces', { name: 'cold' }))
        .then(({ status }) => status),
    ]);
    expect(await soon(early)).toEqual(Array.from({ length: 31 }, () => 503));
    for (let n = 0; n < 5; n++) expect(await soon(state())).toBe(503);
    const { headers } = await workspaces.admin.get('organizations/acme').expect(503);
    expect(headers['retry-after']).toBe('1');
    // Work of the previous test may not have finished yet.
    expect(lines.filter(({ msg }) => msg === 'storage is unavailable').length).toBeLessThanOrEqual(1);
    proxy.hold(undefined);
    await again();
    await workspaces.admin.get('organizations/acme').expect(200);
  });

  it('is not assumed because a caller disconnects before the body is complete', async () => {
    lines.length = 0;
    const { port } = workspaces.server.address() as AddressInfo;
    const closed = once(workspaces.server, 'request').then(([, res]) => once(res, 'close'));
    const socket = connect(port, '127.0.0.1');
    const length = 'Content-Type: application/vnd.api+json\r\nContent-Length: 100';
    const caller = `Host: x\r\nAuthorization: Bearer ${workspaces.admin.token}`;
    socket.write(`POST /api/v2/organizations HTTP/1.1\r\n${caller}\r\n${length}\r\n\r\n{"data"`);
    await once(workspaces.server, 'request');
    // The body is being read by now.
    for (let n = 0; n < 5; n++) await workspaces.admin.get('organizations/acme').expect(200);
    socket.destroy();
    await closed;
    await workspaces.admin.get('organizations/acme').expect(200);
    expect(lines).toEqual([]);
  });

  it('is not assumed because a caller disconnects before the answer is complete, and that is no fault', async () => {
    const made = resource('workspaces', { name: 'large' });
    const { id } = (await workspaces.admin.post('organizations/acme/workspaces', made).expect(201)).body.data;
    await workspaces.admin.post(`workspaces/${id}/actions/lock`, {}).expect(200);
    const values = randomBytes(6_000_000).toString('base64');
    const state = Buffer.from(JSON.stringify({ version: 4, serial: 1, lineage: 'l', outputs: {}, values }));
    const sent = {
      serial: 1,
      lineage: 'l',
      md5: createHash('md5').update(state).digest('hex'),
      state: state.toString('base64'),
    };
    const { body } = await workspaces.admin
      .post(`workspaces/${id}/state-versions`, resource('state-versions', sent))
      .expect(201);
    lines.length = 0;
    const { port } = workspaces.server.address() as AddressInfo;
    const { pathname, search } = new URL(body.data.attributes['hosted-state-download-url']);
    const closed = once(workspaces.server, 'request').then(([, res]) => once(res, 'close'));
    const socket = connect(port, '127.0.0.1');
    const caller = `Host: x\r\nAuthorization: Bearer ${workspaces.admin.token}`;
    socket.write(`GET ${pathname}${search} HTTP/1.1\r\n${caller}\r\n\r\n`);
    await once(socket, 'data');
    socket.destroy();
    await closed;
    for (let n = 0; n < 5; n++) await workspaces.admin.get('organizations/acme').expect(200);
    expect(lines).toEqual([]);
  });

  /** Much sooner than statements time out, and much later than the service needs to notice. */
  const soon = <T>(answer: Promise<T>) =>
    Promise.race([answer, new Promise<string>((resolve) => setTimeout(resolve, 20_000, 'still waiting').unref())]);

  async function again(): Promise<void> {
    for (;;) {
      const { status } = await workspaces.admin.get('organizations/acme');
      if (status === 200 && lines.some(({ msg }) => msg === 'storage is available again')) return;
      expect([200, 503]).toContain(status);
    }
  }
});
