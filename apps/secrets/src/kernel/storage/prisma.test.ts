import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { withClient } from '@keystead/postgres';
import { addColumns, propertySettings } from '@keystead/testing';
import fc from 'fast-check';
import { freshStorage, type TestStorage } from '../../../test/fresh-storage';
import { Database, type NewerKeys } from './database';
import type { Tx } from './types';

fc.configureGlobal(propertySettings);

let test: TestStorage;
beforeAll(async () => {
  test = await freshStorage();
});
afterAll(() => test.close());

const database = () => test.storage.database;
const shared = { namespaceId: randomUUID(), createdAtMs: 1, updatedAtMs: 1, sealed: Buffer.from('x') };
const entity = () => ({ id: randomUUID(), name: randomUUID(), ...shared });
const group = () => ({ ...entity(), type: 'internal' });
const namesWith = async (prefix: string) =>
  (await test.byHand('SELECT name FROM setting WHERE starts_with(name, $1) ORDER BY 1', [prefix])).map(
    (row) => row.name,
  );

/** Both ways to access a table. */
const ways = {
  prisma: {
    write: (tx: Tx, name: string): Promise<unknown> => tx.prisma.setting.create({ data: { name } }),
    sees: async (tx: Tx, name: string) => (await tx.prisma.setting.findUnique({ where: { name } })) !== null,
    raise: (tx: Tx, code: string): Promise<unknown> => tx.prisma.$executeRawUnsafe(raising(code)),
  },
  sql: {
    write: (tx: Tx, name: string): Promise<unknown> => tx.query('INSERT INTO setting (name) VALUES ($1)', [name]),
    sees: async (tx: Tx, name: string) =>
      (await tx.query('SELECT FROM setting WHERE name = $1', [name])).rowCount === 1,
    raise: (tx: Tx, code: string): Promise<unknown> => tx.query(raising(code)),
  },
};
const raising = (code: string) => `DO $$ BEGIN RAISE EXCEPTION 'made up' USING ERRCODE = '${code}'; END $$`;
const both = ['prisma', 'sql'] as const;
const way = fc.constantFrom(...both);

/** The error of a promise. */
const failureOf = (work: Promise<unknown>): Promise<Record<string, unknown>> =>
  work.then(
    () => ({}),
    (error) => error,
  );

describe('a transaction', () => {
  it('contains the changes of Prisma and of statements together, all or nothing, isolated from others', async () => {
    const step = fc.record({ write: way, see: way });
    const one = fc.record({ steps: fc.array(step, { minLength: 1, maxLength: 5 }), fails: fc.boolean() });
    await fc.assert(
      fc.asyncProperty(fc.array(one, { minLength: 1, maxLength: 12 }), async (transactions) => {
        const run = randomUUID();
        const nameOf = (t: number, s: number) => `${run}/${t}/${s}`;
        const results = await Promise.allSettled(
          transactions.map(({ steps, fails }, t) =>
            database().transaction(async (tx) => {
              for (const [s, { write, see }] of steps.entries()) {
                await ways[write].write(tx, nameOf(t, s));
                expect(await ways[see].sees(tx, nameOf(t, s))).toBe(true);
                // Simultaneous queries: two of this transaction, and those of the others.
                const own = await Promise.all([0, s].map((at) => ways.prisma.sees(tx, nameOf(t, at))));
                expect(own).toEqual([true, true]);
              }
              if (fails) throw new Error('enough');
            }),
          ),
        );
        expect(results.map(({ status }) => status)).toEqual(
          transactions.map(({ fails }) => (fails ? 'rejected' : 'fulfilled')),
        );
        const kept = transactions.flatMap(({ steps, fails }, t) => (fails ? [] : steps.map((_, s) => nameOf(t, s))));
        expect(await namesWith(run)).toEqual(kept.sort());
      }),
      { numRuns: 10 },
    );
  });

  it('costs nothing more if Prisma is not used, and no second BEGIN if it is', async () => {
    const sent: string[] = [];
    const client = {
      query: async (statement: string | { text: string }) => {
        sent.push(typeof statement === 'string' ? statement : statement.text);
        return { rows: [], fields: [], rowCount: 0 };
      },
      on() {},
      off() {},
      release() {},
    };
    const observed = new Database({ connect: async () => client } as never);
    await observed.transaction((tx) => tx.query('SELECT 1'));
    expect(sent).toEqual(['BEGIN', 'SELECT 1', 'COMMIT']);
    sent.length = 0;
    await observed.transaction(async (tx) => {
      await tx.prisma.setting.deleteMany({ where: { name: 'a' } });
      await tx.prisma.setting.deleteMany({ where: { name: 'b' } });
    });
    expect(sent.map((text) => text.split(' ')[0])).toEqual(['BEGIN', 'DELETE', 'DELETE', 'COMMIT']);
  });

  it('accepts nested writes and reads of relations, one statement after the other', async () => {
    const [member, inner, outer] = [entity(), group(), group()];
    await database().transaction(async (tx) => {
      await tx.prisma.group.create({ data: inner });
      await tx.prisma.entity.create({ data: { ...member, groups: { create: { groupId: inner.id } } } });
      await tx.prisma.group.create({
        data: { ...outer, members: { create: [{ entityId: member.id }, { memberGroupId: inner.id }] } },
      });
    });
    const read = await database().prisma.group.findUnique({
      where: { id: outer.id },
      include: { members: { include: { entity: true, memberGroup: true } }, alias: true },
    });
    expect(read?.members.map((row) => (row.entity ?? row.memberGroup)!.name).sort()).toEqual(
      [member.name, inner.name].sort(),
    );
    const failed = entity();
    const nested = { create: [{ groupId: inner.id }, { groupId: randomUUID() }] };
    const failure = await failureOf(
      database().transaction((tx) => tx.prisma.entity.create({ data: { ...failed, groups: nested } })),
    );
    expect(failure).toMatchObject({ code: '23503', constraint: 'group_member_group_id_fkey' });
    expect(await database().prisma.entity.findUnique({ where: { id: failed.id } })).toBeNull();
  });

  it.each(both)('runs again after a serialization failure or a deadlock that %s met', async (name) => {
    for (const code of ['40001', '40P01']) {
      let runs = 0;
      const id = randomUUID();
      await database().transaction(async (tx) => {
        runs += 1;
        await ways[name].write(tx, id);
        if (runs < 3) await ways[name].raise(tx, code);
      });
      expect([runs, await namesWith(id)]).toEqual([3, [id]]);
    }
  });

  it('survives a deadlock between writes of Prisma', async () => {
    const names = [randomUUID(), randomUUID()];
    await database().prisma.setting.createMany({ data: names.map((name) => ({ name, value: 0 })) });
    let arrived = 0;
    let meet = () => {};
    const both = new Promise<void>((resolve) => (meet = resolve));
    const cross = (order: string[]) =>
      database().transaction(async (tx) => {
        await tx.prisma.setting.updateMany({ where: { name: order[0] }, data: { value: 1 } });
        if (++arrived === 2) meet();
        await both;
        await tx.prisma.setting.updateMany({ where: { name: order[1] }, data: { value: 1 } });
      });
    await Promise.all([cross(names), cross([...names].reverse())]);
    expect(arrived).toBeGreaterThan(2);
  });
});

describe('database errors', () => {
  const failures: [string, (way: (typeof ways)['sql'], tx: Tx) => Promise<unknown>, object][] = [
    [
      'a taken key',
      async (by, tx) => {
        await by.write(tx, 'taken');
        await by.write(tx, 'taken');
      },
      { code: '23505', constraint: 'setting_pkey' },
    ],
    [
      'text that the database cannot store',
      (by, tx) => by.write(tx, 'a\0b'),
      { kind: 'invalid', message: 'text contains a character that cannot be stored' },
    ],
    [
      'a number out of range',
      (by, tx) => by.raise(tx, '22003'),
      { kind: 'invalid', message: 'a number is out of range' },
    ],
    [
      'a statement that takes too long',
      (by, tx) => by.raise(tx, '57014'),
      { kind: 'unavailable', message: 'storage is busy; try again' },
    ],
    [
      'a connection that ends',
      (by, tx) => by.raise(tx, '57P01'),
      { kind: 'unavailable', message: 'storage is unavailable' },
    ],
    ['any other failure', (by, tx) => by.raise(tx, '22012'), { code: '22012', severity: 'ERROR' }],
  ];
  it.each(failures)('are reported in the same way by Prisma and by statements: %s', async (_, fail, expected) => {
    for (const by of both) {
      const failure = await failureOf(database().transaction((tx) => fail(ways[by], tx)));
      expect(failure).toMatchObject(expected);
    }
    // Uses every connection of the pool: it would hang if one had leaked.
    await Promise.all(Array.from({ length: 12 }, () => database().transaction((tx) => ways.prisma.sees(tx, 'x'))));
  });

  it('are reported in the same way outside of transactions', async () => {
    const { prisma } = database();
    const make = (name: string) => prisma.setting.create({ data: { name } });
    await make('taken outside');
    expect(await failureOf(make('taken outside'))).toMatchObject({ code: '23505', constraint: 'setting_pkey' });
    expect(await failureOf(make('\0'))).toMatchObject({ kind: 'invalid' });
    expect(await failureOf(prisma.$executeRawUnsafe(raising('57014')))).toMatchObject({ kind: 'unavailable' });
    expect(await failureOf(prisma.$executeRawUnsafe(raising('57P01')))).toMatchObject({ kind: 'unavailable' });
  });

  it('a killed connection, in the middle of a transaction of Prisma', async () => {
    const failure = await failureOf(
      database().transaction(async (tx) => {
        const [{ pid }] = (await tx.prisma.$queryRaw`SELECT pg_backend_pid() AS pid`) as [{ pid: number }];
        await test.byHand('SELECT pg_terminate_backend($1)', [pid]);
        await tx.prisma.setting.findMany();
      }),
    );
    expect(failure).toMatchObject({ kind: 'unavailable' });
    expect(await database().prisma.setting.count({ where: { name: 'unknown' } })).toBe(0);
  });

  it('a write of several statements outside of a transaction', async () => {
    const id = entity();
    const data = { ...id, groups: { create: { group: { create: group() } } } };
    await expect(database().prisma.entity.create({ data })).rejects.toThrow(
      'a write of several statements needs a transaction',
    );
    expect(await database().prisma.entity.count({ where: { id: id.id } })).toBe(0);
  });
});

describe('rows encrypted with keys that this node has not loaded', () => {
  it.each(both)('are read again with these keys, by %s, inside and outside of transactions', async (name) => {
    const seen = randomUUID();
    const sealed = Buffer.from('newer');
    await test.byHand('INSERT INTO setting (name, sealed) VALUES ($1, $2)', [seen, sealed]);
    const inside = {
      prisma: (tx: Tx): Promise<unknown> => tx.prisma.setting.findMany({ where: { name: seen } }),
      sql: (tx: Tx): Promise<unknown> => tx.query('SELECT * FROM setting WHERE name = $1', [seen]),
    };
    const outside = {
      prisma: (): Promise<unknown> => database().prisma.setting.findFirst({ where: { name: seen } }),
      sql: (): Promise<unknown> => database().query('SELECT * FROM setting WHERE name = $1', [seen]),
    };
    let reads = 0;
    const before = database().newerKeys;
    const keys: NewerKeys = {
      under: (rows) => rows.some((row) => sealed.equals(row.sealed)),
      read: async () => void reads++,
    };
    database().newerKeys = keys;
    try {
      let runs = 0;
      await database().transaction(async (tx) => {
        runs += 1;
        await inside[name](tx);
      });
      expect([runs, reads]).toEqual([2, 1]);
      await outside[name]();
      expect(reads).toBe(2);
    } finally {
      database().newerKeys = before;
    }
  });
});

it('a running node keeps working when a migration adds columns to every table', async () => {
  const round = async () => {
    await database().prisma.group.findMany({ include: { members: true } });
    await database().transaction(async (tx) => {
      await tx.prisma.setting.create({ data: { name: randomUUID() } });
      await tx.prisma.group.findMany({ include: { members: true, alias: true } });
    });
  };
  for (let times = 0; times < 3; times++) {
    await Promise.all(Array.from({ length: 20 }, round));
    await withClient(test.database.url, addColumns);
  }
});
