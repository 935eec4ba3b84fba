import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { resources } from '../src/resources/registry';
import { fakeWorker } from './fake-worker';
import { idSlots } from './id-slots';
import { type Client, startWorkspaces } from './start-workspaces';
import { type Tenant, tenant } from './tenant';

const wordOf = { GET: 'get', POST: 'post', PATCH: 'patch', PUT: 'put', DELETE: 'delete' } as const;
const callers = 24;
const rounds = process.env.KEYSTEAD_LONG === '1' ? 12 : 2;

/** Every operation that a tenant may call on its own objects, with a body for each id that a body may contain. */
function callsAbout(mine: Tenant): ((client: Client) => Promise<{ what: string; status: number }>)[] {
  const endpoints = resources
    .flatMap((resource) => resource.endpoints)
    .filter(({ method, edition, outside }) => method !== 'DELETE' && edition !== 'hosted' && !outside);
  return endpoints.flatMap((endpoint) => {
    const { method, path: pattern, body } = endpoint;
    const first = pattern.split('/')[1]!;
    const at = pattern.replace(/:\w+/g, (part) => mine.params[`${first}/${part}`] ?? mine.params[part] ?? part);
    if (at.includes(':') || at === pattern) return [];
    const bodies = idSlots(endpoint, mine).map((slot) => slot.body(mine.ids[slot.type]!));
    const sent = body === undefined ? [undefined] : [...bodies, { data: { type: 'x' } }];
    return sent.map((given) => async (client: Client) => {
      const { status } = await client[wordOf[method]](at, given);
      return { what: `${method} ${pattern}`, status };
    });
  });
}

describe('objects deleted while others use them', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const tenants: Tenant[] = [];
  beforeAll(async () => {
    const worker = fakeWorker(workspaces);
    for (let i = 0; i < rounds; i++) tenants.push(await tenant(workspaces, worker, `tenant${i}`));
  });

  it('exist or do not exist for a caller, but cause no fault', async () => {
    const faults: string[] = [];
    const statuses = new Set<number>();
    for (const mine of tenants) {
      const calls = callsAbout(mine);
      expect(calls.length).toBeGreaterThan(150);
      // The operations come in another order in each round, with the deletion in the middle: half of them before it and
      // half after it.
      const order = [...calls.keys()].sort((a, b) => ((a * 7919 + 13) % 101) - ((b * 7919 + 13) % 101));
      let next = 0;
      let deleted: Promise<unknown> | undefined;
      await Promise.all(
        Array.from({ length: callers }, async () => {
          while (next < order.length) {
            const call = calls[order[next++]!]!;
            if (next > order.length / 2) {
              deleted ??= admin
                .delete(`admin/organizations/${mine.name}`)
                .then(({ status }) => expect(status).toBe(204));
            }
            const { what, status } = await call(mine.owner);
            statuses.add(status);
            if (status >= 500) faults.push(`${what}: ${status}`);
          }
        }),
      );
      await deleted;
    }
    expect(faults).toEqual([]);
    expect([...statuses]).toEqual(expect.arrayContaining([200, 404, 422]));
  });

  it('are never assumed to exist when they are read again', () => {
    const root = path.resolve(__dirname, '../src/resources');
    const sources = readdirSync(root, { recursive: true, encoding: 'utf8' }).filter((name) => name.endsWith('.ts'));
    const granted = sources.flatMap((name) =>
      readFileSync(path.join(root, name), 'utf8')
        .split('\n')
        .filter((line) => /\(await (?:\w+\.)?find\w*\(.*\)\)!/.test(line))
        .map((line) => `${name}: ${line.trim()}`),
    );
    expect(sources.length).toBeGreaterThan(100);
    expect(granted).toEqual([]);
  });
});
