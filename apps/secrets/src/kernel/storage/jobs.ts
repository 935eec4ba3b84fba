import { randomUUID } from 'node:crypto';
import { isRefusal } from '@keystead/refusal';
import type { Database, Statement } from './database';
import type { Barrier, Clock, Fault } from './types';

/** The result of one step of a job; the next step starts from `state`. */
export interface JobStep<S> {
  readonly state: S;
  /** How many items this step has processed. */
  readonly advanced: number;
  readonly finished: boolean;
  /** The time at which the next step is due. Any node may execute it. */
  readonly waitMs?: number;
  /** The total number of items, once known. */
  readonly total?: number;
}

/** Runs one step; it must be idempotent, because it may run twice with the same state after a crash. */
export type RunStep<S> = (state: S) => Promise<JobStep<S>>;

/** The public view of a job. */
export interface JobFacts {
  readonly id: string;
  readonly kind: string;
  readonly key: string;
  readonly running: boolean;
  readonly done: number;
  readonly total?: number;
  readonly startedAtMs: number;
  readonly updatedAtMs: number;
  /** Failed steps in a row. */
  readonly failures: number;
}

export interface JobsOptions {
  readonly database: Database;
  readonly barrier: Barrier;
  readonly clock: Clock;
  readonly fault: Fault;
  readonly log?: { warn(fields: object, message: string): void };
}

interface JobRow {
  id: string;
  kind: string;
  key: string;
  state: number;
  done: string;
  total: string | null;
  attempts: number;
  claim: number;
  created_at_ms: string;
  updated_at_ms: string;
  sealed: Buffer;
}

/** A node that has not recorded progress for this long is considered dead. */
const CLAIM_MS = 15_000;
/** How long a job runs before another job gets a turn. */
const TURN_MS = 2000;
const MAX_PAUSE_MS = 5 * 60_000;
const COLUMNS = 'id, kind, key, state, done, total, attempts, claim, created_at_ms, updated_at_ms, sealed';

const START: Statement = {
  name: 'job-start',
  text: `INSERT INTO job (id, kind, key, created_at_ms, updated_at_ms, due_at_ms, sealed)
         VALUES ($1, $2, $3, $4, $4, $6, $5)`,
};
const CLAIM: Statement = {
  name: 'job-claim',
  text: `UPDATE job SET claim = claim + 1, due_at_ms = $1::bigint + ${CLAIM_MS} WHERE id = (
    SELECT id FROM job WHERE due_at_ms <= $1 AND kind = ANY($2::text[])
     ORDER BY due_at_ms LIMIT 1 FOR UPDATE SKIP LOCKED) RETURNING ${COLUMNS}`,
};
const ADVANCE: Statement = {
  name: 'job-advance',
  text: `UPDATE job SET sealed = $2, done = done + $3, total = coalesce($4, total), state = $5, due_at_ms = $6,
                updated_at_ms = $7, attempts = 0 WHERE id = $1 AND claim = $8`,
};
const PAUSE: Statement = {
  name: 'job-pause',
  text: 'UPDATE job SET attempts = attempts + 1, due_at_ms = $2, updated_at_ms = $3 WHERE id = $1 AND claim = $4',
};
const FIND: Statement = { name: 'job-find', text: `SELECT ${COLUMNS} FROM job WHERE id = $1` };
const NEWEST: Statement = {
  name: 'job-newest',
  text: `SELECT ${COLUMNS} FROM job WHERE kind = $1 AND key = $2 ORDER BY created_at_ms DESC LIMIT 1`,
};
const TIDY: Statement = {
  name: 'job-tidy',
  text: 'DELETE FROM job WHERE due_at_ms IS NULL AND updated_at_ms < $1',
};
/** How long a finished job can still be looked up. */
const KEPT_MS = 7 * 24 * 3600_000;

/** Long work in small steps, stored in the database. Any node can continue where another node stopped. */
export class Jobs {
  private readonly kinds = new Map<string, RunStep<unknown>>();

  constructor(private readonly options: JobsOptions) {}

  /** Registers the runner for a kind of job. Every node must register all kinds. */
  define<S>(kind: string, step: RunStep<S>): void {
    this.kinds.set(kind, step as RunStep<unknown>);
  }

  /** Records a job; it runs at the next sweep of any node. */
  async start(kind: string, key: string, state: unknown): Promise<string> {
    return this.insert(kind, key, state, this.options.clock.now());
  }

  /**
   * Records a job that this node starts. Any node can continue the job later. Returns its id and whether it has
   * finished.
   */
  async startHere(
    kind: string,
    key: string,
    state: unknown,
    forMs = Number.POSITIVE_INFINITY,
  ): Promise<{ id: string; ended: boolean }> {
    const id = await this.insert(kind, key, state, this.options.clock.now() + CLAIM_MS);
    await this.options.fault(`job:${kind}:recorded`);
    const { rows } = await this.options.database.query<JobRow>(FIND, [id]);
    return { id, ended: await this.run(rows[0]!, forMs) };
  }

  async find(id: string): Promise<JobFacts | undefined> {
    const { rows } = await this.options.database.query<JobRow>(FIND, [id]);
    return rows[0] && facts(rows[0]);
  }

  /** The job of this kind and key that was started last. */
  async newest(kind: string, key: string): Promise<JobFacts | undefined> {
    const { rows } = await this.options.database.query<JobRow>(NEWEST, [kind, key]);
    return rows[0] && facts(rows[0]);
  }

  /** Continues one due job. Returns true if there may be more to do. */
  async runDue(): Promise<boolean> {
    const { database, clock } = this.options;
    const { rows } = await database.query<JobRow>(CLAIM, [clock.now(), [...this.kinds.keys()]]);
    if (!rows[0]) return false;
    await this.run(rows[0], TURN_MS);
    return true;
  }

  async tidy(): Promise<void> {
    await this.options.database.query(TIDY, [this.options.clock.now() - KEPT_MS]);
  }

  private async insert(kind: string, key: string, state: unknown, dueAtMs: number): Promise<string> {
    const { database, barrier, clock } = this.options;
    const id = randomUUID();
    await database.query(START, [id, kind, key, clock.now(), barrier.sealJson(state, cell(id)), dueAtMs]);
    return id;
  }

  /**
   * Runs steps until the job ends or its turn is over. The result of each step is recorded before the next step.
   * Returns true if the job has ended.
   */
  private async run(row: JobRow, forMs: number): Promise<boolean> {
    const { database, barrier, clock, fault, log } = this.options;
    const end = performance.now() + forMs;
    try {
      let state = barrier.openJson<unknown>(row.sealed, cell(row.id));
      for (;;) {
        const step = await this.kinds.get(row.kind)!(state);
        await fault(`job:${row.kind}`);
        const timedOut = performance.now() >= end;
        const now = clock.now();
        state = step.state;
        const { rowCount } = await database.query(ADVANCE, [
          row.id,
          barrier.sealJson(state, cell(row.id)),
          step.advanced,
          step.total ?? null,
          step.finished ? 1 : 0,
          step.finished ? null : step.waitMs !== undefined ? now + step.waitMs : timedOut ? now : now + CLAIM_MS,
          now,
          row.claim,
        ]);
        // Another node has taken over the job, and continues from the last recorded state.
        if (rowCount === 0) return false;
        if (step.finished || step.waitMs !== undefined || timedOut) return step.finished;
      }
    } catch (error) {
      if (!isRefusal(error)) log?.warn({ err: error, job: row.id, kind: row.kind }, 'job step failed');
      const pause = Math.min(1000 * 2 ** row.attempts, MAX_PAUSE_MS);
      await database.query(PAUSE, [row.id, clock.now() + pause, clock.now(), row.claim]);
      return false;
    }
  }
}

const cell = (id: string) => ({ table: 'job', row: id, column: 'sealed' });

function facts(row: JobRow): JobFacts {
  return {
    id: row.id,
    kind: row.kind,
    key: row.key,
    running: row.state === 0,
    done: Number(row.done),
    total: row.total === null ? undefined : Number(row.total),
    startedAtMs: Number(row.created_at_ms),
    updatedAtMs: Number(row.updated_at_ms),
    failures: row.attempts,
  };
}
