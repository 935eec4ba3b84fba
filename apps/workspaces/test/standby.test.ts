import type { Server } from 'node:http';
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { resources } from '../src/resources/registry';
import { fakeWorker } from './fake-worker';
import { otherNode } from './second-node';
import { resource, startWorkspaces, type Workspaces } from './start-workspaces';
import { type Tenant, tenant } from './tenant';

const primaryUrl = 'https://workspaces.test';

/** A read-only node on the database of a service: its answers are those of a standby, but without a delay. */
const readingNode = (workspaces: Workspaces, env: Readonly<Record<string, string>> = {}) =>
  otherNode(workspaces, { WORKSPACES_VCS: 'off', WORKSPACES_STANDBY_MAX_LAG: '5', ...env });

const ofBrowsers = /^\/(app|auth)\//;
/** Streams, which continue for as long as the client listens. */
const endless = /\/(stream|events)$/;

describe('A node that reads from a standby', () => {
  const workspaces = startWorkspaces();
  const node = readingNode(workspaces, { WORKSPACES_PRIMARY_URL: primaryUrl });
  const endpoints = resources
    .flatMap((one) => one.endpoints)
    .filter(({ edition, path }) => edition !== 'hosted' && !endless.test(path));
  let mine: Tenant;
  beforeAll(async () => {
    mine = await tenant(workspaces, fakeWorker(workspaces), 'walrus');
  });

  const placeOf = ({ path, outside }: (typeof endpoints)[number]): string => {
    const first = path.split('/')[1];
    const filled = path.replace(/:\w+/g, (part) => mine.params[`${first}/${part}`] ?? mine.params[part] ?? 'x');
    return outside ? filled : `/api/v2${filled}`;
  };
  const ask = (server: Server, method: string, place: string, token = workspaces.admin.token) =>
    request(server)[method.toLowerCase() as 'get'](place).set('Authorization', `Bearer ${token}`).redirects(0);

  it('answers every read like other nodes', async () => {
    const wrong: string[] = [];
    let found = 0;
    for (const endpoint of endpoints.filter(({ method, path }) => method === 'GET' && !ofBrowsers.test(path))) {
      const place = placeOf(endpoint);
      const there = await ask(workspaces.server, 'GET', place, mine.owner.token);
      const here = await ask(node.server, 'GET', place, mine.owner.token);
      if (there.status === 200) found++;
      if (here.status !== there.status || !isDeepStrictEqual(told(here), told(there))) {
        wrong.push(`${place}: ${here.status} ${here.text}, not ${there.status} ${there.text}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(found).toBeGreaterThan(80);
  });

  it('sends every write, and browsers, to other nodes', async () => {
    const wrong: string[] = [];
    for (const endpoint of endpoints.filter(({ method, path }) => method !== 'GET' || ofBrowsers.test(path))) {
      const place = placeOf(endpoint);
      const { status, headers } = await ask(node.server, endpoint.method, `${place}?a=b`);
      if (status !== 307 || headers.location !== `${primaryUrl}${place}?a=b`) {
        wrong.push(`${endpoint.method} ${place}: ${status} ${headers.location}`);
      }
    }
    expect(wrong).toEqual([]);
  });

  it('records no use of a token, and gives its holder the same answers', async () => {
    const person = await workspaces.person('idle');
    await ask(node.server, 'GET', '/api/v2/account/details', person.token).expect(200);
    const { rows } = await workspaces.service.pool.query(
      'SELECT last_used_at FROM token t JOIN user_account u ON u.id = t.user_id WHERE u.username = $1',
      [person.username],
    );
    expect(rows).toEqual([{ last_used_at: null }]);
  });

  it('is ready, and shows changes of other nodes at once', async () => {
    expect(await node.service.ready()).toEqual({ ready: true, reasons: [] });
    const body = resource('organizations', { name: 'newest', email: 'a@example.com' });
    await workspaces.admin.post('organizations', body).expect(201);
    await ask(node.server, 'GET', '/api/v2/organizations/newest').expect(200);
  });
});

describe('A node that reads from a standby and knows no other node', () => {
  const workspaces = startWorkspaces();
  const node = readingNode(workspaces);

  it('says that it is read-only to callers that want to write', async () => {
    const answer = await request(node.server)
      .post('/api/v2/organizations')
      .set('Authorization', `Bearer ${workspaces.admin.token}`);
    expect([answer.status, answer.body.errors[0].detail]).toEqual([
      503,
      'this node is read-only (it uses a standby of the database): send the request to a node that can write',
    ]);
  });
});

/** An answer without the parts that differ each time: signatures, and the time in them. */
const told = ({ text, type }: { text?: string; type: string }): unknown => {
  const steady = text?.replace(/(expires|signature)=[\w.-]+/g, '$1');
  return steady && type.includes('json') ? JSON.parse(steady) : steady;
};
