import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from '@jest/globals';
import { fromSource } from './from-source';

it('a program runs from its sources in any folder, even if it imports modules later by their built names', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'keystead-source-'));
  try {
    writeFileSync(path.join(folder, 'package.json'), '{"type": "commonjs"}');
    writeFileSync(path.join(folder, 'late.ts'), 'export const said: string = "late";\n');
    writeFileSync(
      path.join(folder, 'main.ts'),
      'import("./late.js").then(({ said }) => console.log(said as string));\n',
    );
    const { stdout, stderr } = spawnSync(process.execPath, [...fromSource, 'main.ts'], {
      cwd: folder,
      encoding: 'utf8',
    });
    expect({ stdout, stderr }).toEqual({ stdout: 'late\n', stderr: '' });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
