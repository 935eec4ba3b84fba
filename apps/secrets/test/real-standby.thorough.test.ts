import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { createLogger } from '@keystead/server';
import { type Replicated, startReplicated } from '@keystead/testing';
import request from 'supertest';
import { createService, type Service } from '../src/service';
import { until } from './fresh-storage';
import { testConfig } from './start-secrets';

let servers: Replicated;
let writes: Service | undefined;
let reads: Service;
let token = '';

const limitSeconds = 5;
const read = (service: Service, path: string) => request(service.app).get(`/v1/${path}`).set('X-Service-Token', token);
const write = (service: Service, path: string, body: object) =>
  request(service.app).post(`/v1/${path}`).set('X-Service-Token', token).send(body).redirects(0);

beforeAll(async () => {
  servers = await startReplicated('secrets');
  const log = createLogger({ name: 'secrets', level: 'silent' });
  writes = await createService(testConfig(servers.primary.url('secrets')), { log });
  const init = { recovery_shares: 1, recovery_threshold: 1 };
  token = (await request(writes.app).post('/v1/sys/init').send(init).expect(200)).body.root_token;
  const env = { SECRETS_STANDBY_MAX_LAG: String(limitSeconds) };
  reads = await createService(testConfig(servers.standby.url('secrets'), env), { log });
});
afterAll(async () => {
  await Promise.all([writes?.close(), reads?.close()]);
  await servers?.close();
});

it('A standby of PostgreSQL shows writes of the primary a moment later', async () => {
  for (const value of ['1', '2']) {
    await write(writes!, 'cubbyhole/a', { value }).expect(204);
    await until(async () => {
      const { status, body } = await read(reads, 'cubbyhole/a');
      return status === 200 && body.data.value === value;
    });
  }
  await write(reads, 'cubbyhole/a', { value: '3' }).expect(503);
});

it('A standby that lags behind is not used until it has caught up', async () => {
  await servers.pause(true);
  await write(writes!, 'cubbyhole/a', { value: 'later' }).expect(204);
  await until(async () => (await read(reads, 'cubbyhole/a')).status === 503);
  const { body } = await read(reads, 'cubbyhole/a');
  expect(body.errors).toEqual([expect.stringMatching(/^the standby is \d+\.\d s behind \(5 s are allowed\)$/)]);
  expect((await reads.ready()).reasons).toEqual(body.errors.map(() => expect.stringMatching(/behind/)));
  await request(reads.app).get('/v1/sys/health?perfstandbyok').expect(200);
  await servers.pause(false);
  await until(async () => {
    const { status, body } = await read(reads, 'cubbyhole/a');
    return status === 200 && body.data.value === 'later';
  });
});

it('Without its primary, a standby answers for as long as its data may be old, and again once it is a primary itself', async () => {
  await read(reads, 'cubbyhole/a').expect(200);
  await writes!.close();
  writes = undefined;
  await servers.primary.stop({ immediate: true });
  await read(reads, 'cubbyhole/a').expect(200);
  await until(async () => (await read(reads, 'cubbyhole/a')).status === 503);
  await servers.promote();
  await until(async () => (await read(reads, 'cubbyhole/a')).status === 200);
  // The configuration decides what a node may do, not the server that it connects to.
  await write(reads, 'cubbyhole/a', { value: '4' }).expect(503);
});
