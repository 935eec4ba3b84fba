import type { Socket } from 'node:net';
import { Pool } from 'tarn';
import { Connection, type ConnectionConfiguration, Request } from 'tedious';
import { refuse } from '../../../sdk/refuse';
import { type ConnectionAddress, filledAddress, openSocket } from '../address';
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

/** SQL Server and Azure SQL: logins of the server, or users of a contained database. */
export const mssql: Driver = {
  plugins: ['mssql-database-plugin'],
  needsCreation: true,
  names: {
    template:
      '{{ printf "v-%s-%s-%s-%s" (.DisplayName | truncate 20) (.RoleName | truncate 20) (random 20) (unix_time) | truncate 128 }}',
    longest: 128,
  },
  check: (config) => void settingsOf(config),
  login: addressOf,
  open: (config) => new MssqlDatabase(config),
};

const dialect = { backslashes: false, dollars: false, backticks: false, brackets: true };
/** The number of checks whether killed sessions have ended, and the pause between two checks. */
const looks = 10;
const lookMs = 200;

type Row = readonly string[];
type RunSql = (sql: string) => Promise<Row[]>;

class MssqlDatabase implements DatabaseClient {
  private readonly pool: Pool<Session>;
  private readonly config: DatabaseConfig;

  constructor(config: DatabaseConfig) {
    this.config = config;
    const settings = settingsOf(config);
    const lifetimeMs = config.max_connection_lifetime * 1000 || Number.POSITIVE_INFINITY;
    this.pool = new Pool<Session>({
      create: () => Session.open(settings),
      destroy: (session) => session.close(),
      validate: (session) => session.isOpen && performance.now() - session.openedMs < lifetimeMs,
      min: 0,
      max: config.max_open_connections,
      acquireTimeoutMillis: limits.callMs,
      createTimeoutMillis: 2 * limits.connectMs,
      idleTimeoutMillis: limits.idleMs,
      propagateCreateError: true,
    });
  }

  async verify(): Promise<void> {
    await this.with((query) => query('SELECT 1'));
  }

  create(statements: Statements, words: Words): Promise<void> {
    return this.transact(statements, words, 'COMMIT');
  }

  rehearse(statements: Statements, words: Words): Promise<void> {
    return this.transact(statements, words, 'ROLLBACK');
  }

  async renew(statements: Statements, words: Words): Promise<void> {
    if (statements.length > 0) await this.transact(statements, words, 'COMMIT');
  }

  setPassword(statements: Statements, words: Words): Promise<void> {
    const what = this.config.contained_db ? 'USER' : 'LOGIN';
    return this.transact(
      orElse(statements, `ALTER ${what} [{{name}}] WITH PASSWORD = '{{password}}'`),
      words,
      'COMMIT',
    );
  }

  async remove(statements: Statements, words: Words): Promise<void> {
    const { name } = words as { name: string };
    const login = text(name);
    if (statements.length > 0) {
      await this.transact(statements, words, 'COMMIT');
      await this.with((query) => endSessions(query, login));
    } else if (this.config.contained_db) {
      await this.with(async (query) => {
        await endSessions(query, login);
        await query(`DROP USER IF EXISTS ${quoted(name)}`);
      });
    } else {
      await this.with(async (query) => {
        await query(`IF SUSER_ID(${login}) IS NOT NULL ALTER LOGIN ${quoted(name)} DISABLE`);
        await endSessions(query, login);
        for (const [database] of await query(writableDatabases)) await query(dropUserIn(database!, login));
        await query(`IF SUSER_ID(${login}) IS NOT NULL DROP LOGIN ${quoted(name)}`);
      });
    }
  }

  sessions(): Promise<ServerSession[]> {
    return this.with(async (query) => {
      const rows = await query(
        `SELECT TOP ${mostSessions + 1} s.session_id, s.login_name, ISNULL(c.client_net_address, ''), ISNULL(s.program_name, ''), s.status,
                DATEDIFF_BIG(ms, '1970-01-01', s.login_time AT TIME ZONE CURRENT_TIMEZONE_ID())
           FROM sys.dm_exec_sessions s LEFT JOIN sys.dm_exec_connections c ON c.session_id = s.session_id
          WHERE s.is_user_process = 1 AND s.session_id <> @@SPID ORDER BY s.session_id`,
      );
      return rows.map(([id, username, address, application, state, sinceMs]) => ({
        id: id!,
        username: username!,
        address: address!,
        application: application!.trim(),
        state: state!,
        sinceMs: Number(sinceMs),
      }));
    });
  }

  close(): Promise<void> {
    return this.pool.destroy().then(
      () => {},
      () => {},
    );
  }

  private transact(statements: Statements, words: Words, end: 'COMMIT' | 'ROLLBACK'): Promise<void> {
    const filled = statements.flatMap((statement) => statementsOf(statement, words, dialect));
    return this.with(async (query) => {
      await query('SET XACT_ABORT ON; BEGIN TRANSACTION');
      for (const sql of filled) await query(sql);
      await query(`${end} TRANSACTION`);
    });
  }

  /**
   * Runs `work` on a session. If it fails, the session is closed, as a transaction may be open; otherwise settings such
   * as `USE` are reset.
   */
  private async with<T>(work: (query: RunSql) => Promise<T>): Promise<T> {
    const session = await this.pool.acquire().promise.catch((error) => {
      throw plainError(error);
    });
    try {
      const answer = await work((sql) => session.run(sql));
      // The work is already committed, so a failing reset is not an error.
      await session.reset().catch(() => session.close());
      return answer;
    } catch (error) {
      session.close();
      throw plainError(error);
    } finally {
      this.pool.release(session);
    }
  }
}

/** Ends the sessions of a login; ignores those that have already ended. */
async function endSessions(query: RunSql, login: string): Promise<void> {
  for (let look = 0; look < looks; look++) {
    const sessions = await query(
      `SELECT CAST(session_id AS nvarchar) FROM sys.dm_exec_sessions WHERE login_name = ${login}`,
    );
    if (sessions.length === 0) return;
    for (const [id] of sessions) await query(`KILL ${Number(id)}`).catch(() => {});
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}

const writableDatabases =
  "SELECT name FROM sys.databases WHERE state = 0 AND HAS_DBACCESS(name) = 1 AND DATABASEPROPERTYEX(name, 'Updateability') = 'READ_WRITE'";

/** Drops the user of a login; its name in this database may differ. */
const dropUserIn = (database: string, login: string): string => `
DECLARE @user sysname = (SELECT name FROM ${quoted(database)}.sys.database_principals WHERE sid = SUSER_SID(${login}) AND principal_id > 4);
DECLARE @sql nvarchar(max) = N'DROP USER ' + QUOTENAME(@user);
IF @user IS NOT NULL EXEC ${quoted(database)}.sys.sp_executesql @sql`;

const quoted = (name: string): string => `[${name.replaceAll(']', ']]')}]`;
const text = (value: string): string => `N'${value.replaceAll("'", "''")}'`;

interface SessionSettings extends ConnectionConfiguration {
  /** Connects to the configured address. */
  readonly dial: () => Promise<Socket>;
}

function addressOf(config: DatabaseConfig): ConnectionAddress {
  return filledAddress(config, ['sqlserver:', 'mssql:'], 1433);
}

/** Reads a configuration. Throws `invalid`. */
function settingsOf(config: DatabaseConfig): SessionSettings {
  const { connection_url, tls_ca, tls_server_name, tls_skip_verify } = config;
  const address = addressOf(config);
  const { host, port, user, password, options } = address;
  const isUrl = /^\w+:\/\//.test(connection_url);
  if (isUrl && address.database !== '') {
    refuse('connection_url must contain a port, not an instance name; set the database with ?database=');
  }
  const named = new Map(Object.entries(options).map(([name, value]) => [name.toLowerCase(), value]));
  const encrypt = encryptions.get((named.get('encrypt') ?? 'true').toLowerCase());
  if (encrypt === undefined) refuse('connection_url: encrypt must be true, strict or disable');
  const skips = tls_skip_verify || named.get('trustservercertificate')?.toLowerCase() === 'true';
  if (skips && encrypt === 'strict') refuse('connection_url: encrypt=strict always verifies the certificate');
  const database = named.get('database') ?? address.database;
  return {
    server: host,
    authentication: { type: 'default', options: { userName: user, password } },
    options: {
      port,
      ...(database && { database }),
      encrypt,
      trustServerCertificate: skips,
      serverName: tls_server_name || named.get('hostnameincertificate') || host,
      ...(tls_ca && { cryptoCredentialsDetails: { ca: tls_ca } }),
      connectTimeout: limits.connectMs,
      requestTimeout: limits.callMs,
      maxRetriesOnTransientErrors: 0,
    },
    dial: () => socketTo(address, encrypt === true),
  };
}

const encryptions = new Map<string, boolean | 'strict'>([
  ['true', true],
  ['mandatory', true],
  ['strict', 'strict'],
  ['disable', false],
]);

const LOGIN = 0x10;

/**
 * A socket to the server. TLS is enforced here, because the library would send the login unencrypted to a server
 * without TLS.
 */
async function socketTo({ host, port }: ConnectionAddress, needsTls: boolean): Promise<Socket> {
  const socket = openSocket();
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject).connect(port, host);
    socket.once('connect', () => {
      socket.off('error', reject);
      resolve();
    });
  });
  if (needsTls) {
    const write = socket.write.bind(socket) as (...args: unknown[]) => boolean;
    // `write` is replaced only after connecting, because connecting restores the socket's own `write`.
    socket.write = (chunk: Uint8Array | string, ...rest: unknown[]) => {
      if (chunk[0] !== LOGIN) return write(chunk, ...rest);
      socket.destroy(
        new Error('the database does not offer TLS; to connect without TLS, set encrypt=disable in connection_url'),
      );
      return false;
    };
  }
  return socket;
}

/** A connection with promises for its requests. */
class Session {
  readonly openedMs = performance.now();
  isOpen = true;

  private constructor(private readonly connection: Connection) {
    connection.on('end', () => {
      this.isOpen = false;
    });
    // The error is ignored, because a lost connection also fails its request.
    connection.on('error', () => {});
  }

  static open({ dial, options, ...settings }: SessionSettings): Promise<Session> {
    let isDialed = false;
    const connector = async () => {
      if (isDialed) throw new Error('the database redirects clients to another server, which is not supported');
      isDialed = true;
      return dial();
    };
    const connection = new Connection({ ...settings, options: { ...options, connector } });
    const session = new Session(connection);
    return new Promise((resolve, reject) => {
      connection.connect((error) => (error ? reject(error) : resolve(session)));
    });
  }

  run(sql: string): Promise<Row[]> {
    return new Promise((resolve, reject) => {
      const rows: Row[] = [];
      const request = new Request(sql, (error) => (error ? reject(error) : resolve(rows)));
      request.on('row', (columns: { value: unknown }[]) => rows.push(columns.map(({ value }) => String(value))));
      this.connection.execSqlBatch(request);
    });
  }

  reset(): Promise<void> {
    return new Promise((resolve, reject) => this.connection.reset((error) => (error ? reject(error) : resolve())));
  }

  close(): void {
    this.isOpen = false;
    this.connection.close();
  }
}

/** Replaces the error code of the library by the standard code, which is more specific. */
function plainError(error: unknown): unknown {
  const { code, cause, message } = error as { code?: string; cause?: { code?: string }; message: string };
  const plain = { ETIMEOUT: 'ETIMEDOUT', ECONNCLOSED: 'ECONNRESET', ESOCKET: cause?.code ?? 'ECONNRESET' }[code ?? ''];
  return plain === undefined ? error : Object.assign(new Error(message), { code: plain });
}
