import http, { type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll } from '@jest/globals';
import { startWorkspaces, type Workspaces } from '../../workspaces/test/start-workspaces';

/**
 * A proxy in front of a service. The address of the proxy is known before the service starts, because signed links
 * contain it. The proxy can also refuse requests with 429 for a while.
 */
export function behindProxy() {
  const env: Record<string, string> = {};
  let workspaces: Workspaces | undefined;
  let busy = 0;
  const proxy = http.createServer((request, response) => {
    if (busy > 0) {
      busy -= 1;
      response.writeHead(429, { 'retry-after': '0.05' }).end('{"errors":[]}');
      return;
    }
    const { method, url: path, headers } = request;
    const { port } = (workspaces as Workspaces).server.address() as AddressInfo;
    const onward = http.request({ host: '127.0.0.1', port, method, path, headers, agent: false }, (answer) => {
      response.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(response);
    });
    request.pipe(onward);
  });
  beforeAll(async () => {
    await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
    env.WORKSPACES_PUBLIC_URL = address(proxy);
  });
  afterAll(() => {
    proxy.closeAllConnections();
    proxy.close();
  });
  workspaces = startWorkspaces({ env });
  return {
    workspaces,
    address: () => address(proxy),
    beBusy: (count: number) => {
      busy = count;
    },
  };
}

const address = (server: Server) => `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
