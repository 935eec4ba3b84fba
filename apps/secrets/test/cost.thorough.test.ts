import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import net from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { startSecrets } from './start-secrets';
import { authOf, everyVisit, mountEveryKind, type Visit } from './visits';

const KiB = 1024;
const MiB = 1024 * KiB;

// The cost of a request is limited by who sends it, before its body is read: Decision 0060.
describe('the cost of a request', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'cost-'));
  const file = path.join(folder, 'audit.log');
  afterAll(() => rmSync(folder, { recursive: true }));
  const secrets = startSecrets({ env: { SECRETS_AUDIT_FILE: file } });
  let visits: Visit[] = [];
  let withBody: Visit[] = [];
  let port = 0;

  beforeAll(async () => {
    await mountEveryKind(secrets);
    visits = everyVisit(secrets);
    withBody = visits.filter(({ verb }) => verb === 'write' || verb === 'patch');
    port = (secrets.server.address() as AddressInfo).port;
  });

  /** The status of an answer to headers whose body is never sent, and `, closed` if it closes the connection. */
  function statusOfHead({ verb, at, operation }: Visit, token: string | undefined, announced: string): Promise<string> {
    return new Promise((resolve, reject) => {
      const socket = net.connect(port, '127.0.0.1');
      const usual = verb === 'patch' ? 'application/merge-patch+json' : 'application/json';
      const type = operation.wholeBody?.media ?? usual;
      const sent = token === undefined ? '' : `X-Service-Token: ${token}\r\n`;
      socket.write(
        `${verb === 'patch' ? 'PATCH' : 'POST'} /v1/${at} HTTP/1.1\r\nHost: x\r\n${sent}Content-Type: ${type}\r\n` +
          `${announced}\r\n\r\n`,
      );
      socket.once('data', (data) => {
        socket.destroy();
        const head = data.toString('latin1');
        resolve(`${head.slice(9, 12)}${/^connection: close\r$/im.test(head) ? ', closed' : ''}`);
      });
      socket.once('error', reject);
      socket.once('close', () => reject(new Error('no answer')));
    });
  }

  it('is checked in every operation with a body', () => {
    expect(withBody.length).toBeGreaterThan(80);
  });

  it('an unauthenticated sender of a large body is answered before a byte of it is read, everywhere', async () => {
    const wrong: string[] = [];
    for (const visit of withBody) {
      for (const token of [undefined, 's.unknownunknownunknown']) {
        for (const bytes of [64 * KiB + 1, 64 * MiB + 1]) {
          const announced = `Content-Length: ${bytes}`;
          const status = await statusOfHead(visit, token, announced);
          const refusal = authOf(visit) === 'token' || (authOf(visit) === 'optional' && token) ? 403 : 413;
          // More than 64 MiB are not read, not even to discard them.
          const expected = `${refusal}${bytes > 64 * MiB ? ', closed' : ''}`;
          if (status !== expected) wrong.push(`${visit.name} ${announced} ${token ?? 'no token'}: ${status}`);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it('an authenticated sender of a too large body is answered before a byte of it is read', async () => {
    const wrong: string[] = [];
    for (const visit of withBody.filter((one) => authOf(one) === 'token')) {
      const most = visit.operation.freeform || visit.operation.largeBody ? 32 * MiB : 2 * MiB;
      const status = await statusOfHead(visit, secrets.rootToken, `Content-Length: ${most + 1}`);
      if (status !== '413') wrong.push(`${visit.name}: ${status}`);
    }
    expect(wrong).toEqual([]);
  });

  const send = ({ verb, at }: Visit, token: string | undefined, type: string, body: string) => {
    const test =
      verb === 'patch' ? request(secrets.server).patch(`/v1/${at}`) : request(secrets.server).post(`/v1/${at}`);
    if (token !== undefined) test.set('X-Service-Token', token);
    return test.set('Content-Type', verb === 'patch' ? 'application/merge-patch+json' : type).send(body);
  };

  it.each([
    ['values of a list', 'application/json', `{"a":[${'1,'.repeat(1000)}1]}`],
    ['keys', 'application/json', `{${Array.from({ length: 1001 }, (_, n) => `"k${n}":1`).join(',')}}`],
    ['empty objects', 'application/json', `{"a":[${'{},'.repeat(1000)}{}]}`],
    ['fields of a form', 'application/x-www-form-urlencoded', 'k=v&'.repeat(1001)],
    ['empty fields of a form', 'application/x-www-form-urlencoded', '&'.repeat(1001)],
  ])('an unauthenticated sender may send a thousand %s', async (_what, type, body) => {
    const wrong: string[] = [];
    const counted = withBody.filter(({ verb, operation }) => verb === 'write' && !operation.wholeBody);
    for (const visit of counted.filter((one) => ['none', 'wrapping'].includes(authOf(one)))) {
      const answer = await send(visit, undefined, type, body);
      const text = answer.body.errors?.[0];
      const right = answer.status === 413 && text === 'http: request body too large: more than 1000 values';
      if (!right) wrong.push(`${visit.name}: ${answer.status} ${answer.text}`);
    }
    expect(wrong).toEqual([]);
  });

  it('an authenticated sender may send fifty thousand values and no more', async () => {
    const list = (length: number) => `{"a":[${'1,'.repeat(length - 3)}1]}`;
    await secrets.root.write('cubbyhole/values', list(50_000)).expect(204);
    await secrets.root
      .write('cubbyhole/values', list(50_001))
      .expect(413, { errors: ['http: request body too large: more than 50000 values'] });
    await request(secrets.server)
      .post('/v1/cubbyhole/form')
      .set('X-Service-Token', secrets.rootToken)
      .type('form')
      .send('k=v&'.repeat(49_999))
      .expect(204);
    const { body } = await secrets.root.read('cubbyhole/form').expect(200);
    expect(body.data.k).toHaveLength(49_999);
  });

  // The size of the two lines of a request without its fields.
  const lines = 2 * KiB;
  const bodies = [
    ['undeclared keys', `{${Array.from({ length: 900 }, (_, n) => `"${n}":""`).join(',')}}`],
    ['an undeclared list', `{"a":[${'"",'.repeat(900)}""]}`],
  ] as const;
  const declared = ({ operation }: Visit) =>
    Object.keys(operation.input?.shape ?? {}).map((name) => `{"${name}":[${'"",'.repeat(900)}""]}`);

  it.each([
    ['without a token', () => undefined],
    ['with a token', () => secrets.rootToken],
  ])('the audit log grows by at most four times the size of the request %s, plus two lines', async (_who, token) => {
    const wrong: string[] = [];
    for (const visit of withBody.filter(({ at }) => !at.startsWith('sys/seal') && !at.includes('revoke-self'))) {
      for (const body of [...bodies.map(([, text]) => text), ...declared(visit)]) {
        const before = statSync(file).size;
        await send(visit, token(), 'application/json', body);
        const grown = statSync(file).size - before;
        if (grown > 4 * body.length + lines) wrong.push(`${visit.name}: ${grown} bytes for ${body.length}`);
      }
    }
    expect(wrong).toEqual([]);
    await secrets.root.read('auth/token/lookup-self').expect(200);
  });

  it('the audit log contains declared fields leaf by leaf, and one hash of a body that has more', async () => {
    const sent = JSON.stringify({ password: 'hunter2', unknown: 'field' });
    await send({ ...visits[0]!, verb: 'write', at: 'auth/userpass/login/bob' }, undefined, 'application/json', sent);
    const hash = async (input: string) => (await secrets.root.write('sys/audit-hash/file', { input })).body.data.hash;
    const [password, body] = [await hash('hunter2'), await hash(sent)];
    const about = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line).request)
      .filter(({ path: at, data }) => at === 'auth/userpass/login/bob' && data?.password === password);
    expect(about).toHaveLength(2);
    expect(about[0].data).toEqual({ password });
    expect(about[0].body).toEqual({ bytes: sent.length, hash: body });
  });

  it('a long text hashed in turns has the same hash', async () => {
    // Surrogate pairs, so that a slice ends inside one.
    const long = `x${'😀'.repeat(400_000)}`;
    await secrets.root.write('cubbyhole/long', { long }).expect(204);
    const { body } = await secrets.root.write('sys/audit-hash/file', { input: long }).expect(200);
    expect(readFileSync(file, 'utf8')).toContain(`"data":{"long":"${body.data.hash}"}`);
  });
});
