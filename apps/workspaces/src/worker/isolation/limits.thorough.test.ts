import { existsSync, mkdtempSync, readFileSync, rmdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { kindsHere, testUids } from '../../../test/worker-fixture';
import { runCommand, Stopping } from './command';
import { isolationOf } from './isolation';
import { findControlGroups, watchDisk, whatWasExceeded } from './limits';
import { makeScratch, takeSlot } from './scratch';

const limits = { fileBytes: 1e9, processes: 60, openFiles: 1000, memoryBytes: 256 * 1024 * 1024 };
const share = { ...limits, cpus: 1 };
const options = { network: 'host' as const, show: [], limits };
const root = mkdtempSync(path.join(tmpdir(), 'limits-'));
const scratch = { root, ...testUids };
const strongest = kindsHere()[0]!;
const itUid = isolationOf(strongest, options).ownUid ? it : it.skip;
const itGrouped = mayMakeGroups() ? it : it.skip;
beforeAll(() => makeScratch(root));
afterAll(() => rmSync(root, { recursive: true, force: true }));

/** Runs a script like a run, and returns which limit it hit. */
async function greedy(
  groups: Exclude<Awaited<ReturnType<typeof findControlGroups>>, string> | undefined,
  script: string,
) {
  const isolation = isolationOf(strongest, { ...options, groups });
  const slot = await takeSlot(scratch, isolation, 'run-x');
  let text = '';
  const take = (bytes: Buffer) => {
    text += bytes;
  };
  try {
    const launch = isolation.launch(slot.jobFolder, '', { argv: ['/bin/sh', '-c', script], cwd: 'config' });
    const outlets = { stdout: take, stderr: take };
    const { code } = await runCommand(launch, {
      outlets,
      stopping: new Stopping(),
      endAll: isolation.endAll(slot.jobFolder),
    });
    return { code, text, why: await whatWasExceeded(limits, { groups, name: slot.name, tail: text }) };
  } finally {
    await slot.release();
  }
}

const hoard = 'head -c 600000000 /dev/zero | tail -c 500000000 | wc -c | grep -q 500000000';
const many = 'i=0; while [ $i -lt 100 ]; do sleep 100 & i=$((i + 1)); done';

describe('a run that exceeds its limit', () => {
  it('of memory ends with this reason', async () => {
    const { code, why } = await greedy(undefined, hoard);
    expect(code).not.toBe(0);
    expect(why).toBe('a process of the run exceeded the memory limit of 256 MiB');
  });

  itUid('of processes ends with this reason, where it has its own user id', async () => {
    const { code, why } = await greedy(undefined, many);
    expect(code).not.toBe(0);
    expect(why).toBe('the run exceeded the limit of 60 processes');
  });

  itGrouped('as a whole ends with this reason, although each process is within its limits', async () => {
    const groups = await findControlGroups(share);
    if (typeof groups === 'string') throw new Error(groups);
    // The first process keeps everything it read until the second has read everything.
    const two = 'head -c 190000000 /dev/zero | tail -c 180000000 | tail -c 170000000 | wc -c | grep -q 170000000';
    const hoarding = await greedy(groups, two);
    expect(hoarding.code).not.toBe(0);
    expect(hoarding.why).toBe('the run exceeded the memory limit of 256 MiB');
    const forking = await greedy(groups, many);
    expect(forking.why).toBe('the run exceeded the limit of 60 processes');
    const modest = await greedy(groups, 'head -c 1000000 /dev/zero | tail -c 1000000 | wc -c');
    expect(modest).toMatchObject({ code: 0, why: undefined });
    for (const file of groups.cgroupProcsFiles('run-x')) expect(existsSync(path.dirname(file))).toBe(false);
  });

  it('of disk space is stopped', async () => {
    const folder = mkdtempSync(path.join(root, 'disk-'));
    const stopping = new Stopping();
    const told = new Promise<boolean>((resolve) => stopping.listen(resolve));
    const watching = watchDisk(path.join(__dirname, '..'), { bytes: 1000, everyMs: 10, stopping, graceMs: 10 });
    expect(await told).toBe(false);
    expect(stopping.reason).toBe('disk');
    watching.stop();
    const other = new Stopping();
    const idle = watchDisk(folder, { bytes: 1e9, everyMs: 1, stopping: other, graceMs: 10 });
    await stopped(stopping);
    idle.stop();
    expect(other.reason).toBeUndefined();
  });
});

describe('control groups of the unified hierarchy', () => {
  it('get their limits, and report exceeded ones', async () => {
    const folder = mkdtempSync(path.join(root, 'hierarchy-'));
    writeFileSync(path.join(folder, 'cgroup.controllers'), 'cpuset cpu io memory pids\n');
    const groups = await findControlGroups(share, folder);
    if (typeof groups === 'string') throw new Error(groups);
    await groups.make('run-1');
    const group = path.join(folder, 'keystead-runs', 'run-1');
    const read = (file: string) => readFileSync(path.join(group, file), 'utf8');
    expect(readFileSync(path.join(folder, 'keystead-runs', 'cgroup.subtree_control'), 'utf8')).toBe(
      '+memory +pids +cpu',
    );
    expect([read('memory.max'), read('pids.max'), read('cpu.max')]).toEqual(['268435456', '60', '100000 100000']);
    expect(groups.cgroupProcsFiles('run-1')).toEqual([path.join(group, 'cgroup.procs')]);
    expect(await groups.exceeded('run-1')).toBeUndefined();
    writeFileSync(path.join(group, 'pids.events'), 'max 3\n');
    expect(await groups.exceeded('run-1')).toBe('processes');
    writeFileSync(path.join(group, 'memory.events'), 'low 0\nhigh 0\nmax 9\noom 1\noom_kill 1\noom_group_kill 0\n');
    expect(await groups.exceeded('run-1')).toBe('memory');
  });

  it('are not used if a controller is missing', async () => {
    const folder = mkdtempSync(path.join(root, 'hierarchy-'));
    writeFileSync(path.join(folder, 'cgroup.controllers'), 'cpu pids\n');
    expect(await findControlGroups(share, folder)).toContain('no controller for memory');
    expect(await findControlGroups(share, path.join(folder, 'absent'))).toBe('there are no control groups here');
  });
});

/** Whether groups can be created at the root of either hierarchy, by creating one. */
function mayMakeGroups(): boolean {
  const base = '/sys/fs/cgroup';
  try {
    const unified = existsSync(`${base}/cgroup.controllers`);
    if (unified && !/memory.*pids/.test(readFileSync(`${base}/cgroup.controllers`, 'utf8'))) return false;
    for (const folder of unified ? [base] : [`${base}/memory`, `${base}/pids`, `${base}/cpu`]) {
      rmdirSync(mkdtempSync(`${folder}/keystead-test-`));
    }
    return true;
  } catch {
    return false;
  }
}

/** Waits for the kill that follows an interrupt. */
async function stopped(stopping: Stopping): Promise<void> {
  while (!stopping.killed) await new Promise((resolve) => setTimeout(resolve, 10));
}
