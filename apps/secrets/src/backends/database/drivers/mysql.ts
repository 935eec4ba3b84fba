import { createPool, type Pool, type PoolConnection, type PoolOptions, type RowDataPacket } from 'mysql2/promise';
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
  withoutPort,
} from '../driver';
import { statementsOf, type Words } from '../statements';

const dialect = { backslashes: true, dollars: false, backticks: true };
const { connectMs, callMs, idleMs } = limits;

const driverFor = (plugins: readonly string[], longest: number, template: string): Driver => ({
  plugins,
  needsCreation: true,
  names: { template: `{{ ${template} | truncate ${longest} }}`, longest },
  check: (config) => void optionsOf(config),
  login: addressOf,
  open: (config) => new MysqlDatabase(config),
});

// Long names are truncated, but keep their random part, which makes them unique.
const short = 'printf "v-%s-%s-%s" (.DisplayName | truncate 4) (.RoleName | truncate 4) (random 20)';

/** MySQL and MariaDB. */
export const mysql = driverFor(['mysql-database-plugin'], 32, short);

/** Older versions and some providers limit names to 16 characters. */
export const mysqlLegacy = driverFor(
  ['mysql-legacy-database-plugin', 'mysql-rds-database-plugin', 'mysql-aurora-database-plugin'],
  16,
  'printf "v-%s-%s" (.RoleName | truncate 2) (random 20)',
);

class MysqlDatabase implements DatabaseClient {
  private readonly pool: Pool;
  /** When each connection was opened. */
  private readonly opened = new WeakMap<object, number>();

  constructor(private readonly config: DatabaseConfig) {
    this.pool = createPool(optionsOf(config));
    this.pool.on('connection', (connection) => {
      this.opened.set(connection, performance.now());
      // The event is ignored, because the call on a lost connection fails, too.
      connection.on('error', () => {});
    });
  }

  async verify(): Promise<void> {
    await this.with((connection) => connection.query('SELECT 1'));
  }

  create(statements: Statements, words: Words): Promise<void> {
    return this.run(statements, words);
  }

  async renew(statements: Statements, words: Words): Promise<void> {
    if (statements.length > 0) await this.run(statements, words);
  }

  setPassword(statements: Statements, words: Words): Promise<void> {
    return this.run(orElse(statements, "ALTER USER '{{name}}'@'%' IDENTIFIED BY '{{password}}'"), words);
  }

  async remove(statements: Statements, words: Words): Promise<void> {
    await this.run(orElse(statements, "DROP USER IF EXISTS '{{name}}'@'%'"), words);
    await this.with(async (connection) => {
      const [rows] = await connection.query<RowDataPacket[]>(
        'SELECT ID AS id FROM information_schema.PROCESSLIST WHERE USER = ?',
        [words.name],
      );
      // Ignore sessions that have ended or that we may not end.
      for (const { id } of rows) await connection.query('KILL ?', [Number(id)]).catch(() => {});
    });
  }

  sessions(): Promise<ServerSession[]> {
    return this.with(async (connection) => {
      const [rows] = await connection.query<RowDataPacket[]>(
        `SELECT ID AS id, USER AS username, HOST AS host, COMMAND AS state FROM information_schema.PROCESSLIST
          WHERE ID <> CONNECTION_ID() AND HOST <> '' ORDER BY ID LIMIT ${mostSessions + 1}`,
      );
      return rows.map(({ id, username, host, state }) => ({
        id: String(id),
        username: String(username),
        address: withoutPort(String(host)),
        application: '',
        state: String(state),
      }));
    });
  }

  close(): Promise<void> {
    return this.pool.end().catch(() => {});
  }

  /** Statements run one by one, because each commits separately. */
  private run(statements: Statements, words: Words): Promise<void> {
    const filled = statements.flatMap((statement) => statementsOf(statement, words, dialect));
    return this.with(async (connection) => {
      for (const sql of filled) await connection.query({ sql, timeout: callMs });
    });
  }

  private isOld({ connection }: PoolConnection): boolean {
    const longestMs = this.config.max_connection_lifetime * 1000;
    const openedMs = this.opened.get(connection);
    return longestMs > 0 && openedMs !== undefined && performance.now() - openedMs > longestMs;
  }

  private async with<T>(run: (connection: PoolConnection) => Promise<T>): Promise<T> {
    const connection = await this.pool.getConnection();
    try {
      const answer = await run(connection);
      if (this.isOld(connection)) connection.destroy();
      else connection.release();
      return answer;
    } catch (error) {
      connection.destroy();
      throw error;
    }
  }
}

function addressOf(config: DatabaseConfig): ConnectionAddress {
  return filledAddress(config, ['mysql:', 'mariadb:'], 3306);
}

function optionsOf(config: DatabaseConfig): PoolOptions {
  const { host, port, user, password, database, options } = addressOf(config);
  return {
    host,
    port,
    user,
    password,
    ...(database && { database }),
    stream: () => openSocket().connect(port, host),
    connectTimeout: connectMs,
    connectionLimit: config.max_open_connections,
    maxIdle: config.max_idle_connections || config.max_open_connections,
    idleTimeout: idleMs,
    // Local files are never sent, even if the server asks for one. Only one statement is sent at a time.
    infileStreamFactory: () => refuse('the database asked for a file'),
    multipleStatements: false,
    ...tlsOf(config, host, options.tls ?? ''),
  };
}

function tlsOf(config: DatabaseConfig, host: string, mode: string): Pick<PoolOptions, 'ssl'> {
  const { tls_ca, tls_certificate_key, tls_server_name, tls_skip_verify } = config;
  if (mode === 'false' || (!mode && !tls_ca && !tls_certificate_key && !tls_server_name && !tls_skip_verify)) return {};
  const servername = tls_server_name || serverName(host);
  return {
    ssl: {
      rejectUnauthorized: !tls_skip_verify && mode !== 'skip-verify',
      verifyIdentity: true,
      ...(tls_ca && { ca: tls_ca }),
      ...(tls_certificate_key && { cert: tls_certificate_key, key: tls_certificate_key }),
      ...(servername && { servername }),
    } as PoolOptions['ssl'],
  };
}
