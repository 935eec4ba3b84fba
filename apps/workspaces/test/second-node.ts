import { once } from 'node:events';
import type { Server } from 'node:http';
import { afterAll, beforeAll } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import { readConfig } from '../src/config';
import { createService, type Service } from '../src/service';
import { SEAL_KEY, WORKER_TOKEN, type Workspaces } from './start-workspaces';

/** Another node on the database of a service, which listens for as long as the tests of a file (or of a describe) run. */
export function otherNode(workspaces: Workspaces, env: Readonly<Record<string, string>> = {}) {
  const node = {} as { service: Service; server: Server };
  beforeAll(async () => {
    const config = readConfig({
      WORKSPACES_DATABASE_URL: workspaces.databaseUrl,
      WORKSPACES_DATABASE_CONNECTIONS: '8',
      WORKSPACES_SEAL_KEY: SEAL_KEY,
      WORKSPACES_AGENT_TOKEN: WORKER_TOKEN,
      WORKSPACES_PUBLIC_URL: 'https://workspaces.test',
      WORKSPACES_RATE_LIMIT: '0',
      WORKSPACES_MIGRATE: 'off',
      ...env,
    });
    node.service = await createService(config, { log: createLogger({ name: 'second', level: 'silent' }) });
    node.server = createServer(node.service.app).listen(0, '127.0.0.1');
    await once(node.server, 'listening');
  });
  afterAll(async () => {
    node.server?.closeAllConnections();
    await new Promise((resolve) => (node.server ? node.server.close(resolve) : resolve(undefined)));
    await node.service?.close();
  });
  return node;
}

/** The addresses of a service and of another node on its database. */
export function withSecondNode(workspaces: Workspaces): readonly string[] {
  const urls: string[] = [];
  const node = otherNode(workspaces);
  beforeAll(() => {
    for (const one of [workspaces.server, node.server]) {
      const { port } = one.address() as { port: number };
      urls.push(`http://127.0.0.1:${port}`);
    }
  });
  return urls;
}
