import type pg from 'pg';
import { codeOf, type Thrown } from './connection-loss';

const READ_ONLY = '25006';

/** Said where a statement, or a connection, would need a server that takes writes. */
export class ReadOnlyServer extends Error {
  override readonly name = 'ReadOnlyServer';
  readonly code = READ_ONLY;

  constructor() {
    super('the server is a standby and takes no writes');
  }
}

/** True when a statement failed because it writes, and its server or connection only reads. */
export function isReadOnlyServer(error: unknown): boolean {
  for (let one = error; typeof one === 'object' && one !== null; one = (one as Thrown).cause) {
    if (codeOf(one as Thrown) === READ_ONLY || (one as { originalCode?: unknown }).originalCode === READ_ONLY)
      return true;
  }
  return false;
}

/**
 * An SQL expression: milliseconds from when the newest change was made that a standby has applied; 0 at a primary, null
 * where a standby has applied none since its start.
 */
export const REPLAY_LAG = `CASE WHEN pg_is_in_recovery()
  THEN (extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000)::float8 ELSE 0 END`;

/**
 * An SQL expression that makes a change of no consequence where a standby hears of it: it can tell a primary at rest from
 * one that it hears nothing of. It costs no wait for the disk.
 */
export const SIGN_OF_LIFE = 'CASE WHEN EXISTS (SELECT FROM pg_stat_replication) THEN pg_current_xact_id()::text END';

/** How old what a standby answers may be. Between two answers about it, it counts as growing. */
export class ReplayLag {
  private lagMs = Number.POSITIVE_INFINITY;
  private askedMs = 0;

  constructor(
    private readonly maxMs: number,
    private readonly steady: () => number = () => performance.now(),
  ) {}

  /** Begins to ask; call what it returns with the answer to `REPLAY_LAG`. */
  ask(): (lagMs: number | null) => void {
    const askedMs = this.steady();
    return (lagMs) => {
      this.askedMs = askedMs;
      this.lagMs = lagMs === null ? Number.POSITIVE_INFINITY : Math.max(0, lagMs);
    };
  }

  /** Milliseconds; infinite before the standby has said anything. */
  get ms(): number {
    return this.lagMs + this.steady() - this.askedMs;
  }

  /** Why nothing may be answered; undefined when it may. */
  get trouble(): string | undefined {
    const { ms, maxMs } = this;
    if (ms <= maxMs) return undefined;
    if (ms === Number.POSITIVE_INFINITY) return 'the standby has not said yet how far it is behind';
    return `the standby is ${(ms / 1000).toFixed(1)} s behind (${maxMs / 1000} s are allowed)`;
  }
}

/** What the driver keeps to itself: the messages of the server as they come. */
interface Messages {
  readonly connection: {
    on(message: 'parameterStatus', heard: (said: { parameterName: string; parameterValue: string }) => void): void;
    on(message: 'errorMessage', heard: (said: { code?: string }) => void): void;
  };
}

const standbys = new WeakSet<object>();

/**
 * Notes, before it connects, whether a connection leads to a standby; servers say so by themselves. A connection that
 * becomes read-only later is closed: it may lead to a former primary, and the next query gets another.
 */
export function watchForStandby(client: pg.ClientBase): void {
  const { connection } = client as unknown as Messages;
  connection.on('parameterStatus', ({ parameterName, parameterValue }) => {
    if (parameterName !== 'in_hot_standby') return;
    if (parameterValue === 'on') standbys.add(client);
    else standbys.delete(client);
  });
  connection.on('errorMessage', ({ code }) => {
    if (code === READ_ONLY) (client as pg.Client).end().catch(() => {});
  });
}

/** True when the server of a watched connection is a standby. */
export const isStandby = (client: pg.ClientBase): boolean => standbys.has(client);
