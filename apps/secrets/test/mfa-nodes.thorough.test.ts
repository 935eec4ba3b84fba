import type { Server } from 'node:http';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import { createService, type Service } from '../src/service';
import { authenticator, methods, newMethod } from './authenticator';
import { startSecrets, testConfig } from './start-secrets';

const long = process.env.KEYSTEAD_LONG === '1';
const submissions = long ? 10_000 : 600;
const inFlight = long ? 256 : 64;

/** Runs a task for every number below `count`, a few at a time. */
async function inParallel<T>(count: number, task: (index: number) => Promise<T>): Promise<T[]> {
  const results = new Array<T>(count);
  let next = 0;
  const worker = async () => {
    while (next < count) {
      const index = next++;
      results[index] = await task(index);
    }
  };
  await Promise.all(Array.from({ length: inFlight }, worker));
  return results;
}

describe('one code on two nodes', () => {
  const secrets = startSecrets();
  const agent = new http.Agent({ keepAlive: true, maxSockets: inFlight });
  let second: Service;
  let other: Server;
  beforeAll(async () => {
    second = await createService(testConfig(secrets.database.url), {
      log: createLogger({ name: 'secrets', level: 'silent' }),
    });
    other = createServer(second.app);
    await new Promise<void>((resolve) => other.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    agent.destroy();
    other.closeAllConnections();
    await new Promise((resolve) => other.close(resolve));
    await second.close();
  });

  const post = (node: Server, path: string, body: object) =>
    new Promise<{
      status: number;
      body: { auth?: { client_token: string; mfa_requirement: { mfa_request_id: string } }; errors?: string[] };
    }>((resolve, reject) => {
      const { port } = node.address() as AddressInfo;
      const request = http.request(
        { host: '127.0.0.1', port, path: `/v1/${path}`, method: 'POST', agent },
        (response) => {
          const parts: Buffer[] = [];
          response.on('data', (part) => parts.push(part));
          response.on('end', () =>
            resolve({ status: response.statusCode!, body: JSON.parse(Buffer.concat(parts).toString()) }),
          );
        },
      );
      request.on('error', reject);
      request.end(JSON.stringify(body));
    });
  const nodeOf = (index: number) => (index % 2 === 0 ? secrets.server : other);

  async function machine(fields: object) {
    await secrets.root.write('sys/auth/approle', { type: 'approle' });
    const name = `m${Math.random().toString(36).slice(2)}`;
    await secrets.root
      .write(`auth/approle/role/${name}`, {
        role_id: name,
        bind_secret_id: false,
        token_bound_cidrs: '127.0.0.0/8',
        token_ttl: '1h',
      })
      .expect(204);
    const login = (index: number) => post(nodeOf(index), 'auth/approle/login', { role_id: name });
    const first = await secrets.anonymous.write('auth/approle/login', { role_id: name }).expect(200);
    const entity_id = first.body.auth.entity_id;
    const method_id = await newMethod(secrets, { qr_size: 0, ...fields });
    const made = await secrets.root.write(`${methods}/admin-generate`, { method_id, entity_id }).expect(200);
    await secrets.root
      .write(`identity/mfa/login-enforcement/${name}`, {
        mfa_method_ids: [method_id],
        identity_entity_ids: [entity_id],
      })
      .expect(204);
    // The other node knows the enforcement within a second.
    for (;;) {
      const { body } = await post(other, 'auth/approle/login', { role_id: name });
      if (body.auth!.client_token === '') break;
    }
    const begin = async (index: number) => (await login(index)).body.auth!.mfa_requirement.mfa_request_id;
    const validate = (index: number, mfa_request_id: string, code: string) =>
      post(nodeOf(index), 'sys/mfa/validate', { mfa_request_id, mfa_payload: { [method_id]: [code] } });
    return { app: authenticator(made.body.data.url), begin, validate };
  }

  // If this failed, an observed code could be used a second time at another node.
  it(`gives one login for one code, of ${submissions} submissions each with its own login`, async () => {
    const { app, begin, validate } = await machine({ period: 3_600, skew: 1 });
    const requests = await inParallel(submissions, begin);
    expect(new Set(requests).size).toBe(submissions);
    const code = app.code(Date.now());
    const answers = await inParallel(submissions, (index) => validate(index + 1, requests[index]!, code));
    const granted = answers.filter(({ status }) => status === 200);
    expect(granted).toHaveLength(1);
    expect(granted[0]!.body.auth!.client_token).toMatch(/^s\./);
    expect(answers.filter(({ status }) => status === 403)).toHaveLength(submissions - 1);
  });

  // If this failed, a million guesses could be spread over nodes and connections.
  it('checks no more codes than the limit allows, however they are spread', async () => {
    const { app, begin, validate } = await machine({ period: 3_600, skew: 1, max_validation_attempts: 4 });
    const count = 200;
    const requests = await inParallel(count, begin);
    const right = app.code(Date.now());
    const wrong = right === '000000' ? '000001' : '000000';
    const answers = await inParallel(count, (index) => validate(index, requests[index]!, wrong));
    const texts = answers.map(({ body }) => body.errors![0]!);
    expect(texts.filter((text) => text.includes('not supplied or incorrect'))).toHaveLength(4);
    expect(texts.filter((text) => text.includes('exceeded the allowed attempts 4'))).toHaveLength(count - 4);
    const { status } = await validate(0, requests[0]!, right);
    expect(status).toBe(403);
  });

  it('completes a pending login once, even with two right codes at the same time', async () => {
    const { app, begin, validate } = await machine({ period: 30, skew: 1 });
    for (let round = 0; round < 5; round += 1) {
      const request = await begin(0);
      const now = Date.now();
      const answers = await Promise.all(
        [-1, 0, 1].map((offset, index) => validate(index, request, app.code(now, offset))),
      );
      expect(answers.filter(({ status }) => status === 200).length).toBeLessThanOrEqual(1);
      if (round === 0) expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    }
  });
});
