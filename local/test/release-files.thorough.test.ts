import { execFileSync, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';

const root = path.resolve(__dirname, '../..');
const { version } = JSON.parse(readFileSync(path.join(root, 'package.json'), 'utf8')) as { version: string };

describe('the files of a release', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'release-files-'));
  const into = path.join(folder, 'release');
  const make = (...given: string[]) =>
    spawnSync(process.execPath, [path.join(root, 'local/release-files.mjs'), ...given], { encoding: 'utf8' });
  beforeAll(() => {
    expect(make('--into', into)).toMatchObject({ status: 0 });
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it('are listed with their digests', () => {
    const sums = readFileSync(path.join(into, 'SHA256SUMS'), 'utf8').trimEnd().split('\n');
    expect(sums.map((line) => line.slice(66))).toEqual([`keystead-npm-${version}.tgz`, 'keystead.cjs']);
    for (const line of sums) {
      const bytes = readFileSync(path.join(into, line.slice(66)));
      expect(createHash('sha256').update(bytes).digest('hex')).toBe(line.slice(0, 64));
    }
  });

  it('need nothing except Node', () => {
    execFileSync('tar', ['--extract', '--file', path.join(into, `keystead-npm-${version}.tgz`), '--directory', folder]);
    const about = JSON.parse(readFileSync(path.join(folder, 'package/package.json'), 'utf8'));
    expect(about).toMatchObject({ name: 'keystead', version, bin: { keystead: 'keystead.cjs' } });
    for (const file of [path.join(into, 'keystead.cjs'), path.join(folder, 'package', about.bin.keystead)]) {
      expect(execFileSync(file, ['--version'], { cwd: folder, encoding: 'utf8' })).toContain(version);
    }
  });

  it('are refused under the tag of another version, and in a folder that is not empty', () => {
    const other = make('--into', path.join(folder, 'other'), '--tag', 'v99.0.0');
    expect([other.status, other.stderr]).toEqual([
      1,
      expect.stringContaining(`package.json says ${version}, the tag says 99.0.0`),
    ]);
    const again = make('--into', into);
    expect([again.status, again.stderr]).toEqual([1, expect.stringContaining('is not empty')]);
  });
});
