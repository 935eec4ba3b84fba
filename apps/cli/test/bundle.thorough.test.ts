import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { emptyDatabase, type TestDatabase } from '@keystead/testing';
import { startSecrets } from '../../secrets/test/start-secrets';

const cli = resolve(__dirname, '..');

describe('the program as a single file', () => {
  const secrets = startSecrets();
  const folder = mkdtempSync(join(tmpdir(), 'keystead-bundle-'));
  const program = join(folder, 'keystead');
  let target: TestDatabase | undefined;
  beforeAll(async () => {
    execFileSync(process.execPath, [join(cli, 'bundle.mjs')]);
    copyFileSync(join(cli, 'dist', 'keystead.cjs'), program);
    target = await emptyDatabase();
  });
  afterAll(async () => {
    rmSync(folder, { recursive: true, force: true });
    await target?.drop();
  });
  /** Runs in an otherwise empty folder, with an environment that contains only the path of Node. */
  const run = async (...args: string[]) => {
    const address = `http://127.0.0.1:${(secrets.server.address() as AddressInfo).port}`;
    const env = { PATH: process.env.PATH, HOME: folder, VAULT_ADDR: address, VAULT_TOKEN: secrets.rootToken };
    return promisify(execFile)(program, args, { cwd: folder, env });
  };

  it('runs by itself from an empty folder', async () => {
    expect(readdirSync(folder)).toEqual(['keystead']);
    expect(statSync(program).mode & 0o111).toBe(0o111);
    const { version } = JSON.parse(readFileSync(join(cli, 'package.json'), 'utf8')) as { version: string };
    expect((await run('--version')).stdout).toBe(`${version}\n`);
    await run('kv', 'put', 'cubbyhole-is-no-kv/x', 'a=1').catch((error: { code: number }) =>
      expect(error.code).toBe(2),
    );
    await run('secrets', 'enable', '-version=2', 'kv');
    await run('kv', 'put', 'kv/x', 'a=1');
    expect((await run('kv', 'get', '-field=a', 'kv/x')).stdout).toBe('1');
  });

  it('backs a database up and restores it, with its bundled migrations', async () => {
    const backup = join(folder, 'secrets.backup');
    await run('backup', 'create', 'secrets', backup, '--database-url', secrets.database.url);
    const { stderr } = await run('backup', 'restore', backup, '--database-url', target?.url ?? '');
    expect(stderr).toContain('restored secrets as of');
  });

  it('backs up to standard output in a container that has only the settings of the service', async () => {
    const env = { PATH: process.env.PATH, HOME: folder, SECRETS_DATABASE_URL: secrets.database.url };
    const made = await promisify(execFile)(program, ['backup', 'create', 'secrets', '-'], { env, encoding: 'buffer' });
    const piped = join(folder, 'piped.backup');
    writeFileSync(piped, made.stdout);
    expect(made.stderr.toString()).toMatch(/^saved: \d+ rows of secrets$/m);
    expect((await run('backup', 'verify', piped)).stdout).toMatch(/^service +secrets$/m);
  });

  it('completes commands and flags in bash', () => {
    const typed = (words: string[]) => {
      const script = `source <('${program}' completion bash); COMP_WORDS=(keystead ${words.map((word) => `'${word}'`).join(' ')});
        COMP_CWORD=${words.length}; _keystead; printf '%s\\n' "\${COMPREPLY[@]}"`;
      const { stdout, stderr } = spawnSync('bash', ['-c', script], { encoding: 'utf8' });
      expect(stderr).toBe('');
      return stdout.trim().split('\n');
    };
    expect(typed(['k'])).toEqual(['kv']);
    expect(typed(['kv', 'me'])).toEqual(['metadata']);
    expect(typed(['-format=json', 'kv', 'metadata', 'p']).sort()).toEqual(['patch', 'put']);
    expect(typed(['kv', 'get', '-fi'])).toEqual(['-field']);
    expect(typed(['kv', 'get', '--ver'])).toEqual(['--version']);
    expect(typed(['operator', 'rekey', 'st'])).toEqual(['status']);
  });
});
