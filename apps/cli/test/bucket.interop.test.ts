import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { emptyDatabase, findProgram, freePort } from '@keystead/testing';
import { startSecrets } from '../../secrets/test/start-secrets';
import { openBucket } from '../src/backup/bucket';
import { keystead } from './run-keystead';

jest.setTimeout(120_000);

// An object store that we did not write: moto's server (PyPI: moto[server]).
(findProgram('moto_server') ? describe : describe.skip)('backups in a foreign object store', () => {
  const secrets = startSecrets();
  const folder = mkdtempSync(join(tmpdir(), 'keystead-bucket-'));
  const env = { AWS_ACCESS_KEY_ID: 'interop', AWS_SECRET_ACCESS_KEY: 'secret', SECRETS_SEAL_KEY: 'ab'.repeat(32) };
  let server: ChildProcess;
  let query = '';
  beforeAll(async () => {
    const port = await freePort();
    server = spawn('moto_server', ['-H', '127.0.0.1', '-p', String(port)], { stdio: 'ignore' });
    await once(server, 'spawn');
    const endpoint = `http://127.0.0.1:${port}`;
    query = `?endpoint=${endpoint}`;
    while (!(await fetch(`${endpoint}/backups`, { method: 'PUT' }).catch(() => undefined))) await sleep(200);
  });
  afterAll(() => {
    server.kill();
    rmSync(folder, { recursive: true, force: true });
  });

  it('keep the newest, are tested, and one is restored', async () => {
    const place = `s3://backups/of keystead${query}`;
    const url = secrets.database.url;
    for (let n = 0; n < 3; n += 1) {
      const made = await keystead(['backup', 'create', 'secrets', place, '--database-url', url, '--keep', '2'], env);
      expect([made.code, made.said]).toEqual([0, n < 2 ? '' : expect.stringMatching(/^removed: secrets-.*\n$/)]);
    }
    const bucket = await openBucket(place, env);
    const names = await bucket.names();
    expect(names).toHaveLength(2);
    const drilled = await keystead(['backup', 'drill', place, '--database-url', url, '--format', 'json'], env);
    expect([drilled.code, drilled.said]).toEqual([0, '']);
    expect(JSON.parse(drilled.printed)).toEqual([
      expect.objectContaining({ file: names[1], opened: expect.any(Number) }),
    ]);
    const target = await emptyDatabase();
    try {
      const one = `s3://backups/of keystead/${names[0]}${query}`;
      const restored = await keystead(['backup', 'restore', one, '--database-url', target.url], env);
      expect([restored.code, restored.said]).toEqual([0, expect.stringContaining('restored secrets')]);
      const all = await keystead(['backup', 'restore', place, '--database-url', target.url], env);
      expect([all.code, all.said]).toEqual([1, expect.stringContaining('name the one backup')]);
    } finally {
      await target.drop();
    }
  });

  it('upload a large file in parts', async () => {
    const bytes = Buffer.alloc(40 * 1024 * 1024, 'part');
    writeFileSync(join(folder, 'large'), bytes);
    const bucket = await openBucket(`s3://backups/large${query}`, env);
    const sent: number[] = [];
    await bucket.put('x.backup', join(folder, 'large'), (many) => sent.push(many));
    expect(sent.at(-1)).toBe(bytes.length);
    expect(sent.length).toBe(3);
    await bucket.get('x.backup', join(folder, 'back'));
    expect(readFileSync(join(folder, 'back')).equals(bytes)).toBe(true);
  });
});
