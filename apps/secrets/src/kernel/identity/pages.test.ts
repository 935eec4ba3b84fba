import { expect, it } from '@jest/globals';
import { propertySettings } from '@keystead/testing';
import fc from 'fast-check';
import { idsAfter, readInPages } from './pages';

fc.configureGlobal(propertySettings);

const id = fc.uuid();
/** Text similar to ids: part of one, followed by something else. */
const near = fc
  .tuple(id, fc.nat(40), fc.string({ unit: 'grapheme', maxLength: 3 }))
  .map(([one, n, more]) => one.slice(0, n) + more);

it('a listing continues after any text in byte order, although the database compares ids', () => {
  fc.assert(
    fc.property(fc.array(id, { maxLength: 20 }), fc.oneof(near, id, fc.string(), fc.constant('')), (ids, text) => {
      const bound = idsAfter(text);
      const found = ids.filter((one) => ('gt' in bound ? one > bound.gt : one >= bound.gte));
      expect(found).toEqual(ids.filter((one) => Buffer.compare(Buffer.from(one), Buffer.from(text)) > 0));
    }),
    { numRuns: 2000 },
  );
});

it.each([undefined, 0, 1, 999, 1000, 1001, 2000, 5000])(
  'pages end with the last entry, or at a limit of %s',
  async (limit) => {
    for (const there of [0, 1, 1000, 2500]) {
      const read = async (last: number | undefined, take: number) =>
        Array.from({ length: there }, (_, n) => n)
          .filter((n) => n > (last ?? -1))
          .slice(0, take);
      expect(await readInPages(limit, read)).toHaveLength(Math.min(there, limit ?? there));
    }
  },
);
