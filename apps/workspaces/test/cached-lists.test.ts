import { beforeAll, describe, expect, it } from '@jest/globals';
import { startWorkspaces } from './start-workspaces';

describe('cached lists', () => {
  const workspaces = startWorkspaces();
  const { admin } = workspaces;
  beforeAll(async () => {
    await workspaces.organization('acme');
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) await workspaces.workspace('acme', name);
  });

  const names = async (page: number): Promise<string[]> => {
    const { body } = await admin.get(`organizations/acme/workspaces?page[number]=${page}&page[size]=2`).expect(200);
    return body.data.map(({ attributes }: { attributes: { name: string } }) => attributes.name);
  };

  it.each([
    [1, ['a', 'b']],
    [3, ['e', 'f']],
  ])('show page %i in order, also to callers who request it at the same time', async (page, expected) => {
    expect(await Promise.all([names(page), names(page)])).toEqual([expected, expected]);
    expect(await names(page)).toEqual(expected);
  });

  it('count with the length of their strings, and one cannot evict all others', async () => {
    const { db } = workspaces.service;
    await db.remembered('short', '1', async () => ['text']);
    await db.remembered('long', '1', async () => ({ texts: ['x'.repeat(100_000_000)] }));
    await db.remembered('revised', 'x'.repeat(100_000_000), async () => ['text']);
    const isCached = (key: string) => db.newest(key) !== undefined;
    expect(['short', 'long', 'revised'].map(isCached)).toEqual([true, false, false]);
  });
});
