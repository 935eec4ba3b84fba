import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { chmodSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createServer } from '@keystead/server';
import { findProgram, freePort, fromSource } from '@keystead/testing';
import { settleAbandoned } from '../../src/resources/runs/runs/jobs/abandoned';
import type { Binary } from '../../src/worker/tool/binaries';
import { announced, archiveOf, putUrl, startRun } from '../configurations';
import { resource, startWorkspaces } from '../start-workspaces';
import { findTool, noTool, unblock } from '../worker-fixture';

const execute = promisify(execFile);
const it = noTool ? test.skip : test;
const box = mkdtempSync(path.join(tmpdir(), 'agents-'));
const root = path.resolve(__dirname, '../../../..');
const firstUid = 90_000 + (process.pid % 400) * 100;
let tool: Binary;

// Replaces the tool in tests that need a long run: it runs as long as the file `held` in the test's folder exists.
const standIn = (held: string) => `#!/bin/sh
wait_for() { echo "began $1"; while [ -e ${held} ]; do sleep 0.1; done; }
case $1 in
  version) echo "Terraform v1.11.4" ;;
  plan) wait_for plan; for o in "$@"; do case $o in -out=*) echo plan > "\${o#-out=}";; esac; done; exit 2 ;;
  show) echo '{"format_version":"1.2"}' ;;
  providers) echo '{"format_version":"1.0"}' ;;
  apply)
    for folder in ../state/*/; do at="$folder/terraform.tfstate"; done
    printf '{"version":4,"terraform_version":"1.11.4","serial":1,"lineage":"l","outputs":{},"resources":[]}' > "$at"
    wait_for apply; echo "Apply complete! Resources: 0 added, 1 changed, 0 destroyed." ;;
esac
`;

// Service and agents are real processes without a shared database, and both sides use the real tool.
describe('agents of a pool', () => {
  const env: Record<string, string> = {};
  let port = 0;
  beforeAll(async () => {
    if (!noTool) tool = await findTool();
    port = await freePort();
    env.WORKSPACES_PUBLIC_URL = `http://127.0.0.1:${port}`;
  });
  const workspaces = startWorkspaces({ env });
  const { admin } = workspaces;
  let listening: ReturnType<typeof createServer>;
  let pool = '';
  let token = '';
  const agents: { child: ChildProcess; said(): string }[] = [];
  const listen = async () => {
    listening = createServer(workspaces.service.app);
    await new Promise<void>((resolve) => listening.listen(port, '127.0.0.1', resolve));
  };
  const fallSilent = async () => {
    listening.closeAllConnections();
    await new Promise((resolve) => listening.close(resolve));
  };
  beforeAll(async () => {
    await listen();
    await workspaces.organization('acme');
    pool = (await admin.post('organizations/acme/agent-pools', resource('agent-pools', { name: 'dmz' })).expect(201))
      .body.data.id;
    const body = resource('authentication-tokens', { description: 'dmz' });
    const made = await admin.post(`agent-pools/${pool}/authentication-tokens`, body).expect(201);
    token = made.body.data.attributes.token;
    const mode = { 'default-execution-mode': 'agent', 'default-agent-pool-id': pool };
    await admin.patch('organizations/acme', resource('organizations', mode)).expect(200);
  });
  const stop = async (signal: NodeJS.Signals) => {
    for (const { child } of agents.splice(0)) {
      child.kill(signal);
      if (child.exitCode === null && child.signalCode === null)
        await new Promise((resolve) => child.once('exit', resolve));
    }
  };
  afterEach(() => stop('SIGTERM'));
  afterAll(async () => {
    await fallSilent();
    unblock({ first: firstUid, last: firstUid + 63 }, { port: 1, addresses: ['127.0.0.1'], local: true });
    for (const at of [box, shownFolder]) rmSync(at, { recursive: true, force: true });
  });

  async function startAgent(settings: Record<string, string> = {}) {
    const child = spawn(
      process.execPath,
      [...fromSource, path.join(root, 'apps/workspaces/src/worker-main.ts'), 'agent'],
      {
        cwd: root,
        env: {
          PATH: process.env.PATH,
          TFC_ADDRESS: `http://127.0.0.1:${port}`,
          TFC_AGENT_TOKEN: token,
          TFC_AGENT_NAME: 'builder',
          WORKSPACES_WORKER_SCRATCH: path.join(box, 'scratch'),
          WORKSPACES_WORKER_FIRST_UID: String(firstUid),
          WORKSPACES_WORKER_TRUST: 'same-user',
          ...settings,
        },
        stdio: ['ignore', 'pipe', 'pipe'],
      },
    );
    let text = '';
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (bytes) => (text += bytes));
    const agent = { child, said: () => text };
    agents.push(agent);
    await until(() => {
      if (child.exitCode !== null) throw new Error(text);
      return text.includes('waiting for runs');
    }, agent.said);
    return agent;
  }
  async function until(holds: () => boolean | Promise<boolean>, said: () => string = () => '') {
    for (let left = 600; !(await holds()); left--) {
      if (left === 0) throw new Error(`nothing happened: ${said()}`);
      await sleep(200);
    }
  }
  const shown = async (id: string) => (await admin.get(`runs/${id}`).expect(200)).body.data.attributes;
  const becomes = (id: string, status: string) =>
    until(
      async () => (await shown(id)).status === status,
      () => agents.map(({ said }) => said()).join('\n'),
    );
  const statuses = async (): Promise<string[]> =>
    (await admin.get(`agent-pools/${pool}/agents`).expect(200)).body.data.map(
      ({ attributes }: { attributes: { status: string } }) => attributes.status,
    );

  it('plan, apply and destroy with the real tool, as another user and without a database', async () => {
    const agent = await startAgent();
    expect(agent.said()).not.toContain('DATABASE');
    const cwd = path.join(box, 'life');
    mkdirSync(cwd);
    writeFileSync(
      path.join(cwd, 'main.tf'),
      `terraform {
         cloud {
           hostname     = "workspaces.test"
           organization = "acme"
           workspaces { name = "life" }
         }
       }
       variable "secret" { sensitive = true }
       resource "terraform_data" "a" {
         input = terraform.workspace
         provisioner "local-exec" { command = "id -u > ${cwd}/uid 2>/dev/null; echo \\"uid=$(id -u) database=$WORKSPACES_DATABASE_URL\\"" }
       }
       output "greeting" { value = terraform_data.a.output }
       output "secret" {
         value     = var.secret
         sensitive = true
       }`,
    );
    const api = `http://127.0.0.1:${port}/api/v2/`;
    const cli = path.join(box, 'cli.tfrc');
    writeFileSync(
      cli,
      `disable_checkpoint = true
host "workspaces.test" { services = { "tfe.v2" = "${api}", "tfe.v2.1" = "${api}", "state.v2" = "${api}" } }
credentials "workspaces.test" { token = "${admin.token}" }`,
    );
    const run = async (...args: string[]): Promise<string> => {
      const running = execute(tool.file, args, {
        cwd,
        env: { ...process.env, TF_CLI_CONFIG_FILE: cli, TF_IN_AUTOMATION: '1' },
      });
      running.child.stdin?.end('yes\n');
      const { stdout, stderr } = await running;
      return stdout + stderr;
    };
    await run('init', '-no-color', '-input=false');
    const { id } = (await admin.get('organizations/acme/workspaces/life').expect(200)).body.data;
    const secret = { key: 'secret', value: 's3cret', category: 'terraform', sensitive: true };
    await admin.post(`workspaces/${id}/vars`, resource('vars', secret)).expect(201);
    expect(await run('plan', '-no-color', '-input=false')).toMatch(/Plan: 1 to add/);
    const apply = await run('apply', '-auto-approve', '-no-color', '-input=false');
    expect(apply).toContain('Apply complete! Resources: 1 added');
    expect(apply).not.toContain('s3cret');
    if (process.getuid?.() === 0 && findProgram('setpriv')) expect(apply).not.toContain('uid=0 ');
    expect(JSON.parse(await run('output', '-json', 'greeting'))).toEqual('life');
    expect(await run('output', '-raw', 'secret')).toBe('s3cret');
    expect(await run('plan', '-no-color', '-input=false')).toContain('No changes');
    expect(await run('destroy', '-auto-approve', '-no-color', '-input=false')).toContain('1 destroyed.');
    expect(await statuses()).toEqual(['idle']);
    await stop('SIGTERM');
    expect(await statuses()).toEqual(['exited']);
    expect(agent.said()).not.toContain('s3cret');
  }, 600_000);

  const file = path.join(box, 'terraform');
  // The machine's folders that runs see.
  const shownFolder = mkdtempSync('/var/tmp/agents-shown-');
  const held = path.join(shownFolder, 'held');
  beforeAll(() => {
    chmodSync(shownFolder, 0o755);
  });
  const quick = {
    WORKSPACES_WORKER_SHOW: shownFolder,
    WORKSPACES_WORKER_BINARY: file,
    WORKSPACES_WORKER_LEASE_SECONDS: '5',
  };
  let counter = 0;
  async function started(attributes: object = {}): Promise<string> {
    writeFileSync(file, standIn(held), { mode: 0o755 });
    const { id } = await workspaces.workspace('acme', `held-${++counter}`, { 'infra-version': '1.11.4' });
    const configuration = await announced(admin, id);
    await putUrl(workspaces, configuration.attributes['upload-url'], await archiveOf()).expect(200);
    return (await startRun(admin, id, attributes, configuration.id).expect(201)).body.data.id;
  }
  const events = async (id: string): Promise<string[]> =>
    (await admin.get(`runs/${id}/run-events`).expect(200)).body.data.map(
      ({ attributes }: { attributes: { action: string } }) => attributes.action,
    );
  const began = async (id: string, kind: 'plan' | 'apply') => {
    const { attributes } = (await admin.get(`runs/${id}/${kind}`).expect(200)).body.data;
    const answer = await fetch(attributes['log-read-url']);
    return (await answer.text()).includes(`began ${kind}`);
  };
  const settle = async () => {
    // The service does this itself every ten seconds.
    await settleAbandoned(workspaces.service.db, workspaces.service.env.keyring);
  };

  it('that are killed during a plan leave the plan to another agent', async () => {
    writeFileSync(held, '');
    await startAgent({ ...quick, WORKSPACES_WORKER_BINARY: await binary() });
    const id = await started();
    await until(() => began(id, 'plan'));
    await stop('SIGKILL');
    rmSync(held);
    await startAgent(quick);
    await becomes(id, 'planned');
    expect((await events(id)).filter((action) => action === 'plan-retried')).toHaveLength(1);
  }, 300_000);

  it('that are killed during an apply end the apply, and keep the state that was written', async () => {
    rmSync(held, { force: true });
    await startAgent({ ...quick, WORKSPACES_WORKER_BINARY: await binary() });
    const id = await started();
    await becomes(id, 'planned');
    writeFileSync(held, '');
    await admin.post(`runs/${id}/actions/apply`, {}).expect(202);
    await until(() => began(id, 'apply'));
    await stop('SIGKILL');
    // The next agent on the same machine uploads the state that it left.
    await startAgent(quick);
    await until(async () => {
      await settle();
      return (await shown(id)).status === 'errored';
    }, agents[0]!.said);
    rmSync(held);
    const { data } = (await admin.get(`runs/${id}`).expect(200)).body;
    const workspace = data.relationships.workspace.data.id;
    expect((await events(id)).filter((action) => action === 'applying')).toHaveLength(1);
    expect((await admin.get(`workspaces/${workspace}`).expect(200)).body.data.attributes.locked).toBe(false);
    const saved = await workspaces.service.db.prisma.stateVersion.count({ where: { workspaceId: workspace } });
    const apart = await workspaces.service.db.prisma.quarantinedState.count({ where: { workspaceId: workspace } });
    expect(saved + apart).toBe(1);
    await until(
      () => !readdirSync(path.join(box, 'scratch')).some((name) => name.startsWith('run-')),
      () => `${agents[0]?.said()} ${readdirSync(path.join(box, 'scratch'))}`,
    );
  }, 300_000);

  it('continue during a short outage of the service', async () => {
    rmSync(held, { force: true });
    const agent = await startAgent({ WORKSPACES_WORKER_SHOW: shownFolder, WORKSPACES_WORKER_BINARY: await binary() });
    const id = await started({ 'auto-apply': true });
    writeFileSync(held, '');
    await until(async () => {
      const status = (await shown(id)).status;
      return (status === 'planning' && (await began(id, 'plan'))) || status === 'applying';
    });
    await fallSilent();
    await sleep(4000);
    rmSync(held);
    await sleep(1000);
    await listen();
    await becomes(id, 'applied');
    expect(agents).toHaveLength(1);
    expect(await events(id)).not.toContain('plan-retried');
    expect(agent.said()).not.toContain(token);
  }, 300_000);

  /** Installs the stand-in before the first run needs it. */
  async function binary(): Promise<string> {
    writeFileSync(file, standIn(held), { mode: 0o755 });
    return file;
  }

  it('end with their token, together with their jobs', async () => {
    const body = resource('authentication-tokens', { description: 'short' });
    const { data } = (await admin.post(`agent-pools/${pool}/authentication-tokens`, body).expect(201)).body;
    const settings = { ...quick, TFC_AGENT_TOKEN: data.attributes.token, WORKSPACES_WORKER_BINARY: await binary() };
    const agent = await startAgent(settings);
    writeFileSync(held, '');
    const id = await started();
    await until(() => began(id, 'plan'), agent.said);
    await admin.delete(`authentication-tokens/${data.id}`).expect(204);
    await until(() => agent.child.exitCode !== null, agent.said);
    expect(agent.child.exitCode).toBe(78);
    agents.splice(0);
    rmSync(held);
    // Another agent, with a valid token, repeats the plan.
    await startAgent(quick);
    await becomes(id, 'planned');
    const refused = await startAgent({ TFC_AGENT_TOKEN: 'none' }).catch((error: Error) => error.message);
    expect(refused).toContain('its token is not valid or has been revoked');
    agents.splice(1);
  }, 300_000);

  it('leave no token and no values in their logs', () => {
    for (const { said } of agents) expect(said()).not.toContain(token);
    expect(readFileSync(__filename, 'utf8')).not.toContain(token);
  });
});
