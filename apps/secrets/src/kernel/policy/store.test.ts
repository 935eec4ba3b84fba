import { describe, expect, it } from '@jest/globals';
import type { ChangeNotices } from '../storage/types';
import { PolicyStore, type PolicyStoreNeeds } from './store';

/** A store over in-memory policies, with a count of its reads. */
function storeOf(texts: Readonly<Record<string, string>>) {
  const requests: string[][] = [];
  const rowOf = (name: string) => {
    const sealed = Buffer.from(JSON.stringify({ text: texts[name] }));
    return { id: name, name, version: 1, updatedAtMs: 1n, sealed };
  };
  const needs = {
    database: {
      prisma: {
        policy: {
          async findMany({ where }: { where: { name: { in: string[] } } }) {
            requests.push(where.name.in);
            return where.name.in.filter((name) => Object.hasOwn(texts, name)).map(rowOf);
          },
        },
      },
    },
    barrier: { openJson: (sealed: Buffer) => JSON.parse(sealed.toString()) },
    notices: { fresh: true, listen: () => undefined } as unknown as ChangeNotices,
  } as unknown as PolicyStoreNeeds;
  return { store: new PolicyStore(needs), asked: requests };
}

describe('policies that are read together', () => {
  const texts = Object.fromEntries(Array.from({ length: 120 }, (_, n) => [`p${n}`, `path "a/${n}" {}`]));

  it('need one statement for fifty, and none if they are cached', async () => {
    const { store, asked: requests } = storeOf(texts);
    const names = [...Object.keys(texts), 'absent', 'P7', 'default', 'response-wrapping', 'root'];
    expect(await store.missing('ns', names)).toEqual(['absent', 'root']);
    expect(requests).toHaveLength(3);
    expect(await store.missing('ns', names)).toEqual(['absent', 'root']);
    expect((await store.find('ns', 'p5'))?.policy.rules[0]?.pattern).toBe('a/5');
    expect(requests).toHaveLength(3);
  });

  it('are read in order, only as far as asked', async () => {
    const { store, asked: requests } = storeOf(texts);
    const found: string[] = [];
    for await (const { name } of store.findAll('ns', Object.keys(texts))) {
      found.push(name);
      if (found.length === 60) break;
    }
    expect(found).toEqual(Object.keys(texts).slice(0, 60));
    expect(requests).toHaveLength(2);
  });
});
