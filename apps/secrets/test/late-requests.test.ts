import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, describe, expect, it } from '@jest/globals';
import { until } from './fresh-storage';
import { withSecondNode } from './second-node';
import { type Secrets, startSecrets } from './start-secrets';

const sockets: Socket[] = [];
afterAll(() => {
  for (const socket of sockets) socket.destroy();
});

/** Sends the head of a write, and the first bytes of its body. */
function send({ server, rootToken }: Secrets, at: string, length: number, token = rootToken) {
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1');
  sockets.push(socket);
  const answer = new Promise<string>((resolve) => {
    let text = '';
    socket.on('error', () => {});
    socket.on('data', (bytes) => {
      text += bytes.toString('latin1');
      if (text.includes('\r\n\r\n')) resolve(text);
    });
    socket.on('close', () => resolve(text));
  });
  socket.write(
    `POST /v1/${at} HTTP/1.1\r\nHost: x\r\nX-Service-Token: ${token}\r\nContent-Length: ${length}\r\n\r\n{"a":"`,
  );
  return { socket, answer };
}

describe('requests whose body arrives late', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'late-requests-'));
  const file = path.join(folder, 'audit.log');
  afterAll(() => rmSync(folder, { recursive: true }));
  const secrets = startSecrets({ env: { SECRETS_AUDIT_FILE: file, SECRETS_REQUEST_TIMEOUT: '2' } });
  const nodes = withSecondNode(secrets);
  const linesOf = (at: string) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
      .filter(({ request }) => request?.path === at)
      .map(({ type, error }) => [type, error]);

  const begin = (at: string, length: number, token?: string) => send(secrets, at, length, token);

  it('leave no second request line after a timeout', async () => {
    const { socket, answer } = begin('cubbyhole/late', 20);
    expect(await answer).toContain('request timed out');
    socket.write(`${'x'.repeat(12)}"}`);
    await sleep(200);
    socket.destroy();
    expect(linesOf('cubbyhole/late')).toEqual([
      ['request', 'request timed out'],
      ['response', 'request timed out'],
    ]);
  });

  it('use up no token after a timeout', async () => {
    const { body } = await secrets.root.write('auth/token/create', { num_uses: 2 }).expect(200);
    const { client_token: token, accessor } = body.auth;
    const { socket, answer } = begin('cubbyhole/late-use', 20, token);
    expect(await answer).toContain('request timed out');
    socket.write(`${'x'.repeat(12)}"}`);
    await sleep(200);
    socket.destroy();
    const found = await secrets.root.write('auth/token/lookup-accessor', { accessor }).expect(200);
    expect(found.body.data.num_uses).toBe(2);
  });

  it('take no place of a large body that becomes free after a timeout', async () => {
    const length = 3 * 1024 * 1024;
    const requests = Array.from({ length: 6 }, () => begin('cubbyhole/large', length));
    for (const { answer } of requests) expect(await answer).toContain('request timed out');
    for (const { socket } of requests) socket.write(`${'x'.repeat(length - 8)}"}`);
    await until(async () => (await secrets.root.write('cubbyhole/large', { a: 'x'.repeat(length) })).status === 204);
  });

  it('are refused if their token was revoked in the meantime', async () => {
    const { body } = await secrets.root.write('auth/token/create', {}).expect(200);
    const { client_token: token } = body.auth;
    const { socket, answer } = begin('sys/policies/acl/late', 24, token);
    await sleep(100);
    await secrets.root.write('auth/token/revoke', { token }).expect(204);
    socket.write(`${'x'.repeat(16)}"}`);
    expect(await answer).toContain('HTTP/1.1 403');
  });

  it('are refused if their mount was disabled in the meantime', async () => {
    await secrets.root.write('sys/mounts/kv', { type: 'kv' }).expect(204);
    const { socket, answer } = begin('kv/late', 24);
    await sleep(100);
    await secrets.root.delete('sys/mounts/kv').expect(204);
    socket.write(`${'x'.repeat(16)}"}`);
    expect(await answer).toContain('HTTP/1.1 403');
  });

  it('are refused if another node has locked their namespace in the meantime', async () => {
    await secrets.root.write('sys/namespaces/shut', {}).expect(200);
    await secrets.root.write('shut/sys/mounts/kv', { type: 'kv' }).expect(204);
    const { socket, answer } = begin('shut/kv/late', 24);
    await sleep(100);
    const locking = await fetch(`${nodes[1]}/v1/sys/namespaces/api-lock/lock/shut`, {
      method: 'POST',
      headers: { 'X-Service-Token': secrets.rootToken },
    });
    expect(locking.status).toBe(200);
    socket.write(`${'x'.repeat(16)}"}`);
    expect(await answer).toContain('HTTP/1.1 503');
  });
});

describe('a write without versions whose body arrives late', () => {
  const secrets = startSecrets();

  it('writes nothing if its mount was upgraded to versions in the meantime', async () => {
    await secrets.root.write('sys/mounts/older', { type: 'kv' }).expect(204);
    const { socket, answer } = send(secrets, 'older/late', 24);
    await sleep(100);
    await secrets.root.write('sys/mounts/older/tune', { options: { version: '2' } });
    await until(async () => (await secrets.root.write('older/data/new', { data: { a: 'b' } })).status === 200);
    socket.write(`${'x'.repeat(16)}"}`);
    expect(await answer).toContain('HTTP/1.1 403');
  });
});
