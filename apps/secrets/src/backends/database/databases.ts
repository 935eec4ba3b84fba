import { Refusal } from '@keystead/refusal';
import { LRUCache } from 'lru-cache';
import type { MountView } from '../../sdk/call';
import { Circuit, type OutsideParts, plainParts, Unreachable } from '../../sdk/outside';
import { refuse } from '../../sdk/refuse';
import type { Storage } from '../../sdk/storage';
import { type ConnectionRecord, connectionOf } from './config-record';
import { type DatabaseClient, type Driver, type ServerSession, type Statements, unanswered } from './driver';
import { mongodb } from './drivers/mongodb';
import { mssql } from './drivers/mssql';
import { mysql, mysqlLegacy } from './drivers/mysql';
import { postgresql } from './drivers/postgresql';
import { redis } from './drivers/redis';
import type { Words } from './statements';

const drivers: readonly Driver[] = [postgresql, mysql, mysqlLegacy, mongodb, mssql, redis];
/** The maximum number of configurations with open connections; the least recently used are closed. */
const mostKept = 500;

/** The driver of a configuration. Throws `invalid` for an unsupported kind of database. */
export function driverOf(plugin: string): Driver {
  const driver = drivers.find(({ plugins }) => plugins.includes(plugin));
  if (driver) return driver;
  if (plugin === '') refuse('empty plugin name');
  const names = drivers.flatMap(({ plugins }) => plugins).join(', ');
  return refuse(`error creating database object: plugin not found in the catalog: ${plugin}; there are ${names}`);
}

/** A configured connection, and how to call it. */
export interface Opened {
  readonly config: ConnectionRecord;
  readonly driver: Driver;
  /** Whether statements can be executed and rolled back. */
  readonly rehearses: boolean;
  /**
   * Calls the database. Throws `upstream` with its message, without passwords; `Unreachable` if there was no answer.
   */
  call(step: Step, statements: Statements, words: Words): Promise<void>;
  /** The sessions on the server; throws as `call` does. */
  sessions(): Promise<ServerSession[]>;
  /** Throws `NotNow` if the database must not be called. */
  check(): void;
}

type Step = 'create' | 'rehearse' | 'renew' | 'remove' | 'setPassword';

interface KeptClient {
  readonly generation: string;
  readonly database: DatabaseClient;
  readonly circuit: Circuit;
}

/** Database connections of all mounts, cached until their configuration changes. */
export class Databases {
  private readonly clients = new LRUCache<string, KeptClient>({
    max: mostKept,
    dispose: ({ database }) => void database.close(),
  });

  constructor(private readonly parts: OutsideParts = plainParts) {}

  /** The named connection of a mount. Throws `invalid` if there is none. */
  async open(storage: Storage, mount: Pick<MountView, 'uuid'>, name: string): Promise<Opened> {
    const config = await connectionOf(storage, name);
    const driver = driverOf(config.plugin_name);
    const key = keyOf(mount, name);
    let client = this.clients.get(key);
    if (!client || client.generation !== config.generation) {
      const circuit = new Circuit(`the database ${name}`, this.parts.clock);
      client = { generation: config.generation, database: driver.open(config), circuit };
      this.clients.set(key, client);
    }
    const { database, circuit } = client;
    return {
      config,
      driver,
      rehearses: database.rehearse !== undefined,
      check: () => circuit.check(),
      sessions: () => guarded(circuit, () => database.sessions(), [config.password]),
      call: async (step, statements, words) => {
        const { fault } = this.parts;
        await fault(`database:${step}`);
        const secrets = [config.password, words.password ?? ''];
        await guarded(circuit, () => database[step]!(statements, words), secrets);
        await fault(`database:${step}:done`);
      },
    };
  }

  /** Calls a database with another configuration, on a temporary connection. */
  async once<T>(config: ConnectionRecord, run: (database: DatabaseClient) => Promise<T>): Promise<T> {
    const database = driverOf(config.plugin_name).open({ ...config, max_open_connections: 1 });
    const circuit = new Circuit('the database', this.parts.clock);
    try {
      return await guarded(circuit, () => run(database), [config.password]);
    } finally {
      await database.close();
    }
  }

  /** Closes the connections of one configuration on this node; the next call opens new ones. */
  forget(mount: Pick<MountView, 'uuid'>, name: string): void {
    this.clients.delete(keyOf(mount, name));
  }

  /** Closes all connections. */
  forgetAll(): void {
    this.clients.clear();
  }
}

const keyOf = (mount: Pick<MountView, 'uuid'>, name: string): string => JSON.stringify([mount.uuid, name]);

async function guarded<T>(circuit: Circuit, run: () => Promise<T>, secrets: readonly string[]): Promise<T> {
  const reasonOf = (error: unknown) => (error instanceof Refusal ? undefined : unanswered(error));
  try {
    return await circuit.run(run, reasonOf);
  } catch (error) {
    if (error instanceof Refusal) throw error;
    const text = masked((error as Error).message || 'the database refused', secrets);
    if (reasonOf(error) === undefined) throw new Refusal('upstream', text);
    throw new Unreachable(`the database is unreachable: ${text}`);
  }
}

const masked = (text: string, secrets: readonly string[]): string =>
  secrets.filter(Boolean).reduce((out, secret) => out.replaceAll(secret, '[password]'), text);
