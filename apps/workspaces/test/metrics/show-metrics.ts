import { createLogger, serve } from '@keystead/server';
import { freshDatabase } from '@keystead/testing';
import { Registry } from 'prom-client';
import { readConfig } from '../../src/config';
import { startHousekeeping } from '../../src/housekeeping';
import { createService } from '../../src/service';

const log = createLogger({ name: 'shown', level: 'silent' });
const listen = { host: '127.0.0.1', port: 0 };

/** Starts the service and its background jobs with their metrics on a separate port, like its program. */
export async function showWorkspaces(): Promise<{ port: number; close(): Promise<void> }> {
  const database = await freshDatabase('workspaces');
  const registry = new Registry();
  const config = readConfig({
    WORKSPACES_DATABASE_URL: database.url,
    WORKSPACES_DATABASE_CONNECTIONS: '6',
    WORKSPACES_SEAL_KEY: '07'.repeat(32),
    WORKSPACES_MIGRATE: 'off',
  });
  const service = await createService(config, { log, registry });
  const { env, outage, clockTrouble } = service;
  const serving = await serve({ app: service.app, listen, log, metrics: { listen, registry }, ready: service.ready });
  const options = { log, outage, registry, clockTrouble, consoleIdleMinutes: 30, ...env };
  const housekeeping = startHousekeeping(service.db, options);
  // A first request, so that there is something to count.
  await fetch(`${serving.url}/nothing`);
  return {
    port: Number(serving.metricsPort),
    async close() {
      await housekeeping.close();
      await serving.close();
      await service.close();
      await database.drop();
    },
  };
}
