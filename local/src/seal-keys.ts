import { randomBytes } from 'node:crypto';
import { existsSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { createSealKeyFile } from '@keystead/keyring';
import { type LocalConfig, type ServiceName, serviceNames } from './config';
import { hasDatabase } from './databases';
import { Stop } from './stop';

/** The file for the seal key that this program generated for a service. */
export const sealKeyFile = (dataDir: string, name: ServiceName) => path.join(dataDir, `${name}.key`);

/**
 * Generates missing seal keys, and returns the services that got one. This happens before the database exists: if the
 * seal key of an existing database is lost, a new key would only hide that the old key is needed. In this case throws
 * `Stop`.
 */
export function ensureSealKeys(config: LocalConfig): ServiceName[] {
  const missing = serviceNames.filter(
    (name) => !config.services[name].ownSealKey && !existsSync(sealKeyFile(config.dataDir, name)),
  );
  for (const name of missing) {
    const file = sealKeyFile(config.dataDir, name);
    if (hasDatabase(config.dataDir) && !config.services[name].databaseUrl) {
      throw new Stop(`${file} is missing: put it back, without it the ${name} database cannot be read`);
    }
    createSealKeyFile(file);
  }
  return missing;
}

/** The file for the token that the worker uses to get remote runs from the workspace service. */
export const agentTokenFile = (dataDir: string) => path.join(dataDir, 'agent.token');

/** Generates the worker's token at each start, so that a stolen token is valid only until the next start. */
export function makeAgentToken(dataDir: string): void {
  writeFileSync(agentTokenFile(dataDir), `${randomBytes(32).toString('hex')}\n`, { mode: 0o600 });
}
