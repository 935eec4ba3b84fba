import { withClient } from '@keystead/postgres';
import { type Setting, scenariosOn } from './family';
import type { Scenario } from './scenario';
import { ask, startWorkspaces, times } from './service';

const names = [
  'workspaces: show',
  'workspaces: show organization',
  'workspaces: list of 20 among 10,000',
  'workspaces: search with 1 hit',
  'workspaces: search with 111 hits',
  'workspaces: create',
  'workspaces: patch',
  'workspaces: lock, then unlock',
] as const;
const count = 10_000;
const mediaType = 'application/vnd.api+json';
const searchPath = (part: string) => `/api/v2/organizations/bench/workspaces?search%5Bname%5D=${part}`;
const listPath = (page: number) => `/api/v2/organizations/bench/workspaces?page%5Bsize%5D=20&page%5Bnumber%5D=${page}`;

/** The workspace service with 10,000 workspaces in one organization, used by its owner; no rate limit. */
export async function workspacesFamily(setting: Setting): Promise<Scenario[]> {
  if (!names.some(setting.isSelected)) return [];
  const { url, pid, token } = await startWorkspaces(setting);
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': mediaType };
  const ids = await prepare(url, headers);
  // Analyzes the table, as PostgreSQL would do within a minute. Until then, a search reads the whole organization and
  // takes 10 ms instead of 0.1 ms.
  await withClient(setting.postgres.url('workspaces'), (client) => client.query('VACUUM ANALYZE'));
  const list = await (await fetch(`${url}${listPath(1)}`, { headers })).arrayBuffer();
  const paths = ids.slice(0, 1000).map((id) => `/api/v2/workspaces/${id}`);
  const scenario = scenariosOn({ url, pid }, setting.generator);
  const lists = Array.from({ length: 50 }, (_, i) => listPath(i + 1));
  const selective = Array.from({ length: 1000 }, (_, i) => searchPath(`space-${i + 1000}`));
  const wider = Array.from({ length: 50 }, (_, i) => searchPath(`space-${i + 20}`));
  const [show, organization, listing, searching, searchingWide, create, patch, lock] = names;
  return [
    scenario(show, { method: 'GET', paths, headers }),
    scenario(organization, { method: 'GET', paths: ['/api/v2/organizations/bench'], headers }),
    scenario(listing, { method: 'GET', paths: lists, headers }, { bareBytes: list.byteLength }),
    scenario(searching, { method: 'GET', paths: selective, headers }),
    scenario(searchingWide, { method: 'GET', paths: wider, headers }, { bareBytes: list.byteLength }),
    scenario(
      create,
      {
        method: 'POST',
        paths: ['/api/v2/organizations/bench/workspaces'],
        headers,
        body: JSON.stringify(workspace({ name: 'made-{n}' })),
      },
      { ceiling: 'upsert' },
    ),
    scenario(
      patch,
      { method: 'PATCH', paths, headers, body: JSON.stringify(workspace({ description: 'note {n}' })) },
      { ceiling: 'upsert' },
    ),
    freedBefore(
      scenario(lock, { method: 'POST', paths: cycles(ids.slice(0, 2000)), headers, body: '{}' }, { ceiling: 'upsert' }),
      url,
      headers,
      ids.slice(0, 2000),
    ),
  ];
}

/** Locks all, then unlocks all, so that the unlock of a workspace never overtakes its lock. */
function cycles(ids: readonly string[]): string[] {
  return ['lock', 'unlock'].flatMap((act) => ids.map((id) => `/api/v2/workspaces/${id}/actions/${act}`));
}

/** Unlocks all workspaces before every run, because the previous run may have stopped at any point. */
function freedBefore(
  scenario: Scenario,
  url: string,
  headers: Record<string, string>,
  ids: readonly string[],
): Scenario {
  return {
    ...scenario,
    async run(connections, seconds) {
      await times(ids.length, async (i) => {
        const freed = await fetch(`${url}/api/v2/workspaces/${ids[i]}/actions/force-unlock`, {
          method: 'POST',
          headers,
        });
        await freed.arrayBuffer();
      });
      return scenario.run(connections, seconds);
    },
  };
}

/** Makes the organization and its workspaces, and returns their ids. */
async function prepare(url: string, headers: Record<string, string>): Promise<string[]> {
  await ask(`${url}/api/v2/organizations`, 'POST', headers, {
    data: { type: 'organizations', attributes: { name: 'bench', email: 'bench@example.org' } },
  });
  const ids: string[] = [];
  await times(count, async (i) => {
    const created = await ask<{ data: { id: string } }>(
      `${url}/api/v2/organizations/bench/workspaces`,
      'POST',
      headers,
      workspace({ name: `workspace-${i}` }),
    );
    ids.push(created.data.id);
  });
  return ids;
}

function workspace(attributes: Record<string, string>) {
  return { data: { type: 'workspaces', attributes } };
}
