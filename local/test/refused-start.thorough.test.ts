import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { freePort, freshDatabase, fromSource } from '@keystead/testing';

const root = path.resolve(__dirname, '../..');
const key = (byte: string) => byte.repeat(32);

/**
 * A service started directly from its sources; returns its exit code and its last line, or stops it once it listens.
 */
async function start(name: 'secrets' | 'workspaces', command: string[], settings: Record<string, string>) {
  const prefix = name.toUpperCase();
  const program = path.join(root, `apps/${name}/src/main.ts`);
  const given = Object.entries(settings).map(([setting, value]) => [`${prefix}_${setting}`, value]);
  const child = spawn(process.execPath, [...fromSource, program, ...command], {
    cwd: root,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { PATH: process.env.PATH, [`${prefix}_DRAIN_DELAY_SECONDS`]: '0', ...Object.fromEntries(given) },
  });
  let text = '';
  let told = false;
  for (const stream of [child.stdout, child.stderr]) {
    stream.on('data', (chunk) => {
      text += chunk;
      if (!told && text.includes('"msg":"listening"')) told = child.kill('SIGTERM');
    });
  }
  const [code] = await once(child, 'close');
  return { code, lastLine: text.trim().split('\n').at(-1) ?? '', text };
}

describe.each(['secrets', 'workspaces'] as const)('the %s service', (name) => {
  it('ends with exit code 1 and the reason if its seal key is wrong, and logs that it stops', async () => {
    const database = await freshDatabase(name);
    const settings = { DATABASE_URL: database.url, PORT: String(await freePort()) };
    const folder = mkdtempSync(path.join(tmpdir(), 'keystead-start-'));
    try {
      const firstRun = { SEAL_KEY: key('ab'), FIRST_RUN_FILE: path.join(folder, 'first-run.json') };
      const right = await start(name, [], { ...settings, ...firstRun });
      expect([right.code, right.text]).toEqual([0, expect.stringContaining('"signal":"SIGTERM"')]);
      expect(right.lastLine).toContain('"msg":"stopped"');
      const wrong = await start(name, [], { ...settings, SEAL_KEY: key('cd') });
      expect([wrong.code, wrong.lastLine]).toEqual([1, expect.stringContaining('the seal key does not open')]);
      const missing = await start(name, [], { ...settings, SEAL_KEY_FILE: path.join(root, 'no-such-key') });
      expect([missing.code, missing.lastLine]).toEqual([expect.any(Number), expect.stringContaining('no-such-key')]);
      expect(missing.code).toBeGreaterThan(0);
    } finally {
      rmSync(folder, { recursive: true });
      await database.drop();
    }
  }, 120_000);
});

it('creating the first administrator of the workspace service with a wrong key ends with exit code 1 and the reason, too', async () => {
  const database = await freshDatabase('workspaces');
  try {
    const made = await start('workspaces', ['first-run'], { DATABASE_URL: database.url, SEAL_KEY: key('ab') });
    expect([made.code, made.lastLine]).toEqual([0, expect.stringContaining('token')]);
    const wrong = await start('workspaces', ['first-run'], { DATABASE_URL: database.url, SEAL_KEY: key('cd') });
    expect([wrong.code, wrong.lastLine]).toEqual([1, expect.stringContaining('the seal key does not open')]);
  } finally {
    await database.drop();
  }
}, 120_000);
