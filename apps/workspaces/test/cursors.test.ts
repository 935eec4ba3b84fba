import { beforeAll, describe, expect, it } from '@jest/globals';
import { resources } from '../src/resources/registry';
import { sortKeys } from '../src/resources/workspaces/workspaces/list';
import { grant, member, team } from './members';
import { startWorkspaces } from './start-workspaces';

interface Page {
  data: { id: string }[];
  links: { self: string; next: string | null };
  meta?: object;
}

describe('a list whose pages may begin after an item', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  const count = 7;
  const lists = new Map<string, { path: string; table: string; all: string[] }>();

  const read = async (path: string, client = admin): Promise<Page> => (await client.get(path).expect(200)).body;
  const below = (url: string): string => url.split('/api/v2/')[1]!;
  const at = (path: string, after: string) =>
    `${path}${path.includes('?') ? '&' : '?'}page[size]=2&page[after]=${after}`;
  /** All ids from a page on, following `links.next`; `between` is called after each page. */
  const follow = async (path: string, between: (page: Page) => Promise<void> = async () => {}, client = admin) => {
    const ids: string[] = [];
    for (let next: string | null = path; next !== null; ) {
      const page = await read(next, client);
      ids.push(...page.data.map(({ id }) => id));
      await between(page);
      next = page.links.next === null ? null : below(page.links.next);
    }
    return ids;
  };

  /** Rows of the same time: the id decides their order. */
  const fill = async () => {
    const { prisma } = workspaces.service.db;
    for (const name of ['e', 'B', 'a', 'd', 'c', 'A_1', 'z']) await workspaces.workspace('acme', name);
    const { id: workspaceId } = await workspaces.workspace('acme', 'history');
    const createdAt = new Date();
    for (let n = 1; n <= count; n++) {
      await prisma.run.create({
        data: { id: `run-${'x'.repeat(15)}${n}`, workspaceId, status: 'applied', finishedAt: createdAt },
      });
      await prisma.runPhase.create({
        data: { id: `plan-${n}`, runId: `run-${'x'.repeat(15)}${n}`, kind: 'plan', status: 'finished' },
      });
      await prisma.runPhase.create({
        data: { id: `apply-${n}`, runId: `run-${'x'.repeat(15)}${n}`, kind: 'apply', status: 'finished' },
      });
      const version = { id: `sv-${'x'.repeat(15)}${n}`, workspaceId, serial: n, md5: `${n}`, status: 'finalized' };
      await prisma.stateVersion.create({
        data: { ...version, createdAt, createdByType: 'users', createdById: 'user-x' },
      });
    }
    const states = 'state-versions?filter[organization][name]=acme&filter[workspace][name]=history';
    for (const [name, path, table] of [
      ['GET /state-versions', states, 'state_version'],
      ['GET /runs', `runs?workspace_id=${workspaceId}`, 'run'],
      ['GET /workspaces/:workspace_id/runs', `workspaces/${workspaceId}/runs`, 'run'],
      ['GET /organizations/:organization_name/runs', 'organizations/acme/runs', 'run'],
      ['GET /organizations/:organization_name/workspaces', 'organizations/acme/workspaces', 'workspace'],
    ] as const) {
      lists.set(name, { path, table, all: (await read(path)).data.map(({ id }) => id) });
    }
  };

  beforeAll(async () => {
    await workspaces.organization('acme');
    await fill();
  });

  const declared = resources.flatMap(({ endpoints }) =>
    endpoints.flatMap(({ method, path, cursorKey }) => (cursorKey === undefined ? [] : [`${method} ${path}`])),
  );

  it('is one of workspaces, runs or states', () => {
    expect([...lists.keys()].sort()).toEqual([...declared].sort());
  });

  it.each(declared)('%s continues after the cursor, in the order of pages by number', async (name) => {
    const { path, all } = lists.get(name)!;
    expect(all.length).toBeGreaterThanOrEqual(count);
    expect(await follow(at(path, ''))).toEqual(all);
    const { data, links, meta } = await read(at(path, all[1]!));
    expect(data.map(({ id }) => id)).toEqual(all.slice(2, 4));
    expect(below(decodeURIComponent(links.self))).toContain(`page[after]=${all[1]}`);
    expect(meta).toBeUndefined();
    expect((await read(at(path, all.at(-1)!))).links.next).toBeNull();
  });

  it.each(declared)('%s names parameters that it does not understand', async (name) => {
    const { path, all } = lists.get(name)!;
    for (const [after, parameter] of [
      ['ws-1234567812345678', 'page[after]'],
      ['nonsense.AAAA', undefined],
      [`${all[0]}&page[number]=2`, 'page[number]'],
    ] as const) {
      const { status, body } = await admin.get(at(path, after));
      // Any text in the format of a cursor is valid, even if there was never such a row.
      if (parameter === undefined) expect([200, 400]).toContain(status);
      else expect([status, body.errors[0].source.parameter]).toEqual([400, parameter]);
    }
  });

  it('shows a member only visible items, and accepts no cursor of another kind', async () => {
    const { path, all } = lists.get('GET /organizations/:organization_name/workspaces')!;
    const readers = await team(workspaces, 'acme', 'readers');
    for (const id of [all[1]!, all[4]!, all[6]!]) await grant(workspaces, readers, id, 'read');
    const reader = await member(workspaces, 'acme', [readers]);
    expect(await follow(at(path, ''), undefined, reader)).toEqual([all[1], all[4], all[6]]);
    await reader.get(at(path, all[2]!)).expect(400);
    await admin.get(`${at(path, '')}&sort=-name,latest-change-at`).expect(400);
    expect(await follow(`${at(path, '')}&search[name]=a`)).toEqual(
      (await read(`${path}?search[name]=a`)).data.map(({ id }) => id),
    );
  });

  it.each(sortKeys.flatMap((key) => [key, `-${key}`]))('continues in the order of sort=%s', async (sort) => {
    const path = `${lists.get('GET /organizations/:organization_name/workspaces')!.path}?sort=${sort}`;
    const all = (await read(path)).data.map(({ id }) => id);
    // Two workspaces with the same time, three without a run, and the others a microsecond apart.
    await workspaces.service.pool.query(
      `UPDATE workspace w SET latest_change_at = t.at, current_run_created_at = CASE WHEN n > 3 THEN t.at END
         FROM unnest($1::text[]) WITH ORDINALITY AS u(id, n),
              LATERAL (SELECT timestamptz '2026-01-01' + (n / 2) * interval '1 microsecond' AS at) t
        WHERE w.id = u.id`,
      [all],
    );
    const sorted = (await read(path)).data.map(({ id }) => id);
    expect([...sorted].sort()).toEqual([...all].sort());
    expect(await follow(at(path, ''))).toEqual(sorted);
    for (const [index, id] of sorted.entries()) {
      expect((await read(at(path, id))).data.map((item) => item.id)).toEqual(sorted.slice(index + 1, index + 3));
    }
    const of = Buffer.from('elsewhere').toString('base64url');
    await admin.get(at(path, `${sorted[0]}.${of}`)).expect(sort.endsWith('name') ? 200 : 400);
  });

  it('skips no item and repeats none while the reader deletes everything that was read', async () => {
    // Deleting workspaces deletes their runs and states, so they come last.
    for (const [name, { path, table, all }] of lists) {
      if (table === 'run' && name !== 'GET /workspaces/:workspace_id/runs') continue;
      const left = new Set(all);
      const seen = await follow(at(path, ''), async ({ data }) => {
        for (const { id } of data) left.delete(id);
        const ids = data.map(({ id }) => id);
        await workspaces.service.pool.query(`DELETE FROM ${table} WHERE id = ANY($1)`, [ids]);
      });
      expect([name, seen]).toEqual([name, all]);
      expect(left.size).toBe(0);
    }
  });
});
