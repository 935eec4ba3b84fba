import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll } from '@jest/globals';
import { hostile } from './stand-in-tool';

/** Outside systems: an address that receives notifications, and a Git host with one repository. */
export interface Outside {
  readonly url: string;
  /** Bodies of requests to `/hooks/…`, newest last. */
  readonly told: readonly string[];
}

const commit = {
  sha: 'a'.repeat(40),
  html_url: 'http://git.example/',
  commit: { message: hostile, author: { name: hostile } },
};
const repository = (url: string) => ({
  id: 7,
  full_name: 'team/hedge',
  html_url: `${url}/team/hedge`,
  clone_url: `${url}/team/hedge.git`,
  default_branch: 'main',
});

/** Answers like Gitea and like a receiver of notifications, on loopback, for the tests of a file. */
export function outside(): Outside {
  const told: string[] = [];
  let url = '';
  const server = createServer((req, res) => {
    const parts: Buffer[] = [];
    req.on('data', (part: Buffer) => parts.push(part));
    req.on('end', () => {
      const answer = (status: number, body: unknown) => {
        res.writeHead(status, { 'Content-Type': 'application/json' }).end(JSON.stringify(body));
      };
      const path = req.url ?? '';
      if (path.startsWith('/hooks/')) {
        told.push(Buffer.concat(parts).toString());
        return answer(path.endsWith('/closed') ? 503 : 200, { said: hostile });
      }
      if (path === '/api/v1/repos/team/hedge') return answer(200, repository(url));
      if (path.startsWith('/api/v1/repos/team/hedge/branches/main')) return answer(200, { commit: { id: commit.sha } });
      if (path.startsWith('/api/v1/repos/team/hedge/git/commits/')) return answer(200, commit);
      if (path.startsWith('/api/v1/repos/team/hedge/hooks'))
        return answer(req.method === 'POST' ? 201 : 200, { id: 1 });
      if (path.startsWith('/api/v1/repos/team/hedge/pulls')) return answer(200, []);
      return answer(404, { message: 'not found' });
    });
  });
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    get url() {
      return url;
    },
    told,
  };
}
