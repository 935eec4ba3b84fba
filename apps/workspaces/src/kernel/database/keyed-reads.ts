import { isStalePlan } from '@keystead/postgres';
import type { Pool, PoolClient, QueryResultRow } from 'pg';

/** A statement that reads many rows by key: `… WHERE x = ANY($1)`, the key again in a column `key`. */
export interface KeyedRead {
  readonly name: string;
  readonly text: string;
  /** Answers within a millisecond for any key: it may share a connection with others that do. */
  readonly quick?: boolean;
  /**
   * The statement answers with one row for all: a column `packed`, a JSON array of arrays that begin with their key.
   * Each is handed over as `{ key, said }`. Rows cost more than their bytes.
   */
  readonly packed?: boolean;
}

/** A row of a keyed read. */
export interface KeyedRow extends QueryResultRow {
  readonly key: string;
}

/** A row of a packed read: what was said after the key. */
export interface PackedRow<Said extends readonly unknown[] = readonly unknown[]> extends KeyedRow {
  readonly said: readonly [key: string, ...said: Said];
}

/** The rows a keyed read was answered with. */
export function rowsOf(read: KeyedRead, rows: readonly KeyedRow[]): readonly KeyedRow[] {
  if (!read.packed) return rows;
  const packed = rows[0]?.packed as string | null | undefined;
  if (packed === null || packed === undefined) return [];
  return (JSON.parse(packed) as [string, ...unknown[]][]).map((said) => ({ key: said[0], said }));
}

interface Waiting {
  resolve(row: KeyedRow | undefined): void;
  reject(error: unknown): void;
}

interface Asked {
  readonly read: KeyedRead;
  readonly waiting: Map<string, Waiting[]>;
}

/**
 * Quick reads of all kinds that begin at the same moment, by whomever, travel in one round trip: one statement per
 * kind, all on one pipelined connection.
 *
 * A read never joins a wave that has already left, so each answer is at least as new as its question.
 */
export class Waves {
  private next = new Map<string, Asked>();
  private away = 0;
  private planned = false;

  constructor(
    /** Its connections are pipelined. */
    private readonly pool: Pool,
    private readonly inFlight = 2,
  ) {}

  /** The row with a key; undefined when there is none. */
  read(read: KeyedRead, key: string): Promise<KeyedRow | undefined> {
    return new Promise((resolve, reject) => {
      let asked = this.next.get(read.name);
      if (asked === undefined) {
        asked = { read, waiting: new Map() };
        this.next.set(read.name, asked);
      }
      const others = asked.waiting.get(key);
      if (others === undefined) asked.waiting.set(key, [{ resolve, reject }]);
      else others.push({ resolve, reject });
      this.plan();
    });
  }

  /** Leaves once everything that has already arrived has asked. */
  private plan(): void {
    if (this.planned || this.away >= this.inFlight || this.next.size === 0) return;
    this.planned = true;
    setImmediate(() => {
      this.planned = false;
      const wave = [...this.next.values()];
      this.next = new Map();
      this.away++;
      void this.send(wave).finally(() => {
        this.away--;
        this.plan();
      });
    });
  }

  private async send(wave: readonly Asked[]): Promise<void> {
    let client: PoolClient;
    try {
      client = await this.pool.connect();
    } catch (error) {
      for (const asked of wave) fail(asked, error);
      return;
    }
    let broken: Error | undefined;
    const again: Asked[] = [];
    await Promise.all(
      wave.map(async (asked) => {
        try {
          const { name, text } = asked.read;
          const { rows } = await client.query<KeyedRow>({ name, text, values: [[...asked.waiting.keys()]] });
          answer(asked, rowsOf(asked.read, rows));
        } catch (error) {
          broken = error as Error;
          if (isStalePlan(error)) again.push(asked);
          else fail(asked, error);
        }
      }),
    );
    // A connection on which something failed is not worth keeping.
    client.release(broken);
    // Prepared before a migration: another connection, in the end a new one, takes it.
    if (again.length > 0) await this.send(again);
  }
}

function answer({ waiting }: Asked, rows: readonly KeyedRow[]): void {
  for (const row of rows) {
    for (const { resolve } of waiting.get(row.key) ?? []) resolve(row);
    waiting.delete(row.key);
  }
  for (const absent of waiting.values()) for (const { resolve } of absent) resolve(undefined);
}

function fail({ waiting }: Asked, error: unknown): void {
  for (const waiters of waiting.values()) for (const { reject } of waiters) reject(error);
}
