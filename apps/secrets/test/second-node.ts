import type { Server } from 'node:http';
import { afterAll, beforeAll } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import { rescueList } from '../src/http/list-verb';
import { createService, type Service } from '../src/service';
import { until } from './fresh-storage';
import { type Secrets, testConfig } from './start-secrets';

/** Another node on the database of a service, which listens for as long as the tests of a file (or of a describe) run. */
export function otherNode(secrets: Secrets, env: Readonly<Record<string, string>> = {}) {
  const node = {} as { service: Service; server: Server };
  beforeAll(async () => {
    const log = createLogger({ name: 'secrets', level: 'silent' });
    node.service = await createService(testConfig(secrets.database.url, env), { log });
    node.server = createServer(node.service.app);
    rescueList(node.server);
    await new Promise<void>((resolve) => node.server.listen(0, '127.0.0.1', resolve));
  });
  afterAll(async () => {
    node.server?.closeAllConnections();
    await new Promise((resolve) => (node.server ? node.server.close(resolve) : resolve(undefined)));
    await node.service?.close();
  });
  return node;
}

/** The addresses of a service and of another node on its database, once each knows the other. */
export function withSecondNode(secrets: Secrets, env: Readonly<Record<string, string>> = {}): readonly string[] {
  const urls: string[] = [];
  const node = otherNode(secrets, env);
  beforeAll(async () => {
    for (const one of [secrets.server, node.server]) {
      const { port } = one.address() as { port: number };
      urls.push(`http://127.0.0.1:${port}`);
    }
    const knowsBoth = async (url: string): Promise<boolean> => {
      const answer = await fetch(`${url}/v1/sys/ha-status`, { headers: { 'X-Service-Token': secrets.rootToken } });
      return answer.ok && ((await answer.json()) as { nodes: unknown[] }).nodes.length === 2;
    };
    for (const url of urls) await until(() => knowsBoth(url));
  });
  return urls;
}
