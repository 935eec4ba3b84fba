import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createLogger, serve } from '@keystead/server';
import { resources } from '../src/resources/registry';
import { startWorkspaces } from './start-workspaces';

describe('the log of requests', () => {
  const workspaces = startWorkspaces();

  it('contains no path or query of any operation', async () => {
    const lines: { msg: string; route?: string; status?: number }[] = [];
    const log = createLogger({
      name: 'workspaces',
      level: 'trace',
      destination: { write: (line) => void lines.push(JSON.parse(line)) },
    });
    const { app, ready } = workspaces.service;
    const serving = await serve({ app, listen: { host: '127.0.0.1', port: 0 }, log, ready });
    const canary = randomBytes(16).toString('hex');
    const operations = resources.flatMap(({ endpoints }) => endpoints);
    for (const { method, path, outside } of operations) {
      const there = `${outside ? '' : '/api/v2'}${path.replace(/:\w+/g, canary)}?q=${canary}&signature=${canary}`;
      const known: Record<string, string> = { authorization: `Bearer ${workspaces.admin.token}` };
      for (const headers of [undefined, known]) {
        await (await fetch(serving.url + there, { method, headers, redirect: 'manual' })).arrayBuffer();
      }
    }
    // An invalid link, copied without its last letter.
    await fetch(`${serving.url}/api/v2/one-time-link/${canary}`);
    await serving.close();
    const requests = lines.filter(({ msg }) => msg === 'request');
    expect(requests).toHaveLength(2 * operations.length + 1);
    expect(JSON.stringify(lines)).not.toContain(canary);
    expect(new Set(requests.map(({ route }) => route))).toEqual(
      new Set([...operations.map(({ path }) => path), 'other']),
    );
  });
});
