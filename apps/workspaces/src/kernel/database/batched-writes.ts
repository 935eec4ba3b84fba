import type { Pool, PoolClient, QueryResultRow } from 'pg';
import { untilWon } from './lost-races';

/** The text of a statement that PostgreSQL plans once per connection. */
export interface Named {
  readonly name: string;
  readonly text: string;
}

/** What is written for some items at once, and how each of them learns what became of it. */
export interface Batch<Result> {
  /** Of the statement; undefined where nothing has to be written. */
  readonly values?: readonly unknown[];
  /** Keys of the rows that `holds` takes first. */
  readonly held?: readonly string[];
  /** A result, or an error of its own, for each item in order; called once the rows of the statement are committed. */
  settle(rows: readonly QueryResultRow[]): readonly (Result | Error)[];
}

/** A kind of write that one statement does for many callers. */
export interface Batched<Item, Result> extends Named {
  /**
   * Takes rows by key (`$1`) in an order of its own, so that batches never wait for each other in a circle. The
   * statement comes after it, and so sees what was committed before the rows were ours.
   */
  readonly holds?: Named;
  batch(items: readonly Item[]): Batch<Result>;
  /** What an item is about: then no two batches that are under way are about the same. */
  about?(item: Item): string;
}

interface Waiting {
  readonly kind: Batched<never, unknown>;
  readonly item: unknown;
  /** What no other batch may be about. */
  readonly about: string | undefined;
  resolve(result: unknown): void;
  reject(error: unknown): void;
}

interface Part {
  readonly kind: Batched<never, unknown>;
  readonly waiting: readonly Waiting[];
  readonly batch: Batch<unknown>;
}

/** Two keep the database busy while one's answer travels; more would make batches smaller, not faster. */
const IN_FLIGHT = 2;
const MOST = 64;

/**
 * Group commit: writes of all kinds that wait at the same moment share one transaction, one statement per kind, sent in
 * one go; each caller is answered after it. A lone caller waits for nothing. What fails is tried again item by item, so
 * that it fails alone.
 */
export class Together {
  private queue: Waiting[] = [];
  private readonly busy = new Set<string>();
  private running = 0;
  private planned = false;

  constructor(
    /** Its connections are pipelined. */
    private readonly pool: Pick<Pool, 'connect'>,
  ) {}

  write<Item, Result>(kind: Batched<Item, Result>, item: Item): Promise<Result> {
    return new Promise((resolve, reject) => {
      this.queue.push({
        kind: kind as Batched<never, unknown>,
        item,
        about: kind.about && `${kind.name} ${kind.about(item)}`,
        resolve: resolve as Waiting['resolve'],
        reject,
      });
      this.plan();
    });
  }

  /** Leaves once everything that has already arrived has asked. */
  private plan(): void {
    if (this.planned || this.running >= IN_FLIGHT) return;
    this.planned = true;
    setImmediate(() => {
      this.planned = false;
      this.start();
    });
  }

  private start(): void {
    while (this.running < IN_FLIGHT && this.queue.length > 0) {
      const waiting = this.take();
      if (waiting.length === 0) return;
      const about = new Set(waiting.flatMap((one) => one.about ?? []));
      for (const one of about) this.busy.add(one);
      this.running++;
      void this.run(waiting).finally(() => {
        for (const one of about) this.busy.delete(one);
        this.running--;
        this.start();
      });
    }
  }

  /** The oldest that wait, but for those about which a batch is under way; these keep their place. */
  private take(): Waiting[] {
    const taken: Waiting[] = [];
    const rest: Waiting[] = [];
    for (const one of this.queue) {
      const fits = taken.length < MOST && (one.about === undefined || !this.busy.has(one.about));
      (fits ? taken : rest).push(one);
    }
    this.queue = rest;
    return taken;
  }

  private async run(waiting: readonly Waiting[]): Promise<void> {
    try {
      await this.commit(partsOf(waiting));
    } catch (error) {
      // What was on its way in a lost connection may have been committed or not: it is not written twice.
      if (!isOfStatement(error)) for (const { reject } of waiting) reject(error);
      else for (const one of waiting) await this.alone(one);
    }
  }

  private async alone(one: Waiting): Promise<void> {
    try {
      await untilWon(() => this.commit(partsOf([one])));
    } catch (error) {
      one.reject(error);
    }
  }

  private async commit(parts: readonly Part[]): Promise<void> {
    const writing = parts.filter(({ batch }) => batch.values !== undefined);
    const results = writing.length === 0 ? [] : await this.send(statementsOf(writing));
    const rowsOf = new Map(writing.map((part, index) => [part, results.at(index - writing.length)!]));
    const settled = parts.map((part) => part.batch.settle(rowsOf.get(part) ?? []));
    for (const [at, { waiting }] of parts.entries()) {
      for (const [index, { resolve, reject }] of waiting.entries()) {
        const result = settled[at]![index];
        if (result instanceof Error) reject(result);
        else resolve(result);
      }
    }
  }

  /** The rows of each statement, all of one transaction. */
  private async send(statements: readonly Statement[]): Promise<QueryResultRow[][]> {
    const client: PoolClient = await this.pool.connect();
    const asked = statements.length === 1 ? [...statements] : [BEGIN, ...statements, COMMIT];
    const answers = await Promise.allSettled(asked.map((statement) => client.query(statement)));
    const failed = answers.find((answer) => answer.status === 'rejected');
    // A connection on which something failed is not worth keeping.
    client.release(failed !== undefined);
    if (failed !== undefined) throw failed.reason;
    const rows = answers.map((answer) => (answer as PromiseFulfilledResult<{ rows: QueryResultRow[] }>).value.rows);
    return statements.length === 1 ? rows : rows.slice(1, -1);
  }
}

interface Statement {
  readonly name?: string;
  readonly text: string;
  readonly values?: unknown[];
}

const BEGIN: Statement = { text: 'BEGIN' };
const COMMIT: Statement = { text: 'COMMIT' };

function partsOf(waiting: readonly Waiting[]): Part[] {
  const byKind = new Map<string, Waiting[]>();
  for (const one of waiting) {
    const others = byKind.get(one.kind.name);
    if (others === undefined) byKind.set(one.kind.name, [one]);
    else others.push(one);
  }
  return [...byKind.values()].map((all) => {
    const { kind } = all[0]!;
    return { kind, waiting: all, batch: kind.batch(all.map(({ item }) => item as never)) };
  });
}

/** All rows are taken before anything is written. */
function statementsOf(parts: readonly Part[]): Statement[] {
  const holds = new Map<Named, Set<string>>();
  for (const { kind, batch } of parts) {
    if (kind.holds === undefined) continue;
    const keys = holds.get(kind.holds) ?? new Set();
    for (const key of batch.held ?? []) keys.add(key);
    holds.set(kind.holds, keys);
  }
  return [
    ...[...holds].map(([{ name, text }, keys]) => ({ name, text, values: [[...keys]] })),
    ...parts.map(({ kind: { name, text }, batch }) => ({ name, text, values: [...batch.values!] })),
  ];
}

/** Did the server refuse a statement, so that nothing of its transaction was written? */
function isOfStatement(error: unknown): boolean {
  return (error as { severity?: string }).severity === 'ERROR';
}
