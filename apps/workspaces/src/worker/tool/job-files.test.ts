import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { environmentText, replaceModuleVersions } from './job-files';

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

describe('the versions of modules that a plan tries', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'versions-'));
  const at = (...names: string[]) => path.join(folder, ...names);
  mkdirSync(at('config/net/local'), { recursive: true });
  mkdirSync(at('config/net/.terraform/modules/other'), { recursive: true });
  mkdirSync(at('outside'));
  symlinkSync(at('outside'), at('config/net/link'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const source = 'example.com:8443/acme/net/crane';
  const call = (key: string, more: object = {}) => ({ key, source: '', version: '', folder: '.', ...more });
  const replace = (calls: ReturnType<typeof call>[]) =>
    replaceModuleVersions({ folder, owner: undefined }, 'config/net', calls, [{ source, version: '2.0.0' }]);
  const file = 'zzzz_module_versions_override.tf';

  it('are in an override file of each folder of the configuration that calls the module', async () => {
    const changed = await replace([
      call(''),
      call('one', { source }),
      call('two', { source: source.toUpperCase() }),
      call('other', { source: 'example.com/acme/other/crane' }),
      call('local', { source: './local', folder: 'local' }),
      call('local.three', { source }),
    ]);
    expect(changed).toEqual(['one', 'two', 'local.three']);
    const block = (name: string) => `module "${name}" {\n  version = "2.0.0"\n}\n`;
    expect(readFileSync(at('config/net', file), 'utf8')).toBe(block('one') + block('two'));
    expect(readFileSync(at('config/net/local', file), 'utf8')).toBe(block('three'));
  });

  it.each([
    ['../../outside', 'up'],
    ['link', 'over a link'],
    ['.terraform/modules/other', 'into an installed module'],
    ['/etc', 'anywhere'],
    ['none', 'nowhere'],
  ])('are never written to %s, %s', async (to) => {
    const calls = [call('odd', { source: './odd', folder: to }), call('odd.one', { source })];
    expect(await replace(calls)).toEqual([]);
    expect([at('outside', file), at('config/net', to, file)].filter((one) => existsSync(one))).toEqual([]);
  });

  it('contain no call whose name is not an identifier', async () => {
    expect(await replace([call('a" {} b "', { source })])).toEqual([]);
  });
});
