import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type pg from 'pg';
import { runsInTransaction, withClient } from '../packages/postgres/src/index';
import { emptyDatabase } from '../packages/testing/src/index';
import { readRelease, recordedVersions } from './released/release';

// An upgrade must not block reads or writes for minutes. A migration in one transaction holds each lock until its end,
// so one that locks a table against writers must not read it completely. The test asks PostgreSQL about scans and
// locks, which do not depend on the number of rows.

type Service = 'secrets' | 'workspaces';

/** Tables that are read within a tenth of a second, however large an installation is. */
const small: Record<Service, Readonly<Record<string, string>>> = {
  secrets: {},
  workspaces: {
    console_session: 'people who are signed in at the moment',
    infra_version: 'versions of tools that administrators list',
    login_code: 'codes of five minutes',
    membership: 'people, once for each of their organizations',
    oauth_client: 'what is configured',
    oauth_token: 'what is configured',
    run_worker: 'programs that carry out runs',
    team: 'what is configured',
    team_member: 'people, once for each of their teams',
  },
};

interface Scanned {
  readonly name: string;
  readonly scans: number;
  readonly file: number;
}

/** How often each table was read completely, and its file. */
async function scanned(client: pg.Client): Promise<Map<string, Scanned>> {
  const { rows } = await client.query<Scanned>(
    `SELECT relname AS name, pg_stat_get_xact_numscans(oid)::int AS scans, pg_relation_filenode(oid)::int AS file
       FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace`,
  );
  return new Map(rows.map((row) => [row.name, row]));
}

/** Applies a script; returns what it did to existing tables while it kept writers from them. */
async function apply(client: pg.Client, script: string): Promise<{ table: string; what: string }[]> {
  if (!runsInTransaction(script)) {
    await client.query(script);
    return [];
  }
  await client.query('BEGIN');
  const before = await scanned(client);
  await client.query(script);
  const after = await scanned(client);
  const { rows } = await client.query<{ name: string; modes: string[] }>(
    `SELECT relname AS name, array_agg(mode ORDER BY mode) AS modes FROM pg_locks JOIN pg_class c ON c.oid = relation
      WHERE pid = pg_backend_pid() AND relkind = 'r' GROUP BY relname`,
  );
  await client.query('COMMIT');
  const found: { table: string; what: string }[] = [];
  for (const { name: table, modes } of rows) {
    const was = before.get(table);
    const is = after.get(table);
    const mode = modes.find((one) => !/^(AccessShare|RowShare|ShareUpdateExclusive)/.test(one));
    if (!was || !is || !mode) continue;
    if (was.file !== is.file) found.push({ table, what: `rewrites ${table}` });
    else if (is.scans > was.scans) found.push({ table, what: `reads all of ${table} under ${mode}` });
  }
  return found;
}

/**
 * The scans and locks of migration scripts, each prefixed with the name of the script; scripts in `known` are applied
 * but not checked.
 */
async function judge(service: Service, scripts: ReadonlyMap<string, string>, known: ReadonlySet<string>) {
  const database = await emptyDatabase();
  const found = await withClient(database.url, async (client) => {
    // A whole table is read only if no index could help.
    await client.query('SET enable_seqscan = off; SET enable_mergejoin = off; SET enable_hashjoin = off');
    for (const name of known) await client.query(scripts.get(name)!);
    // Later tables are empty when they are migrated.
    const there = new Set((await scanned(client)).keys());
    const all: string[] = [];
    for (const [name, script] of scripts) {
      if (known.has(name)) continue;
      for (const { table, what } of await apply(client, script)) {
        if (there.has(table) && !(table in small[service])) all.push(`${name} ${what}`);
      }
    }
    return all;
  });
  await database.drop();
  return found;
}

describe.each(['secrets', 'workspaces'] as const)('the migrations of %s since the last release', (service) => {
  const names = readdirSync(path.join(__dirname, service, 'migrations')).filter((name) => /^\d/.test(name));
  const scripts = new Map(
    names
      .sort()
      .map((name) => [name, readFileSync(path.join(__dirname, service, 'migrations', name, 'migration.sql'), 'utf8')]),
  );
  const { migrations } = readRelease(recordedVersions().at(-1)!).databases[service];
  const released = new Set(migrations.map(({ name }) => name));

  it('block writers of no large table while they read it', async () => {
    expect(await judge(service, scripts, released)).toEqual([]);
  });
});

describe('the check of migrations', () => {
  it('reports statements that block writers for long, and no others', async () => {
    const scripts = new Map([
      ['0', 'CREATE TABLE large (id int, size int)'],
      ['index', 'CREATE INDEX one ON large (id)'],
      ['volatile', 'ALTER TABLE large ADD made UUID DEFAULT gen_random_uuid()'],
      ['type', 'ALTER TABLE large ALTER size TYPE bigint'],
      ['filled', 'ALTER TABLE large ADD kind int; UPDATE large SET kind = 1'],
      ['written', 'UPDATE large SET kind = 2'],
      ['checked', 'ALTER TABLE large ADD CHECK (size > 0)'],
      [
        'column',
        `ALTER TABLE large ADD name text NOT NULL DEFAULT ''; CREATE TABLE new (id int); CREATE INDEX n ON new (id)`,
      ],
      ['concurrent', 'CREATE INDEX CONCURRENTLY two ON large (id)'],
      ['batches', 'DO $$ BEGIN\n  UPDATE large SET kind = 3;\n  COMMIT;\nEND $$'],
    ]);
    expect(await judge('secrets', scripts, new Set(['0']))).toEqual([
      'index reads all of large under ShareLock',
      'volatile rewrites large',
      'type rewrites large',
      'filled reads all of large under AccessExclusiveLock',
      'written reads all of large under RowExclusiveLock',
      'checked reads all of large under AccessExclusiveLock',
    ]);
  });
});
