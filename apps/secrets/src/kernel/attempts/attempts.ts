import { gather } from '@keystead/postgres';
import { isRefusal } from '@keystead/refusal';
import type { Statement } from '../storage/database';
import { SerialQueue } from '../storage/serial-queue';
import type { StorageKernel } from '../storage/storage';

/** How often guesses at a secret are allowed. */
export interface GuessRule {
  /** The number of wrong guesses in a row that starts a lock. */
  readonly allowed: number;
  readonly lockSeconds: number;
  /** Each lock is twice as long as the previous one, up to this time. */
  readonly longestLockSeconds: number;
  /** Failures are forgotten this long after the last guess. */
  readonly forgetSeconds: number;
}

/** The subject whose secret is guessed. The kind separates equal names from different places. */
export interface Guessed {
  readonly kind: 'password' | 'one-time code';
  readonly subject: string;
  /** For passwords: the auth method and the user name, under which a lock is listed. */
  readonly who?: { readonly mountId: string; readonly name: string };
}

/** The locked names at one auth method. */
export interface Locks {
  readonly count: number;
  /** The most recently locked names, up to a limit. */
  readonly names: readonly string[];
}

/** A counted guess, which may now be checked. */
export interface TakenAttempt {
  readonly allowed: true;
  readonly key: Buffer;
  /** The end of the lock that this attempt started; 0 for none. */
  readonly locksUntilMs: number;
}

/** A guess that must not be checked. */
export interface RefusedAttempt {
  readonly allowed: false;
  readonly lockedUntilMs: number;
}

/** A guess to count. */
interface CountedGuess {
  readonly key: Buffer;
  readonly rule: GuessRule;
  readonly who: Guessed['who'];
}

/**
 * How the statements for simultaneous guesses are combined. After a lost connection no statement is repeated, so no
 * guess is counted twice.
 */
const together = {
  name: 'attempts',
  inFlight: 2,
  most: 64,
  apart: ({ key }: { readonly key: Buffer }) => key.toString('latin1'),
  repeats: (error: unknown) => !isRefusal(error),
};

/**
 * The limit on guesses, for the whole service. Each guess is counted in the database before it is checked. So no more
 * guesses are checked than allowed, however many arrive at once on all nodes. A lock ends only when its time is over.
 * Later failures, or the success of a guess that was already running, do not end it earlier.
 */
export class Attempts {
  /** The number of locks that started on this node, and the number that administrators ended there. */
  readonly counts = { locked: 0, unlocked: 0 };
  private readonly line = new SerialQueue();
  private readonly takeTogether = gather<CountedGuess, number>((guesses) => this.takeAll(guesses), together);
  private readonly succeedTogether = gather<TakenAttempt, true>((attempts) => this.succeedAll(attempts), together);

  constructor(private readonly storage: StorageKernel) {
    storage.background.every('attempts', 60_000, () => this.tidy());
  }

  /**
   * Counts a guess and checks it; undefined if it is wrong or must not be checked. If the check itself fails, the guess
   * is not counted. On this node, guesses at one secret are checked one after another. Otherwise many correct guesses
   * at the same time, for example when all instances of an application start, would exceed the limit together.
   *
   * The caller of a correct guess gets the answer before the earlier failures are removed from the database, unless the
   * guess started a lock, which must end first. The next guess waits until the failures are removed.
   */
  check<T>(guessed: Guessed, rule: GuessRule, judge: () => Promise<T | undefined>): Promise<T | undefined> {
    return new Promise((resolve, reject) => {
      const turn = async () => {
        const attempt = await this.take(guessed, rule);
        if (!attempt.allowed) return resolve(undefined);
        const right = await judge().catch(async (error) => {
          await this.giveBack(attempt);
          throw error;
        });
        if (right === undefined) this.wrong(guessed, attempt);
        if (right === undefined || attempt.locksUntilMs === 0) resolve(right);
        if (right !== undefined) await this.succeed(attempt);
        resolve(right);
      };
      this.line.stand(`${guessed.kind}/${guessed.subject}`, turn).catch(reject);
    });
  }

  /** Counts a guess. The guess that reaches the limit starts the lock, and is the last that is checked. */
  async take(guessed: Guessed, rule: GuessRule): Promise<TakenAttempt | RefusedAttempt> {
    const { clock } = this.storage;
    const key = this.keyOf(guessed);
    const locksUntilMs = await this.takeTogether({ key, rule, who: guessed.who });
    if (locksUntilMs !== undefined) return { allowed: true, key, locksUntilMs };
    return { allowed: false, lockedUntilMs: (await this.lockEnd(key)) ?? clock.now() };
  }

  /** Whether a secret is locked now. */
  async isLocked(guessed: Guessed): Promise<boolean> {
    return ((await this.lockEnd(this.keyOf(guessed))) ?? 0) > this.storage.clock.now();
  }

  private async lockEnd(key: Buffer): Promise<number | undefined> {
    const { rows } = await this.storage.database.query<{ locked_until_ms: string }>(FIND, [key]);
    return rows[0] && Number(rows[0].locked_until_ms);
  }

  /** Counts several guesses. Locked secrets are missing from the result. */
  private async takeAll(guesses: readonly CountedGuess[]): Promise<Map<CountedGuess, number>> {
    const { barrier, clock, database } = this.storage;
    const nowMs = clock.now();
    const { rows } = await database.query<{ key: Buffer; locked_until_ms: string }>(TAKE, [
      guesses.map(({ key }) => key),
      nowMs,
      guesses.map(({ rule }) => rule.allowed),
      guesses.map(({ rule }) => rule.lockSeconds * 1000),
      guesses.map(({ rule }) => rule.longestLockSeconds * 1000),
      guesses.map(({ rule }) => rule.forgetSeconds * 1000),
      guesses.map(({ rule }) => (rule.allowed > 1 ? 0 : nowMs + rule.lockSeconds * 1000)),
      guesses.map(({ who }) => who?.mountId ?? null),
      guesses.map(({ key, who }) => who && barrier.seal(Buffer.from(who.name), cell(key))),
    ]);
    const locks = new Map(rows.map((row) => [row.key.toString('latin1'), Number(row.locked_until_ms)]));
    return new Map(
      guesses.flatMap((guess) => {
        const lock = locks.get(guess.key.toString('latin1'));
        return lock === undefined ? [] : [[guess, lock] as const];
      }),
    );
  }

  /** Call this after a correct guess. Earlier failures are forgotten, but a lock that another guess started remains. */
  async succeed(attempt: TakenAttempt): Promise<void> {
    await this.succeedTogether(attempt);
  }

  private async succeedAll(attempts: readonly TakenAttempt[]): Promise<Map<TakenAttempt, true>> {
    await this.storage.database.query(SUCCEED, [
      attempts.map(({ key }) => key),
      this.storage.clock.now(),
      attempts.map(({ locksUntilMs }) => locksUntilMs),
    ]);
    return new Map();
  }

  /** Call this after a wrong guess. If the guess started a lock, the lock is counted and logged. */
  private wrong(guessed: Guessed, { locksUntilMs }: TakenAttempt): void {
    if (locksUntilMs === 0) return;
    this.counts.locked++;
    this.log(
      guessed,
      { until: new Date(locksUntilMs).toISOString() },
      'a user is locked out: too many wrong passwords',
    );
  }

  /**
   * Removes a guess that was neither right nor wrong from the count, for example a correct factor next to a wrong
   * factor.
   */
  async giveBack({ key, locksUntilMs }: TakenAttempt): Promise<void> {
    await this.storage.database.query(GIVE_BACK, [key, locksUntilMs]);
  }

  /** Ends a lock for an administrator, and forgets all failures. */
  async forget(guessed: Guessed): Promise<void> {
    const { database, clock } = this.storage;
    const { rows } = await database.query<{ locked_until_ms: string }>(FORGET, [this.keyOf(guessed)]);
    if (Number(rows[0]?.locked_until_ms ?? 0) <= clock.now()) return;
    this.counts.unlocked++;
    this.log(guessed, {}, 'a locked user was unlocked');
  }

  /** Log lines contain a keyed hash of the user name. `sys/locked-users` shows the name. */
  private log(guessed: Guessed, fields: object, message: string): void {
    const [mount] = guessed.subject.split('/', 1);
    const user = this.keyOf(guessed).toString('hex').slice(0, 16);
    this.storage.log?.warn({ mount, user, ...fields }, message);
  }

  /** Current locks at some auth methods, by their ids; methods without locks are absent. */
  async locked(mountIds: readonly string[]): Promise<ReadonlyMap<string, Locks>> {
    const { database, barrier, clock } = this.storage;
    const { rows } = await database.query<{ key: Buffer; mount_id: string; sealed: Buffer; count: string }>(LOCKED, [
      clock.now(),
      mountIds,
      LISTED_OF_EACH,
      LISTED,
    ]);
    const found = new Map<string, { count: number; names: string[] }>();
    for (const { key, mount_id: mountId, sealed, count } of rows) {
      const locks = found.get(mountId) ?? { count: Number(count), names: [] };
      locks.names.push(barrier.open(sealed, cell(key)).toString());
      found.set(mountId, locks);
    }
    return found;
  }

  private keyOf({ kind, subject }: Guessed): Buffer {
    return this.storage.barrier.mac('attempt', `${kind}/${subject}`);
  }

  private async tidy(): Promise<boolean> {
    const { rowCount } = await this.storage.database.query(TIDY, [this.storage.clock.now(), TIDIED_AT_ONCE]);
    return rowCount === TIDIED_AT_ONCE;
  }
}

const TIDIED_AT_ONCE = 1000;
/** The maximum number of names that are listed: of one auth method, and of all. */
const LISTED_OF_EACH = 1000;
const LISTED = 10_000;

const cell = (key: Buffer) => ({ table: 'attempt', row: key.toString('hex'), column: 'sealed' });

/**
 * $2 now. For each secret: $1 its key, $3 how many guesses are allowed, $4 lock, $5 longest lock, $6 how long failures
 * are remembered, $7 the end of the lock that a first guess starts; $8 and $9 identify the secret. Locked secrets
 * return no row. Rows are locked in the order of their keys, so that statements of several nodes cannot deadlock.
 */
const TAKE: Statement = {
  name: 'attempt-take',
  text: `INSERT INTO attempt AS a
    (key, failures, lockouts, locked_until_ms, forget_at_ms, mount_id, sealed)
    SELECT g.key, 1, sign(g.first_ms), g.first_ms, greatest($2::bigint, g.first_ms) + g.forget_ms, g.mount_id, g.sealed
      FROM unnest($1::bytea[], $6::bigint[], $7::bigint[], $8::uuid[], $9::bytea[]) AS g(key, forget_ms, first_ms, mount_id, sealed)
     ORDER BY g.key
  ON CONFLICT (key) DO UPDATE SET mount_id = excluded.mount_id, sealed = excluded.sealed, (failures, lockouts, locked_until_ms, forget_at_ms) = (
    SELECT n.failures, n.lockouts + sign(n.lock_ms), CASE WHEN n.lock_ms > 0 THEN $2 + n.lock_ms ELSE 0 END,
           $2 + n.lock_ms + n.forget_ms
      FROM (SELECT g.failures, g.lockouts, g.forget_ms, CASE WHEN g.failures < g.allowed THEN 0
                     ELSE least(g.lock_ms * (1::bigint << least(g.lockouts, 20)), g.longest_ms) END AS lock_ms
              FROM (SELECT r.allowed, r.lock_ms, r.longest_ms, r.forget_ms,
                           CASE WHEN a.forget_at_ms <= $2 OR a.locked_until_ms > 0 THEN 1 ELSE a.failures + 1 END AS failures,
                           CASE WHEN a.forget_at_ms <= $2 THEN 0 ELSE a.lockouts END AS lockouts
                      FROM unnest($1::bytea[], $3::int[], $4::bigint[], $5::bigint[], $6::bigint[])
                           AS r(key, allowed, lock_ms, longest_ms, forget_ms)
                     WHERE r.key = a.key) g) n)
    WHERE a.locked_until_ms <= $2
  RETURNING a.key, a.locked_until_ms`,
};
const FIND: Statement = { name: 'attempt-find', text: 'SELECT locked_until_ms FROM attempt WHERE key = $1' };
const SUCCEED: Statement = {
  name: 'attempt-succeed',
  text: `DELETE FROM attempt WHERE key IN (
    SELECT a.key FROM attempt a JOIN unnest($1::bytea[], $3::bigint[]) AS s(key, locked_until_ms) USING (key)
     WHERE a.locked_until_ms <= $2 OR a.locked_until_ms = s.locked_until_ms ORDER BY a.key FOR UPDATE OF a)`,
};
const GIVE_BACK: Statement = {
  name: 'attempt-give-back',
  text: `UPDATE attempt SET failures = greatest(failures - 1, 0),
      lockouts = lockouts - CASE WHEN $2::bigint > 0 AND locked_until_ms = $2 THEN 1 ELSE 0 END,
      locked_until_ms = CASE WHEN locked_until_ms = $2 THEN 0 ELSE locked_until_ms END WHERE key = $1`,
};
const LOCKED: Statement = {
  name: 'attempt-locked',
  text: `SELECT key, mount_id, sealed, count FROM (
      SELECT key, mount_id, sealed, locked_until_ms, count(*) OVER (PARTITION BY mount_id) AS count,
             row_number() OVER (PARTITION BY mount_id ORDER BY locked_until_ms DESC, key) AS place
        FROM attempt WHERE locked_until_ms > $1 AND mount_id = ANY($2::uuid[]) AND sealed IS NOT NULL) a
    WHERE place <= $3 ORDER BY place LIMIT $4`,
};
const FORGET: Statement = {
  name: 'attempt-forget',
  text: 'DELETE FROM attempt WHERE key = $1 RETURNING locked_until_ms',
};
const TIDY: Statement = {
  name: 'attempt-tidy',
  text: `DELETE FROM attempt WHERE key IN (
    SELECT key FROM attempt WHERE forget_at_ms <= $1 AND locked_until_ms <= $1 LIMIT $2 FOR UPDATE SKIP LOCKED)`,
};
