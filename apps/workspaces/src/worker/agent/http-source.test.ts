import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Readable } from 'node:stream';
import { afterEach, describe, expect, it } from '@jest/globals';
import { longestReason } from '../../resources/runs/agents/protocol';
import type { PlanResult, RunJob } from '../../resources/runs/runs/jobs/job';
import { AgentClient } from './client';
import { HttpSource } from './http-source';

const agent = { id: 'agent-1', pool: 'apool-1', installation: 'i', fetches: false, forwards: false, judges: false };
const inputs = { variables: [], environment: [], 'ssh-key': null, registry: null, 'logs-in': false };
const job = { id: 'job-1', agentId: agent.id, lease: '1.x' } as unknown as RunJob;

describe('an agent with a service', () => {
  let server: Server;
  let requests: { call: string; body: string }[];

  /** A source connected to a service that answers each call as `answers` says, and all others with 204. */
  async function sourceAt(answers: (call: string, body: string) => [status: number, body: object] | undefined) {
    requests = [];
    server = createServer(async (req, res) => {
      let body = '';
      for await (const piece of req) body += piece;
      const call = `${req.method} ${req.url?.split('/job-1')[1]}`;
      requests.push({ call, body });
      const [status, answer] = answers(call, body) ?? [204, undefined];
      res.writeHead(status, { 'Content-Type': 'application/json' }).end(answer && JSON.stringify(answer));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const client = new AgentClient(new URL(`http://127.0.0.1:${port}`), 'token', undefined);
    return new HttpSource(
      client,
      agent,
      30,
      async () => agent,
      () => undefined,
    );
  }

  afterEach(() => new Promise((resolve) => server.close(resolve)));

  const planned = { outcome: 'planned' as const, planFile: Buffer.from('plan'), jsonPlan: Buffer.alloc(65_537, ' ') };
  const calls = () => requests.map(({ call }) => call);

  const textOf = async (file: Promise<Readable | undefined>) =>
    Buffer.concat((await (await file)?.toArray()) ?? []).toString();

  it('gets small files with the answer to the start, and downloads the others', async () => {
    const files = { configuration: Buffer.from('archive').toString('base64'), state: null };
    const source = await sourceAt((call) => {
      if (call === 'POST /start') return [200, { 'log-offset': 0, inputs, files }];
      return call === 'GET /plan' ? [200, { from: 'download' }] : undefined;
    });
    await source.started(job);
    const { configuration, state, planFile } = await source.inputs(job);
    expect(await textOf(configuration())).toBe('archive');
    expect(await state()).toBeUndefined();
    expect(await textOf(planFile())).toBe('{"from":"download"}');
    expect(calls()).toEqual(['POST /start', 'GET /plan']);
  });

  it('puts the end of the log into the result at the same place each time, and sends a long one before it', async () => {
    let failures = 1;
    const source = await sourceAt((call) => {
      if (call === 'POST /start') return [200, { 'log-offset': 5, inputs }];
      return call === 'POST /finish' && failures-- > 0 ? [503, {}] : undefined;
    });
    await source.started(job);
    await source.appendLog(job, Buffer.from('begun '));
    const ended = { outcome: 'finished', log: { bytes: Buffer.from('done') } } as const;
    await expect(source.finishToolRun(job, ended)).rejects.toThrow();
    await source.finishToolRun(job, ended);
    const inside = { outcome: 'finished', uploads: {}, log: { offset: 11, bytes: 'ZG9uZQ==' } };
    const results = requests.filter(({ call }) => call === 'POST /finish').map(({ body }) => JSON.parse(body));
    expect(results).toEqual([inside, inside]);
    await source.started(job);
    await source.finishToolRun(job, { outcome: 'finished', log: { bytes: Buffer.alloc(65_537, 'x') } });
    expect(calls().slice(-2)).toEqual(['PUT /log?offset=5', 'POST /finish']);
    expect(JSON.parse(requests.at(-1)?.body ?? '')).toEqual({ outcome: 'finished', uploads: {} });
  });

  it('loses no piece of a log that was refused, and no result because of its log', async () => {
    let refusals = 1;
    const source = await sourceAt((call) => {
      if (call === 'POST /start') return [200, { 'log-offset': 0, inputs }];
      return call.startsWith('PUT /log') && refusals-- > 0 ? [404, {}] : undefined;
    });
    await source.started(job);
    await expect(source.appendLog(job, Buffer.from('begun '))).rejects.toThrow();
    await source.finishToolRun(job, { outcome: 'finished', log: { bytes: Buffer.from('begun done') } });
    const log = { offset: 0, bytes: Buffer.from('begun done').toString('base64') };
    expect(JSON.parse(requests.at(-1)?.body ?? '')).toEqual({ outcome: 'finished', uploads: {}, log });
    refusals = 1;
    await source.started(job);
    const long = { bytes: Buffer.alloc(65_537, 'x') };
    expect(await source.finishToolRun(job, { outcome: 'finished', log: long })).toBe(true);
    expect(calls().slice(-2)).toEqual(['PUT /log?offset=0', 'POST /finish']);
  });

  it('gets its inputs from the answer to the start, and puts small files into the result', async () => {
    const source = await sourceAt((call) => {
      if (call === 'POST /start') return [200, { 'log-offset': 0, inputs }];
      if (call.startsWith('PUT /uploads')) return [201, { upload: 'large' }];
      return undefined;
    });
    expect(await source.started(job)).toBe(true);
    expect(await source.inputs(job)).toMatchObject({ variables: [] });
    expect(await source.finishPlan(job, planned)).toBe(true);
    expect(calls()).toEqual(['POST /start', 'PUT /uploads/json-plan', 'POST /finish']);
    const result = { outcome: 'planned', uploads: { 'json-plan': 'large' }, files: { 'plan-file': 'cGxhbg==' } };
    expect(JSON.parse(requests.at(-1)?.body ?? '')).toEqual(result);
  });

  it('asks for its inputs and uploads every file if the service is older', async () => {
    const source = await sourceAt((call, body) => {
      if (call === 'POST /start') return [200, { 'log-offset': 0 }];
      if (call === 'GET /inputs') return [200, inputs];
      if (call.startsWith('PUT /uploads')) return [201, { upload: call.slice('PUT /uploads/'.length) }];
      return /"(files|log)"/.test(body) ? [422, { errors: [{ detail: 'Unrecognized key: "files"' }] }] : undefined;
    });
    expect(await source.started(job)).toBe(true);
    expect(await source.inputs(job)).toMatchObject({ variables: [] });
    const log = { bytes: Buffer.from('done') };
    for (let i = 0; i < 2; i++) expect(await source.finishPlan(job, { ...planned, log })).toBe(true);
    // The first result is sent three times: whole, without the log, and without the files.
    expect(calls().filter((call) => call === 'POST /finish')).toHaveLength(4);
    expect(calls().filter((call) => call === 'PUT /log?offset=0')).toHaveLength(3);
    const uploads = { 'json-plan': 'json-plan', 'plan-file': 'plan-file' };
    expect(JSON.parse(requests.at(-1)?.body ?? '')).toEqual({ outcome: 'planned', uploads });
  });

  it('leaves out only what an older service refuses, also of results that it sends at the same time', async () => {
    const source = await sourceAt((call, body) => {
      if (call === 'POST /start') return [200, { 'log-offset': 0, inputs }];
      return /"log"/.test(body) ? [422, { errors: [{ detail: 'Unrecognized key: "log"' }] }] : undefined;
    });
    const requirements = [{ kind: 'module' as const, source: 'acme/stones/crane', version: '1.0.0' }];
    const result = {
      outcome: 'planned' as const,
      planFile: Buffer.from('plan'),
      requirements,
    } as unknown as PlanResult;
    const log = { bytes: Buffer.from('done') };
    for (let round = 0; round < 2; round++) {
      await source.started(job);
      const both = [source.finishPlan(job, { ...result, log }), source.finishPlan(job, { ...result, log })];
      expect(await Promise.all(both)).toEqual([true, true]);
      const accepted = { outcome: 'planned', uploads: {}, files: { 'plan-file': 'cGxhbg==' }, requirements };
      expect(requests.slice(-2).map(({ body }) => JSON.parse(body))).toEqual([accepted, accepted]);
    }
  });

  it('shortens a reason that the service would refuse', async () => {
    const source = await sourceAt((call) => (call === 'POST /start' ? [200, { 'log-offset': 0, inputs }] : undefined));
    await source.started(job);
    await source.finishPlan(job, { outcome: 'errored', errorMessage: 'x'.repeat(20_000) });
    const { 'error-message': reason } = JSON.parse(requests.at(-1)?.body ?? '');
    expect([reason.length, reason.slice(-2)]).toEqual([longestReason, 'x…']);
  });
});
