import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { environmentText } from './job-files';

// Variables of users with names that shells reserve.
const names =
  'UID EUID PPID BASHOPTS SHELLOPTS BASH_VERSINFO OPTIND OPTARG HISTCMD LINENO RANDOM SRANDOM SECONDS EPOCHSECONDS IFS PS4 ENV BASH_ENV PWD OLDPWD _ GROUPS FUNCNAME DIRSTACK BASHPID MAIL MAILPATH HISTSIZE LC_ALL';
const shells = [
  ['/bin/sh', []],
  ['/bin/bash', ['--posix']],
] as const;

describe('the environment of a run', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'environment-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const cases = shells
    .filter(([shell]) => spawnSync(shell, ['-c', ':']).status === 0)
    .flatMap(([shell, options]) => names.split(' ').map((name) => [name, shell, options] as const));

  it.each(cases)('survives %s as a variable, with the shell %s', (name, shell, options) => {
    const file = path.join(folder, 'environment.sh');
    writeFileSync(file, environmentText({ [name]: "it's $(echo) a value", AFTER: 'still here' }));
    const script = '. "$1"; shift; exec "$@"';
    const argv = [...options, '-c', script, 'sh', file, '/usr/bin/printenv', 'AFTER'];
    const { stdout, status } = spawnSync(shell, argv, { encoding: 'utf8' });
    expect([status, stdout]).toEqual([0, 'still here\n']);
  });
});
