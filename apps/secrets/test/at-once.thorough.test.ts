import { mkdtempSync, rmSync } from 'node:fs';
import http from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { slice } from '@keystead/testing';
import type { LiveMount } from '../src/kernel/mounts/mount';
import { isReading, type Verb } from '../src/sdk/call';
import type { Path } from '../src/sdk/path';
import { type Example, examples } from './at-once-examples';
import { methodOf, worldOf } from './at-once-world';
import { ResponseSchemas } from './response-schemas';
import { withSecondNode } from './second-node';
import { startSecrets } from './start-secrets';
import { declarationOf } from './visits';

const callers = 16;
const long = process.env.KEYSTEAD_LONG === '1';
const longMs = 2000;
const callsEach = 2;

// Every declared writing operation, found as the router does, is called by many at once for one object. Conflicting
// writes must be decided one after the other, without errors for callers.
describe('every writing operation, called by many at once about one object', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'at-once-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const env = { SECRETS_AUDIT_BY_API_DIRECTORY: folder };
  const secrets = startSecrets({ env });
  const nodes = withSecondNode(secrets, env);
  const agent = new http.Agent({ keepAlive: true, maxSockets: callers });
  let operations: { name: string; verb: Verb; mount: LiveMount; declared: Path }[] = [];

  const world = worldOf(secrets, (method, path, token, body) => send(nodes[0]!, method, path, token, body));
  beforeAll(() => {
    operations = [...secrets.service.kernel.mounts.all()].flatMap((mount) =>
      mount.backend.paths.flatMap((declared) =>
        (Object.keys(declared.operations) as Verb[])
          .filter((verb) => !isReading(verb))
          .map((verb) => ({ name: `${verb} ${mount.backend.type}/${declared.pattern}`, verb, mount, declared })),
      ),
    );
  });
  afterAll(() => agent.destroy());

  interface Answer {
    readonly status: number;
    readonly text: string;
  }
  const send = (node: string, method: string, path: string, token: string, body: object = {}): Promise<Answer> =>
    new Promise((resolve, reject) => {
      const verb = method === 'WRAP' ? 'POST' : method;
      const headers: Record<string, string> = {
        'X-Service-Token': token,
        'Content-Type': verb === 'PATCH' ? 'application/merge-patch+json' : 'application/json',
      };
      if (method === 'WRAP') headers['X-Service-Wrap-TTL'] = '5m';
      const request = http.request(`${node}/v1/${path}`, { method: verb, agent, headers }, (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (chunk) => {
          text += chunk;
        });
        response.on('end', () => resolve({ status: response.statusCode!, text }));
      });
      request.on('error', reject);
      request.end(verb === 'POST' || verb === 'PATCH' ? JSON.stringify(body) : undefined);
    });
  const schemas = new ResponseSchemas();
  const noted = new Set<string>();
  /** Compares one answer of each kind with the document. */
  const announced = (method: string, path: string, { status, text }: Answer) => {
    const kind = `${method} ${path} ${status}`;
    if (noted.has(kind)) return;
    noted.add(kind);
    schemas.add(method, `/v1/${path}`, status, text === '' ? {} : JSON.parse(text));
  };
  /** Calls the operation from all callers on both nodes, and counts the answers by kind. */
  const callAtOnce = async (at: string, verb: Verb, example: Example, on: readonly string[]) => {
    const seen = new Map<string, number>();
    const until = performance.now() + longMs;
    let calls = 0;
    await Promise.all(
      Array.from({ length: callers }, async (_, caller) => {
        for (let i = 0; long ? performance.now() < until : i < (example.slow ? 1 : callsEach); i++) {
          const n = calls++;
          const remakes = example.between !== undefined && caller % 4 === 3;
          const token = example.token ?? secrets.rootToken;
          const answer = remakes
            ? { ...(await example.between!()), text: 'while it is made again' }
            : await send(
                on[caller % on.length]!,
                example.wrap ? 'WRAP' : methodOf[verb]!,
                at,
                token,
                example.body?.(n),
              );
          const { status, text } = answer;
          if (!remakes) announced(methodOf[verb]!, at, answer);
          const fine = (status >= 200 && status < 300) || (!remakes && example.also?.includes(status));
          const what = fine ? String(status) : `${status} ${text.slice(0, 120)}`;
          seen.set(what, (seen.get(what) ?? 0) + 1);
        }
      }),
    );
    return seen;
  };

  it('has an example, or a reason for having none', () => {
    const names = new Set(operations.map(({ name }) => name));
    expect([...names].filter((name) => !(name in examples))).toEqual([]);
    expect(Object.keys(examples).filter((name) => !names.has(name))).toEqual([]);
    expect(Object.values(examples).filter((example) => typeof example === 'function').length).toBeGreaterThan(150);
  });

  it.each(long ? [1, 2] : [2])(
    'is answered as documented, and refused only with a reason, on %i nodes',
    async (count) => {
      const failures: string[] = [];
      for (const { name, verb, mount, declared } of slice(operations, declarationOf)) {
        const making = examples[name];
        if (typeof making !== 'function') continue;
        const example = await making(world);
        const below = declared.pattern.replace(/:(\w+)\*?/g, (_all, param: string) => {
          const value = example.at?.[param];
          if (value === undefined) throw new Error(`${name}: the example says nothing about ${param}`);
          return value;
        });
        const seen = await callAtOnce(mount.path + below, verb, example, nodes.slice(0, count));
        const wrong = [...seen].filter(([what]) => what.length > 3);
        const succeeded = [...seen].some(([what]) => what.startsWith('2'));
        if (wrong.length > 0)
          failures.push(`${name}: ${wrong.map(([what, times]) => `${times} × ${what}`).join('; ')}`);
        else if (!succeeded) failures.push(`${name}: none succeeded`);
        if (!declared.operations.read || declared.rootNamespaceOnly) continue;
        for (const node of nodes) {
          const { status, text } = await send(node, 'GET', mount.path + below, secrets.rootToken);
          if (status >= 500) failures.push(`${name}: what is left was read with ${status} ${text}`);
        }
      }
      expect(failures).toEqual([]);
      expect(schemas.problems(secrets.service)).toEqual([]);
      await secrets.root.read('auth/token/lookup-self').expect(200);
    },
    1_800_000,
  );
});
