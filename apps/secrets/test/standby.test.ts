import type { Server } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { isReading } from '../src/sdk/call';
import { until } from './fresh-storage';
import { otherNode } from './second-node';
import { type Secrets, startSecrets, testConfig } from './start-secrets';
import { authOf, everyVisit, mountEveryKind, type Visit } from './visits';

const primaryUrl = 'https://secrets.test:8200';
/** Operations that describe the node itself, or whose answer never ends. */
const ofTheNode =
  /^\w+ sys\/(health|leader|ha-status|metrics|monitor|in-flight-req|config\/state\/sanitized|host-info|key-status|loggers.*)$/;

/** A read-only node on the database of a service: like a standby, but without lag. */
const readingNode = (secrets: Secrets, env: Readonly<Record<string, string>> = {}) =>
  otherNode(secrets, { SECRETS_STANDBY_MAX_LAG: '5', ...env });

describe('A node that reads from a standby', () => {
  const secrets = startSecrets();
  const node = readingNode(secrets, { SECRETS_PRIMARY_URL: `${primaryUrl}/` });
  const ask = (method: 'get' | 'post' | 'delete' | 'patch', path: string, token = secrets.rootToken) =>
    request(node.server)[method](`/v1/${path}`).set('X-Service-Token', token).redirects(0);

  it('answers every read itself, and redirects every write', async () => {
    await mountEveryKind(secrets);
    await secrets.root.write('two/data/visited', { data: { a: '1' } }).expect(200);
    await secrets.root
      .write('sys/policies/acl/visited', { policy: 'path "x" { capabilities = ["read"] }' })
      .expect(204);
    await secrets.root.write('cubbyhole/visited', { a: '1' }).expect(204);
    // The first read creates the key, so a standby redirects it to a writing node.
    await secrets.root.read('transit/wrapping_key').expect(200);
    const wrong: string[] = [];
    let reads = 0;
    for (const visit of everyVisit(secrets)) {
      if (ofTheNode.test(visit.name)) continue;
      const here = await sent(node.server, visit, secrets.rootToken);
      if (!isReading(visit.verb)) {
        if (here.status !== 307 || !here.headers.location?.startsWith(`${primaryUrl}/v1/`)) {
          wrong.push(`${visit.name}: ${here.status} ${here.headers.location}`);
        }
        continue;
      }
      reads++;
      const there = await sent(secrets.server, visit, secrets.rootToken);
      if (here.status !== there.status || told(here.body) !== told(there.body)) {
        wrong.push(`${visit.name}: ${here.status} ${told(here.body)}, not ${there.status} ${told(there.body)}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(reads).toBeGreaterThan(100);
  });

  it('redirects a request that turns out to write, without carrying out any part of it', async () => {
    const made = await secrets.root.write('auth/token/create', { policies: ['default'], num_uses: 3 }).expect(200);
    const { client_token: token, accessor } = made.body.auth;
    const answer = await ask('get', 'auth/token/lookup-self', token);
    expect([answer.status, answer.headers.location]).toEqual([307, `${primaryUrl}/v1/auth/token/lookup-self`]);
    const found = await secrets.root.write('auth/token/lookup-accessor', { accessor }).expect(200);
    expect(found.body.data.num_uses).toBe(3);
  });

  it('redirects requests for a wrapped answer, unchanged', async () => {
    const answer = await ask('get', 'cubbyhole/visited?a=b%2Fc').set('X-Service-Wrap-TTL', '60s');
    expect([answer.status, answer.headers.location]).toEqual([307, `${primaryUrl}/v1/cubbyhole/visited?a=b%2Fc`]);
  });

  it('notices changes of others within a second or two', async () => {
    const { token } = await secrets.withPolicy('path "cubbyhole/*" { capabilities = ["read"] }');
    await until(async () => (await ask('get', 'cubbyhole/none', token)).status === 404);
    await secrets.root.write('auth/token/revoke', { token }).expect(204);
    await until(async () => (await ask('get', 'cubbyhole/none', token)).status === 403);
  });

  it('reports that it is a standby, with a separate status by default', async () => {
    const health = (query: string) => request(node.server).get(`/v1/sys/health${query}`);
    expect((await health('')).status).toBe(473);
    expect((await health('?performancestandbycode=299')).status).toBe(299);
    expect((await health('?perfstandbyok')).body).toMatchObject({ standby: true, performance_standby: true });
    expect((await health('?perfstandbyok')).status).toBe(200);
    const leader = await request(node.server).get('/v1/sys/leader').expect(200);
    expect(leader.body).toMatchObject({ is_self: false, performance_standby: true, leader_address: primaryUrl });
    expect((await secrets.root.read('sys/health').expect(200)).body.standby).toBe(false);
    expect(await node.service.ready()).toEqual({ ready: true, reasons: [] });
  });

  it('redirects browsers to a node where people can sign in', async () => {
    const answer = await request(node.server).get('/ui/secrets').redirects(0);
    expect([answer.status, answer.headers.location]).toEqual([307, `${primaryUrl}/ui/secrets`]);
  });
});

describe('A node that reads from a standby and knows no other', () => {
  const secrets = startSecrets();
  const node = readingNode(secrets);

  it('refuses writes and says that it only reads', async () => {
    const answer = await request(node.server).post('/v1/cubbyhole/x').set('X-Service-Token', secrets.rootToken);
    expect([answer.status, answer.body.errors]).toEqual([
      503,
      ['this node is read-only (it uses a standby of the database): send the request to a node that can write'],
    ]);
  });
});

describe('The settings of a node that reads from a standby', () => {
  const url = 'postgresql://localhost/secrets';
  const wrong = (env: Readonly<Record<string, string>>) => {
    try {
      testConfig(url, env);
      return [];
    } catch (error) {
      return (error as { problems: string[] }).problems.map((problem) => problem.split(' ')[0]);
    }
  };

  it('are refused if they contradict each other', () => {
    const on = { SECRETS_STANDBY_MAX_LAG: '30' };
    expect(wrong(on)).toEqual([]);
    expect(wrong({ SECRETS_PRIMARY_URL: primaryUrl })).toEqual(['SECRETS_PRIMARY_URL']);
    expect(wrong({ ...on, SECRETS_SEAL: 'shamir' })).toEqual(['SECRETS_STANDBY_MAX_LAG']);
    expect(wrong({ ...on, SECRETS_FIRST_RUN_FILE: 'keys.json' })).toEqual(['SECRETS_FIRST_RUN_FILE']);
    expect(wrong({ SECRETS_STANDBY_MAX_LAG: '1' })).toEqual(['SECRETS_STANDBY_MAX_LAG:']);
  });

  it('leave migrations to others', () => {
    const config = testConfig(url, { SECRETS_STANDBY_MAX_LAG: '30', SECRETS_MIGRATE: 'on' });
    expect(config.migrate).toBe(false);
  });
});

function sent(server: Server, visit: Visit, token: string) {
  const asked = (text: string) => `/v1/${visit.at}${text}`;
  const { verb } = visit;
  const test =
    verb === 'list' || verb === 'scan'
      ? request(server).get(asked(`?${verb}=true`))
      : verb === 'read'
        ? request(server).get(asked(''))
        : request(server)[verb === 'write' ? 'post' : verb](asked(''));
  if (authOf(visit) !== 'none') test.set('X-Service-Token', token);
  return test.redirects(0);
}

/** An answer without the parts that always differ. */
const told = (body: unknown): string =>
  JSON.stringify(body, (key, value) => (['request_id', 'ttl', 'server_time_utc'].includes(key) ? undefined : value));
