import { afterAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { asSuperuser, emptyDatabase, freshDatabase, manualClock, type TestDatabase, testServer } from './index';

describe('test databases', () => {
  const databases: TestDatabase[] = [];
  afterAll(() => Promise.all(databases.map((database) => database.drop())));

  it('are independent clones of the migrated template', async () => {
    const both = await Promise.all([freshDatabase('workspaces'), freshDatabase('workspaces')]);
    databases.push(...both);
    await query(both[0]!.url, 'CREATE TABLE only_here (id int)');
    expect(await query(both[0]!.url, "SELECT to_regclass('only_here') IS NOT NULL AS there")).toEqual([
      { there: true },
    ]);
    expect(await query(both[1]!.url, "SELECT to_regclass('only_here') IS NOT NULL AS there")).toEqual([
      { there: false },
    ]);
    expect(await query(both[1]!.url, "SELECT to_regclass('_prisma_migrations') IS NOT NULL AS there")).toEqual([
      { there: true },
    ]);
  });

  it('belong to a role without other rights', async () => {
    const all = await Promise.all([freshDatabase('secrets'), freshDatabase('workspaces'), emptyDatabase()]);
    databases.push(...all);
    for (const { url } of all) {
      const rights =
        'SELECT rolsuper, rolcreaterole, rolreplication, rolbypassrls FROM pg_roles WHERE rolname = current_user';
      expect(await query(url, rights)).toEqual([
        { rolsuper: false, rolcreaterole: false, rolreplication: false, rolbypassrls: false },
      ]);
      expect(
        await query(
          url,
          'SELECT rolname FROM pg_roles r WHERE pg_has_role(r.oid, $$MEMBER$$) AND rolname <> current_user',
        ),
      ).toEqual([{ rolname: 'pg_database_owner' }]);
      await expect(query(url, 'SELECT pg_read_file($$PG_VERSION$$)')).rejects.toThrow('permission denied');
      expect(await query(await asSuperuser(url), 'SELECT rolsuper FROM pg_roles WHERE rolname = current_user')).toEqual(
        [{ rolsuper: true }],
      );
    }
  });

  it('can be dropped while connections are open', async () => {
    const database = await emptyDatabase();
    const client = new pg.Client(database.url);
    client.on('error', () => {});
    await client.connect();
    await database.drop();
    await expect(query(database.url, 'SELECT 1')).rejects.toThrow('does not exist');
  });

  it('run on a server with a known address', async () => {
    const { adminUrl } = await testServer();
    expect(await query(adminUrl, 'SELECT 1 AS one')).toEqual([{ one: 1 }]);
  });
});

describe('manual clock', () => {
  it('moves only when it is advanced', () => {
    const clock = manualClock(1000);
    expect(clock.now()).toBe(1000);
    clock.advance(500);
    expect(clock.now()).toBe(1500);
  });
});

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client(url);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}
