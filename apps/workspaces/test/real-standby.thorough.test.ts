import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger } from '@keystead/server';
import { type Replicated, startReplicated } from '@keystead/testing';
import request from 'supertest';
import { readConfig } from '../src/config';
import { createService, type Service } from '../src/service';
import { resource, SEAL_KEY } from './start-workspaces';

let servers: Replicated;
let writes: Service | undefined;
let reads: Service;
let token = '';

const log = createLogger({ name: 'standby', level: 'silent' });
const configOf = (url: string, env: Readonly<Record<string, string>> = {}) =>
  readConfig({
    WORKSPACES_DATABASE_URL: url,
    WORKSPACES_DATABASE_CONNECTIONS: '4',
    WORKSPACES_SEAL_KEY: SEAL_KEY,
    WORKSPACES_VCS: 'off',
    ...env,
  });
const read = (name: string) =>
  request(reads.app).get(`/api/v2/organizations/${name}`).set('Authorization', `Bearer ${token}`);
const make = (service: Service, name: string) =>
  request(service.app)
    .post('/api/v2/organizations')
    .set({ Authorization: `Bearer ${token}`, 'Content-Type': 'application/vnd.api+json' })
    .send(JSON.stringify(resource('organizations', { name, email: 'a@example.com' })));
/** Waits for as long as the test may take. */
const untilAnswered = async (name: string, status: number) => {
  while ((await read(name)).status !== status) await new Promise((resolve) => setTimeout(resolve, 20));
};

beforeAll(async () => {
  servers = await startReplicated('workspaces');
  writes = await createService(configOf(servers.primary.url('workspaces')), { log });
  token = (await writes.firstRun())!.token;
  await make(writes, 'first').expect(201);
  reads = await createService(configOf(servers.standby.url('workspaces'), { WORKSPACES_STANDBY_MAX_LAG: '5' }), {
    log,
  });
});
afterAll(async () => {
  await Promise.all([writes?.close(), reads?.close()]);
  await servers?.close();
});

it('A standby of PostgreSQL shows writes a moment later, and does not lag behind if there are no writers', async () => {
  await untilAnswered('first', 200);
  await make(writes!, 'second').expect(201);
  await untilAnswered('second', 200);
  await make(reads, 'third').expect(503);
  await new Promise((resolve) => setTimeout(resolve, 6000));
  await read('second').expect(200);
});

it('A standby that lags behind is not used until it has caught up', async () => {
  await servers.pause(true);
  await make(writes!, 'later').expect(201);
  await untilAnswered('later', 503);
  const { body } = await read('later');
  expect(body.errors[0].detail).toMatch(/^the standby is \d+\.\d s behind \(5 s are allowed\)$/);
  expect((await reads.ready()).reasons).toEqual([expect.stringMatching(/behind/)]);
  await servers.pause(false);
  await untilAnswered('later', 200);
});

it('Without its primary, a standby answers for as long as its data may be old, and again once it is a primary itself', async () => {
  await read('first').expect(200);
  await writes!.close();
  writes = undefined;
  await servers.primary.stop({ immediate: true });
  await read('first').expect(200);
  await untilAnswered('first', 503);
  await servers.promote();
  await untilAnswered('first', 200);
  // The settings of a node decide what it may do, not its database server.
  await make(reads, 'fourth').expect(503);
});
