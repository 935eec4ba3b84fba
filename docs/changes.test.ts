import { execFileSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';
import { version as secretsVersion } from '../apps/secrets/src/service/version';
import { version as workspacesVersion } from '../apps/workspaces/src/kernel/installation/version';

const root = join(__dirname, '..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const form =
  /^kind: (added|changed|removed|fixed|security)\nservice: (both|secrets|workspaces|command line|packaging)\n\n\S/;
const versionOf = (file: string): string => (JSON.parse(read(file)) as { version: string }).version;
const kinds = ['Added', 'Changed', 'Deprecated', 'Removed', 'Fixed', 'Security'];

it('every change names its kind and its service, so that a release can add it to the changelog', () => {
  const changes = readdirSync(join(root, 'changes')).filter((name) => name.endsWith('.md') && name !== 'README.md');
  expect(changes.filter((name) => !form.test(read(`changes/${name}`)))).toEqual([]);
});

it('a release adds all changes to the changelog, with links that are valid there', () => {
  const folder = mkdtempSync(join(tmpdir(), 'keystead-changes-'));
  try {
    for (const name of ['changes', 'CHANGELOG.md']) cpSync(join(root, name), join(folder, name), { recursive: true });
    writeFileSync(join(folder, 'changes/one.md'), 'kind: added\nservice: both\n\nSee [a page](../docs/metrics.md).\n');
    execFileSync(process.execPath, [join(folder, 'changes/fold.mjs'), '99.0.0', '2099-01-01']);
    const [, newest] = readFileSync(join(folder, 'CHANGELOG.md'), 'utf8').split(/^## /m);
    expect(newest).toContain('- See [a page](docs/metrics.md).');
    expect(newest).not.toContain('](../');
    expect(readdirSync(join(folder, 'changes')).filter((name) => name.endsWith('.md'))).toEqual(['README.md']);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

it('every program and package has the version of the newest release in the changelog', () => {
  const [newest] = [...read('CHANGELOG.md').matchAll(/^## (\d+\.\d+\.\d+) - \d{4}-\d\d-\d\d$/gm)].map(([, one]) => one);
  const packages = execFileSync('git', ['ls-files', '*package.json'], { cwd: root, encoding: 'utf8' })
    .trim()
    .split('\n')
    .filter((file) => versionOf(file) !== undefined);
  const versions = packages.map((file) => [file, versionOf(file)]);
  expect(versions).toEqual(packages.map((file) => [file, newest]));
  expect([secretsVersion, workspacesVersion]).toEqual([newest, newest]);
});

it('releases in the changelog are listed newest first, with their kinds of changes in one order', () => {
  const [, ...releases] = read('CHANGELOG.md').split(/^## /m);
  const versions = releases.map((release) => release.split(' ')[0]!);
  const isNewer = (one: string, other: string) => one.localeCompare(other, 'en', { numeric: true }) > 0;
  expect(versions).toEqual([...versions].sort((one, other) => (isNewer(one, other) ? -1 : 1)));
  for (const release of releases) {
    const named = [...release.matchAll(/^### (.+)$/gm)].map(([, kind]) => kind!);
    expect(named).toEqual(kinds.filter((kind) => named.includes(kind)));
  }
});
