import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createHttpServer } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { afterAll, afterEach, beforeAll, describe, expect, test } from '@jest/globals';
import { createServer } from '@keystead/server';
import { findProgram, freePort, fromSource, urlOf } from '@keystead/testing';
import { endUnserved } from '../../src/resources/runs/runs/jobs/abandoned';
import { performTasks } from '../../src/resources/runs/task-stages/deliver';
import { slots } from '../../src/worker/config';
import { askVersion, type Binary } from '../../src/worker/tool/binaries';
import { policiesOf } from '../policy-sets';
import { resource, startWorkspaces } from '../start-workspaces';
import { findTool, noTool, processesWith, unblock } from '../worker-fixture';

const execute = promisify(execFile);
const it = noTool ? test.skip : test;
const opaProgram = process.env.KEYSTEAD_OPA ?? findProgram('opa');
const box = mkdtempSync(path.join(tmpdir(), 'remote-runs-'));
const root = path.resolve(__dirname, '../../../..');
// A separate range, so that the addresses closed to these runs can be opened again.
const firstUid = 80_000 + (process.pid % 400) * 100;
let tool: Binary;

// Remote execution with everything real: service, worker processes, and the tool on both ends.
describe('the infrastructure tool in remote execution', () => {
  const env: Record<string, string> = { WORKSPACES_NOTIFICATION_NETWORKS: '127.0.0.1/32' };
  let port = 0;
  beforeAll(async () => {
    if (!noTool) tool = await findTool();
    port = await freePort();
    env.WORKSPACES_PUBLIC_URL = `http://127.0.0.1:${port}`;
  });
  const workspaces = startWorkspaces({ env });
  let listening: ReturnType<typeof createServer>;
  const workers: { child: ChildProcess; said(): string }[] = [];
  beforeAll(async () => {
    listening = createServer(workspaces.service.app);
    await new Promise<void>((resolve) => listening.listen(port, '127.0.0.1', resolve));
    await workspaces.organization('acme', { 'default-execution-mode': 'remote' });
  });
  afterEach(async () => {
    for (const worker of workers.splice(0)) {
      worker.child.kill('SIGTERM');
      await ended(worker.child);
    }
  });
  afterAll(() => {
    listening.closeAllConnections();
    listening.close();
    const { port } = new URL(workspaces.databaseUrl);
    unblock(
      { first: firstUid, last: firstUid + slots - 1 },
      { port: Number(port), addresses: ['127.0.0.1'], local: true },
    );
    rmSync(box, { recursive: true, force: true });
  });
  async function startWorker(settings: Record<string, string> = {}) {
    const child = spawn(process.execPath, [...fromSource, path.join(root, 'apps/workspaces/src/worker-main.ts')], {
      cwd: root,
      env: {
        PATH: process.env.PATH,
        WORKSPACES_DATABASE_URL: workspaces.databaseUrl,
        WORKSPACES_SEAL_KEY: '07'.repeat(32),
        WORKSPACES_WORKER_SCRATCH: path.join(box, 'scratch'),
        WORKSPACES_WORKER_FIRST_UID: String(firstUid),
        WORKSPACES_WORKER_TRUST: 'same-user',
        WORKSPACES_WORKER_BINARY: tool.file,
        ...settings,
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    for (const stream of [child.stdout!, child.stderr!]) stream.on('data', (bytes) => (text += bytes));
    const worker = { child, said: () => text };
    workers.push(worker);
    await until(() => {
      if (child.exitCode !== null) throw new Error(text);
      return text.includes('waiting for runs');
    }, worker.said);
    return worker;
  }

  const configuration = (name: string, more: string, block = 'cloud') => `
    terraform {
      ${block} {
        hostname     = "workspaces.test"
        organization = "acme"
        workspaces { name = "${name}" }
      }
    }
    ${more}`;

  function folder(name: string, main: string, block?: string) {
    const cwd = path.join(box, name);
    mkdirSync(cwd, { recursive: true });
    writeFileSync(path.join(cwd, 'main.tf'), configuration(name, main, block));
    const api = `http://127.0.0.1:${port}/api/v2/`;
    const cli = path.join(box, 'cli.tfrc');
    writeFileSync(
      cli,
      `disable_checkpoint = true
host "workspaces.test" { services = { "tfe.v2" = "${api}", "tfe.v2.1" = "${api}", "state.v2" = "${api}" } }
credentials "workspaces.test" { token = "${workspaces.admin.token}" }`,
    );
    const environment = { ...process.env, TF_CLI_CONFIG_FILE: cli, TF_IN_AUTOMATION: '1' };
    const run = async (...args: string[]): Promise<string> => {
      const running = execute(tool.file, args, { cwd, env: environment });
      running.child.stdin?.end('yes\n');
      const { stdout, stderr } = await running;
      return stdout + stderr;
    };
    return Object.assign(run, { cwd, environment });
  }

  /** A run task that answers at once, with a status and a message. */
  async function taskThat(status: string, message: string) {
    const server = createHttpServer((request, response) => {
      let text = '';
      request.on('data', (piece: Buffer) => (text += piece));
      request.on('end', () => {
        response.writeHead(200).end();
        const { stage, task_result_callback_url: to, access_token: token } = JSON.parse(text);
        if (stage === 'test') return;
        void fetch(to, {
          method: 'PATCH',
          headers: { authorization: `Bearer ${token}`, 'content-type': 'application/vnd.api+json' },
          body: JSON.stringify({ data: { type: 'task-results', attributes: { status, message } } }),
        });
      });
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return {
      url: urlOf(server),
      close: () => new Promise((resolve) => server.close(resolve)),
    };
  }

  const workspaceId = async (name: string): Promise<string> =>
    (await workspaces.admin.get(`organizations/acme/workspaces/${name}`).expect(200)).body.data.id;
  const runsOf = async (name: string) =>
    (await workspaces.admin.get(`workspaces/${await workspaceId(name)}/runs`).expect(200)).body.data;
  const variable = async (name: string, attributes: object) =>
    workspaces.admin.post(`workspaces/${await workspaceId(name)}/vars`, resource('vars', attributes)).expect(201);

  const blocks = { life: 'cloud', before: 'backend "remote"' };
  it.each(Object.entries(blocks))(
    '%s: plans, applies with workspace variables, shows no change, and destroys (%s)',
    async (name, block) => {
      const worker = await startWorker();
      // Which of the two limits applies depends on the machine; the executor's tests check that the run is stopped.
      expect(worker.said()).toMatch(/runs cannot reach the database|RUNS (MAY )?REACH|RUNS ARE NOT ISOLATED/);
      const run = folder(
        name,
        `variable "size" { type = number }
       variable "secret" { sensitive = true }
       resource "terraform_data" "a" { input = [var.size, terraform.workspace] }
       output "greeting" { value = terraform_data.a.output }
       output "secret" {
         value     = var.secret
         sensitive = true
       }`,
        block,
      );
      await run('init', '-no-color', '-input=false');
      await variable(name, { key: 'size', value: '1 + 2', category: 'terraform', hcl: true });
      await variable(name, { key: 'secret', value: 's3cret', category: 'terraform', sensitive: true });
      const plan = await run('plan', '-no-color', '-input=false');
      expect(plan.match(/Plan: 1 to add/g)).toHaveLength(1);
      const apply = await run('apply', '-auto-approve', '-no-color', '-input=false');
      expect(apply).toContain('Apply complete! Resources: 1 added');
      expect(apply).not.toContain('s3cret');
      expect(JSON.parse(await run('output', '-json', 'greeting'))).toEqual([3, name]);
      expect(await run('output', '-raw', 'secret')).toBe('s3cret');
      expect(await run('plan', '-no-color', '-input=false')).toContain('No changes');
      expect(await run('destroy', '-auto-approve', '-no-color', '-input=false')).toContain('1 destroyed.');
      expect(await run('state', 'list')).toBe('');
      const shown = await workspaces.admin.get(`organizations/acme/workspaces/${name}`).expect(200);
      expect(shown.body.data.attributes).toMatchObject({ locked: false, 'resource-count': 0 });
    },
    600_000,
  );

  it('the command line prints the plan and the outputs of a run as the tool does', async () => {
    await startWorker();
    const run = folder(
      'printed',
      'resource "terraform_data" "a" { input = { a = [1] } }\noutput "a" { value = [1, "x"] }',
    );
    await run('init', '-no-color', '-input=false');
    const applied = await run('apply', '-auto-approve', '-no-color', '-input=false');
    const [{ id }] = await runsOf('printed');
    const { stdout } = await execute(
      process.execPath,
      [...fromSource, path.join(root, 'apps/cli/src/main.ts'), 'run', 'logs', id, '--follow'],
      { env: { ...process.env, TFE_ADDRESS: `http://127.0.0.1:${port}`, TFE_TOKEN: workspaces.admin.token } },
    );
    const partOf = (text: string, first: string, last: string) => {
      const from = text.indexOf(first);
      return text.slice(from, text.indexOf(last, from) + last.length);
    };
    for (const [first, last] of [
      ['Terraform used the selected providers', '1 to add, 0 to change, 0 to destroy.'],
      ['Changes to Outputs:', '    ]'],
      ['Apply complete!', '1 added, 0 changed, 0 destroyed.'],
    ] as const) {
      expect(stdout).toContain(partOf(applied, first, last));
      expect(partOf(applied, first, last).length).toBeGreaterThan(first.length);
    }
    // As after a local apply: the tool itself indents the values of a remote one strangely.
    expect(stdout).toContain('\nOutputs:\n\na = [\n  1,\n  "x",\n]');
    expect(stdout).not.toContain('Plan to create');
  }, 600_000);

  (opaProgram ? it : test.skip)(
    'prints the results of run tasks and policies',
    async () => {
      const { admin, service } = workspaces;
      await startWorker({ WORKSPACES_WORKER_OPA: opaProgram! });
      const run = folder('judged', 'output "said" {\n value = "no"\n}');
      await run('init', '-no-color', '-input=false');
      const plain = await run('plan', '-no-color', '-input=false');
      expect(plain).not.toMatch(/Polic|Task/);
      const id = await workspaceId('judged');
      const { policy, set } = policiesOf(workspaces);
      const rule = 'package said\n\ndeny contains "says no" if input.plan.output_changes.said.after == "no"\n';
      await set('rules', {}, { policies: [await policy('said', {}, rule)], workspaces: [id] });
      const task = await taskThat('failed', 'found two problems');
      const made = await admin
        .post('organizations/acme/tasks', resource('tasks', { name: 'inspect', url: task.url, category: 'task' }))
        .expect(201);
      const attached = resource(
        'workspace-tasks',
        { 'enforcement-level': 'advisory', stages: ['post_plan'] },
        { task: { data: { type: 'tasks', id: made.body.data.id } } },
      );
      await admin.post(`workspaces/${id}/tasks`, attached).expect(201);
      const { db, env } = service;
      const perform = { db, keyring: env.keyring, reach: env.notificationReach, publicUrl: env.publicUrl };
      const timer = setInterval(() => void performTasks(perform), 300);
      try {
        const failed = await run('plan', '-no-color', '-input=false').then(
          (text) => text,
          ({ stdout, stderr }: { stdout: string; stderr: string }) => stdout + stderr,
        );
        expect(failed).toMatch(/inspect .*(Failed|failed)/);
        expect(failed).toContain('found two problems');
        expect(failed).toContain('OPA Policy Evaluation');
        expect(failed).toContain('Overall Result: FAILED');
        expect(failed).toMatch(/Policy name: said/);
      } finally {
        clearInterval(timer);
        await task.close();
      }
    },
    600_000,
  );

  it('asks before it applies, and keeps a saved plan for later', async () => {
    await startWorker();
    const run = folder('saved', 'resource "terraform_data" "a" { input = "kept" }');
    await run('init', '-no-color', '-input=false');
    expect(await run('apply', '-no-color')).toContain('Apply complete! Resources: 1 added');
    writeFileSync(
      path.join(run.cwd, 'main.tf'),
      configuration('saved', 'resource "terraform_data" "a" { input = "changed" }'),
    );
    expect(await run('plan', '-no-color', '-input=false', '-out=plan.bin')).toContain('1 to change');
    expect(await run('show', '-no-color', 'plan.bin')).toContain('"kept" -> "changed"');
    expect(await run('apply', '-no-color', '-input=false', 'plan.bin')).toContain('0 added, 1 changed');
  }, 600_000);

  it('plans and applies with every option, as in local execution', async () => {
    await startWorker();
    const run = folder(
      'ways',
      `variable "size" { default = 2 }
       resource "terraform_data" "a" {
         count = var.size
         input = "a\${count.index}"
       }
       output "size" { value = var.size }`,
    );
    const common = ['-no-color', '-input=false'];
    const apply = (...args: string[]) => run('apply', '-auto-approve', ...common, ...args);
    await run('init', ...common);
    expect(await apply('-target=terraform_data.a[0]')).toMatch(/targeting is in effect[\s\S]*Resources: 1 added/);
    expect(await apply()).toContain('Resources: 1 added, 0 changed, 0 destroyed');
    expect(await run('plan', ...common, '-replace=terraform_data.a[1]')).toContain('replaced, as requested');
    expect(await run('plan', ...common, '-destroy')).toContain('0 to add, 0 to change, 2 to destroy');
    expect(await run('plan', ...common, '-refresh-only')).toContain('still matches the configuration');
    expect(await apply('-refresh-only')).toContain('still matches the configuration');
    await expect(run('plan', ...common, '-detailed-exitcode', '-var', 'size=3')).rejects.toMatchObject({ code: 2 });
    await run('taint', 'terraform_data.a[0]');
    expect(await run('plan', ...common)).toMatch(/is tainted, so (it )?must be replaced/);
    await run('untaint', 'terraform_data.a[0]');
    expect(JSON.parse(await run('show', '-json')).values.outputs.size.value).toBe(2);
    // A saved plan that another apply has overtaken is refused, with the reason; as JSON it can still be shown.
    await run('plan', ...common, '-out=kept.plan', '-var', 'size=1');
    await apply('-var', 'size=3');
    expect(JSON.parse(await run('show', '-json', 'kept.plan'))).toMatchObject({ variables: { size: { value: '1' } } });
    await expect(run('apply', ...common, 'kept.plan')).rejects.toThrow(
      /the state has changed since the plan was saved/,
    );
    // The messages in the log of a plan, as the tool writes them with -json.
    const [last] = await runsOf('ways');
    const plan = last.relationships.plan.data.id;
    const { 'log-read-url': log } = (await workspaces.admin.get(`plans/${plan}`).expect(200)).body.data.attributes;
    const lines = (await (await fetch(log)).text()).split('\n').filter((line) => line.startsWith('{'));
    expect(lines.map((line) => JSON.parse(line).type)).toEqual(expect.arrayContaining(['version', 'change_summary']));
  }, 900_000);

  it('moves, forgets, imports and pushes resources of a state, and plans after that', async () => {
    await startWorker();
    const run = folder('state', 'resource "terraform_data" "a" { input = "kept" }');
    const common = ['-no-color', '-input=false'];
    await run('init', ...common);
    await run('apply', '-auto-approve', ...common);
    await run('state', 'mv', 'terraform_data.a', 'terraform_data.b');
    expect(await run('plan', ...common)).toContain('1 to add, 0 to change, 1 to destroy');
    writeFileSync(path.join(run.cwd, 'pulled.tfstate'), await run('state', 'pull'));
    await run('state', 'rm', 'terraform_data.b');
    await run('import', ...common, 'terraform_data.a', 'some-id');
    expect(await run('state', 'list')).toBe('terraform_data.a\n');
    // The tool checks this itself, and stops.
    await expect(run('state', 'push', 'pulled.tfstate')).rejects.toThrow(/over newer state/);
    writeFileSync(path.join(run.cwd, 'import.tf'), 'import {\n  to = terraform_data.c\n  id = "other"\n}\n');
    expect(await run('plan', ...common, '-generate-config-out=made.tf')).toContain('1 to import');
    expect(readFileSync(path.join(run.cwd, 'made.tf'), 'utf8')).toContain('resource "terraform_data" "c"');
    expect(await run('apply', '-auto-approve', ...common)).toContain('1 imported');
    const id = await workspaceId('state');
    await workspaces.admin.post(`workspaces/${id}/actions/lock`, { reason: 'maintenance' }).expect(200);
    const waited = await run('apply', '-auto-approve', ...common, '-lock-timeout=1s');
    expect(waited).toMatch(/Lock timeout exceeded[\s\S]*successfully cancelled/);
    await run('force-unlock', '-force', 'acme/state');
    expect(await run('plan', ...common)).toContain('No changes');
    await run('destroy', '-auto-approve', ...common);
    await expect(run('workspace', 'new', 'second')).rejects.toThrow();
  }, 900_000);

  it('shows why a plan fails', async () => {
    await startWorker();
    const run = folder('failing', 'output "x" { value = file("absent") }');
    await run('init', '-no-color', '-input=false');
    const said = await run('plan', '-no-color', '-input=false').catch((error) => error.stdout + error.stderr);
    expect(said).toContain('no file exists');
    expect((await runsOf('failing'))[0]?.attributes.status ?? 'errored').toBe('errored');
  }, 600_000);

  const slow = (seconds: number) => `
    resource "terraform_data" "first" {}
    resource "terraform_data" "slow" {
      depends_on = [terraform_data.first]
      provisioner "local-exec" { command = "sleep ${seconds}" }
    }`;
  const anySeconds = () => 1000 + Math.floor(Math.random() * 8000);
  const applyInBackground = (run: ReturnType<typeof folder>) => {
    const child = spawn(tool.file, ['apply', '-auto-approve', '-no-color', '-input=false'], {
      cwd: run.cwd,
      env: run.environment,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let text = '';
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (bytes) => (text += bytes));
    return { child, said: () => text };
  };

  it('cancels an apply, keeps its changes, and frees the workspace', async () => {
    const worker = await startWorker();
    const seconds = anySeconds();
    const run = folder('cancel', slow(seconds));
    await run('init', '-no-color', '-input=false');
    const applying = applyInBackground(run);
    await until(
      () => processesWith(`sleep ${seconds}`).length > 0,
      () => applying.said() + worker.said(),
    );
    const [current] = await runsOf('cancel');
    expect(current.attributes).toMatchObject({ status: 'applying', actions: { 'is-cancelable': true } });
    await workspaces.admin.post(`runs/${current.id}/actions/cancel`, {}).expect(202);
    await ended(applying.child);
    expect(applying.said()).toMatch(/cancel|interrupt/i);
    await until(async () => (await runsOf('cancel'))[0].attributes.status === 'canceled', worker.said);
    expect(processesWith(`sleep ${seconds}`)).toEqual([]);
    expect(await run('state', 'list')).toContain('terraform_data.first');
    const shown = await workspaces.admin.get('organizations/acme/workspaces/cancel').expect(200);
    expect(shown.body.data.attributes.locked).toBe(false);
  }, 600_000);

  it('continues after a worker was killed: another repeats the plan, an interrupted apply ends with its state', async () => {
    const first = await startWorker({ WORKSPACES_WORKER_LEASE_SECONDS: '15' });
    const seconds = anySeconds();
    const run = folder('killed', slow(seconds));
    await run('init', '-no-color', '-input=false');
    const applying = applyInBackground(run);
    await until(
      () => processesWith(`sleep ${seconds}`).length > 0,
      () => applying.said() + first.said(),
    );
    first.child.kill('SIGKILL');
    await ended(first.child);
    await until(() => processesWith(`sleep ${seconds}`).length === 0, first.said);
    const second = await startWorker();
    await until(async () => (await runsOf('killed'))[0].attributes.status === 'errored', second.said);
    await ended(applying.child);
    // OpenTofu writes the state of an apply every twenty seconds and when it is interrupted, not with each resource.
    if (tool.product === 'Terraform') expect(await run('state', 'list')).toContain('terraform_data.first');
    const shown = await workspaces.admin.get('organizations/acme/workspaces/killed').expect(200);
    expect(shown.body.data.attributes.locked).toBe(false);
  }, 600_000);

  it('two workers share the jobs, and each job is done once', async () => {
    const both = [
      await startWorker({ WORKSPACES_WORKER_JOBS: '1' }),
      await startWorker({ WORKSPACES_WORKER_JOBS: '1' }),
    ];
    const names = ['share-a', 'share-b', 'share-c'];
    const outputs = await Promise.all(
      names.map(async (name) => {
        const run = folder(name, 'resource "terraform_data" "a" { input = timestamp() }');
        await run('init', '-no-color', '-input=false');
        return run('apply', '-auto-approve', '-no-color', '-input=false');
      }),
    );
    for (const output of outputs) expect(output).toContain('Apply complete! Resources: 1 added');
    // The last delivery may still be on its way when the tool gets its answer.
    const said = () => both.map((worker) => worker.said()).join('');
    const finished = () => said().match(/"msg":"finished"/g)?.length ?? 0;
    await until(() => finished() >= 6, said);
    expect(finished()).toBe(6);
  }, 600_000);

  // A tool that is newer than those of the workers, as on a machine that was upgraded first.
  const other = process.env.KEYSTEAD_TOFU && findProgram('terraform');
  (other ? it : test.skip)(
    'uses a version that workers have if they lack the tool’s own version',
    async () => {
      await startWorker({ WORKSPACES_WORKER_BINARY: other! });
      const { version } = await askVersion(other!);
      const run = folder('fallback', 'resource "terraform_data" "a" { input = "kept" }');
      expect(await run('init', '-no-color', '-input=false')).toContain(`The new workspace will use ${version}.`);
      const { id, attributes } = (await workspaces.admin.get('organizations/acme/workspaces/fallback').expect(200)).body
        .data;
      expect(attributes['terraform-version']).toBe(version);
      expect(await run('apply', '-auto-approve', '-no-color', '-input=false')).toContain('Resources: 1 added');
      expect(await run('state', 'list')).toBe('terraform_data.a\n');
      // A listed version that no worker has.
      const pinned = resource('workspaces', { 'terraform-version': '1.9.8' });
      await workspaces.admin.patch(`workspaces/${id}`, pinned).expect(200);
      const planning = run('plan', '-no-color', '-input=false').catch((error) => error.stdout + error.stderr);
      const { db, env: parts } = workspaces.service;
      await until(
        async () => (await endUnserved(db, parts.keyring, 0)) > 0,
        () => '',
      );
      expect(await planning).toContain('No worker has version 1.9.8 of the tool');
    },
    600_000,
  );

  it('shows that it waits while there is no worker', async () => {
    const run = folder('waiting', 'resource "terraform_data" "a" {}');
    await run('init', '-no-color', '-input=false');
    const applying = applyInBackground(run);
    await until(async () => (await runsOf('waiting')).length > 0, applying.said);
    const [waiting] = await runsOf('waiting');
    expect(['pending', 'plan_queued']).toContain(waiting.attributes.status);
    await startWorker();
    await ended(applying.child);
    expect(applying.said()).toContain('Apply complete! Resources: 1 added');
  }, 600_000);
});

async function until(met: () => boolean | Promise<boolean>, said: () => string): Promise<void> {
  for (const giveUp = Date.now() + 300_000; !(await met()); await sleep(100)) {
    if (Date.now() > giveUp) throw new Error(`nothing came of it:\n${said()}`);
  }
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise((resolve) => child.once('exit', resolve));
}
