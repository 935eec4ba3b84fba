import { existsSync } from 'node:fs';
import path from 'node:path';
import {
  applyMigrations,
  DatabaseUnreachable,
  type EmbeddedServer,
  ensureDatabase,
  ensureOwnDatabase,
  MigrationFailed,
  serverVersion,
  startEmbedded,
} from '@keystead/postgres';
import { type LocalConfig, type ServiceConfig, type ServiceName, serviceNames } from './config';
import { Stop } from './stop';

const OLDEST = 15;
const root = path.resolve(__dirname, '../..');

/** Where the embedded PostgreSQL stores its files. */
const embeddedFolder = (dataDir: string) => path.join(dataDir, 'postgres');

/** Whether the files of an embedded database exist. If they are lost, a new database must not replace them silently. */
export const hasDatabase = (dataDir: string) => existsSync(path.join(embeddedFolder(dataDir), 'PG_VERSION'));

/** Whether any service uses the embedded PostgreSQL. */
export function needsEmbedded(config: LocalConfig): boolean {
  return serviceNames.some((name) => config.services[name].databaseUrl === undefined);
}

/**
 * Starts the embedded PostgreSQL, or takes over a server that a killed start left running; `before` is the previous
 * server. It listens on a socket that only its owner can reach, so a remote run cannot connect to it. Throws `Stop`.
 */
export async function startDatabase(dataDir: string, before?: EmbeddedServer): Promise<EmbeddedServer> {
  const place = before && before.socketFolder === undefined ? { port: before.port } : { socket: true };
  try {
    return await startEmbedded({ dataDir: embeddedFolder(dataDir), ...place });
  } catch (error) {
    throw new Stop((error as Error).message, { cause: error });
  }
}

/**
 * Makes sure that a service's database exists on a server that is new enough, and returns its connection string. On the
 * embedded server each service has its own role, which owns its database and may not enter the other's.
 */
export async function prepareDatabase(service: ServiceConfig, embedded: EmbeddedServer | undefined): Promise<string> {
  const url = service.databaseUrl ?? (await ensureOwnDatabase(embedded!, service.name));
  try {
    await ensureDatabase(url);
    const version = Math.floor((await serverVersion(url)) / 10_000);
    if (version < OLDEST) {
      throw new Stop(
        `the ${service.name} database runs on PostgreSQL ${version}: version ${OLDEST} or newer is needed`,
      );
    }
  } catch (error) {
    if (!(error instanceof DatabaseUnreachable)) throw error;
    throw new Stop(`${error.message}; check ${service.name.toUpperCase()}_DATABASE_URL or DATABASE_URL`, {
      cause: error,
    });
  }
  return url;
}

/** Brings a service's tables up to date and returns the names of the migrations that were applied. Throws `Stop`. */
export async function migrate(name: ServiceName, url: string): Promise<string[]> {
  try {
    const { applied } = await applyMigrations({ url, dir: path.join(root, 'prisma', name, 'migrations') });
    return applied;
  } catch (error) {
    if (!(error instanceof MigrationFailed || error instanceof DatabaseUnreachable)) throw error;
    throw new Stop(`the ${name} database: ${error.message}`, { cause: error });
  }
}
