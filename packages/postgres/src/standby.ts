import type pg from 'pg';
import { codeOf, type Thrown } from './connection-loss';

const READ_ONLY = '25006';

/** The message if a statement or a connection needs a server that accepts writes. */
export class ReadOnlyServer extends Error {
  override readonly name = 'ReadOnlyServer';
  readonly code = READ_ONLY;

  constructor() {
    super('the server is a standby and does not accept writes');
  }
}

/** True if a statement failed because it writes and its server or connection is read-only. */
export function isReadOnlyServer(error: unknown): boolean {
  for (let one = error; typeof one === 'object' && one !== null; one = (one as Thrown).cause) {
    if (codeOf(one as Thrown) === READ_ONLY || (one as { originalCode?: unknown }).originalCode === READ_ONLY)
      return true;
  }
  return false;
}

/**
 * An SQL expression: the age in milliseconds of the newest change that a standby has applied; 0 on a primary, null if a
 * standby has applied no change since its start.
 */
export const REPLAY_LAG = `CASE WHEN pg_is_in_recovery()
  THEN (extract(epoch FROM clock_timestamp() - pg_last_xact_replay_timestamp()) * 1000)::float8 ELSE 0 END`;

/**
 * An SQL expression that writes a heartbeat to the WAL. It shows a standby whether its primary is idle or cannot be
 * reached. It does not wait for the disk.
 */
export const SIGN_OF_LIFE = 'CASE WHEN EXISTS (SELECT FROM pg_stat_replication) THEN pg_current_xact_id()::text END';

/** How old the answers of a standby may be. Between two measurements the age is assumed to grow. */
export class ReplayLag {
  private lagMs = Number.POSITIVE_INFINITY;
  private askedMs = 0;

  constructor(
    private readonly maxMs: number,
    private readonly steady: () => number = () => performance.now(),
  ) {}

  /** Starts a measurement. Call the returned function with the response to `REPLAY_LAG`. */
  ask(): (lagMs: number | null) => void {
    const askedMs = this.steady();
    return (lagMs) => {
      this.askedMs = askedMs;
      this.lagMs = lagMs === null ? Number.POSITIVE_INFINITY : Math.max(0, lagMs);
    };
  }

  /** The age of the answers in milliseconds; infinite before the first response. */
  get ms(): number {
    return this.lagMs + this.steady() - this.askedMs;
  }

  /** The reason why no request may be answered at present; undefined if requests may be answered. */
  get trouble(): string | undefined {
    const { ms, maxMs } = this;
    if (ms <= maxMs) return undefined;
    if (ms === Number.POSITIVE_INFINITY) return 'the lag of the standby is not known yet';
    return `the standby is ${(ms / 1000).toFixed(1)} s behind (${maxMs / 1000} s are allowed)`;
  }
}

/** A private part of the driver: the messages of the server as they arrive. */
interface Messages {
  readonly connection: {
    on(message: 'parameterStatus', listener: (status: { parameterName: string; parameterValue: string }) => void): void;
    on(message: 'errorMessage', listener: (failure: { code?: string }) => void): void;
  };
}

const standbys = new WeakSet<object>();

/**
 * Records whether a connection leads to a standby, as the server reports. Call it before connecting. A connection that
 * later becomes read-only is closed, because it may lead to a former primary. The next query gets another connection.
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
