import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { startEmbedded } from '@keystead/postgres';
import { isolationKinds } from '../../src/worker/isolation/isolation';
import { ownAddresses } from '../../src/worker/network/database-address';
import { blockCloudEndpoints, blockDatabase } from '../../src/worker/network/network';
import { cloudEndpointHosts } from '../../src/worker/network/reach';
import { executeApply, executePlan } from '../../src/worker/tool/execute';
import { executeToolRun } from '../../src/worker/tool/execute-tool-run';
import {
  type Asked,
  doing,
  findTool,
  kindsHere,
  makeExecutor,
  noTool,
  processesWith,
  testUids,
  unblock,
} from '../worker-fixture';

const kinds = kindsHere();

const cloud = `terraform {
  cloud {
    hostname     = "workspaces.test"
    organization = "quarry"
    workspaces { name = "stones" }
  }
}
`;

// The real tool, in every way of isolation that this machine allows; the others show as skipped, with their reason.
describe.each(isolationKinds)('the executor with %s', (kind) => {
  const absent = noTool ?? (kinds.includes(kind) ? undefined : `${kind} does not work here`);
  const it = absent ? test.skip : test;
  // Without isolation there is nothing to test.
  const itApart = kind === 'same-user' ? test.skip : it;
  let executor: Awaited<ReturnType<typeof makeExecutor>>;
  beforeAll(async () => {
    // One test calls Node in a run.
    if (!absent) executor = await makeExecutor(kind, await findTool(), [path.dirname(process.execPath)]);
  });
  afterAll(() => executor?.remove());

  const plan = async (asked: Asked) => {
    const under = await doing(asked);
    return { under, result: await executePlan(executor, under) };
  };
  const apply = async (asked: Asked) => {
    const planned = await plan(asked);
    expect(planned.under.text()).toMatch(/(Terraform|OpenTofu) will perform/);
    const under = await doing({ ...asked, files: {}, planFile: planned.result.planFile as Uint8Array });
    return { under, result: await executeApply(executor, under) };
  };

  it('tests a module: failed tests are finished, and tests that cannot run are errors', async () => {
    const files = {
      'main.tf': `${cloud}
        variable "size" { type = number }
        resource "terraform_data" "stone" { input = var.size }
        output "size" { value = terraform_data.stone.output }`,
      'tests/a.tftest.hcl': `
        run "large" {
          assert {
            condition     = output.size > 2
            error_message = "too small"
          }
        }`,
    };
    const test = async (value: string, more: object = {}, given: Record<string, string> = files) => {
      const testing = { filters: [], directory: null, verbose: false, parallelism: null, ...more };
      const job = { kind: 'test', runId: 'trun-1', testing } as const;
      const under = await doing({ files: given, job, variables: [{ key: 'size', value, hcl: true }] });
      return { result: await executeToolRun(executor, under), text: under.text() };
    };
    const passed = await test('3', { filters: ['tests/a.tftest.hcl'], directory: 'tests', verbose: true });
    expect(passed.result).toEqual({ outcome: 'finished' });
    expect(passed.text).toContain('"status":"pass","passed":1');
    const failed = await test('1');
    expect(failed.result).toEqual({ outcome: 'finished' });
    expect(failed.text).toContain('too small');
    const broken = await test('1', {}, { 'main.tf': 'not hcl {' });
    expect(broken.result.outcome).toBe('errored');
  });

  it('refuses queries for a tool that does not support them, with a message in the log', async () => {
    const under = await doing({ files: { 'main.tf': '' }, job: { kind: 'query', runId: 'qry-1' } });
    const tool = executor.binaries[0]!;
    const old = { ...tool, version: '1.11.4' };
    const result = await executeToolRun({ ...executor, binaries: [old] }, under);
    const why = `${tool.product} v1.11.4 has no command query: Terraform has it since 1.14`;
    expect(result).toEqual({ outcome: 'errored', errorMessage: why });
    expect(under.text()).toContain(why);
  });

  it('plans, applies the plan elsewhere, and plans again from the state', async () => {
    const files = {
      'main.tf': `${cloud}
        variable "size" { type = number }
        variable "text" {}
        variable "secret" { sensitive = true }
        resource "terraform_data" "stone" { input = [var.size, var.text, terraform.workspace, file("note.txt")] }
        resource "terraform_data" "kept" { input = var.secret }
        output "stone" { value = terraform_data.stone.output }`,
      'note.txt': 'a note',
    };
    const variables = [
      { key: 'size', value: '1 + 2', hcl: true },
      { key: 'text', value: 'quoted "${path.module}" %{ if } \\ and\nlines' },
      { key: 'secret', value: 's3cret-value', sensitive: true },
    ];
    const first = await plan({ files, variables });
    expect(first.under.text()).toMatch(/Plan: 2 to add, 0 to change, 0 to destroy/);
    expect(first.under.text()).not.toContain('s3cret-value');
    expect(first.result).toMatchObject({ outcome: 'planned', hasChanges: true, additions: 2, destructions: 0 });
    expect(String(first.result.jsonPlan)).toContain('s3cret-value');
    expect(String(first.result.redactedJsonPlan)).not.toContain('s3cret-value');
    expect(JSON.parse(String(first.result.redactedJsonPlan)).provider_schemas).toHaveProperty([
      'terraform.io/builtin/terraform',
      'resource_schemas',
      'terraform_data',
    ]);
    const under = await doing({ planFile: first.result.planFile as Uint8Array, variables });
    const applied = await executeApply(executor, under);
    expect(under.text()).toContain('Apply complete! Resources: 2 added');
    expect(applied).toMatchObject({ outcome: 'applied', additions: 2 });
    const state = JSON.parse(Buffer.from(applied.state!).toString());
    expect(state.outputs.stone.value).toEqual([3, 'quoted "${path.module}" %{ if } \\ and\nlines', 'stones', 'a note']);
    const again = await plan({ files, variables, state: applied.state });
    expect(again.result).toMatchObject({ outcome: 'planned', hasChanges: false });
    expect(again.result.planFile).toBeUndefined();
    const destroyed = await apply({ files, variables, state: applied.state, job: { isDestroy: true } });
    expect(destroyed.result).toMatchObject({ outcome: 'applied', destructions: 2 });
    expect(readdirSync(executor.scratch.root)).toEqual([]);
  }, 600_000);

  it('works in the requested folder, with its environment, and reports a missing one', async () => {
    const files = { 'a/b/main.tf': 'variable "x" {}\noutput "x" { value = "${var.x} ${path.root}" }', 'a/m.txt': '' };
    const { result, under } = await plan({
      files,
      environment: { TF_VAR_x: "it's" },
      job: { workingDirectory: 'a/b' },
    });
    expect(under.text()).toContain(`x = "it's .`);
    expect(result).toMatchObject({ outcome: 'planned', hasChanges: true });
    for (const workingDirectory of ['c', '../..', 'a/../../../../etc']) {
      const wrong = await plan({ files, job: { workingDirectory } });
      expect(wrong.result).toMatchObject({
        outcome: 'errored',
        errorMessage: expect.stringContaining('has no folder'),
      });
    }
  }, 600_000);

  it('reads files of variables from its folder and from the root; those of the workspace take precedence', async () => {
    const files = {
      'net/main.tf':
        'variable "x" {}\nvariable "y" {}\nvariable "z" {}\nresource "terraform_data" "all" {\n input = "${var.x}${var.y}${var.z}"\n}',
      'net/a.tfvars': 'x = "a"\ny = "a"\nz = "a"\n',
      'envs/b.tfvars': 'y = "b"\nz = "b"\n',
    };
    const job = { workingDirectory: 'net', varFiles: ['a.tfvars', '/envs/b.tfvars'] };
    const variables = [{ key: 'z', value: 'c', hcl: false, sensitive: false }];
    expect((await plan({ files, variables, job })).under.text()).toContain('"abc"');
    expect((await apply({ files, variables, job })).result).toMatchObject({ outcome: 'applied' });
    const missing = await plan({ files, variables, job: { ...job, varFiles: ['c.tfvars'] } });
    expect(missing.result).toMatchObject({ outcome: 'errored' });
    expect(missing.under.text()).toContain('c.tfvars');
  }, 600_000);

  it('ignores settings of the tool in a repository, and providers that replace others', async () => {
    const settings = 'provider_installation {\n  dev_overrides { "hashicorp/null" = "/tmp" }\n  direct {}\n}\n';
    const names = ['.terraformrc', 'terraform.rc', '.tofurc', 'home/.terraformrc', '.config/opentofu/tofurc'];
    const files = {
      ...Object.fromEntries(names.map((name) => [name, settings])),
      'main.tf': 'output "x" { value = 1 }',
    };
    const environment = { TF_CLI_CONFIG_FILE: '.terraformrc', TF_DATA_DIR: '/tmp/elsewhere' };
    const { result, under } = await plan({ files, environment });
    expect(result).toMatchObject({ outcome: 'planned', hasChanges: true });
    expect(under.text()).not.toMatch(/development overrides/i);
    expect(existsSync('/tmp/elsewhere')).toBe(false);
  }, 600_000);

  it('ends in an error if the configuration does, and shows why', async () => {
    const broken = await plan({ files: { 'main.tf': 'resource "x" {' } });
    expect(broken.result.outcome).toBe('errored');
    expect(broken.under.text()).toContain('Error: ');
    const failing = await plan({ files: { 'main.tf': 'output "x" { value = file("absent") }' } });
    expect(failing.result).toMatchObject({ outcome: 'errored', errorMessage: 'the plan failed' });
    expect(failing.under.text()).toContain('no file exists');
  }, 600_000);

  const slow = (seconds: number) => ({
    'main.tf': `resource "terraform_data" "first" {}
      resource "terraform_data" "slow" {
        depends_on = [terraform_data.first]
        provisioner "local-exec" { command = "echo keystead-slow; sleep ${seconds}" }
      }`,
  });
  const until = async (met: () => boolean, text: () => string) => {
    for (const giveUp = Date.now() + 300_000; !met(); await sleep(50)) {
      if (Date.now() > giveUp) throw new Error(text());
    }
  };
  const started = (text: () => string) => until(() => text().includes('keystead-slow'), text);

  it('returns the state of an apply that failed', async () => {
    const files = {
      'main.tf': `resource "terraform_data" "first" {}
        resource "terraform_data" "bad" {
          depends_on = [terraform_data.first]
          provisioner "local-exec" { command = "exit 3" }
        }`,
    };
    const { result } = await apply({ files });
    expect(result.outcome).toBe('errored');
    expect(JSON.parse(Buffer.from(result.state!).toString()).resources).toContainEqual(
      expect.objectContaining({ name: 'first' }),
    );
  }, 600_000);

  it.each(['interrupt', 'kill'] as const)(
    '%s ends an apply, keeps its state and leaves no process',
    async (how) => {
      const seconds = 1000 + Math.floor(Math.random() * 8000);
      const planned = await plan({ files: slow(seconds) });
      const under = await doing({ planFile: planned.result.planFile as Uint8Array });
      const applying = executeApply(executor, under);
      await started(under.text);
      expect(processesWith(`sleep ${seconds}`)).not.toEqual([]);
      // OpenTofu writes the state of an apply every twenty seconds and when it is interrupted, not with each resource.
      const written = how === 'interrupt' || executor.binaries[0]?.product === 'Terraform';
      if (how === 'kill' && written) await until(() => under.saved.length > 0, under.text);
      if (how === 'interrupt') under.stopping.interrupt('canceled');
      else under.stopping.kill('force-canceled');
      const result = await applying;
      expect(result.outcome).toBe('canceled');
      const { resources } = JSON.parse(Buffer.from(result.state ?? '{}').toString());
      if (written) expect(resources).toContainEqual(expect.objectContaining({ name: 'first' }));
      expect(processesWith(`sleep ${seconds}`)).toEqual([]);
      expect(readdirSync(executor.scratch.root)).toEqual([]);
    },
    600_000,
  );

  it('stops a run whose log is too large', async () => {
    const files = {
      'main.tf': `resource "terraform_data" "loud" {
        provisioner "local-exec" { command = "yes | head -c 50000000" }
      }`,
    };
    const planned = await plan({ files });
    const under = await doing({ planFile: planned.result.planFile as Uint8Array, logLimit: 100_000 });
    const result = await executeApply(executor, under);
    expect(result).toMatchObject({ outcome: 'errored', errorMessage: 'the log exceeded its size limit' });
    expect(under.text().length).toBeLessThan(101_000);
    expect(under.text()).toContain('reached its limit');
  }, 600_000);

  it.each([
    [
      'memory',
      'head -c 2000000000 /dev/zero | tail -c 1500000000 > /dev/null',
      'a process of the run exceeded the memory limit of 1024 MiB',
    ],
    ['disk', 'head -c 80000000 /dev/zero > large; sleep 1000', 'the run exceeded its disk space limit'],
  ])(
    'ends a run that uses too much %s, says why, and keeps its state',
    async (_what, command, why) => {
      const files = {
        'main.tf': `resource "terraform_data" "first" {}
        resource "terraform_data" "greedy" {
          depends_on = [terraform_data.first]
          provisioner "local-exec" { command = "${command}" }
        }`,
      };
      const { result, under } = await apply({ files });
      expect(result).toMatchObject({ outcome: 'errored', errorMessage: why });
      expect(under.text()).toContain(`Stopped: ${why}.`);
      expect(JSON.parse(Buffer.from(result.state!).toString()).resources).toContainEqual(
        expect.objectContaining({ name: 'first' }),
      );
      expect(readdirSync(executor.scratch.root)).toEqual([]);
    },
    120_000,
  );

  it('replaces the backend even if the archive contains an override, a state and a data folder', async () => {
    const files = {
      'main.tf': `${cloud} output "x" { value = 1 }`,
      'zzzz_remote_run_override.tf': 'terraform { backend "http" { address = "http://127.0.0.1:1" } }',
      'terraform.tfstate': '{ "version": 4, "serial": 9, "lineage": "foreign", "outputs": {}, "resources": [] }',
      '.terraform/environment': 'elsewhere',
      '.terraform/terraform.tfstate': '{"version":3,"backend":{"type":"http","config":{},"hash":1}}',
    };
    const { result, under } = await plan({
      files,
      environment: { TF_WORKSPACE: 'other', TF_CLOUD_ORGANIZATION: 'o' },
    });
    expect(under.text()).toContain('+ x = 1');
    expect(result.outcome).toBe('planned');
  }, 600_000);

  it.each([
    ['TF_CLI_ARGS', '-var-file=prod.tfvars'],
    ['TF_CLI_ARGS_show', '-bogus'],
    ['TF_CLI_ARGS_providers', '-bogus'],
    ['TF_CLI_ARGS_providers_schema', '-bogus'],
    ['TF_LOG', 'TRACE'],
    ['PATH', '/nowhere'],
    ['TAR_OPTIONS', '--bogus'],
    ['POSIXLY_CORRECT', '1'],
    ['LD_PRELOAD', '/nowhere/it.so'],
    ['LD_LIBRARY_PATH', '/nowhere'],
    ['HOME', '/nowhere'],
  ])('keeps %s from the commands of the service', async (name, value) => {
    const files = {
      'main.tf': `variable "x" { default = 1 }
        resource "terraform_data" "stone" { input = "stone" }
        output "x" { value = var.x }`,
      'prod.tfvars': 'x = 2',
    };
    const { result, under } = await plan({ files, environment: { [name]: value } });
    expect([result.outcome, under.text()]).toEqual(['planned', expect.stringContaining('Plan: 1 to add')]);
    expect(result).toMatchObject({ additions: 1, planFile: expect.anything() });
    expect(String(result.redactedJsonPlan)).toContain('terraform_data');
    const { TF_CLI_ARGS: _, ...rest } = { [name]: value } as Record<string, string>;
    const done = await doing({ planFile: result.planFile as Uint8Array, environment: rest });
    expect((await executeApply(executor, done)).outcome).toBe('applied');
  });

  it.each([
    [
      'terraform.tfstate',
      '{ "version": 4, "serial": 9, "lineage": "foreign", "outputs": { "x": { "value": 2, "type": "number" } }, "resources": [] }',
    ],
    ['terraform.tfstate', 'no state'],
    ['terraform.tfstate.backup', 'no state'],
    [
      'terraform.tfstate.d/stones/terraform.tfstate',
      '{ "version": 4, "serial": 9, "lineage": "foreign", "outputs": {}, "resources": [] }',
    ],
    ['terraform.tfstate.d/dev/terraform.tfstate', 'no state'],
    ['errored.tfstate', '{ "version": 4, "serial": 9, "lineage": "foreign", "outputs": {}, "resources": [] }'],
    ['.terraform/terraform.tfstate', 'no state'],
  ])('ignores %s in a configuration, and reports it', async (name, content) => {
    const sibling = name.replace('terraform', 'other');
    const files = {
      'net/main.tf': `${cloud}
        resource "terraform_data" "stone" { input = fileexists("${sibling}") }`,
      [`net/${name}`]: content,
      [`net/${sibling}`]: content,
      [name]: content,
    };
    const asked = { files, job: { workingDirectory: 'net' } };
    const planned = await plan(asked);
    expect([planned.result.outcome, planned.under.text()]).toEqual([
      'planned',
      expect.stringContaining('Plan: 1 to add'),
    ]);
    const named = /^Left out of this run, because the service keeps the state: (.*)$/m.exec(planned.under.text())?.[1];
    expect(named).toBe(name.startsWith('.terraform/') ? undefined : `net/${name.split('/')[0]}`);
    const done = await doing({ job: asked.job, planFile: planned.result.planFile as Uint8Array });
    const applied = await executeApply(executor, done);
    expect(applied).toMatchObject({ outcome: 'applied', erroredState: undefined });
    expect(String(applied.state)).not.toContain('foreign');
    expect(done.text()).not.toContain('Left out');
  });

  // The core of the isolation: a configuration that looks for everything it must not find.
  itApart(
    'gives the tool no access to keys, to other jobs or to the worker',
    async () => {
      const outside = mkdtempSync(path.join(tmpdir(), 'outside-'));
      const secret = path.join(outside, 'first-run.json');
      writeFileSync(secret, 'first-run-secret', { mode: 0o600 });
      const seconds = 1000 + Math.floor(Math.random() * 8000);
      const other = await doing({
        planFile: (await plan({ files: slow(seconds) })).result.planFile as Uint8Array,
        job: { runId: 'run-neighbour' },
        environment: { NEIGHBOUR: 'first-run-secret' },
      });
      const running = executeApply(executor, other);
      await started(other.text);
      const box = path.join(executor.scratch.root, 'run-neighbour', 'box');
      expect(existsSync(path.join(box, 'environment.sh'))).toBe(true);
      const look = `
      echo "who $(id -u)"
      try() { if "$@" 2>/dev/null | grep -a -q 'first-run-secret\\|KEYSTEAD_SECRET'; then echo "BROKEN $*"; else echo "kept $1"; fi; }
      try cat ${secret}
      try cat /proc/${process.pid}/environ
      try cat /proc/1/environ
      try cat ${box}/environment.sh
      try ls ${box}
      for p in /proc/[0-9]*; do [ "$(readlink $p/exe 2>/dev/null)" ] && try cat $p/environ; done
      kill -0 ${process.pid} 2>/dev/null && echo "BROKEN kill"
      for p in ${processesWith(`sleep ${seconds}`).join(' ')}; do kill -0 $p 2>/dev/null && echo "BROKEN kill neighbour"; done
      (echo x > ${outside}/written) 2>/dev/null && echo "BROKEN write"
      ls /proc/self/fd | tr '\\n' ' '
      echo looked`;
      process.env.KEYSTEAD_SECRET = 'KEYSTEAD_SECRET';
      const files = {
        'look.sh': look,
        'main.tf': `
        output "read" { value = try(file("${secret}"), "kept") }
        output "template" { value = try(templatefile("${secret}", {}), "kept") }
        output "environ" { value = try(fileexists("/proc/${process.pid}/environ") && strcontains(file("/proc/${process.pid}/environ"), "PATH") ? "BROKEN" : "kept", "kept") }
        resource "terraform_data" "look" {
          provisioner "local-exec" { command = "sh ./look.sh" }
        }`,
      };
      try {
        const { under, result } = await apply({ files });
        expect(under.text()).toContain('looked');
        expect(under.text()).not.toMatch(/BROKEN|first-run-secret/);
        expect(result.outcome).toBe('applied');
        const { outputs } = JSON.parse(Buffer.from(result.state!).toString());
        expect(outputs).toMatchObject({
          read: { value: 'kept' },
          template: { value: 'kept' },
          environ: { value: 'kept' },
        });
      } finally {
        delete process.env.KEYSTEAD_SECRET;
        other.stopping.kill('force-canceled');
        await running;
        rmSync(outside, { recursive: true, force: true });
      }
    },
    600_000,
  );

  // Connections of a real run to a real database: at every address of this machine, and at its socket.
  itApart(
    'lets the tool connect to nothing it must not reach',
    async () => {
      const folder = mkdtempSync(path.join(tmpdir(), 'database-'));
      const postgres = await startEmbedded({
        dataDir: path.join(folder, 'postgres'),
        settings: { listen_addresses: '*', unix_socket_directories: path.join(folder, 'postgres'), fsync: 'off' },
      });
      // The addresses that a run may reach prove that it would have reached the others.
      const open = createServer((connection) => connection.end()).listen(0, '127.0.0.1');
      await once(open, 'listening');
      const uids = { first: testUids.firstUid, last: testUids.firstUid + testUids.slots - 1 };
      const { port } = postgres;
      const place = { port, addresses: ['127.0.0.1'], local: true };
      const noUid = 'runs have no separate user id';
      const databaseOpen = executor.isolation.ownUid ? await blockDatabase(uids, place) : noUid;
      const metadataOpen = executor.isolation.ownUid ? await blockCloudEndpoints(uids) : noUid;
      for (const [what, why] of Object.entries({ database: databaseOpen, metadata: metadataOpen })) {
        if (why) process.stderr.write(`not closed here: ${what} with ${kind}: ${why}\n`);
      }
      const targets = {
        control: { port: (open.address() as AddressInfo).port, host: '127.0.0.1' },
        socket: { path: path.join(folder, 'postgres', `.s.PGSQL.${port}`) },
        ...Object.fromEntries(ownAddresses().map((host) => [`database ${host}`, { port, host }])),
        ...Object.fromEntries(cloudEndpointHosts().map((host) => [`metadata ${host}`, { port: 80, host }])),
      };
      const files = {
        'knock.cjs': knockScript,
        'main.tf': `resource "terraform_data" "knock" {
        provisioner "local-exec" {
          command = "${process.execPath} knock.cjs"
          environment = { TARGETS = ${JSON.stringify(JSON.stringify(targets))} }
        }
      }`,
      };
      try {
        const { under, result } = await apply({ files });
        expect(result.outcome).toBe('applied');
        const answers: Record<string, string> = JSON.parse(/knocked (\{.*\})/.exec(under.text())?.[1] ?? '{}');
        expect(Object.keys(answers).sort()).toEqual(Object.keys(targets).sort());
        expect(answers.control).toBe('open');
        expect(answers.socket).toMatch(/^(ENOENT|EACCES)$/);
        for (const [name, answer] of Object.entries(answers)) {
          if (name.startsWith('database') && !databaseOpen) expect([name, answer]).toEqual([name, closed]);
          // Refused by this machine; for an unused address, the errors of networks differ.
          if (name.startsWith('metadata') && !metadataOpen) expect([name, answer]).toEqual([name, 'EACCES']);
        }
        if (databaseOpen) expect(answers['database 127.0.0.1']).toBe('open');
      } finally {
        await postgres.stop({ immediate: true });
        open.close();
        unblock(uids, place);
        rmSync(folder, { recursive: true, force: true });
      }
    },
    600_000,
  );

  it('does not follow links that a run put in place of its state', async () => {
    const secret = path.join(mkdtempSync(path.join(tmpdir(), 'outside-')), 'secret.json');
    writeFileSync(secret, '{"first-run-secret":1}', { mode: 0o600 });
    const files = {
      'main.tf': `resource "terraform_data" "swap" {
        provisioner "local-exec" {
          command = "ln -s ${secret} errored.tfstate; echo swapped"
        }
      }`,
    };
    const { result } = await apply({ files });
    expect(result.outcome).toBe('errored');
    expect(JSON.stringify({ ...result, state: String(result.state) })).not.toContain('first-run-secret');
  }, 600_000);
});

const closed = expect.stringMatching(/^E/);

// Prints the result of connecting to each target.
const knockScript = `
const net = require('node:net');
const targets = Object.entries(JSON.parse(process.env.TARGETS));
Promise.all(targets.map(([name, target]) => new Promise((resolve) => {
  const socket = net.connect(target);
  const end = (answer) => { socket.destroy(); resolve([name, answer]); };
  socket.setTimeout(20000, () => end('silence'));
  socket.once('connect', () => end('open'));
  socket.once('error', (error) => end(error.code));
}))).then((answers) => console.log('knocked ' + JSON.stringify(Object.fromEntries(answers))));
`;
