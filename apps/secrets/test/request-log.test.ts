import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createLogger, serve } from '@keystead/server';
import { startSecrets } from './start-secrets';

describe('the log of requests', () => {
  const secrets = startSecrets();

  it('contains nothing from paths and queries, for any path', async () => {
    const lines: { msg: string; route?: string }[] = [];
    const log = createLogger({
      name: 'secrets',
      level: 'trace',
      destination: { write: (line) => void lines.push(JSON.parse(line)) },
    });
    const ready = async () => ({ ready: true, reasons: [] });
    const { app } = secrets.service;
    const serving = await serve({ app, listen: { host: '127.0.0.1', port: 0 }, log, ready });
    const canary = randomBytes(16).toString('hex');
    const token = secrets.rootToken;
    const ask = async (path: string, method: string, headers: Record<string, string>) => {
      const answer = await fetch(`${serving.url}/v1/${path}?q=${canary}`, { method, headers, redirect: 'manual' });
      // Answers are not read to their end, because the answer of `monitor` has none.
      await answer.body?.cancel();
    };
    await secrets.root.write('sys/mounts/two', { type: 'kv', options: { version: '2' } }).expect(204);
    const patterns = [...secrets.service.kernel.mounts.all()].flatMap((mount) =>
      mount.backend.paths.map(({ pattern }) => ({ pattern, route: `${mount.type}/${pattern}`, mount })),
    );
    for (const { pattern, mount } of patterns) {
      const path = mount.path + pattern.replace(/:\w+\*?/g, canary);
      await ask(path, 'GET', {});
      await ask(path, 'GET', { 'x-service-token': token });
    }
    await ask(`nowhere/${canary}`, 'GET', { 'x-service-token': token });
    await serving.close();
    expect(patterns.length).toBeGreaterThan(50);
    const requests = lines.filter(({ msg }) => msg === 'request');
    expect(requests).toHaveLength(2 * patterns.length + 1);
    expect(JSON.stringify(lines)).not.toContain(canary);
    const routes = new Set(patterns.map(({ route }) => route));
    expect(requests.filter(({ route }) => route !== 'other' && !routes.has(route!))).toEqual([]);
    expect(requests.filter(({ route }) => route !== 'other').length).toBeGreaterThan(patterns.length);
  });
});
