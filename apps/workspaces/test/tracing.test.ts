import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { createLogger, serve } from '@keystead/server';
import { spanReceiver } from '@keystead/testing';
import { startTracing } from '@keystead/tracing';
import { configured } from './configurations';
import { startRuns } from './run-fixture';
import { ref, resource } from './start-workspaces';

// A trace must show a run from the request that created it, and contain no token or value.
describe('traces of the workspace service', () => {
  const runs = startRuns();

  it('continue from the request that created a run to the worker, and contain no sent or stored value', async () => {
    const { workspaces, admin, worker } = runs;
    const receiver = await spanReceiver();
    const { url } = receiver;
    const quiet = { warn: () => undefined, info: () => undefined };
    const tracing = startTracing({ url, headers: {}, share: 1, service: 'keystead-workspaces', version: '0' }, quiet)!;
    const log = createLogger({ name: 'workspaces', level: 'silent' });
    const ready = async () => ({ ready: true, reasons: [] });
    const { app } = workspaces.service;
    const serving = await serve({ app, listen: { host: '127.0.0.1', port: 0 }, log, ready, tracing });
    const canary = randomBytes(12).toString('hex');
    const traceId = randomBytes(16).toString('hex');
    const ask = async (method: string, path: string, body?: object, headers: Record<string, string> = {}) => {
      const answer = await fetch(`${serving.url}/api/v2/${path}`, {
        method,
        headers: { authorization: `Bearer ${admin.token}`, 'content-type': 'application/vnd.api+json', ...headers },
        body: body && JSON.stringify(body),
      });
      return { status: answer.status, body: await answer.text() };
    };
    await configured(workspaces, runs.workspace);
    await worker.claim();
    const variable = { key: `k${canary}`, value: canary, category: 'terraform', sensitive: true };
    await ask('POST', `workspaces/${runs.workspace}/vars`, { data: { type: 'vars', attributes: variable } });
    const document = resource('runs', { message: canary }, { workspace: ref('workspaces', runs.workspace) });
    const made = await ask('POST', 'runs', document, { traceparent: `00-${traceId}-${'c3'.repeat(8)}-01` });
    expect([made.status, made.body]).toEqual([201, expect.stringContaining(canary)]);
    await ask('GET', `organizations/acme/workspaces/${canary}?search=${canary}`);
    const job = await worker.take('plan');
    expect(job.traceparent).toMatch(new RegExp(`^00-${traceId}-[0-9a-f]{16}-01$`));
    await serving.close();
    await tracing.close();
    await receiver.close();
    const request = receiver.spans.find(({ kind, name }) => kind === 2 && name.startsWith('POST /runs'))!;
    expect(request).toMatchObject({ traceId, parentSpanId: 'c3'.repeat(8) });
    const within = receiver.spans.filter((one) => one.traceId === traceId);
    expect(within.some(({ attributes }) => attributes['db.system.name'] === 'postgresql')).toBe(true);
    expect(receiver.text()).not.toContain(canary);
    expect(receiver.text()).not.toContain(admin.token!);
  });
});
