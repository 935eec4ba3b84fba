import { withClient } from '@keystead/postgres';
import { type Setting, scenariosOn } from './family';
import type { Scenario } from './scenario';
import { ask, startWorkspaces } from './service';

/** The first pages to read. From each of them, fifty pages of 20 items are read. */
const pages = { first: 1, deep: 501 } as const;
const lists = [
  { name: 'lists: owner, 1,000 workspaces', organization: 'small', page: pages.first },
  { name: 'lists: owner, 100,000 workspaces', organization: 'large', page: pages.first },
  { name: 'lists: owner, 100,000, offset 10,000', organization: 'large', page: pages.deep },
  { name: 'lists: 50 teams and 5,000 grants, 100,000', organization: 'granted', page: pages.first },
  { name: 'lists: 50 teams and 5,000 grants, offset 10,000', organization: 'granted', page: pages.deep },
] as const;

const sizes = { small: 1_000, large: 100_000, granted: 100_000 } as const;
const projects = 200;

interface Made {
  readonly data: { readonly id: string };
}

/** Lists of 20 in organizations of very different size, for an owner and for a caller with many grants. */
export async function largeListsFamily(setting: Setting): Promise<Scenario[]> {
  const selected = lists.filter(({ name }) => setting.isSelected(name));
  if (selected.length === 0) return [];
  const { url, pid, token } = await startWorkspaces(setting, 'large_lists');
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/vnd.api+json' };
  const database = setting.postgres.url('large_lists');
  for (const organization of new Set(selected.map((list) => list.organization))) {
    await fill(`${url}/api/v2`, headers, database, organization);
  }
  const scenario = scenariosOn({ url, pid }, setting.generator);
  return Promise.all(
    selected.map(async ({ name, organization, page }) => {
      const at = `/api/v2/organizations/${organization}/workspaces?page%5Bsize%5D=20&page%5Bnumber%5D=`;
      const paths = Array.from({ length: 50 }, (_, i) => `${at}${page + i}`);
      const last = await ask<{ data: unknown[] }>(`${url}${paths.at(-1)}`, 'GET', headers);
      if (last.data.length !== 20) throw new Error(`${name}: ${last.data.length} on the last page`);
      const bytes = (await (await fetch(`${url}${paths[0]}`, { headers })).arrayBuffer()).byteLength;
      return scenario(name, { method: 'GET', paths, headers }, { bareBytes: bytes });
    }),
  );
}

/** Makes an organization over HTTP with one workspace, and copies this workspace in the database. */
async function fill(
  api: string,
  headers: Record<string, string>,
  database: string,
  name: keyof typeof sizes,
): Promise<void> {
  const make = (at: string, type: string, attributes: object, relationships?: object) =>
    ask<Made>(`${api}/${at}`, 'POST', headers, { data: { type, attributes, relationships } });
  await make('organizations', 'organizations', { name, email: `${name}@example.org` });
  const first = await make(`organizations/${name}/workspaces`, 'workspaces', { name: 'w0' });
  await withClient(database, async (client) => {
    await client.query(
      `INSERT INTO project (id, organization_id, name)
       SELECT 'prj-' || $2 || n, w.organization_id, 'p' || n FROM workspace w, generate_series(1, $3::int) n WHERE w.id = $1`,
      [first.data.id, name, projects],
    );
    await client.query(
      `INSERT INTO workspace
       SELECT c.* FROM workspace w, generate_series(1, $3::int) n,
              jsonb_populate_record(w, jsonb_build_object(
                'id', 'ws-' || $2 || n, 'name', 'w' || n, 'project_id', 'prj-' || $2 || (n % $4::int + 1))) c
        WHERE w.id = $1`,
      [first.data.id, name, sizes[name] - 1, projects],
    );
  });
  if (name === 'granted') {
    const team = await make(`organizations/${name}/teams`, 'teams', { name: 'readers' });
    const of = { team: { data: { type: 'teams', id: team.data.id } } };
    await make(
      'team-workspaces',
      'team-workspaces',
      { access: 'read' },
      {
        ...of,
        workspace: { data: { type: 'workspaces', id: first.data.id } },
      },
    );
    await make(
      'team-projects',
      'team-projects',
      { access: 'read' },
      {
        ...of,
        project: { data: { type: 'projects', id: `prj-${name}1` } },
      },
    );
    await withClient(database, (client) => grantInstead(client, team.data.id));
  }
  await withClient(database, (client) => client.query('VACUUM ANALYZE'));
}

type Client = Parameters<Parameters<typeof withClient>[1]>[0];

/** Moves the creator from the owners to 50 teams, each with access to 100 workspaces and to a project of 500. */
async function grantInstead(client: Client, pattern: string): Promise<void> {
  await client.query(
    `INSERT INTO team (id, organization_id, name)
     SELECT 'team-granted' || n, t.organization_id, 'readers' || n FROM team t, generate_series(1, 50) n WHERE t.id = $1`,
    [pattern],
  );
  await client.query(
    `INSERT INTO team_workspace (id, team_id, workspace_id, access, capabilities)
     SELECT 'tws-granted' || n, 'team-granted' || (n % 50 + 1), 'ws-granted' || (n * 20), g.access, g.capabilities
       FROM team_workspace g, generate_series(1, 4950) n WHERE g.team_id = $1`,
    [pattern],
  );
  await client.query(
    `INSERT INTO team_project (id, team_id, project_id, access, capabilities)
     SELECT 'tprj-granted' || n, 'team-granted' || n, 'prj-granted' || (n + 1), g.access, g.capabilities
       FROM team_project g, generate_series(1, 50) n WHERE g.team_id = $1`,
    [pattern],
  );
  await client.query(
    `INSERT INTO team_member (team_id, membership_id)
     SELECT t.id, m.id FROM team p JOIN team t USING (organization_id) JOIN membership m USING (organization_id)
      WHERE p.id = $1 AND t.id LIKE 'team-granted%'`,
    [pattern],
  );
  await client.query(
    `DELETE FROM team_member WHERE team_id IN
       (SELECT o.id FROM team p JOIN team o USING (organization_id) WHERE p.id = $1 AND o.is_owners)`,
    [pattern],
  );
}
