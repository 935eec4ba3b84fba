import type { Server } from 'node:http';
import { afterAll, beforeAll } from '@jest/globals';
import { createLogger, createServer } from '@keystead/server';
import { rescueList } from '../src/http/list-verb';
import { createService, type Service } from '../src/service';
import { until } from './fresh-storage';
import { type Secrets, testConfig } from './start-secrets';

/** The addresses of a service and of another node on its database, which answer once each has heard of the other. */
export function withSecondNode(secrets: Secrets, env: Readonly<Record<string, string>> = {}): readonly string[] {
  const urls: string[] = [];
  let service: Service | undefined;
  let server: Server | undefined;
  beforeAll(async () => {
    service = await createService(testConfig(secrets.database.url, env), {
      log: createLogger({ name: 'secrets', level: 'silent' }),
    });
    server = createServer(service.app);
    rescueList(server);
    await new Promise<void>((resolve) => server!.listen(0, '127.0.0.1', resolve));
    for (const one of [secrets.server, server]) {
      const { port } = one.address() as { port: number };
      urls.push(`http://127.0.0.1:${port}`);
    }
    const knowsBoth = async (url: string): Promise<boolean> => {
      const answer = await fetch(`${url}/v1/sys/ha-status`, { headers: { 'X-Service-Token': secrets.rootToken } });
      return answer.ok && ((await answer.json()) as { nodes: unknown[] }).nodes.length === 2;
    };
    for (const url of urls) await until(() => knowsBoth(url));
  });
  afterAll(async () => {
    server?.closeAllConnections();
    await new Promise((resolve) => (server ? server.close(resolve) : resolve(undefined)));
    await service?.close();
  });
  return urls;
}
