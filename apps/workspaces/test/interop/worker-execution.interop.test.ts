import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Binary } from '../../src/worker/binaries';
import { executeApply, executePlan } from '../../src/worker/execute';
import type { IsolationKind } from '../../src/worker/isolation';
import { blockMetadata, metadataAddresses } from '../../src/worker/network';
import { type Asked, doing, findTool, kindsHere, makeExecutor, processesWith, testUids } from '../worker-fixture';

let tool: Binary | undefined;
let kinds: IsolationKind[] = [];
beforeAll(async () => {
  tool = await findTool();
  kinds = await kindsHere();
  process.stderr.write(`isolation tested here: ${kinds.join(', ')}\n`);
});

const cloud = `terraform {
  cloud {
    hostname     = "workspaces.test"
    organization = "quarry"
    workspaces { name = "stones" }
  }
}
`;

// The real tool, in every way of isolation that this machine allows.
describe.each(['private-root', 'user-namespace', 'own-user', 'same-user'] as const)('the executor with %s', (kind) => {
  let executor: Awaited<ReturnType<typeof makeExecutor>>;
  beforeAll(async () => {
    if (tool) executor = await makeExecutor(kind, tool);
  });
  afterAll(() => executor?.remove());

  const skipped = (): boolean => {
    if (tool && kinds.includes(kind)) return false;
    process.stderr.write(`skipped: ${tool ? `${kind} does not work here` : 'neither terraform nor tofu is here'}\n`);
    return true;
  };
  const plan = async (asked: Asked) => {
    const under = await doing(asked);
    return { under, result: await executePlan(executor, under) };
  };
  const apply = async (asked: Asked) => {
    const planned = await plan(asked);
    expect(planned.under.text()).toContain('Terraform will perform');
    const under = await doing({ ...asked, files: {}, planFile: planned.result.planFile as Uint8Array });
    return { under, result: await executeApply(executor, under) };
  };

  it('plans, applies the plan elsewhere, and plans again from the state', async () => {
    if (skipped()) return;
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
  }, 120_000);

  it('works in the folder asked for, with environment, and says so when it is not there', async () => {
    if (skipped()) return;
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
  }, 120_000);

  it('ends in an error where the configuration does, and shows why', async () => {
    if (skipped()) return;
    const broken = await plan({ files: { 'main.tf': 'resource "x" {' } });
    expect(broken.result.outcome).toBe('errored');
    expect(broken.under.text()).toContain('Error: ');
    const failing = await plan({ files: { 'main.tf': 'output "x" { value = file("absent") }' } });
    expect(failing.result).toMatchObject({ outcome: 'errored', errorMessage: 'the plan failed' });
    expect(failing.under.text()).toContain('no file exists');
  }, 120_000);

  const slow = (seconds: number) => ({
    'main.tf': `resource "terraform_data" "first" {}
      resource "terraform_data" "slow" {
        depends_on = [terraform_data.first]
        provisioner "local-exec" { command = "echo keystead-slow; sleep ${seconds}" }
      }`,
  });
  const until = async (met: () => boolean, text: () => string) => {
    for (const giveUp = Date.now() + 60_000; !met(); await sleep(50)) {
      if (Date.now() > giveUp) throw new Error(text());
    }
  };
  const started = (text: () => string) => until(() => text().includes('keystead-slow'), text);

  it('brings the state back of an apply that failed', async () => {
    if (skipped()) return;
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
  }, 120_000);

  it.each(['interrupt', 'kill'] as const)(
    '%s ends an apply, keeps its state and leaves no process',
    async (how) => {
      if (skipped()) return;
      const seconds = 1000 + Math.floor(Math.random() * 8000);
      const planned = await plan({ files: slow(seconds) });
      const under = await doing({ planFile: planned.result.planFile as Uint8Array });
      const applying = executeApply(executor, under);
      await started(under.text);
      expect(processesWith(`sleep ${seconds}`)).not.toEqual([]);
      await until(() => under.saved.length > 0, under.text);
      if (how === 'interrupt') under.stopping.interrupt('canceled');
      else under.stopping.kill('force-canceled');
      const result = await applying;
      expect(result.outcome).toBe('canceled');
      expect(JSON.parse(Buffer.from(result.state!).toString()).resources).toContainEqual(
        expect.objectContaining({ name: 'first' }),
      );
      expect(processesWith(`sleep ${seconds}`)).toEqual([]);
      expect(readdirSync(executor.scratch.root)).toEqual([]);
    },
    120_000,
  );

  it('stops a run whose log is too large', async () => {
    if (skipped()) return;
    const files = {
      'main.tf': `resource "terraform_data" "loud" {
        provisioner "local-exec" { command = "yes | head -c 50000000" }
      }`,
    };
    const planned = await plan({ files });
    const under = await doing({ planFile: planned.result.planFile as Uint8Array, logLimit: 100_000 });
    const result = await executeApply(executor, under);
    expect(result).toMatchObject({ outcome: 'errored', errorMessage: 'the log is larger than it may be' });
    expect(under.text().length).toBeLessThan(101_000);
    expect(under.text()).toContain('reached its limit');
  }, 120_000);

  it('replaces the backend also where the archive brings an override, a state and a data folder of its own', async () => {
    if (skipped()) return;
    const files = {
      'main.tf': `${cloud} output "x" { value = 1 }`,
      'zzzz_remote_run_override.tf': 'terraform { backend "http" { address = "http://127.0.0.1:1" } }',
      'terraform.tfstate': '{ "version": 4, "serial": 9, "lineage": "foreign", "outputs": {}, "resources": [] }',
      '.terraform/environment': 'elsewhere',
      '.terraform/terraform.tfstate': '{"version":3,"backend":{"type":"http","config":{},"hash":1}}',
    };
    const { result, under } = await plan({ files, environment: { TF_WORKSPACE: 'other', TF_CLOUD_ORGANIZATION: 'o' } });
    expect(under.text()).toContain('+ x = 1');
    expect(result.outcome).toBe('planned');
  }, 120_000);

  // The heart of the isolation: a configuration that looks for everything it must not find.
  it('gives the tool no way to keys, to other jobs, to the worker or to the metadata address', async () => {
    if (skipped() || kind === 'same-user') return;
    const outside = mkdtempSync(path.join(tmpdir(), 'outside-'));
    const secret = path.join(outside, 'first-run.json');
    writeFileSync(secret, 'first-run-secret', { mode: 0o600 });
    const socket = createServer((connection) => connection.end('first-run-secret')).listen(
      path.join(outside, 's.PGSQL.5432'),
    );
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
    const uids = { first: testUids.firstUid, last: testUids.firstUid + testUids.slots - 1 };
    const unblocked = executor.isolation.ownUid ? await blockMetadata(uids) : 'jobs have no uid of their own';
    if (unblocked) process.stderr.write(`skipped: metadata address with ${kind}: ${unblocked}\n`);
    const connect = `timeout 5 bash -c 'exec 3<>/dev/tcp/169.254.169.254/80' 2>&1`;
    const metadata = unblocked ? '' : `${connect} | grep -q denied && echo "no metadata" || echo "BROKEN metadata"`;
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
      [ -w ${outside}/s.PGSQL.5432 ] && echo "BROKEN socket"
      ${metadata}
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
      if (!unblocked) expect(under.text()).toContain('no metadata');
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
      socket.close();
      unblock(uids);
      rmSync(outside, { recursive: true, force: true });
    }
  }, 120_000);

  it('reads back nothing that a run put in the place of its state', async () => {
    if (skipped()) return;
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
  }, 120_000);
});

function unblock({ first, last }: { first: number; last: number }): void {
  for (const address of metadataAddresses) {
    const rule = ['to', address, 'ipproto', 'tcp', 'uidrange', `${first}-${last}`, 'prohibit'];
    spawnSync('ip', [address.includes(':') ? '-6' : '-4', 'rule', 'del', ...rule]);
  }
}
