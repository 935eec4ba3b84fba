import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';

const folder = realpathSync(mkdtempSync(join(tmpdir(), 'keystead-output-')));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

describe('opening standard output', () => {
  // If this failed, a service whose output is a pipe would not start on Node 22, because its packages are behind
  // symbolic links.
  it('as a pipe does not break modules behind symbolic links', () => {
    mkdirSync(join(folder, 'real'));
    writeFileSync(join(folder, 'real/module.js'), 'module.exports = __filename;');
    writeFileSync(join(folder, 'before.js'), '');
    symlinkSync(join(folder, 'real'), join(folder, 'link'));
    const script = `
      const { standardOutputDescriptor } = require(${JSON.stringify(join(__dirname, 'line-writer.ts'))});
      require(${JSON.stringify(join(folder, 'before.js'))});
      standardOutputDescriptor();
      process.stdout.write(require(${JSON.stringify(join(folder, 'link/module.js'))}));`;
    const child = spawnSync(process.execPath, ['--require', require.resolve('tsx/cjs'), '--eval', script]);
    expect([child.stdout.toString(), child.status]).toEqual([join(folder, 'real/module.js'), 0]);
  });
});
