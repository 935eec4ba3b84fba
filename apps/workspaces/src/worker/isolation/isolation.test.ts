import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals';
import { isolationHere, kindsTried, processesWith, runScript, testUids } from '../../../test/worker-fixture';
import { readInside } from '../files/read-inside';
import type { Stopping } from './command';
import { type Isolation, type IsolationOptions, isolationKinds, isolationOf } from './isolation';
import { findConfinement } from './launcher';
import { makeScratch, sweepScratch, takeSlot } from './scratch';
import { findIsolation } from './trial';

const limits = { fileBytes: 1_000_000, processes: 500, openFiles: 200, memoryBytes: 512 * 1024 * 1024 };
const options = { network: 'host' as const, show: [], limits };
const kinds = kindsTried();

const ways = isolationKinds.flatMap((kind) => [
  { kind, launched: 'by steps' },
  { kind, launched: 'at once' },
]);

// Tests every kind of isolation that this machine supports, and skips the others.
describe.each(ways)('a command run with $kind, launched $launched', ({ kind, launched }) => {
  const it = kinds.includes(kind) ? test : test.skip;
  const itApart = kind === 'same-user' ? test.skip : it;
  const root = mkdtempSync(path.join(tmpdir(), 'isolation-'));
  const outside = mkdtempSync(path.join(tmpdir(), 'outside-'));
  const secret = path.join(outside, 'key');
  let settings: IsolationOptions = options;
  let isolation: Isolation;
  const scratch = { root, ...testUids };
  beforeAll(async () => {
    if (launched === 'at once') {
      const confinement = await findConfinement();
      if (typeof confinement === 'string') throw new Error(confinement);
      settings = { ...options, confinement };
    }
    isolation = isolationHere(kind, settings);
    await makeScratch(root);
    writeFileSync(secret, 'the-key', { mode: 0o600 });
  });
  afterAll(() => {
    for (const folder of [root, outside]) rmSync(folder, { recursive: true, force: true });
  });
  type During = (stopping: Stopping, text: () => string) => Promise<void>;
  const run = (script: string, { by = isolation, during }: { by?: Isolation; during?: During } = {}) =>
    runScript(by, scratch, script, during);

  it('works in its folder, with its own environment, no input and no open files', async () => {
    const { code, text } = await run(
      'echo x > ../tmp/y && cat ../tmp/y; read line || echo no input; env; ls -l /proc/self/fd',
    );
    expect(code).toBe(0);
    expect(text).toContain('x\nno input');
    expect(text).not.toContain(`HOME=${process.env.HOME}`);
    const open = [...text.matchAll(/ -> (\S+)/g)]
      .map(([, to = '']) => to)
      .filter((to) => !/^(\/dev\/null|\/proc\/)/.test(to));
    // The output of the command, and its error messages.
    expect(new Set(open).size).toBeLessThanOrEqual(2);
  });

  itApart('reaches no key, no process of ours and no file system to write to', async () => {
    const script = `
      cat ${secret} /proc/${process.pid}/environ
      echo x > ${outside}/written
      kill -0 ${process.pid} && echo reached
      id -u; grep CapEff /proc/self/status; grep NoNewPrivs /proc/self/status; echo done`;
    const { text } = await run(script);
    expect(text).toContain('done');
    expect(text).not.toMatch(/the-key|PATH=|reached/);
    expect(text).toMatch(/CapEff:\s+0000000000000000/);
    expect(text).toMatch(/NoNewPrivs:\s+1/);
    expect(existsSync(path.join(outside, 'written'))).toBe(false);
  });

  it('kills all its child processes at its end, even those that left its group', async () => {
    const seconds = 10_000 + Math.floor(Math.random() * 80_000);
    const away = kind === 'same-user' ? '' : 'setsid ';
    await run(`${away}sleep ${seconds} & sleep 0.2`);
    while (processesWith(`sleep ${seconds}`).length > 0) await sleep(50);
  });

  it('can be interrupted, and killed if it does not react', async () => {
    const until = async (text: () => string) => {
      while (!text().includes('ready')) await sleep(20);
    };
    const loop = 'echo ready; while :; do sleep 0.1; done';
    const polite = await run(`trap 'echo bye; exit 7' INT; ${loop}`, {
      async during(stopping, text) {
        await until(text);
        stopping.interrupt('canceled');
      },
    });
    expect(polite).toMatchObject({ code: 7 });
    expect(polite.text).toContain('bye');
    const deaf = await run(`trap '' INT; ${loop}`, {
      async during(stopping, text) {
        await until(text);
        stopping.interrupt('canceled');
        await sleep(300);
        stopping.kill('force-canceled');
      },
    });
    expect(deaf.code).not.toBe(0);
  });

  itApart('has no privileges, and gains none from a setuid program', async () => {
    // A setuid-root program, mounted into private roots.
    const folder = mkdtempSync('/var/tmp/given-');
    const given = path.join(folder, 'whoami');
    copyFileSync(realpathSync('/usr/bin/id'), given);
    chmodSync(given, 0o4755);
    chmodSync(folder, 0o755);
    const showing = isolationHere(kind, { ...settings, show: [folder] });
    const { text } = await run(`${given} -u; id -u; cat /proc/self/status; unshare --mount true; mount; echo done`, {
      by: showing,
    });
    rmSync(folder, { recursive: true });
    const [first, second] = text.split('\n');
    expect(first).toBe(second);
    if (kind !== 'user-namespace') expect(Number(first)).toBeGreaterThanOrEqual(testUids.firstUid);
    for (const set of ['Inh', 'Prm', 'Eff', 'Bnd', 'Amb']) expect(text).toMatch(new RegExp(`Cap${set}:\\s+0{16}\\n`));
    expect(text).toMatch(/NoNewPrivs:\s+1/);
    expect(text).toContain('Operation not permitted');
    expect(text).toContain('done');
  });

  it('has limits for its memory, its open files and, with a separate user id, its processes', async () => {
    const { text } = await run('cat /proc/self/limits; head -c 1000000000 /dev/zero | tail -c 900000000 | wc -c');
    const soft = (name: string) => Number(new RegExp(`^Max ${name} +(\\d+) `, 'm').exec(text)?.[1]);
    expect(soft('open files')).toBe(limits.openFiles);
    expect(soft('data size')).toBe(limits.memoryBytes);
    expect(soft('file size')).toBe(limits.fileBytes);
    if (isolation.ownUid) expect(soft('processes')).toBe(limits.processes);
    // A program that keeps 900 MB in memory was not stopped.
    expect(text).not.toContain('\n900000000\n');
    expect(text).toContain('\n0\n');
  });

  it('is killed before the worker if the machine runs out of memory', async () => {
    expect((await run('cat /proc/self/oom_score_adj')).text).toBe('500\n');
  });

  it('cannot write files above the limit', async () => {
    const { text } = await run('head -c 2000000 /dev/zero > big; wc -c < big');
    // The shell's message about the limit may come before the count or after it.
    const count = text.split('\n').find((line) => /^\s*\d+\s*$/.test(line));
    expect(Number(count)).toBeLessThanOrEqual(1_000_000);
  });

  it('cannot make the worker read a file through a link, a linked folder, or a pipe', async () => {
    const slot = await takeSlot(scratch, isolation, 'run-y');
    const { folder, owner } = slot.jobFolder;
    const read = (name: string) => readInside(folder, name, { limit: 100, uid: owner?.uid });
    try {
      symlinkSync(secret, path.join(folder, 'state', 'link'));
      symlinkSync(outside, path.join(folder, 'state', 'folder'));
      writeFileSync(path.join(folder, 'state', 'large'), 'x'.repeat(101));
      await expect(read('state/link')).rejects.toThrow('is a link');
      await expect(read('state/folder/key')).rejects.toThrow('is a link');
      await expect(read('state')).rejects.toThrow('not a plain file');
      await expect(read('state/large')).rejects.toThrow(owner ? 'not a plain file' : 'larger than');
      expect(await read('state/absent')).toBeUndefined();
    } finally {
      await slot.release();
    }
  });
});

describe('the choice of isolation', () => {
  test('rejects every way that lets a job read a key, with the reason', async () => {
    const scratch = mkdtempSync(path.join(tmpdir(), 'choice-'));
    try {
      await makeScratch(scratch);
      // World-readable files that every private root shows.
      const secrets = ['/etc/hosts'];
      const owner = { uid: testUids.firstUid, gid: testUids.firstUid };
      const trial = { options, scratch, owner, secrets };
      const found = await findIsolation({ ...trial, trustSameUser: false });
      expect(found.isolation).toBeUndefined();
      expect(found.missing.length).toBeGreaterThan(0);
      expect((await findIsolation({ ...trial, trustSameUser: true })).isolation?.kind).toBe('same-user');
      const offline = { ...trial, options: { ...options, network: 'none' as const } };
      expect((await findIsolation({ ...offline, trustSameUser: true })).isolation).toBeUndefined();
      expect(readdirSync(scratch)).toEqual([]);
    } finally {
      rmSync(scratch, { recursive: true });
    }
  });
});

describe('the folder of runs', () => {
  test('is cleaned of the remains of dead workers, not of live ones', async () => {
    const root = mkdtempSync(path.join(tmpdir(), 'sweep-'));
    try {
      await makeScratch(root);
      const scratch = { root, ...testUids };
      const isolation = isolationOf('same-user', options);
      const alive = await takeSlot(scratch, isolation, 'run-alive');
      mkdirSync(path.join(root, 'run-dead'));
      const holder = {
        pid: 2 ** 30,
        start: '1',
        folder: path.join(root, 'run-dead'),
        groups: [],
        note: { word: 'state' },
      };
      writeFileSync(path.join(root, 'slot-3'), JSON.stringify(holder));
      const refusing = await sweepScratch(scratch, isolation, () => Promise.reject(new Error('not yet')));
      expect(refusing).toEqual([]);
      const seen: unknown[] = [];
      const removed = await sweepScratch(scratch, isolation, async ({ note }) => void seen.push(note));
      expect(removed).toEqual([path.join(root, 'run-dead')]);
      expect(seen).toEqual([{ word: 'state' }]);
      expect(readdirSync(root).sort()).toEqual(['run-alive', 'slot-0']);
      await alive.release();
      expect(readdirSync(root)).toEqual([]);
    } finally {
      rmSync(root, { recursive: true });
    }
  });

  test('is refused when it belongs to another user', async () => {
    const root = mkdtempSync(path.join(tmpdir(), 'foreign-'));
    try {
      symlinkSync('/usr', path.join(root, 'link'));
      chmodSync(root, 0o711);
      await expect(makeScratch(path.join(root, 'link'))).rejects.toThrow('belongs to another user');
    } finally {
      rmSync(root, { recursive: true });
    }
  });
});
