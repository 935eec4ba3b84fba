import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';

const root = path.join(import.meta.dirname, '..', '..');

async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  await once(server, 'close');
  return port;
}

/** The OpenAPI documents of both services, from an installation with every engine and login method. */
export async function openapiDocuments() {
  const folder = mkdtempSync(path.join(tmpdir(), 'keystead-docs-'));
  const ports = [await freePort(), await freePort()];
  const [secrets, workspaces] = ports.map((port) => `http://127.0.0.1:${port}`);
  const program = spawn(process.execPath, [path.join(root, 'local', 'start.mjs')], {
    cwd: folder,
    env: { ...process.env, KEYSTEAD_DATA: folder, SECRETS_PORT: String(ports[0]), WORKSPACES_PORT: String(ports[1]) },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(program, 'exit');
  try {
    let output = '';
    for await (const piece of program.stdout) {
      output += piece;
      if (output.includes('Ctrl-C stops everything')) break;
    }
    const token = JSON.parse(readFileSync(path.join(folder, 'first-run.json'), 'utf8')).secrets.root_token;
    const headers = { 'X-Service-Token': token };
    const call = async (url, init) => {
      const answer = await fetch(url, { headers, ...init });
      if (!answer.ok) throw new Error(`${url}: ${answer.status} ${await answer.text()}`);
      return answer.status === 204 ? undefined : answer.json();
    };
    const mounted = async (base) => Object.values((await call(`${secrets}/v1/${base}`)).data).map(({ type }) => type);
    const { data } = await call(`${secrets}/v1/sys/plugins/catalog`);
    for (const [kind, base] of [
      ['secret', 'sys/mounts'],
      ['auth', 'sys/auth'],
    ]) {
      const mounts = await mounted(base);
      for (const type of data[kind].filter((one) => !mounts.includes(one))) {
        const body = JSON.stringify({ type, ...(type === 'kv' ? { options: { version: '2' } } : {}) });
        await call(`${secrets}/v1/${base}/${type}`, { method: 'POST', body });
      }
    }
    return {
      'Secrets API': await call(`${secrets}/v1/sys/internal/specs/openapi`),
      'Workspaces API': await call(`${workspaces}/api/v2/openapi.json`),
    };
  } finally {
    program.kill('SIGTERM');
    await ended;
    rmSync(folder, { recursive: true, force: true });
  }
}
