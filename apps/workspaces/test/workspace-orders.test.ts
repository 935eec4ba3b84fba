import { beforeAll, describe, expect, it } from '@jest/globals';
import { Prisma } from '../src/generated/prisma/client';
import { pageOf, sortKeys } from '../src/resources/workspaces/workspaces/list';
import { startWorkspaces } from './start-workspaces';

const orders = sortKeys.flatMap((key) => [
  { key, descending: false },
  { key, descending: true },
]);

describe('lists of workspaces', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;

  /** Gives a workspace a current run of the given age. */
  async function run(workspaceId: string, status: string, daysAgo: number): Promise<void> {
    const { prisma } = workspaces.service.db;
    const createdAt = new Date(Date.UTC(2026, 0, 31 - daysAgo));
    const finishedAt = status === 'planned' ? null : createdAt;
    const id = `run-${workspaceId}-${daysAgo}`;
    await prisma.run.create({ data: { id, workspaceId, status, createdAt, finishedAt } });
    await prisma.workspace.update({ where: { id: workspaceId }, data: { currentRunId: id } });
  }

  async function names(path: string): Promise<string[]> {
    const { body } = await admin.get(path).expect(200);
    expect(body.meta.pagination['total-count']).toBe(body.data.length);
    return body.data.map((one: { attributes: { name: string } }) => one.attributes.name);
  }

  beforeAll(async () => {
    await workspaces.organization('acme');
    await workspaces.organization('other-team');
    const ids = new Map<string, string>();
    for (const name of ['a', 'b', 'c', 'd', 'e']) ids.set(name, (await workspaces.workspace('acme', name)).id);
    await workspaces.workspace('other-team', 'z');
    await run(ids.get('b')!, 'applied', 1);
    await run(ids.get('d')!, 'planned', 3);
    await run(ids.get('c')!, 'applied', 9);
    await run(ids.get('c')!, 'errored', 2);
  });

  it.each([
    ['organizations/acme/workspaces?sort=current-run.created-at,name', ['d', 'c', 'b', 'a', 'e']],
    ['organizations/acme/workspaces?sort=-current-run.created-at,name', ['b', 'c', 'd', 'a', 'e']],
    ['organizations/acme/workspaces?sort=-current-run.created-at,-name', ['b', 'c', 'd', 'e', 'a']],
    ['organizations/acme/workspaces?filter[current-run][status]=planned', ['d']],
    ['organizations/acme/workspaces?filter[current-run][status]=planned,errored', ['c', 'd']],
    ['organizations/acme/workspaces?filter[current-run][status]=errored', ['c']],
    ['organizations/acme/workspaces?filter[current-run][status]=discarded', []],
    ['admin/workspaces?sort=name', ['a', 'b', 'c', 'd', 'e', 'z']],
    ['admin/workspaces?sort=-name', ['z', 'e', 'd', 'c', 'b', 'a']],
    ['admin/workspaces?q=TEAM', ['z']],
    ['admin/workspaces?q=b', ['b']],
    ['admin/workspaces?q=%25', []],
    ['admin/workspaces?filter[current_run][status]=planned', ['d']],
    ['admin/workspaces?filter[current_run][status]=planned&q=b', []],
  ])('contain the right workspaces in order at %s, and count them', async (path, expected) => {
    expect(await names(path)).toEqual(expected);
  });

  it('put workspaces without a run last, in either direction', async () => {
    expect((await names('admin/workspaces?sort=current-run.created-at')).slice(0, 3)).toEqual(['d', 'c', 'b']);
    expect((await names('admin/workspaces?sort=-current-run.created-at')).slice(0, 3)).toEqual(['b', 'c', 'd']);
  });

  it.each([
    'organizations/acme/workspaces?search[tags]=',
    'organizations/acme/workspaces?sort=name',
    'organizations/acme/workspaces?sort=-name',
    'organizations/acme/workspaces?sort=current-run.created-at',
    'organizations/acme/workspaces?sort=-current-run.created-at',
    'organizations/acme/workspaces?sort=-current-run.created-at,name',
    'organizations/acme/workspaces?sort=-latest-change-at',
    'admin/workspaces?sort=-current-run.created-at',
    'admin/workspaces?q=e&sort=-name',
  ])('are the same in small pages as in one, at %s', async (path) => {
    const whole = await names(path);
    for (const size of [1, 2, 3]) {
      const pages: string[] = [];
      for (let page = 1; page <= Math.ceil(whole.length / size) + 1; page++) {
        const { body } = await admin.get(`${path}&page[size]=${size}&page[number]=${page}`).expect(200);
        pages.push(...body.data.map((one: { attributes: { name: string } }) => one.attributes.name));
      }
      expect(pages).toEqual(whole);
    }
  });

  it('leave out organizations that are removed', async () => {
    await workspaces.organization('removed');
    await workspaces.workspace('removed', 'gone');
    const { prisma } = workspaces.service.db;
    await prisma.organization.updateMany({ where: { name: 'removed' }, data: { removedAt: new Date() } });
    expect(await names('admin/workspaces')).toEqual(['a', 'b', 'c', 'd', 'e', 'z']);
    expect(await names('admin/workspaces?q=removed')).toEqual([]);
  });

  // Ordering by latest change is not tested for administrators.
  it.each([
    ...orders.map((order) => ({ ...order, of: 'an organization' })),
    ...orders.filter(({ key }) => key !== 'latest-change-at').map((order) => ({ ...order, of: 'the installation' })),
  ])('read pages of $of by $key, descending: $descending, from an index in that order', async ({ of, ...order }) => {
    const where = of === 'an organization' ? Prisma.sql`w.organization_id = 'org-1'` : Prisma.sql`TRUE`;
    // The first page of all workspaces, and the last page of a thousand.
    for (const offset of [0, 980]) {
      const plan = await workspaces.service.db.transaction(async ({ prisma }) => {
        for (const way of ['seqscan', 'bitmapscan', 'sort']) {
          await prisma.$executeRaw`SELECT set_config(${`enable_${way}`}, 'off', true)`;
        }
        const page = pageOf(where, [order], { size: 20, offset, number: offset / 20 + 1 }, 1000);
        return prisma.$queryRaw<{ 'QUERY PLAN': string }[]>`EXPLAIN SELECT * FROM ${page}`;
      });
      const text = plan.map((row) => row['QUERY PLAN']).join('\n');
      expect(text).toMatch(/Index (Only )?Scan/);
      // A little sorting is left if rows are equal except for their ids.
      expect(text.replaceAll('Incremental Sort', '')).not.toMatch(/\bSort {2}\(/);
    }
  });
});
