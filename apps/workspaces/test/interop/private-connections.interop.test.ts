import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, jest, test } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import { freePort, fromSource } from '@keystead/testing';
import { type Housekeeping, startHousekeeping } from '../../src/housekeeping';
import { ref, resource, startWorkspaces } from '../start-workspaces';
import { noTool } from '../worker-fixture';
import { type Clone, eventually, Gitea, giteaProgram, longestTestMs } from './gitea-stand';

jest.setTimeout(longestTestMs);
const it = noTool || !giteaProgram ? test.skip : test;
const root = path.resolve(__dirname, '../../../..');
const main = (text: string): string => `output "said" {\n  value = "${text}"\n}\n`;

// A real Git host that the service cannot reach: no network is open to it, and requests go through an agent process.
describe('a Git host that only agents reach', () => {
  const box = mkdtempSync(path.join(tmpdir(), 'private-'));
  const gitea = new Gitea(box);
  const env: Record<string, string> = { WORKSPACES_VCS: 'on' };
  const output: string[] = [];
  let port = 0;
  beforeAll(async () => {
    port = await freePort();
    env.WORKSPACES_PUBLIC_URL = `http://127.0.0.1:${port}`;
    if (giteaProgram) await gitea.start();
  });
  const workspaces = startWorkspaces({ env, log: { write: (line) => void output.push(line) } });
  const { admin } = workspaces;
  let listening: ReturnType<typeof createServer>;
  let keeping: Housekeeping;
  let agent: ChildProcess | undefined;
  let said = '';
  let pool = '';
  let secret = '';
  let token = '';
  let started = 0;

  const startAgent = async () => {
    const before = said.length;
    agent = spawn(process.execPath, [...fromSource, path.join(root, 'apps/workspaces/src/worker-main.ts'), 'agent'], {
      cwd: root,
      env: {
        PATH: process.env.PATH,
        AGENT_ADDRESS: env.WORKSPACES_PUBLIC_URL,
        AGENT_TOKEN: secret,
        AGENT_REQUEST_FORWARDING: gitea.url,
        WORKSPACES_WORKER_SCRATCH: path.join(box, `scratch-${++started}`),
        WORKSPACES_WORKER_FIRST_UID: String(120_000 + (process.pid % 400) * 100),
        WORKSPACES_WORKER_TRUST: 'same-user',
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [agent.stdout!, agent.stderr!]) stream.on('data', (bytes) => (said += bytes));
    await eventually('an agent', async () => said.slice(before).includes('waiting for runs'));
  };
  const endAgent = async (signal: 'SIGTERM' | 'SIGKILL') => {
    if (!agent) return;
    const gone = new Promise((resolve) => agent!.once('exit', resolve));
    agent.kill(signal);
    await gone;
    agent = undefined;
  };

  beforeAll(async () => {
    if (!giteaProgram || noTool) return;
    listening = createServer(workspaces.service.app);
    await new Promise<void>((resolve) => listening.listen(port, '127.0.0.1', resolve));
    const { db, outage, clockTrouble } = workspaces.service;
    const { vcsReach, publicUrl, settings } = workspaces.service.env;
    keeping = startHousekeeping(db, {
      ...workspaces.service.env,
      log: createLogger({ name: 'test', level: 'silent' }),
      outage,
      clockTrouble,
      consoleIdleMinutes: 30,
      vcs: { reach: vcsReach!, publicUrl, settings, uploads: workspaces.service.env, pollSeconds: 3600 },
    });
    await workspaces.organization('acme');
    const made = await admin.post('organizations/acme/agent-pools', resource('agent-pools', { name: 'inside' }));
    pool = made.body.data.id;
    const described = resource('authentication-tokens', { description: 'inside' });
    const minted = await admin.post(`agent-pools/${pool}/authentication-tokens`, described).expect(201);
    secret = minted.body.data.attributes.token;
    const connection = resource(
      'oauth-clients',
      {
        'service-provider': 'gitea',
        'http-url': gitea.url,
        'api-url': `${gitea.url}/api/v1`,
        'oauth-token-string': gitea.secret,
      },
      { 'agent-pool': ref('agent-pools', pool) },
    );
    const { body } = await admin.post('organizations/acme/oauth-clients', connection).expect(201);
    token = body.data.relationships['oauth-tokens'].data[0].id;
  });
  afterAll(async () => {
    if (process.env.TEST_LOG) process.stderr.write(said);
    await keeping?.close();
    await endAgent('SIGTERM');
    listening?.closeAllConnections();
    listening?.close();
    await gitea.stop();
    rmSync(box, { recursive: true, force: true });
  });

  const connect = (name: string, clone: Clone) =>
    admin.post(
      'organizations/acme/workspaces',
      resource('workspaces', {
        name,
        'queue-all-runs': true,
        'auto-apply': true,
        'execution-mode': 'agent',
        'agent-pool-id': pool,
        'vcs-repo': { identifier: clone.identifier, 'oauth-token-id': token },
      }),
    );
  const runWith = (workspace: string, message: string) =>
    eventually(`a run of ${message}`, async () => {
      const { body } = await admin.get(`workspaces/${workspace}/runs`).expect(200);
      return body.data.find(
        ({ attributes }: { attributes: Record<string, string> }) =>
          attributes.message?.startsWith(message) && attributes.status === 'applied',
      );
    });

  it('is followed, cloned and notified through an agent, and through the next one after it was killed', async () => {
    const clone = await gitea.repository('net');
    clone.write({ 'main.tf': main('one') });
    const first = await clone.push('Say one');
    const early = await connect('net', clone).expect(422);
    expect(early.body.errors[0].detail).toContain('no agent of the connection’s pool');
    await startAgent();
    const { id } = (await connect('net', clone).expect(201)).body.data;
    await runWith(id, 'Say one');
    const statusOf = async (commit: string) =>
      (await gitea.call('GET', `repos/${clone.identifier}/commits/${commit}/status`)).state;
    await eventually('a status', async () => (await statusOf(first)) === 'success');
    const hooks = () => gitea.call('GET', `repos/${clone.identifier}/hooks`);
    await eventually('a webhook', async () => (await hooks()).length === 1);

    await endAgent('SIGKILL');
    clone.write({ 'main.tf': main('two') });
    const second = await clone.push('Say two');
    await eventually('a delivery', async () => (await workspaces.service.db.prisma.vcsDelivery.count()) > 0);
    await startAgent();
    await runWith(id, 'Say two');
    await eventually('a status', async () => (await statusOf(second)) === 'success');
    expect(await hooks()).toHaveLength(1);

    await admin.delete(`workspaces/${id}`).expect(204);
    await eventually('no webhook', async () => (await hooks()).length === 0);
    const requests = () => workspaces.service.db.prisma.forwardedRequest.count();
    await eventually('no request', async () => (await requests()) === 0);
    for (const text of [said, output.join('')]) expect(text).not.toContain(gitea.secret);
  });
});
