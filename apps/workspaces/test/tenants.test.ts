import { beforeAll, describe, expect, it } from '@jest/globals';
import { randomId } from '@keystead/auth';
import type { Endpoint } from '../src/kernel/endpoint';
import { resources } from '../src/resources/registry';
import { allRows } from './database-rows';
import { fakeWorker } from './fake-worker';
import { type Client, resource, startWorkspaces } from './start-workspaces';
import { type Tenant, tenant } from './tenant';

const wordOf = { GET: 'get', POST: 'post', PATCH: 'patch', PUT: 'put', DELETE: 'delete' } as const;

/** The parameters of a path, each with the name it has in `Tenant.params`. */
function parametersOf({ path }: Endpoint, params: Tenant['params']): { part: string; key: string }[] {
  return [...path.matchAll(/:\w+/g)].map(([part]) => {
    const first = path.split('/')[1];
    return { part, key: `${first}/${part}` in params ? `${first}/${part}` : part };
  });
}

/** An id like another that is nobody's. */
const absentLike = (id: string): string =>
  id.includes('-') ? randomId(`${id.slice(0, id.indexOf('-'))}-`) : `no-${id}`;

describe.each(['self-hosted', 'hosted'] as const)('two organizations, %s', (edition) => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_EDITION: edition } });
  const operations = resources
    .flatMap(({ endpoints }) => endpoints)
    .filter((endpoint) => endpoint.edition === undefined || endpoint.edition === edition);
  let mine: Tenant;
  let theirs: Tenant;
  /** What must not stand in any answer to me, unless I said it myself. */
  let canaries: string[] = [];

  beforeAll(async () => {
    const worker = fakeWorker(workspaces);
    mine = await tenant(workspaces, worker, 'walrus');
    theirs = await tenant(workspaces, worker, 'zebra');
    canaries = [...new Set([...Object.values(theirs.params), ...Object.values(theirs.ids), 'zebra'])];
  });

  const leaked = (text: string, said: string): string[] =>
    canaries.filter((canary) => text.includes(canary) && !said.includes(canary));
  const ask = (client: Client, { method, outside }: Endpoint, path: string, body: object | undefined) => {
    const there = outside ? `/api/../..${path}` : path;
    return client[wordOf[method]](there, body);
  };

  // Whatever the body should be: nobody gets far enough to have it looked at.
  const bodyOf = (endpoint: Endpoint) =>
    endpoint.body === undefined ? undefined : { data: { type: 'x', attributes: {} } };
  const withIds = operations.filter(
    ({ path, auth, link }) => path.includes('/:') && (auth === 'token' || link !== undefined),
  );

  it('has every operation that names something looked at', () => {
    const unknown = withIds.flatMap((endpoint) =>
      parametersOf(endpoint, theirs.params)
        .filter(({ part, key }) => !(key in theirs.params) && ![':expires', ':signature', ':version_id'].includes(part))
        .map(({ key }) => `${endpoint.path}: ${key}`),
    );
    expect(unknown).toEqual([]);
    expect(withIds.length).toBeGreaterThan(150);
  });

  /** The paths of an operation with theirs in every place, and in each one beside mine, and what stands for nobody's there. */
  function visits(endpoint: Endpoint): { path: string; absent: string }[] {
    const places = parametersOf(endpoint, theirs.params);
    const fill = (choice: readonly ('mine' | 'theirs' | 'nobody')[]) => {
      let path = endpoint.path;
      places.forEach(({ part, key }, i) => {
        const of = (choice[i] === 'mine' ? mine : theirs).params[key] ?? '1700000000';
        path = path.replace(part, choice[i] === 'nobody' ? absentLike(of) : of);
      });
      return path;
    };
    const choices = 2 ** places.length;
    return Array.from({ length: choices - 1 }, (_, i) => {
      const foreign = places.map((_place, at) => ((i + 1) >> at) % 2 === 1);
      return {
        path: fill(foreign.map((is) => (is ? 'theirs' : 'mine'))),
        absent: fill(foreign.map((is) => (is ? 'nobody' : 'mine'))),
      };
    });
  }

  const callers: Readonly<Record<string, () => Client>> = {
    'its owner': () => mine.owner,
    "its organization's token": () => mine.tokens.organization,
    'a team with every right': () => mine.tokens.team,
    'an agent': () => mine.tokens.agent,
    nobody: () => workspaces.anyone,
  };

  it.each(Object.keys(callers))(
    'keep what is named in paths apart: %s is refused like for what is not there',
    async (name) => {
      const before = await allRows(workspaces.databaseUrl);
      const wrong: string[] = [];
      for (const endpoint of withIds) {
        for (const { path, absent } of visits(endpoint)) {
          const foreign = await ask(callers[name]!(), endpoint, path, bodyOf(endpoint));
          const nothing = await ask(callers[name]!(), endpoint, absent, bodyOf(endpoint));
          const what = `${endpoint.method} ${path}`;
          const unknown = name === 'nobody' || name === 'an agent' ? 401 : 404;
          if (foreign.status !== unknown && !(foreign.status === 404 && endpoint.link))
            wrong.push(`${what}: ${foreign.status}`);
          if (foreign.status !== nothing.status || foreign.text !== nothing.text)
            wrong.push(`${what}: unlike ${absent}`);
          wrong.push(...leaked(foreign.text, path).map((canary) => `${what} says ${canary}`));
        }
      }
      expect(wrong).toEqual([]);
      expect(await allRows(workspaces.databaseUrl)).toEqual(before);
    },
  );
});
