import { Prisma } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';
import type { OwnedWork } from './turns';

/**
 * SQL: the duration of claims that are extended while the work continues. If a node dies, other nodes soon take over.
 */
export const keptFor = "interval '45 seconds'";

/** A work table: the column that makes a row due, and the duration of a claim. */
interface WorkRows<K extends string> {
  readonly table: string;
  readonly keys: readonly K[];
  /** The column with the time at which a row is due, and the column with the number of its claim. */
  readonly due?: string;
  readonly claim?: string;
  /** The column that counts how often a row was claimed. */
  readonly attempts?: string;
  /** SQL of an interval. */
  readonly lease: string;
  /**
   * SQL: the join from a row, as `x`, to the row with its `organization_id`, as `y`; omitted if the row itself has this
   * column.
   */
  readonly owner?: string;
  /** SQL: further conditions for a row, as `x`, to be due. */
  readonly only?: string;
  /** The column that orders rows that became due at the same time. */
  readonly tieBreak?: string;
}

/** A claimed row: its key, and a number that no other claim of this row has. */
export type Claimed<K extends string> = Readonly<Record<K, string | number>> & { readonly claim: number };

/** A row that was claimed because it was due, and how often it has been claimed. */
export type Taken<K extends string, C = unknown> = Readonly<Record<Exclude<K, keyof C>, string>> &
  OwnedWork & { readonly claim: number; readonly attempts: number } & C;

/**
 * Claims on the rows of a work table. Claiming a row and ending the claim both increment its number. So a write with an
 * old number, for example from a slow node, changes nothing. A row that becomes due while it is claimed stays due.
 */
export class Claims<K extends string> {
  private readonly table: Prisma.Sql;
  private readonly due: Prisma.Sql;
  private readonly claim: Prisma.Sql;
  private readonly lease: Prisma.Sql;

  constructor(private readonly work: WorkRows<K>) {
    const { table, due = 'next_at', claim = 'claim', lease } = work;
    this.table = Prisma.raw(table);
    this.due = Prisma.raw(due);
    this.claim = Prisma.raw(claim);
    this.lease = Prisma.raw(lease);
  }

  /** The SET list of an UPDATE of the table, as `t`, that claims a row. The statement then returns `claimed`. */
  get taking(): Prisma.Sql {
    return Prisma.sql`${this.claim} = t.${this.claim} + 1, ${this.due} = now() + ${this.lease}`;
  }

  /** The number of the claim, as `claim`. */
  get claimed(): Prisma.Sql {
    return Prisma.sql`t.${this.claim} AS claim`;
  }

  /**
   * Claims the row that has been due longest and whose organization is not `busy`; only one of several nodes gets it.
   * Returns its keys and `columns`: SQL about the row as `x` and its owner as `y`.
   */
  take<C>({ prisma }: Database, busy: readonly string[], columns?: Prisma.Sql): Promise<Taken<K, C>[]> {
    const { keys, attempts = 'attempts', owner, only = 'true', tieBreak } = this.work;
    const count = Prisma.raw(attempts);
    const key = (alias: string) => Prisma.raw(keys.map((name) => `${alias}.${name}`).join(', '));
    const organization = Prisma.raw(`${owner ? 'y' : 'x'}.organization_id`);
    return prisma.$queryRaw<Taken<K, C>[]>`
      WITH taken AS MATERIALIZED (
        SELECT ${key('x')}, ${organization} AS organization_id ${columns ? Prisma.sql`, ${columns}` : Prisma.empty}
          FROM ${this.table} x ${Prisma.raw(owner ? `JOIN ${owner}` : '')}
         WHERE x.${this.due} <= now()::timestamptz(3) AND ${Prisma.raw(only)} AND NOT ${organization} = ANY(${[...busy]})
         ORDER BY x.${this.due} ${Prisma.raw(tieBreak ? `, x.${tieBreak}` : '')} LIMIT 1 FOR UPDATE OF x SKIP LOCKED)
      UPDATE ${this.table} t SET ${count} = t.${count} + 1, ${this.taking} FROM taken
       WHERE (${key('t')}) = (${key('taken')}) RETURNING taken.*, t.${count} AS attempts, ${this.claimed}`;
  }

  /** Extends the claim. */
  keep({ prisma }: Database, row: Claimed<K>): Promise<number> {
    return prisma.$executeRaw`
      UPDATE ${this.table} SET ${this.due} = now() + ${this.lease} WHERE ${this.has(row)} AND ${this.due} > now()`;
  }

  /**
   * Ends the claim, sets the due time to `next` (SQL), and writes the result. Returns false and writes nothing if
   * another node has claimed the row.
   */
  async end({ prisma }: Database, row: Claimed<K>, next: Prisma.Sql, columns?: Prisma.Sql): Promise<boolean> {
    const ended = await prisma.$executeRaw`
      UPDATE ${this.table} SET ${this.claim} = ${this.claim} + 1, ${columns ? Prisma.sql`${columns},` : Prisma.empty}
             ${this.due} = CASE WHEN ${this.due} <= now()::timestamptz(3) THEN ${this.due} ELSE ${next} END
       WHERE ${this.has(row)}`;
    return ended > 0;
  }

  /** Deletes a row, unless another node has claimed it. */
  async remove({ prisma }: Database, row: Claimed<K>): Promise<void> {
    await prisma.$executeRaw`DELETE FROM ${this.table} WHERE ${this.has(row)}`;
  }

  private has(row: Claimed<K>): Prisma.Sql {
    const key = this.work.keys.map((name) => Prisma.sql`${Prisma.raw(name)} = ${row[name]}`);
    return Prisma.sql`${Prisma.join(key, ' AND ')} AND ${this.claim} = ${row.claim}`;
  }
}

/** SQL: this many seconds from now. */
export const inSeconds = (seconds: number): Prisma.Sql => Prisma.sql`now() + make_interval(secs => ${seconds})`;
