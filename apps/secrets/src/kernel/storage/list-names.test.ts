import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { freshStorage, type TestStorage } from '../../../test/fresh-storage';
import { add, newWriteSet } from './write-set';

const mountId = randomUUID();
const numbers = (count: number, text: (n: number) => string) => Array.from({ length: count }, (_, n) => text(n));
const padded = (n: number) => String(n).padStart(4, '0');

/** Runs of entries, large folders, and many small folders: every case of continuing a listing. */
const paths = [
  ...numbers(1300, (n) => `a/${padded(n)}`),
  ...numbers(1500, (n) => `a/0700-large/${padded(n)}`),
  ...numbers(120, (n) => `b-${padded(n)}/${'x'.repeat(n % 3)}deep/er`),
  ...numbers(230, (n) => `c-${padded(n % 23)}/${padded(n)}`),
  ...numbers(1100, (n) => `d/${padded(n)}`),
  ...numbers(1100, (n) => `e/${padded(n)}/f`),
  ...numbers(12, (n) => `z-${padded(n)}`),
].map((path) => `tree/${path}`);

const bytewise = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));

/** The expected listing, computed the slow way. */
function namesUnder(folder: string): string[] {
  const names = new Set<string>();
  for (const path of paths) {
    if (!path.startsWith(folder)) continue;
    const rest = path.slice(folder.length);
    const slash = rest.indexOf('/');
    names.add(slash < 0 ? rest : rest.slice(0, slash + 1));
  }
  return [...names].sort(bytewise);
}

describe('names under a folder', () => {
  let test: TestStorage;

  beforeAll(async () => {
    test = await freshStorage();
    const set = newWriteSet();
    for (const path of paths) add(set, 'puts', { mountId, path, value: Buffer.from('v') });
    await test.storage.committer.commit(set);
  });
  afterAll(() => test.close());

  it.each(['tree/', 'tree/a/', 'tree/d/', 'tree/e/', 'tree/b-0001/', 'tree/c-0001/', 'tree/no/'])(
    'of %s are each shown once, with anything between them',
    async (folder) => {
      expect(await test.storage.entries.list(mountId, folder)).toEqual(namesUnder(folder));
    },
  );

  it.each([
    ['tree/', 7],
    ['tree/a/', 400],
    ['tree/', 1000],
    ['tree/e/', 999],
  ])('of %s are the same when read %i at a time', async (folder, limit) => {
    const names: string[] = [];
    for (;;) {
      const page = await test.storage.entries.list(mountId, folder, { after: names.at(-1), limit });
      names.push(...page);
      expect(page.length).toBeLessThanOrEqual(limit);
      if (page.length < limit) break;
    }
    expect(names).toEqual(namesUnder(folder));
  });
});
