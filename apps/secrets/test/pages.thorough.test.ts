import { describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import { examples } from './at-once-examples';
import { methodOf, senderTo, worldOf } from './at-once-world';
import { startSecrets } from './start-secrets';
import { everyVisit, type Visit } from './visits';

describe('every list of the service', () => {
  // No listed object ends between two listings.
  const secrets = startSecrets({ clock: manualClock(Date.now()) });
  const send = senderTo(secrets);
  const world = worldOf(secrets, send);
  // A person's own passkeys are listed only with the token of their login.
  const lists = () =>
    everyVisit(secrets).filter(
      ({ verb, declared }) => (verb === 'list' || verb === 'scan') && declared.pattern !== 'passkeys',
    );

  it('shows the same items page by page as in one response', async () => {
    const mounts = [...secrets.service.kernel.mounts.all()];
    for (const [name, making] of Object.entries(examples)) {
      const [verb, full] = name.split(' ') as ['write', string];
      const mount = mounts.find(({ backend }) => full.startsWith(`${backend.type}/`));
      if (verb !== 'write' || typeof making === 'string' || !mount || full.startsWith('system/audit')) continue;
      for (let n = 0; n < 2; n++) {
        const { at = {}, body, token = secrets.rootToken } = await making(world);
        const there = full
          .slice(full.indexOf('/') + 1)
          .replace(/:(\w+)\*?/g, (_all, param: string) => at[param] ?? 'x');
        await send(methodOf.write!, mount.path + there, token, body?.(n) ?? {});
      }
    }
    // Different in every call, so it cannot be an example.
    for (let n = 0; n < 2; n++) await send('POST', 'pki/acme/new-eab', secrets.rootToken, {});
    const wrong: string[] = [];
    const walked = new Set<string>();
    for (const list of lists()) {
      const whole = await keysOf(list, '');
      if (whole.length < 2) continue;
      walked.add(list.name);
      const paged: string[] = [];
      for (let after = ''; paged.length <= whole.length; after = paged.at(-1)!) {
        const page = await keysOf(list, `&limit=1&after=${encodeURIComponent(after)}`);
        if (page.length === 0) break;
        paged.push(...page);
      }
      if (String(paged.sort()) !== String(whole.sort())) wrong.push(`${list.name}: ${paged.length} of ${whole.length}`);
    }
    expect(wrong).toEqual([]);
    // Each listing has two names, except those of releases and of database users, and those below a name.
    const others = lists().filter(({ name, declared }) => !walked.has(name) && !declared.pattern.includes(':'));
    const here = others.map(({ name }) => name).filter((name) => !name.includes('/thing'));
    expect([...new Set(here)]).toEqual(['list sys/version-history', 'list database/static-roles']);
  });

  async function keysOf({ at, verb }: Visit, query: string): Promise<string[]> {
    const { status, text } = await send('GET', `${at}?${verb}=true${query}`, secrets.rootToken);
    expect([at, status]).toEqual([at, status === 404 ? 404 : 200]);
    return status === 404 ? [] : JSON.parse(text).data.keys;
  }
});
