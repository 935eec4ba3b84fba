import type { DatabaseConfig } from './config-fields';
import type { Words } from './statements';

/** Statements that run together; what is empty does as the database usually does. */
export type Statements = readonly string[];

/** The statements that are configured, else the usual one. */
export const orElse = (statements: Statements, usual: string): Statements =>
  statements.length > 0 ? statements : [usual];

/** How long a connection may take, how long a call, and after how long without one a connection is closed. */
export const limits = { connectMs: 5_000, callMs: 30_000, idleMs: 30_000 } as const;

/** One kind of database: how its users are made and ended. It knows nothing of roles, leases and storage. */
export interface Driver {
  /** The names that configurations know it by. */
  readonly plugins: readonly string[];
  /** It knows no usual way to make a user: a role must say how. */
  readonly needsCreation: boolean;
  /** The template of user names if none is configured, and the longest name there is. */
  readonly names: { readonly template: string; readonly longest: number };
  /** Judges what is configured, without any call. Throws `invalid`. */
  check(config: DatabaseConfig): void;
  /** The statements that drop a user, if a role has none and this depends on how it was created. Throws `invalid`. */
  revocationOf?(creation: Statements): Statements;
  /** A connection, or several that are kept; nothing is called yet. */
  open(config: DatabaseConfig): DatabaseClient;
}

/** A database as its configured user sees it. Its calls throw what its client throws; `close` waits for those under way. */
export interface DatabaseClient {
  verify(): Promise<void>;
  /** Makes a user; where the database can do that, wholly or not at all. */
  create(statements: Statements, words: Words): Promise<void>;
  /** Runs what `create` would, and takes it back. Absent where the database cannot. */
  rehearse?(statements: Statements, words: Words): Promise<void>;
  /** The user lives on until `words.expiration`. */
  renew(statements: Statements, words: Words): Promise<void>;
  /** Ends a user and its sessions. One that is not there is no error. */
  remove(statements: Statements, words: Words): Promise<void>;
  setPassword(statements: Statements, words: Words): Promise<void>;
  close(): Promise<void>;
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
