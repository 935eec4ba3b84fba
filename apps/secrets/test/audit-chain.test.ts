import { describe, expect, it } from '@jest/globals';
import pg from 'pg';
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

  it('keeps every change, hashed, and no reads; parallel changes share or follow one chain', async () => {
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

  it('shows a changed row, a missing row, and a cut end', async () => {
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
    expect(cut.problems).toContainEqual(expect.stringMatching(/was kept and is gone$/));
    await secrets.root.write('sys/audit-chain/verify', { heads: [{ chain: 'x' }] }).expect(400);
  });
});
