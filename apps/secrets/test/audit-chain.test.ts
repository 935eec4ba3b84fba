import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { until } from './fresh-storage';
import { startSecrets } from './start-secrets';

describe('the hash-chained audit table', () => {
  const secrets = startSecrets({ env: { SECRETS_AUDIT_TABLE: 'on' } });
  const verify = async (heads?: object[]) =>
    (await secrets.root.write('sys/audit-chain/verify', heads ? { heads } : {}).expect(200)).body.data;
  const sql = async (text: string) => {
    const client = new pg.Client(secrets.database.url);
    await client.connect();
    try {
      return (await client.query(text)).rows;
    } finally {
      await client.end();
    }
  };

  it('records every change, hashed, and no reads; parallel changes are in one chain', async () => {
    await Promise.all(
      Array.from({ length: 20 }, (_, i) => secrets.root.write(`cubbyhole/c${i}`, { v: `value-${i}` }).expect(204)),
    );
    await secrets.root.read('cubbyhole/c1').expect(200);
    await secrets.root.write('sys/policies/acl/p', { policy: 'path "a" { capabilities = ["read"] }' }).expect(204);
    const rows = await sql('SELECT entries FROM audit_record');
    const lines = rows.flatMap(({ entries }) => entries.split('\n')).map((line: string) => JSON.parse(line));
    const paths = lines.map((line) => line.request.path);
    expect(paths.filter((path) => path.startsWith('cubbyhole/c'))).toHaveLength(20);
    expect(paths).toContain('sys/policies/acl/p');
    expect(JSON.stringify(lines)).not.toContain('value-1');
    expect(await verify()).toMatchObject({ valid: true, problems: [] });
  });

  it('shows that a row was changed, that a row is missing, or that the end was cut off', async () => {
    const { heads } = (await secrets.root.read('sys/audit-chain').expect(200)).body.data;
    expect(heads).toHaveLength(1);
    expect((await verify(heads)).valid).toBe(true);
    const [{ sequence }] = heads;
    await sql("UPDATE audit_record SET entries = entries || 'x' WHERE sequence = 2");
    expect((await verify()).problems).toEqual([expect.stringMatching(/^row 2 of chain .* was changed$/)]);
    await sql('DELETE FROM audit_record WHERE sequence = 2');
    expect((await verify()).problems).toEqual([expect.stringMatching(/^row 3 of chain .* does not follow/)]);
    await sql(`DELETE FROM audit_record WHERE sequence >= ${sequence} OR sequence > 2`);
    const cut = await verify(heads);
    expect(cut.problems).toContainEqual(expect.stringMatching(/is missing, although its head was stored$/));
    await secrets.root.write('sys/audit-chain/verify', { heads: [{ chain: 'x' }] }).expect(400);
  });

  it('reports that nothing is recorded', async () => {
    await sql('DELETE FROM audit_record');
    expect(await verify()).toMatchObject({ valid: false, rows: 0, problems: ['nothing is recorded'] });
    expect(await verify()).toMatchObject({ valid: true, problems: [] });
  });

  it('records the sealing, which is answered as usual', async () => {
    await secrets.root.write('sys/seal').expect(204);
    await secrets.anonymous.read('sys/health').expect(503);
    const rows = await sql('SELECT entries FROM audit_record');
    const kept = rows.flatMap(({ entries }) => entries.split('\n')).map((line: string) => JSON.parse(line));
    expect(kept.filter(({ request }) => request.path === 'sys/seal')).toHaveLength(1);
    for (const key of secrets.recoveryKeys.slice(0, 3))
      await secrets.anonymous.write('sys/unseal', { key }).expect(200);
    expect(await verify()).toMatchObject({ valid: true, problems: [] });
  });
});

describe('sealing', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'sealing-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  describe.each<[string, Record<string, string>]>([
    ['no audit device', {}],
    ['an audit file', { SECRETS_AUDIT_FILE: path.join(folder, 'single.log') }],
    ['a synced audit file', { SECRETS_AUDIT_FILE: path.join(folder, 'sync.log'), SECRETS_AUDIT_SYNC: 'on' }],
    ['a file and the table', { SECRETS_AUDIT_FILE: path.join(folder, 'both.log'), SECRETS_AUDIT_TABLE: 'on' }],
  ])('with %s', (_what, env) => {
    const secrets = startSecrets({ env });

    it.each(['write', 'put'] as const)('answers 204 (%s)', async (verb) => {
      await secrets.root[verb]('sys/seal').expect(204);
      const file = env.SECRETS_AUDIT_FILE;
      if (file !== undefined) {
        const last = readFileSync(file, 'utf8')
          .trim()
          .split('\n')
          .slice(-2)
          .map((line) => JSON.parse(line));
        expect(last.map(({ type, request: { path: at }, response }) => [type, at, response?.status])).toEqual([
          ['request', 'sys/seal', undefined],
          ['response', 'sys/seal', 204],
        ]);
      }
      for (const key of secrets.recoveryKeys.slice(0, 3))
        await secrets.anonymous.write('sys/unseal', { key }).expect(200);
      await secrets.root.read('sys/mounts').expect(200);
    });
  });
});

describe('a node whose audit devices accept nothing', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'gap-'));
  const file = path.join(folder, 'audit.log');
  afterAll(() => rmSync(folder, { recursive: true }));
  const secrets = startSecrets({ env: { SECRETS_AUDIT_FILE: file } });

  it('is not ready, and becomes ready again by itself, with the gap in the log', async () => {
    expect(await secrets.service.ready()).toEqual({ ready: true, reasons: [] });
    const device = secrets.service.kernel.audit.devices.find('file')!;
    const { write } = device;
    device.write = () => Promise.reject(new Error('audit device file/: no space left'));
    await secrets.root.read('cubbyhole/a').expect(500);
    await secrets.root.read('cubbyhole/a').expect(500);
    const away = { ready: false, reasons: ['no audit device takes lines'] };
    expect(await secrets.service.ready()).toEqual(away);
    expect(await secrets.service.ready()).toEqual(away);
    device.write = write;
    await until(async () => (await secrets.service.ready()).ready);
    const gaps = readFileSync(file, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ type }) => type === 'gap');
    expect(gaps).toEqual([
      { time: expect.any(String), type: 'gap', since: expect.any(String), refused: expect.any(Number) },
    ]);
    expect(gaps[0].refused).toBeGreaterThanOrEqual(2);
    await secrets.root.read('cubbyhole/a').expect(404);
  });

  it('says that its table records nothing', async () => {
    const { body } = await secrets.root.write('sys/audit-chain/verify').expect(200);
    expect(body.data).toMatchObject({
      valid: false,
      rows: 0,
      problems: ['this node records nothing: SECRETS_AUDIT_TABLE is off'],
    });
  });
});
