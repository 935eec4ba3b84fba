import { createHash, createHmac, pbkdf2Sync, randomBytes } from 'node:crypto';
import { setTimeout } from 'node:timers/promises';
import { Client, escapeIdentifier, Pool, type PoolClient, type PoolConfig } from 'pg';
import { refuse } from '../../../sdk/refuse';
import { type ConnectionAddress, filledAddress, openSocket, serverName } from '../address';
import type { DatabaseConfig } from '../config-fields';
import {
  type DatabaseClient,
  type Driver,
  limits,
  mostSessions,
  orElse,
  type ServerSession,
  type Statements,
} from '../driver';
import { statementsOf, type Words } from '../statements';

const dialect = { backslashes: false, dollars: true, backticks: false };
const { connectMs, callMs, idleMs } = limits;

const mostTries = 50;

/** Whether the statement conflicted with another statement on the same role or table, such as a grant. */
function wasInTheWay(error: unknown): boolean {
  const { code, message } = error as { code?: string; message: string };
  return code === '40001' || code === '40P01' || (code === 'XX000' && message === 'tuple concurrently updated');
}

/** PostgreSQL. */
export const postgresql: Driver = {
  plugins: ['postgresql-database-plugin'],
  needsCreation: true,
  names: {
    template:
      '{{ printf "v-%s-%s-%s-%s" (.DisplayName | truncate 8) (.RoleName | truncate 8) (random 20) (unix_time) | truncate 63 }}',
    longest: 63,
  },
  check(config) {
    addressOf(config);
    if ((config.tls_certificate === '') !== (config.private_key === '')) {
      refuse('tls_certificate and private_key must be set together');
    }
  },
  login: addressOf,
  open: (config) => new PostgresqlDatabase(config),
};

class PostgresqlDatabase implements DatabaseClient {
  private readonly pool: Promise<Pool>;

  constructor(private readonly config: DatabaseConfig) {
    this.pool = poolOf(config);
    // The error is not lost: the first call throws it.
    this.pool.catch(() => {});
  }

  async verify(): Promise<void> {
    await this.with((client) => client.query('SELECT 1'));
  }

  create(statements: Statements, words: Words): Promise<void> {
    return this.run(statements, words, 'COMMIT');
  }

  rehearse(statements: Statements, words: Words): Promise<void> {
    return this.run(statements, words, 'ROLLBACK');
  }

  renew(statements: Statements, words: Words): Promise<void> {
    return this.run(orElse(statements, `ALTER ROLE "{{name}}" VALID UNTIL '{{expiration}}'`), words, 'COMMIT');
  }

  setPassword(statements: Statements, words: Words): Promise<void> {
    return this.run(orElse(statements, `ALTER ROLE "{{name}}" WITH PASSWORD '{{password}}'`), words, 'COMMIT');
  }

  async remove(statements: Statements, words: Words): Promise<void> {
    const name = words.name!;
    await this.with(async (client) => {
      const { rowCount } = await client.query('SELECT FROM pg_roles WHERE rolname = $1', [name]);
      if (statements.length > 0) await this.inTransaction(client, this.filled(statements, words), 'COMMIT');
      else if (rowCount) await this.inTransaction(client, await this.ending(client, name), 'COMMIT');
      // Sessions are ended only after the role can no longer log in. If the configured user may not end sessions, they
      // last until their clients end them.
      const ended = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = $1 AND pid <> pg_backend_pid()`;
      await client.query(ended, [name]).catch(() => {});
    });
  }

  sessions(): Promise<ServerSession[]> {
    return this.with(async (client) => {
      const { rows } = await client.query<Record<keyof ServerSession, string | null>>(
        `SELECT pid::text AS id, usename AS username, host(client_addr) AS address, application_name AS application, state,
                (extract(epoch FROM backend_start) * 1000)::bigint::text AS "sinceMs"
           FROM pg_stat_activity WHERE usename IS NOT NULL AND datname IS NOT NULL AND pid <> pg_backend_pid()
          ORDER BY pid LIMIT ${mostSessions + 1}`,
      );
      return rows.map(({ id, username, address, application, state, sinceMs }) => ({
        id: id!,
        username: username!,
        address: address ?? '',
        application: application ?? '',
        state: state ?? '',
        ...(sinceMs && { sinceMs: Number(sinceMs) }),
      }));
    });
  }

  async close(): Promise<void> {
    await this.pool.then((pool) => pool.end()).catch(() => {});
  }

  /**
   * Statements that reassign a role's objects to the configured user, revoke the role's privileges and drop the role.
   */
  private async ending(client: PoolClient, name: string): Promise<string[]> {
    const role = escapeIdentifier(name);
    const { rows } = await client.query<{ superuser: boolean; member: boolean }>(
      `SELECT rolsuper AS superuser, pg_has_role(current_user, $1::name, 'USAGE') AS member
         FROM pg_roles WHERE rolname = current_user`,
      [name],
    );
    const joins = rows[0]?.superuser || rows[0]?.member ? [] : [`GRANT ${role} TO CURRENT_USER`];
    return [
      `ALTER ROLE ${role} NOLOGIN`,
      ...joins,
      `REASSIGN OWNED BY ${role} TO CURRENT_USER`,
      `DROP OWNED BY ${role}`,
      `DROP ROLE IF EXISTS ${role}`,
    ];
  }

  private filled(statements: Statements, words: Words): string[] {
    const { password } = words;
    const hashed =
      password !== undefined && this.config.password_authentication === 'scram-sha-256'
        ? { ...words, password: scramVerifier(password) }
        : words;
    return statements.flatMap((statement) => statementsOf(statement, hashed, dialect));
  }

  private run(statements: Statements, words: Words, end: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    const filled = this.filled(statements, words);
    return this.with((client) => this.inTransaction(client, filled, end));
  }

  /** Retries transactions that were rolled back because of a conflict. */
  private async inTransaction(client: PoolClient, statements: readonly string[], end: 'COMMIT' | 'ROLLBACK') {
    for (let tries = 1; ; tries++) {
      try {
        return await this.once(client, statements, end);
      } catch (error) {
        if (tries === mostTries || !wasInTheWay(error)) throw error;
        await setTimeout(Math.random() * tries * 10);
      }
    }
  }

  private async once(client: PoolClient, statements: readonly string[], end: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    await client.query('BEGIN');
    try {
      for (const statement of statements) await client.query(statement);
      await client.query(end);
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {});
      throw error;
    }
  }

  private async with<T>(run: (client: PoolClient) => Promise<T>): Promise<T> {
    const pool = await this.pool;
    const client = await pool.connect();
    try {
      const answer = await run(client);
      const { max_idle_connections: idle, max_open_connections: open } = this.config;
      client.release(pool.idleCount >= (idle || open));
      return answer;
    } catch (error) {
      // The state of a lost connection is unknown.
      client.release(true);
      throw error;
    }
  }
}

function addressOf(config: DatabaseConfig): ConnectionAddress {
  const address = filledAddress(config, ['postgres:', 'postgresql:'], 5432);
  const mode = address.options.sslmode ?? 'prefer';
  if (!['disable', 'allow', 'prefer', 'require', 'verify-ca', 'verify-full'].includes(mode)) {
    refuse(`connection_url: sslmode ${JSON.stringify(mode)} is not known`);
  }
  return address;
}

/** Opens a pool. All options are set, so that environment variables and password files have no effect. */
async function poolOf(config: DatabaseConfig): Promise<Pool> {
  const { host, port, user, password, database, options } = addressOf(config);
  const mode = options.sslmode ?? 'prefer';
  const reach: PoolConfig = {
    host,
    port,
    user,
    password: () => password,
    database: database || user,
    application_name: options.application_name ?? 'keystead',
    options: options.options ?? '-c client_min_messages=error',
    stream: openSocket,
    connectionTimeoutMillis: connectMs,
    query_timeout: callMs,
    ssl: mode === 'disable' || mode === 'allow' ? false : tlsOf(config, mode, host),
  };
  // The library cannot fall back to a connection without TLS, so it is checked first whether the server supports TLS.
  if (mode === 'prefer' && !(await speaksTls(reach))) reach.ssl = false;
  const pool = new Pool({
    ...reach,
    max: config.max_open_connections,
    idleTimeoutMillis: idleMs,
    maxLifetimeSeconds: config.max_connection_lifetime,
    allowExitOnIdle: true,
  });
  // The error is ignored: the next call opens a new connection, and a running call throws its own error.
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  return pool;
}

function tlsOf(config: DatabaseConfig, mode: string, host: string): PoolConfig['ssl'] {
  const verifies = mode === 'verify-full' || mode === 'verify-ca' || config.tls_ca !== '';
  return {
    rejectUnauthorized: verifies,
    ...(config.tls_ca && { ca: config.tls_ca }),
    ...(config.tls_certificate && { cert: config.tls_certificate, key: config.private_key }),
    ...(mode !== 'verify-full' && verifies && { checkServerIdentity: () => undefined }),
    servername: serverName(host),
  };
}

async function speaksTls(reach: PoolConfig): Promise<boolean> {
  const client = new Client(reach);
  client.on('error', () => {});
  try {
    await client.connect();
    return true;
  } catch (error) {
    return !/does not support SSL/i.test((error as Error).message);
  } finally {
    await client.end().catch(() => {});
  }
}

/** The SCRAM verifier of a password (RFC 5803), computed here so that PostgreSQL never sees the password. */
function scramVerifier(password: string): string {
  const iterations = 4096;
  const salt = randomBytes(16);
  const salted = pbkdf2Sync(password.normalize('NFKC'), salt, iterations, 32, 'sha256');
  const hmac = (key: Buffer, text: string) => createHmac('sha256', key).update(text).digest();
  const stored = createHash('sha256').update(hmac(salted, 'Client Key')).digest('base64');
  const server = hmac(salted, 'Server Key').toString('base64');
  return `SCRAM-SHA-256$${iterations}:${salt.toString('base64')}$${stored}:${server}`;
}
