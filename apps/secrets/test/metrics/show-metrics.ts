import { createLogger, serve } from '@keystead/server';
import { freshDatabase } from '@keystead/testing';
import { Registry } from 'prom-client';
import { createService } from '../../src/service';
import { testConfig } from '../start-secrets';

const log = createLogger({ name: 'shown', level: 'silent' });
const listen = { host: '127.0.0.1', port: 0 };

/** Starts the service, not yet initialised, with its metrics on a separate port, as its program does. */
export async function showSecrets(): Promise<{ port: number; close(): Promise<void> }> {
  const database = await freshDatabase('secrets');
  const registry = new Registry();
  const service = await createService(testConfig(database.url, { SECRETS_AUDIT_SYSLOG: 'udp://127.0.0.1:9' }), {
    log,
    registry,
  });
  const serving = await serve({ app: service.app, listen, log, metrics: { listen, registry }, ready: service.ready });
  // One request, so that there is something to count.
  await fetch(`${serving.url}/nothing`);
  return {
    port: Number(serving.metricsPort),
    async close() {
      await serving.close();
      await service.close();
      await database.drop();
    },
  };
}
