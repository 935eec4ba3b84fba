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
  /** The values of `plugin_name` that select it. */
  readonly plugins: readonly string[];
  /** Whether roles must define creation statements, because there is no default. */
  readonly needsCreation: boolean;
  /** The default template of user names, and the longest name. */
  readonly names: { readonly template: string; readonly longest: number };
  /** Checks a configuration without any call. Throws `invalid`. */
  check(config: DatabaseConfig): void;
  /** The user and the password of a configuration. Throws `invalid`. */
  login(config: DatabaseConfig): { readonly user: string; readonly password: string };
  /** Default revocation statements that depend on the creation statements. Throws `invalid`. */
  revocationOf?(creation: Statements): Statements;
  /** Creates a client without connecting. */
  open(config: DatabaseConfig): DatabaseClient;
}

/** A session of the server. */
export interface ServerSession {
  readonly id: string;
  readonly username: string;
  /** Empty if the server does not say. */
  readonly address: string;
  readonly application: string;
  readonly state: string;
  readonly sinceMs?: number;
}

/** The maximum number of sessions that are shown; clients return at most one more. */
export const mostSessions = 5000;

/** A client logged in as the configured user. Calls throw the library's errors; `close` waits for running calls. */
export interface DatabaseClient {
  verify(): Promise<void>;
  /** Creates a user; atomically if the database supports it. */
  create(statements: Statements, words: Words): Promise<void>;
  /** Runs the statements of `create`, and rolls them back. Absent if the database cannot roll back. */
  rehearse?(statements: Statements, words: Words): Promise<void>;
  /** Extends the user until `words.expiration`. */
  renew(statements: Statements, words: Words): Promise<void>;
  /** Drops a user and ends its sessions. A missing user is not an error. */
  remove(statements: Statements, words: Words): Promise<void>;
  setPassword(statements: Statements, words: Words): Promise<void>;
  /** The sessions of all users, as far as the configured user may see them. */
  sessions(): Promise<ServerSession[]>;
  close(): Promise<void>;
}

/** Tracks running calls, for clients that would abort them when closed. */
export class RunningCalls {
  private readonly running = new Set<Promise<unknown>>();

  add<T>(call: Promise<T>): Promise<T> {
    const counted = call.finally(() => this.running.delete(counted));
    this.running.add(counted);
    return counted;
  }

  /** Waits for running calls. */
  async end(): Promise<void> {
    await Promise.allSettled(this.running);
  }
}

/** The host of `host:port`; IPv6 addresses lose their brackets. */
export const withoutPort = (address: string): string => address.replace(/:\d+$/, '').replace(/^\[(.*)\]$/, '$1');

/** Throws `invalid` for connection limits that a client does not support. */
export function refuseLimits(config: DatabaseConfig, database: string): void {
  for (const name of ['max_idle_connections', 'max_connection_lifetime'] as const)
    if (config[name] > 0) refuse(`${name} is not supported for ${database}`);
}

/** The reason why a call got no response; undefined if the database answered with an error. */
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
