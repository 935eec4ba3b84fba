import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { expect, it } from '@jest/globals';

const root = join(__dirname, '../..');
const { scripts } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { scripts: { practice: string } };

it('`npm run practice` starts the outside systems of the guides, and prints the variables to set', async () => {
  const [program, ...args] = scripts.practice.split(' ');
  expect(program).toBe('node');
  const child = spawn(process.execPath, args, { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
  let complained = '';
  child.stderr.on('data', (piece) => {
    complained += piece;
  });
  const named: string[] = [];
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const name = /^ {2}export (\w+)='/.exec(line)?.[1];
      if (name) named.push(name);
      if (line.startsWith('Ctrl-C')) break;
    }
  } finally {
    child.kill();
    await once(child, 'exit');
  }
  expect(complained).toBe('');
  expect(named).toEqual(expect.arrayContaining(['SCHEDULER', 'LDAP', 'BUCKET', 'DATABASE', 'SECRETS_TRUSTED_PROXIES']));
});
