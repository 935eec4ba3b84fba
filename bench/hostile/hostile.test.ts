import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { bodiesFor } from './bodies';
import { operationsOf } from './document';
import { parseHostileOptions } from './options';
import { isTooLong, report } from './report';
import { limits, type Outcome, runCase } from './run-case';
import { LoopTurns, watchProgram, weightOf } from './turns';

/** A server whose /block uses 300 ms of processor time in one turn. */
const program = `
const server = require('node:http').createServer((req, res) => {
  const begin = process.cpuUsage();
  const used = () => process.cpuUsage(begin).user + process.cpuUsage(begin).system;
  if (req.url === '/block') while (used() < 300_000);
  req.resume().on('end', () => res.end('{}'));
});
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
`;

describe('the hostile bench', () => {
  const folder = mkdtempSync(path.join(os.tmpdir(), 'hostile-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('detects work that blocks an event loop, and reports none for an idle one', async () => {
    const file = path.join(folder, 'turns');
    const child = spawn(process.execPath, ['--require', watchProgram, '-e', program], {
      env: { ...process.env, HOSTILE_TURNS: file },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const port = await new Promise<string>((resolve) =>
        child.stdout.once('data', (data) => resolve(String(data).trim())),
      );
      const target = { url: `http://127.0.0.1:${port}`, turns: new LoopTurns(file), auditBytes: () => 0 };
      const ask = (at: string) =>
        runCase(target, {
          sender: 'stranger',
          operation: at,
          kind: 'test',
          method: 'POST',
          path: at,
          headers: {},
          body: () => 'x',
        });
      const blocked = await ask('/block');
      expect(blocked.status).toBe(200);
      expect(weightOf(blocked.turn)).toBeGreaterThan(250);
      expect(isTooLong(blocked)).toBe(true);
      // A busy machine lengthens the wall time of a turn, but hardly its processor time.
      const free = await ask('/free');
      if (free.turn.cpuMs !== undefined) expect(free.turn.cpuMs).toBeLessThan(250);
    } finally {
      child.kill();
    }
  });

  it('reports the worst requests of each sender, and the bytes in the audit log', () => {
    const outcome = (sender: 'stranger' | 'caller', cpuMs: number): Outcome => ({
      sender,
      operation: `POST /${cpuMs}`,
      kind: 'keys',
      method: 'POST',
      path: '/',
      headers: {},
      status: 200,
      turn: { wallMs: 2 * cpuMs, cpuMs },
      bytes: 5000,
      auditBytes: 10_000,
    });
    const outcomes = [
      outcome('stranger', limits.stranger + 1),
      outcome('stranger', 7),
      outcome('caller', limits.caller),
    ];
    const text = report('secrets', outcomes, 3);
    expect(text).toContain('## secrets: 3 requests, 3 left for want of time');
    expect(text).toContain('| stranger | 2 | 51 | 102 | 50 | 1 |');
    expect(text).toContain('| caller | 1 | 250 | 500 | 250 | 0 |');
    expect(text).toContain('at most 2.00 (POST /51, keys, 5000 bytes)');
  });

  it('generates bodies up to each bound, and none beyond', () => {
    const [operation] = operationsOf({
      paths: {
        '/x': {
          post: { requestBody: { content: { 'application/json': { schema: { $ref: '#/components/schemas/X' } } } } },
        },
      },
      components: {
        schemas: {
          X: {
            type: 'object',
            properties: { policy: { type: 'string' }, names: { type: 'array', items: { type: 'string' } } },
          },
        },
      },
    });
    const bounds = { bytes: 65_536, values: 1000, levels: 490, elements: 900 };
    const bodies = bodiesFor(operation!.body!.media, operation!.body!.schema, bounds, { policy: ['worst'] }, true);
    for (const body of bodies) {
      const { kind } = body;
      const text = body.text();
      expect([kind, Buffer.byteLength(text) <= bounds.bytes]).toEqual([kind, true]);
      if (kind.startsWith('form') || kind === 'not JSON') continue;
      expect([kind, countOf(JSON.parse(text)) <= bounds.values]).toEqual([kind, true]);
    }
    const of = (kind: string) => JSON.parse(bodies.find((one) => one.kind === kind)!.text());
    expect(of('policy 1').policy).toBe('worst');
    expect(of('long texts').policy.length).toBeGreaterThan(60_000);
    expect(of('lists').names.length).toBeGreaterThan(400);
    expect(Object.keys(of('keys')).length).toBeGreaterThan(900);
  });

  it.each([[['--fast']], [['--seconds']], [['--seconds', '0']], [['--service', 'x']]])('refuses %j', (args) => {
    expect(() => parseHostileOptions(args)).toThrow(args[0]);
  });
});

function countOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 1;
  return Object.values(value).reduce((sum: number, one) => sum + countOf(one), 1);
}
