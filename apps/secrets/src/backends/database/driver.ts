import { refuse } from '../../sdk/refuse';
import type { DatabaseConfig } from './config-fields';
import type { Words } from './statements';

/** Statements that run together; empty means the driver's default. */
export type Statements = readonly string[];

/** The configured statements, or the default. */
export const orElse = (statements: Statements, usual: string): Statements =>
  statements.length > 0 ? statements : [usual];

/** Timeouts for connecting, for a call, and for idle connections. */
export const limits = { connectMs: 5_000, callMs: 30_000, idleMs: 30_000 } as const;

/** One kind of database: how its users are created and dropped. It does not know roles, leases or storage. */
export interface Driver {
  /** The names that configurations know it by. */
  readonly plugins: readonly string[];
  /** There is no default way to create a user: a role must define it. */
  readonly needsCreation: boolean;
  /** The default template of user names, and the longest name. */
  readonly names: { readonly template: string; readonly longest: number };
  /** Checks a configuration without any call. Throws `invalid`. */
  check(config: DatabaseConfig): void;
  /** The statements that drop a user, if a role has none and this depends on how it was created. Throws `invalid`. */
  revocationOf?(creation: Statements): Statements;
  /** A connection or a pool; nothing is called yet. */
  open(config: DatabaseConfig): DatabaseClient;
}

/** A database for its configured user. Calls throw the client's errors; `close` waits for those under way. */
export interface DatabaseClient {
  verify(): Promise<void>;
  /** Creates a user; atomically if the database can do that. */
  create(statements: Statements, words: Words): Promise<void>;
  /** Runs what `create` would, and rolls it back. Absent if the database cannot. */
  rehearse?(statements: Statements, words: Words): Promise<void>;
  /** Extends the user until `words.expiration`. */
  renew(statements: Statements, words: Words): Promise<void>;
  /** Drops a user and ends its sessions. A missing user is not an error. */
  remove(statements: Statements, words: Words): Promise<void>;
  setPassword(statements: Statements, words: Words): Promise<void>;
  close(): Promise<void>;
}

/** Calls of a client that would end them when it is closed. */
export class RunningCalls {
  private readonly running = new Set<Promise<unknown>>();

  add<T>(call: Promise<T>): Promise<T> {
    const counted = call.finally(() => this.running.delete(counted));
    this.running.add(counted);
    return counted;
  }

  /** Waits for those under way. */
  async end(): Promise<void> {
    await Promise.allSettled(this.running);
  }
}

/** Throws `invalid` for a limit of connections that a client does not have. */
export function refuseLimits(config: DatabaseConfig, database: string): void {
  for (const name of ['max_idle_connections', 'max_connection_lifetime'] as const)
    if (config[name] > 0) refuse(`${name} is not supported for ${database}`);
}

/** Why a call had no answer; undefined if the database answered with an error. */
export function unanswered(error: unknown): string | undefined {
  const { code, message } = error as { code?: unknown; message?: string };
  if (typeof code === 'string' && unansweredCodes.has(code)) return message || code;
  return /timeout|timed out|terminated|socket closed|connection is closed|The client is closed/i.test(message ?? '')
    ? message
    : undefined;
}

const unansweredCodes = new Set([
  ...['ECONNREFUSED', 'ECONNRESET', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND', 'EAI_AGAIN', 'EPIPE', 'ETIMEDOUT'],
  ...['PROTOCOL_CONNECTION_LOST', 'PROTOCOL_SEQUENCE_TIMEOUT', '57P01', '57P02', '57P03'],
]);
