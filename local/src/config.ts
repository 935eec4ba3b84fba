import { readFileSync } from 'node:fs';
import path from 'node:path';
import { wrongWithDatabaseUrl } from '@keystead/addresses';
import { onDatabase } from '@keystead/postgres';
import { Stop } from './stop';

/** The two services, in the order they start. */
export const serviceNames = ['secrets', 'workspaces'] as const;
export type ServiceName = (typeof serviceNames)[number];

/** The settings of a service that the local program needs; the service reads everything else. */
export interface ServiceConfig {
  name: ServiceName;
  host: string;
  port: number;
  /** Its address on this machine. */
  address: string;
  /** Its certificate, for checking that it answers. */
  certificate?: string;
  /** The file that contains it. */
  certificateFile?: string;
  /** The user's own PostgreSQL; absent for the embedded one. */
  databaseUrl?: string;
  /**
   * True if this program does not create the seal key, because the user provides one or the service is unsealed by key
   * shares.
   */
  ownSealKey: boolean;
}

export interface LocalConfig {
  dataDir: string;
  /** Whether remote runs are carried out here. */
  worker: boolean;
  /** The token that the worker sends to the workspace service; absent if this program generates it. */
  agentToken?: string;
  services: Record<ServiceName, ServiceConfig>;
}

const names = new Set([
  'KEYSTEAD_DATA',
  'KEYSTEAD_WORKER',
  'KEYSTEAD_LONG',
  'KEYSTEAD_INTEROP',
  'KEYSTEAD_VERSION',
  'KEYSTEAD_COMPOSE_SECRETS',
]);
const defaultPorts: Record<ServiceName, number> = { secrets: 8200, workspaces: 8300 };

/** Reads the environment. Throws `Stop` that names the first variable that is unknown or invalid. */
export function readLocalConfig(env: NodeJS.ProcessEnv): LocalConfig {
  for (const name of Object.keys(env)) {
    if (name.startsWith('KEYSTEAD_') && !names.has(name) && !name.startsWith('KEYSTEAD_TEST_')) {
      throw new Stop(`${name} is not a known setting: see npm start -- --help`);
    }
  }
  const services = { secrets: serviceConfig('secrets', env), workspaces: serviceConfig('workspaces', env) };
  if (services.secrets.port === services.workspaces.port && services.secrets.host === services.workspaces.host) {
    throw new Stop(`SECRETS_PORT and WORKSPACES_PORT are both ${services.secrets.port}: change one`);
  }
  const mode = env.KEYSTEAD_WORKER || 'on';
  if (mode !== 'on' && mode !== 'off') throw new Stop('KEYSTEAD_WORKER must be on or off');
  const [agentToken] = valueOrFile('WORKSPACES_AGENT_TOKEN', env)?.split(',') ?? [];
  return { dataDir: path.resolve(env.KEYSTEAD_DATA || 'data'), worker: mode === 'on', agentToken, services };
}

function serviceConfig(name: ServiceName, env: NodeJS.ProcessEnv): ServiceConfig {
  const prefix = name.toUpperCase();
  const host = env[`${prefix}_HOST`] || '127.0.0.1';
  const port = readPort(`${prefix}_PORT`, env[`${prefix}_PORT`], defaultPorts[name]);
  const certificateFile = env[`${prefix}_TLS_CERT_FILE`];
  const scheme = certificateFile ? 'https' : 'http';
  return {
    name,
    host,
    port,
    address: `${scheme}://${reachable(host)}:${port}`,
    certificate: certificateFile ? readGiven(`${prefix}_TLS_CERT_FILE`, certificateFile) : undefined,
    certificateFile: certificateFile ? path.resolve(certificateFile) : undefined,
    databaseUrl: databaseUrl(name, prefix, env),
    ownSealKey:
      Boolean(env[`${prefix}_SEAL_KEY`] || env[`${prefix}_SEAL_KEY_FILE`]) || env[`${prefix}_SEAL`] === 'shamir',
  };
}

/** If a service listens on all addresses, it is called at the loopback address. */
function reachable(host: string): string {
  if (host === '0.0.0.0' || host === '::') return '127.0.0.1';
  return host.includes(':') ? `[${host}]` : host;
}

/**
 * The database URL of a service. A URL for one service takes precedence. A URL for both services is that of a server;
 * on this server, each service has a database with its name.
 */
function databaseUrl(name: ServiceName, prefix: string, env: NodeJS.ProcessEnv): string | undefined {
  const own = valueOrFile(`${prefix}_DATABASE_URL`, env);
  const both = own ? undefined : valueOrFile('DATABASE_URL', env);
  const url = own ?? both;
  if (url === undefined) return undefined;
  const variable = own ? `${prefix}_DATABASE_URL` : 'DATABASE_URL';
  const wrong = wrongWithDatabaseUrl(url, { database: own ? 'named' : 'any' });
  if (wrong) throw new Stop(`${variable} ${wrong}`);
  return own ?? onDatabase(url, name);
}

function valueOrFile(variable: string, env: NodeJS.ProcessEnv): string | undefined {
  const value = env[variable] || undefined;
  const file = env[`${variable}_FILE`];
  if (!file) return value;
  if (value) throw new Stop(`${variable} and ${variable}_FILE are both set: keep one`);
  return readGiven(`${variable}_FILE`, file).trim();
}

function readGiven(variable: string, file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw new Stop(`${variable}: ${file} cannot be read (${(error as NodeJS.ErrnoException).code})`);
  }
}

function readPort(variable: string, text: string | undefined, standard: number): number {
  if (text === undefined || text === '') return standard;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port < 1 || port > 65535) throw new Stop(`${variable} must be a port from 1 to 65535`);
  return port;
}
