import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startSecrets } from './start-secrets';

describe('a first start with a file for the keys', () => {
  const secrets = startSecrets({ bare: true });
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(path.join(tmpdir(), 'first-run-'));
  });
  afterAll(() => rmSync(folder, { recursive: true, force: true }));
  const initialised = async () => (await secrets.anonymous.read('sys/init').expect(200)).body.initialized;

  it('creates no keys if their file exists or cannot be created', async () => {
    const taken = path.join(folder, 'taken');
    writeFileSync(taken, 'keys of another installation');
    await expect(secrets.service.firstRun(taken)).rejects.toThrow('already exists');
    expect(readFileSync(taken, 'utf8')).toBe('keys of another installation');
    await expect(secrets.service.firstRun(path.join(folder, 'absent', 'file'))).rejects.toThrow('ENOENT');
    expect(await initialised()).toBe(false);
  });

  it('writes working keys, only for the owner of the file, and once under simultaneous starts', async () => {
    const files = [1, 2, 3].map((n) => path.join(folder, `keys-${n}`));
    const made = await Promise.all(files.map((file) => secrets.service.firstRun(file)));
    expect(made.filter(Boolean)).toHaveLength(1);
    expect(files.filter(existsSync)).toHaveLength(1);
    const file = files.find(existsSync)!;
    expect(statSync(file).mode & 0o777).toBe(0o600);
    const { root_token: token, recovery_keys: keys, threshold } = JSON.parse(readFileSync(file, 'utf8'));
    expect({ keys: keys.length, threshold }).toEqual({ keys: 5, threshold: 3 });
    await secrets.as(token).read('sys/mounts').expect(200);
    const { body } = await secrets.anonymous.write('sys/generate-root/attempt', {}).expect(200);
    const shares = keys.slice(0, threshold).map((key: string) => ({ key, nonce: body.nonce }));
    for (const share of shares) await secrets.anonymous.write('sys/generate-root/update', share).expect(200);
    expect(await secrets.service.firstRun(path.join(folder, 'again'))).toBe(false);
    expect(existsSync(path.join(folder, 'again'))).toBe(false);
  });
});
