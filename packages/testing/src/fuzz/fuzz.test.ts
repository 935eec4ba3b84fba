import { once } from 'node:events';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { type FuzzReport, type FuzzTarget, fuzz } from './fuzz';
import type { Document } from './operations';

type Answer = (method: string, path: string, body: string) => { status: number; body?: unknown };
/** Writes the second half of an answer after the first. */
type Rest = (req: http.IncomingMessage, res: http.ServerResponse, half: string) => void;

const response = (schema: object) => ({ description: '', content: { 'application/json': { schema } } });
const refusal = response({ type: 'object', required: ['errors'] });
const refusals = { 400: refusal, 404: refusal };
const thing = { type: 'object', required: ['id'], properties: { id: { type: 'string' }, size: { type: 'integer' } } };
const document = {
  paths: {
    '/things': {
      post: {
        requestBody: { content: { 'application/json': { schema: { ...thing, required: [] } } } },
        responses: { 200: response(thing), ...refusals },
      },
    },
    '/things/{id}': {
      parameters: [{ name: 'id', in: 'path', schema: { type: 'string' } }],
      get: { responses: { 200: response(thing), ...refusals } },
    },
  },
} as unknown as Document;

/** The text of a path segment; undefined if it cannot be decoded. */
function segmentOf(text: string): string | undefined {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}

/** A correct service that stores things by id. */
function soundService(): Answer {
  const ids = new Set<string>();
  return (method, path, body) => {
    if (path === '/found') return { status: 200, body: {} };
    if (method === 'GET') {
      const id = path.startsWith('/things/') ? segmentOf(path.slice('/things/'.length)) : undefined;
      return id !== undefined && ids.has(id) ? { status: 200, body: { id } } : { status: 404, body: { errors: [] } };
    }
    if (method !== 'POST' || path !== '/things') return { status: 404, body: { errors: [] } };
    try {
      const { id } = JSON.parse(body);
      if (typeof id !== 'string') throw new Error();
      ids.add(id);
      return { status: 200, body: { id } };
    } catch {
      return { status: 400, body: { errors: [] } };
    }
  };
}

describe('generated requests', () => {
  let server: http.Server | undefined;
  afterEach(() => {
    server?.closeAllConnections();
    server?.close();
  });

  const found = async (answer: Answer, rest?: Rest, requests = 600): Promise<FuzzReport> => {
    server = http.createServer((req, res) => {
      let body = '';
      req.on('data', (piece) => {
        body += piece;
      });
      req.on('end', () => {
        const reply = answer(req.method!, req.url!.replace(/\?.*/, ''), body);
        const text = reply.body === undefined ? '' : JSON.stringify(reply.body);
        const type = { 'Content-Type': 'application/json' };
        if (rest !== undefined && text.length > 1 && req.method !== 'HEAD') {
          res.writeHead(reply.status, type).write(text[0]);
          rest(req, res, text.slice(1));
          return;
        }
        res.writeHead(reply.status, { ...type, 'Content-Length': Buffer.byteLength(text) });
        res.end(text);
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const service = {
      url,
      pid: 0,
      folder: '',
      complaints: [],
      warnings: new Map(),
      running: true,
      stop: async () => undefined,
    };
    const target: FuzzTarget = {
      service,
      metricsUrl: `${url}/metrics`,
      document,
      token: async () => 'token',
      restore: async () => [],
      place: {
        never: [],
        paths: { found: '/found', missing: '/missing', writes: '/things', self: '/found' },
        dialect: {
          prefix: '',
          token: { header: 'X-Token', before: '' },
          hints: {},
          fixed: {},
          parameters: {},
          secrets: {},
          weights: {},
          faults: {},
          headers: {},
        },
      },
    };
    return fuzz(target, { seed: 'itself', requests, programs: 1, callersEach: 4 });
  };

  it('find no fault in a service that follows its document, and use its answers', async () => {
    const report = await found(soundService());
    expect(report.findings).toEqual([]);
    expect(report.sent).toBeGreaterThanOrEqual(600);
    expect(report.neverGood).toEqual([]);
  });

  it('find a fault, and show the smallest request that causes it', async () => {
    const sound = soundService();
    const { findings } = await found((method, path, body) =>
      method === 'POST' && /"size":/.test(body) ? { status: 500, body: { errors: [] } } : sound(method, path, body),
    );
    const [fault] = findings.filter((finding) => finding.startsWith('POST /things: answered 500'));
    expect(fault).toMatch(/\{\\"size\\":[^,{]*\}"/);
    expect(fault).not.toContain('X-Token');
  });

  it('find statuses and bodies that are not documented', async () => {
    const sound = soundService();
    const { findings } = await found((method, path, body) => {
      const reply = sound(method, path, body);
      if (method === 'GET' && reply.status === 404 && path.startsWith('/things')) return { status: 410, body: {} };
      return method === 'POST' && reply.status === 200 ? { status: 200, body: { size: 'large' } } : reply;
    });
    expect(findings.map((finding) => finding.replace(/ \(\d+ times\)[\s\S]*/, ''))).toEqual(
      expect.arrayContaining([
        'GET /things/{id}: answered 410, which is not documented',
        expect.stringMatching(/^POST \/things: answered 200 with body: /),
      ]),
    );
  });

  it('find truncated answers', async () => {
    const { findings } = await found(soundService(), (req, res, half) => {
      if (req.method === 'POST') setImmediate(() => res.destroy());
      else res.end(half);
    });
    expect(findings.some((finding) => finding.includes('the connection was closed within an answer'))).toBe(true);
  });

  it('expect no more pieces of a chunked answer after they disconnect', async () => {
    const { findings } = await found(soundService(), (req, res, half) => {
      // Node closes its side together with the client's: the rest is never written.
      const waits = req.headers.connection === 'close' && req.url!.startsWith('/things');
      if (waits) req.socket.once('end', () => res.end(half));
      else res.end(half);
    });
    expect(findings).toEqual([]);
  });

  it('find answers without a request', async () => {
    const sound = soundService();
    // Only one of many kinds of raw requests shows this fault.
    const answer: Answer = (method, path, body) =>
      path === '/found' && method === 'GET' && body === '' ? { status: 204 } : sound(method, path, body);
    const { findings } = await found(answer, undefined, 2400);
    expect(findings.some((finding) => finding.startsWith('a pipeline: answered something else'))).toBe(true);
  });
});
