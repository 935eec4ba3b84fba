import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { withClient } from '../packages/postgres/src/index';
import { freshDatabase } from '../packages/testing/src/index';

const run = promisify(execFile);

/** The differences between the schema and the migrated database, one statement each. */
async function differences(url: string, schemaFile: string): Promise<string[]> {
  const { stdout } = await run(process.execPath, [path.join(__dirname, 'schema-drift.mjs'), schemaFile, url]);
  const statements = stdout
    .split(/;\s*$/m)
    .map((text) => text.replace(/^--.*$/gm, '').trim())
    .filter(Boolean);
  const beyond = await beyondPrisma(url);
  return statements.filter((text) => !beyond.has(/^DROP INDEX "(.+)"$/.exec(text)?.[1] ?? ''));
}

/** Indexes that Prisma cannot express, or that an installation may lack, exist only in the migrations. */
async function beyondPrisma(url: string): Promise<Set<string>> {
  const { rows } = await withClient(url, (client) =>
    client.query(`SELECT relname FROM pg_index JOIN pg_class ON pg_class.oid = indexrelid
      WHERE indpred IS NOT NULL OR indexprs IS NOT NULL OR pg_get_indexdef(indexrelid) ~ 'COLLATE|NULLS|INCLUDE'
        OR EXISTS (SELECT FROM unnest(indclass::oid[]) AS class JOIN pg_opclass o ON o.oid = class WHERE NOT o.opcdefault)`),
  );
  return new Set(rows.map((row) => row.relname));
}

describe.each(['secrets', 'workspaces'] as const)('the migrations of %s', (service) => {
  const schemaFile = path.join(__dirname, service, 'schema.prisma');

  it('lead to exactly the tables of its schema', async () => {
    const database = await freshDatabase(service);
    expect(await differences(database.url, schemaFile)).toEqual([]);
    await database.drop();
  });

  it('are reported if they differ', async () => {
    const database = await freshDatabase(service);
    const box = mkdtempSync(path.join(tmpdir(), 'keystead-drift-'));
    const changed = path.join(box, 'schema.prisma');
    writeFileSync(changed, `${readFileSync(schemaFile, 'utf8')}\nmodel Extra {\n  id String @id\n}\n`);
    await withClient(database.url, (client) => client.query('ALTER TABLE setting ADD COLUMN drifted int'));
    const found = await differences(database.url, changed);
    expect(found.some((text) => text.includes('CREATE TABLE "Extra"'))).toBe(true);
    expect(found.some((text) => text.includes('DROP COLUMN "drifted"'))).toBe(true);
    rmSync(box, { recursive: true });
    await database.drop();
  });
});
