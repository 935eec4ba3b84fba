import { usualReach } from '@keystead/outside';
import {
  type Document,
  MongoClient,
  type MongoClientOptions,
  MongoNetworkError,
  MongoServerError,
  MongoServerSelectionError,
} from 'mongodb';
import { z } from 'zod';
import { refuse } from '../../../sdk/refuse';
import { type ConnectionAddress, filledAddress } from '../address';
import type { DatabaseConfig } from '../config-fields';
import {
  type DatabaseClient,
  type Driver,
  limits,
  mostSessions,
  RunningCalls,
  refuseLimits,
  type ServerSession,
  type Statements,
  withoutPort,
} from '../driver';
import type { Words } from '../statements';

/** MongoDB. A statement is a JSON object: the database of the user, and its roles. */
export const mongodb: Driver = {
  plugins: ['mongodb-database-plugin'],
  needsCreation: true,
  names: {
    template:
      '{{ printf "v-%s-%s-%s-%s" (.DisplayName | truncate 15) (.RoleName | truncate 15) (random 20) (unix_time) | replace "." "-" | truncate 100 }}',
    longest: 100,
  },
  check: (config) => void settingsOf(config),
  login: (config) => settingsOf(config).hosts[0]!,
  open: (config) => new MongoDatabase(config),
  revocationOf: (creation) => [JSON.stringify({ db: creationOf(creation).db })],
};

const schemes = ['mongodb:'];
const address = /^(mongodb:\/\/(?:[^/?#]*@)?)([^/?#@]+)(.*)$/s;

/** Supported URL options: authentication database, mechanism and TLS. */
const Options = z.strictObject({
  authSource: z.string().optional(),
  authMechanism: z.enum(['SCRAM-SHA-1', 'SCRAM-SHA-256']).optional(),
  tls: z.enum(['true', 'false']).optional(),
  ssl: z.enum(['true', 'false']).optional(),
  tlsInsecure: z.enum(['true', 'false']).optional(),
  // The next three options are accepted but not used: the driver connects to each host directly and finds the primary.
  replicaSet: z.string().optional(),
  directConnection: z.string().optional(),
  retryWrites: z.string().optional(),
});

const WriteConcern = z.strictObject({
  w: z.union([z.int().min(0), z.string()]).optional(),
  wtimeout: z.int().min(0).optional(),
  j: z.boolean().optional(),
});

interface Settings {
  readonly hosts: readonly ConnectionAddress[];
  /** Authentication database of the configured user and of static roles. */
  readonly source: string;
  readonly writeConcern: z.output<typeof WriteConcern> | undefined;
  readonly client: MongoClientOptions;
}

/** Reads a configuration. Throws `invalid`. */
function settingsOf(config: DatabaseConfig): Settings {
  const { connection_url: text, tls_ca, tls_certificate_key, tls_server_name, tls_skip_verify } = config;
  if (text.startsWith('mongodb+srv:')) refuse('connection_url must contain the hosts: mongodb+srv is not supported');
  refuseLimits(config, 'MongoDB');
  const [, before = '', hosts = '', after = ''] = address.exec(text) ?? [];
  const read = (hosts === '' ? [text] : hosts.split(',').map((host) => before + host + after)).map((one) =>
    filledAddress({ ...config, connection_url: one }, schemes, 27_017),
  );
  const { database, options, user, password } = read[0]!;
  const parsed = Options.safeParse(options);
  if (!parsed.success) {
    const { path, code, ...issue } = parsed.error.issues[0]!;
    const name = path[0] ?? (issue as { keys?: string[] }).keys?.[0];
    return refuse(
      `connection_url: the option ${String(name)} ${path.length > 0 ? 'has no such value' : 'is not supported'}`,
    );
  }
  const { authSource, authMechanism, tls, ssl, tlsInsecure } = parsed.data;
  const source = authSource || database || 'admin';
  const usesTls =
    [tls, ssl].includes('true') || !!tls_ca || !!tls_certificate_key || !!tls_server_name || tls_skip_verify;
  return {
    hosts: read,
    source,
    writeConcern: writeConcernOf(config.write_concern),
    client: {
      auth: { username: user, password },
      authSource: source,
      ...(authMechanism && { authMechanism }),
      directConnection: true,
      retryWrites: false,
      lookup: usualReach.lookup as never,
      maxPoolSize: config.max_open_connections,
      maxIdleTimeMS: limits.idleMs,
      connectTimeoutMS: limits.connectMs,
      serverSelectionTimeoutMS: limits.connectMs,
      socketTimeoutMS: limits.callMs,
      tls: usesTls,
      ...(usesTls && {
        ...(tls_ca && { ca: tls_ca }),
        ...(tls_certificate_key && { cert: tls_certificate_key, key: tls_certificate_key }),
        ...(tls_server_name && { servername: tls_server_name }),
        rejectUnauthorized: !tls_skip_verify && tlsInsecure !== 'true',
        ...((tls_skip_verify || tlsInsecure === 'true') && { checkServerIdentity: () => undefined }),
      }),
    },
  };
}

/** Parses JSON, optionally in base64. */
function writeConcernOf(text: string): Settings['writeConcern'] {
  if (text.trim() === '') return undefined;
  const json = text.trim().startsWith('{') ? text : Buffer.from(text, 'base64').toString('utf8');
  const read = WriteConcern.safeParse(parsed(json));
  return read.success ? read.data : refuse('write_concern must be a JSON object with w, wtimeout and j');
}

class MongoDatabase implements DatabaseClient {
  private readonly settings: Settings;
  private readonly clients: readonly MongoClient[];
  /** Index of the last known primary. */
  private current = 0;
  private readonly calls = new RunningCalls();

  constructor(config: DatabaseConfig) {
    this.settings = settingsOf(config);
    this.clients = this.settings.hosts.map(({ host, port }) => {
      const at = host.includes(':') ? `[${host}]` : host;
      return new MongoClient(`mongodb://${at}:${port}/`, this.settings.client);
    });
  }

  /** Logs in, at the primary if there are several hosts. */
  async verify(): Promise<void> {
    await this.run(this.settings.source, { connectionStatus: 1 });
  }

  async create(statements: Statements, { name, password }: Words): Promise<void> {
    const { db, roles } = creationOf(statements);
    await this.change(db, { createUser: name, pwd: password, roles });
  }

  async renew(): Promise<void> {}

  async setPassword(statements: Statements, { name, password }: Words): Promise<void> {
    await this.change(databaseOf(statements) ?? this.settings.source, { updateUser: name, pwd: password });
  }

  /** Drops a user. Afterwards MongoDB denies all requests on the user's open connections. */
  async remove(statements: Statements, { name }: Words): Promise<void> {
    await this.change(databaseOf(statements) ?? 'admin', { dropUser: name }).catch((error) => {
      if (!(error instanceof MongoServerError && error.code === userNotFound)) throw error;
    });
  }

  async sessions(): Promise<ServerSession[]> {
    const answer = await this.run('admin', {
      aggregate: 1,
      pipeline: [{ $currentOp: { allUsers: true, idleConnections: true } }, { $limit: mostSessions + 1 }],
      cursor: { batchSize: mostSessions + 1 },
    });
    return Operations.parse(answer).cursor.firstBatch.flatMap(
      ({ connectionId, client, appName, active, effectiveUsers }) =>
        connectionId === undefined || effectiveUsers === undefined
          ? []
          : effectiveUsers.map(({ user }) => ({
              id: String(connectionId),
              username: user,
              address: withoutPort(client),
              application: appName,
              state: active ? 'active' : 'idle',
            })),
    );
  }

  /** Waits for running calls before it closes, because the library would abort them. */
  async close(): Promise<void> {
    await this.calls.end();
    for (const client of this.clients) await client.close().catch(() => {});
  }

  private change(db: string, command: Document): Promise<Document> {
    const { writeConcern } = this.settings;
    return this.run(db, writeConcern === undefined ? command : { ...command, writeConcern });
  }

  private run(db: string, command: Document): Promise<Document> {
    return this.calls.add(this.onPrimary(db, command));
  }

  private async onPrimary(db: string, command: Document): Promise<Document> {
    for (let tries = 1; ; tries++) {
      const at = this.current;
      try {
        if (this.clients.length > 1) await this.requirePrimary(at);
        return await this.clients[at]!.db(db).command(command);
      } catch (error) {
        if (tries === this.clients.length || !isAway(error)) throw isAway(error) ? away(error as Error) : error;
        this.current = (at + 1) % this.clients.length;
      }
    }
  }

  private async requirePrimary(at: number): Promise<void> {
    const { isWritablePrimary } = await this.clients[at]!.db('admin').command({ hello: 1 });
    if (isWritablePrimary !== true) throw new NotPrimary('no host of connection_url is the primary');
  }
}

class NotPrimary extends Error {}

/** Whether a host is down or not the primary. */
const isAway = (error: unknown): boolean =>
  error instanceof NotPrimary || error instanceof MongoNetworkError || error instanceof MongoServerSelectionError;

const away = ({ message }: Error): Error => Object.assign(new Error(message), { code: 'ECONNRESET' });

const userNotFound = 11;

/** The answer of `$currentOp`. */
const Operations = z.object({
  cursor: z.object({
    firstBatch: z.array(
      z.object({
        connectionId: z.coerce.number().optional(),
        client: z.string().default(''),
        appName: z.string().default(''),
        active: z.boolean().default(false),
        effectiveUsers: z.array(z.object({ user: z.string() })).optional(),
      }),
    ),
  }),
});

const role = z.union([
  z.string().min(1),
  z.strictObject({ role: z.string().min(1), db: z.string().min(1).optional() }),
]);
const Creation = z.strictObject({ db: z.string().min(1).default('admin'), roles: z.array(role) });
const Other = z.strictObject({ db: z.string().min(1) });

/** Parses a creation statement: database and roles. Throws `invalid`. */
function creationOf(statements: Statements) {
  const read = Creation.safeParse(parsed(only(statements)));
  if (!read.success) {
    return refuse(
      'a creation statement for MongoDB must be a JSON object with db and roles, such as {"db": "admin", "roles": [{"role": "read", "db": "app"}]}',
    );
  }
  const { db, roles } = read.data;
  return { db, roles: roles.map((one) => (typeof one === 'string' || one.db !== undefined ? one : one.role)) };
}

/** The database in a revocation statement, if there is one. Throws `invalid`. */
function databaseOf(statements: Statements): string | undefined {
  if (statements.length === 0) return undefined;
  const read = Other.safeParse(parsed(only(statements)));
  return read.success
    ? read.data.db
    : refuse('a statement for MongoDB must be a JSON object with db, such as {"db": "admin"}');
}

const only = (statements: Statements): string =>
  statements.length === 1
    ? statements[0]!
    : refuse(`there must be one statement for MongoDB, not ${statements.length}`);

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
