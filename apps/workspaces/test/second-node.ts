import { once } from 'node:events';
import type { Server } from 'node:http';
import { afterAll, beforeAll } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import { readConfig } from '../src/config';
import { createService, type Service } from '../src/service';
import { SEAL_KEY, WORKER_TOKEN, type Workspaces } from './start-workspaces';

/** The addresses of a service and of another node on its database. */
export function withSecondNode(workspaces: Workspaces): readonly string[] {
  const urls: string[] = [];
  let service: Service | undefined;
  let server: Server | undefined;
  beforeAll(async () => {
    const config = readConfig({
      WORKSPACES_DATABASE_URL: workspaces.databaseUrl,
      WORKSPACES_DATABASE_CONNECTIONS: '8',
      WORKSPACES_SEAL_KEY: SEAL_KEY,
      WORKSPACES_AGENT_TOKEN: WORKER_TOKEN,
      WORKSPACES_PUBLIC_URL: 'https://workspaces.test',
      WORKSPACES_RATE_LIMIT: '0',
      WORKSPACES_MIGRATE: 'off',
    });
    service = await createService(config, { log: createLogger({ name: 'second', level: 'silent' }) });
    server = createServer(service.app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    for (const one of [workspaces.server, server]) {
      const { port } = one.address() as { port: number };
      urls.push(`http://127.0.0.1:${port}`);
    }
  });
  afterAll(async () => {
    server?.closeAllConnections();
    await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
    await service?.close();
  });
  return urls;
}
