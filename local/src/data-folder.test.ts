import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { birthOf } from './birth';
import { lockDataFolder } from './data-folder';

let dataDir: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  dataDir = mkdtempSync(path.join(tmpdir(), 'keystead-folder-'));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(dataDir, { recursive: true, force: true });
});

const lockFile = () => path.join(dataDir, 'running.pid');

/** Runs a shell command and resolves with the process and the first number that it prints. */
function run(command: string) {
  const child = spawn('/bin/sh', ['-c', command], { stdio: ['pipe', 'pipe', 'inherit'] });
  children.push(child);
  const said = new Promise<number>((resolve) => child.stdout.once('data', (text) => resolve(Number(text))));
  return said.then((number) => ({ child, number }));
}

async function until(done: () => boolean): Promise<void> {
  while (!done()) await new Promise((resolve) => setTimeout(resolve, 5));
}

describe('the lock of a data folder', () => {
  it('is refused while its holder lives, and taken over when it was killed', () => {
    const first = lockDataFolder(dataDir);
    expect(() => lockDataFolder(dataDir)).toThrow(`${dataDir} is in use by process ${process.pid}: stop it`);
    first.release();
    writeFileSync(lockFile(), '4194304 1\n');
    lockDataFolder(dataDir).release();
    writeFileSync(lockFile(), `${process.pid} 1\n`);
    lockDataFolder(dataDir).release();
    writeFileSync(lockFile(), '');
    lockDataFolder(dataDir).release();
  });

  const onLinux = process.platform === 'linux' ? it : it.skip;
  onLinux('is taken over from a killed process that was not reaped', async () => {
    // A shell that becomes a program which never reaps its children; only then may its child end.
    const { child, number: zombie } = await run('exec 3<&0; cat <&3 & echo $!; exec sleep 1000 3<&-');
    await until(() => readFileSync(`/proc/${child.pid}/comm`, 'utf8') === 'sleep\n');
    child.stdin.end();
    const stat = () => readFileSync(`/proc/${zombie}/stat`, 'utf8');
    await until(() => / Z /.test(stat()));
    writeFileSync(lockFile(), `${zombie} ${stat().split(' ')[21]}\n`);
    lockDataFolder(dataDir).release();
  });

  it('makes a new start wait for processes that a killed one left running, and kills them if they do not end', async () => {
    const { number: stubborn } = await run('trap "" TERM; echo $$; while true; do sleep 0.05; done');
    writeFileSync(lockFile(), `4194304 1\n${stubborn} ${birthOf(stubborn)}\n${process.pid} 1\n`);
    const second = lockDataFolder(dataDir);
    expect(readFileSync(lockFile(), 'utf8')).toBe(
      `${process.pid} ${birthOf(process.pid)}\n${stubborn} ${birthOf(stubborn)}\n`,
    );
    await second.leftOversEnd(0);
    expect(birthOf(stubborn)).toBeUndefined();
    second.release();
  });
});
