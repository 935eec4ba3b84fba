import http from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { slice } from '@keystead/testing';
import type { Endpoint } from '../src/kernel/endpoints/endpoint';
import { resources } from '../src/resources/registry';
import { type Example, examples, type World } from './at-once-examples';
import { worldOf } from './at-once-world';
import { declarationOf } from './fields-walk';
import { withSecondNode } from './second-node';
import { startWorkspaces } from './start-workspaces';

const callers = 16;
const long = process.env.KEYSTEAD_LONG === '1';
const longMs = 2000;
/** Callers wait at least this long for a connection. */
const slowMs = 9000;

const nameOf = ({ method, path }: Pick<Endpoint, 'method' | 'path'>): string => `${method} ${path}`;
const operations = resources.flatMap(({ endpoints }) => endpoints.filter(({ method }) => method !== 'GET'));

interface Answer {
  readonly status: number;
  readonly text: string;
}

// Every declared operation that writes, called by many about one object: decisions that exclude each other must be made
// one after the other, without an error for any caller.
describe('every writing operation, called by many at once about one object', () => {
  const workspaces = startWorkspaces();
  const nodes = withSecondNode(workspaces);
  const agent = new http.Agent({ keepAlive: true, maxSockets: callers });
  afterAll(() => agent.destroy());

  const send = (
    node: string,
    method: string,
    path: string,
    token: string,
    body?: object | Buffer | string,
    more: Readonly<Record<string, string>> = {},
  ) =>
    new Promise<Answer>((resolve, reject) => {
      const isJson = typeof body === 'object' && !Buffer.isBuffer(body);
      const form = typeof body === 'string' ? 'application/x-www-form-urlencoded' : 'application/octet-stream';
      const json = path.startsWith('/scim/') ? 'application/scim+json' : 'application/vnd.api+json';
      const headers: Record<string, string> = { ...more, 'Content-Type': isJson ? json : form };
      if (token !== '') headers.Authorization = `Bearer ${token}`;
      const sentMs = performance.now();
      const text = isJson ? JSON.stringify(body) : body;
      // Node sends the body of a DELETE without a Content-Length.
      if (text !== undefined) headers['Content-Length'] = String(Buffer.byteLength(text));
      const request = http.request(node + path, { method, agent, headers }, (response) => {
        let answer = '';
        response.setEncoding('utf8').on('data', (chunk) => {
          answer += chunk;
        });
        response.on('end', () => {
          // A stalled or very slow machine causes these answers, which this test does not look for.
          const isSlow = answer.includes('storage is unavailable') || performance.now() - sentMs > slowMs;
          const stoodStill = response.statusCode === 503 && isSlow;
          if (stoodStill) send(node, method, path, token, body, more).then(resolve, reject);
          else resolve({ status: response.statusCode!, text: answer });
        });
      });
      request.on('error', reject);
      request.end(text);
    });

  const as: World['as'] = async (token, method, path, body, headers) => {
    const { status, text } = await send(
      nodes[0]!,
      method,
      path.startsWith('/') ? path : `/api/v2/${path}`,
      token,
      body,
      headers,
    );
    if (status >= 300) throw new Error(`${method} ${path} was answered ${status}: ${text}`);
    const answer = text === '' ? {} : JSON.parse(text);
    // A body that is not a document is its own resource.
    if (path.startsWith('/')) return answer;
    const { data, meta } = answer;
    return meta === undefined || Array.isArray(data) ? data : { ...data, meta };
  };
  const world = worldOf(workspaces, as);

  let documented: Record<string, Record<string, { responses: object }>> = {};
  beforeAll(async () => {
    documented = (await workspaces.admin.get('openapi.json').expect(200)).body.paths;
  });

  /** Statuses that the document announces for an operation. */
  const announced = ({ method, path, outside }: Endpoint): readonly string[] => {
    const shape = (text: string) => text.replace(/\{[^}]*\}|:\w+/g, ':');
    const [, operation] = Object.entries(documented).find(
      ([one]) => shape(one) === shape((outside ? '' : '/api/v2') + path),
    )!;
    return Object.keys(operation[method.toLowerCase()]!.responses);
  };

  /** Calls the operation from all nodes, and returns how often each answer came. */
  const callAtOnce = async (endpoint: Endpoint, example: Example, on: readonly string[]) => {
    const seen = new Map<string, number>();
    const path = endpoint.path.replace(/:(\w+)/g, (_all, param: string) => {
      const value = example.at?.[param] ?? (example.url === undefined ? undefined : '');
      if (value === undefined) throw new Error(`the example says nothing about ${param}`);
      return value;
    });
    const query = example.query ?? '';
    const at = example.url?.replace(/^https?:\/\/[^/]+/, '') ?? `${endpoint.outside ? '' : '/api/v2'}${path}${query}`;
    const token =
      example.url === undefined && endpoint.auth !== 'none' ? (example.token ?? workspaces.admin.token!) : '';
    const statuses = announced(endpoint);
    const until = performance.now() + longMs;
    let calls = 0;
    await Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        for (let i = 0; long ? performance.now() < until : i < 1; i++) {
          const n = calls++;
          if (example.between !== undefined && caller % 4 === 3) {
            // Another caller may already have made this call.
            await example.between().catch(() => undefined);
            continue;
          }
          const { status, text } = await send(
            on[caller % on.length]!,
            endpoint.method,
            at,
            token,
            example.body?.(n),
            example.headers,
          );
          const isMeant = (status >= 200 && status < 300) || example.also?.includes(status);
          const fine = isMeant && statuses.includes(String(status));
          const what = fine ? String(status) : `${status} ${text.slice(0, 200)}`;
          seen.set(what, (seen.get(what) ?? 0) + 1);
        }
      }),
    );
    return seen;
  };

  it('has an example, or a reason for having none', () => {
    const names = new Set(operations.map(nameOf));
    expect([...names].filter((name) => !(name in examples))).toEqual([]);
    expect(Object.keys(examples).filter((name) => !names.has(name))).toEqual([]);
    expect(Object.values(examples).filter((example) => typeof example === 'function').length).toBeGreaterThan(120);
  });

  it.each(long ? [1, 2] : [2])(
    'gives documented answers, and refuses no one without a reason, on %i nodes',
    async (count) => {
      const failures: string[] = [];
      for (const endpoint of slice(operations, declarationOf)) {
        const name = nameOf(endpoint);
        const making = examples[name]!;
        if (typeof making === 'string') continue;
        try {
          const seen = await callAtOnce(endpoint, await making(world), nodes.slice(0, count));
          if (long)
            process.stdout.write(`${count} × ${name}: ${[...seen].map(([what, n]) => `${n} × ${what}`).join(', ')}\n`);
          const wrong = [...seen].filter(([what]) => what.length > 3);
          for (const [what, times] of wrong) failures.push(`${name}: ${times} × ${what}`);
          if (wrong.length === 0 && ![...seen].some(([what]) => what.startsWith('2')))
            failures.push(`${name}: no one succeeded`);
        } catch (error) {
          failures.push(`${name}: ${String(error)}`);
        }
      }
      expect(failures).toEqual([]);
    },
  );
});
