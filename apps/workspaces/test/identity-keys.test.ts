import { describe, expect, it } from '@jest/globals';
import { signingKey } from '../src/kernel/installation/identity-keys';
import { startWorkspaces } from './start-workspaces';

const DAY_MS = 86_400_000;

describe('the keys that sign identity tokens of runs', () => {
  let now = Date.now();
  const workspaces = startWorkspaces({ now: () => now });
  const published = async (): Promise<string[]> =>
    (await workspaces.anyone.get('/.well-known/jwks').expect(200)).body.keys.map(({ kid }: { kid: string }) => kid);
  const signs = async () => (await signingKey(workspaces.service.db, workspaces.service.env.keyring, now)).kid;

  it('are created once for any number of simultaneous callers', async () => {
    const sets = await Promise.all([published(), published(), published()]);
    expect(sets[0]).toHaveLength(2);
    expect(new Set(sets.map((kids) => kids.join())).size).toBe(1);
    expect(await signs()).toBe(sets[0]![0]);
  });

  it('are published long before and after they sign, so that a cached key set contains every one', async () => {
    const [first, second] = await published();
    now += 29 * DAY_MS;
    expect(await signs()).toBe(first);
    now += DAY_MS;
    expect(await signs()).toBe(second);
    const turned = await published();
    expect(turned).toEqual([second, expect.any(String), first]);
    now += 30 * DAY_MS;
    expect(await published()).toEqual([turned[1], expect.any(String), second]);
  });

  it('are rotated and withdrawn by site administrators, which the trail records', async () => {
    const act = (verb: string, by = workspaces.admin) => by.post(`admin/oidc-settings/actions/${verb}`);
    const [first, second] = await published();
    await act('rotate-key').expect(204);
    const turned = await published();
    expect(turned.slice(0, 3)).toEqual([second, expect.any(String), first]);
    expect(await signs()).toBe(second);
    await act('trim-key').expect(204);
    expect(await published()).toEqual(turned.slice(0, 2));
    expect(await signs()).toBe(second);
    await Promise.all([act('rotate-key').expect(204), act('rotate-key').expect(204)]);
    expect(await published()).toHaveLength(4);
    const plain = await workspaces.person('plain');
    await act('rotate-key', plain).expect(404);
    await act('trim-key', plain).expect(404);
    const events = await workspaces.service.db.prisma.auditEvent.findMany({
      where: { action: { startsWith: 'oidc-' } },
    });
    expect(events.map(({ action }) => action).sort()).toEqual([
      ...Array(3).fill('oidc-settings.rotate-key'),
      'oidc-settings.trim-key',
    ]);
  });

  it('continue from the keys of an installation that published no key in advance', async () => {
    const { prisma } = workspaces.service.db;
    const where = { name: 'run-identity-keys' };
    const { current } = (await prisma.setting.findUniqueOrThrow({ where })).value as { current: { kid: string } };
    await prisma.setting.update({ where, data: { value: { keys: [current] } } });
    const kids = await published();
    expect(kids).toEqual([current.kid, expect.any(String)]);
    expect(await signs()).toBe(current.kid);
  });
});
