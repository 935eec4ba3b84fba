import { describe, expect, it } from '@jest/globals';
import { pageLinks, pageOf, pagination, Query } from './index';

describe('a query', () => {
  it('uses the last value of a repeated parameter, and treats a blank one as absent', () => {
    const query = Query.parse('a=1&a=2&b=%20&c=%20x%20');
    expect([query.get('a'), query.get('b'), query.get('c'), query.get('d')]).toEqual(['2', undefined, 'x', undefined]);
    expect(Query.parse('').entries.size).toBe(0);
  });

  it('is split at commas, without blank members', () => {
    expect(Query.parse('a=x,%20y,,z%20').list('a')).toEqual(['x', 'y', 'z']);
    expect(Query.parse('').list('a')).toEqual([]);
  });

  it('sorts by the offered keys, descending after a dash', () => {
    const offered = ['name', 'created-at'];
    expect(Query.parse('sort=-created-at,name').sort(offered)).toEqual([
      { key: 'created-at', descending: true },
      { key: 'name', descending: false },
    ]);
    expect(() => Query.parse('sort=-size').sort(offered)).toThrow('Invalid sort parameter: -size');
  });

  it('includes the offered paths', () => {
    expect(Query.parse('include=a,b.c').include(['a', 'b.c'])).toEqual(['a', 'b.c']);
    expect(() => Query.parse('include=a,b').include(['a', 'b.c'])).toThrow('Invalid include parameter: b');
  });
});

describe('a page', () => {
  it('is the first twenty items if a list is always paged', () => {
    expect(pageOf(Query.parse(''), 'always')).toEqual({ number: 1, size: 20, offset: 0 });
  });

  it.each(['0', '-1', '1.5', '1e2', 'x', '', '1'.repeat(16), ' 1', '1 '])('cannot have the number %j', (text) => {
    const query = Query.parse(new URLSearchParams({ 'page[number]': text }).toString());
    expect(() => pageOf(query, 'optional')).toThrow('page[number] must be a positive integer');
  });

  it('has a number whose offset the database can hold', () => {
    expect(pageOf(Query.parse(`page[number]=${'9'.repeat(15)}&page[size]=1`), 'optional')).toEqual({
      number: 2_147_483,
      size: 1,
      offset: 2_147_482,
    });
  });

  it('has neighbours if there are any', () => {
    const at = (number: number) => pagination({ number, size: 10, offset: 0 }, 20);
    expect([at(1)['prev-page'], at(1)['next-page'], at(1)['total-pages']]).toEqual([null, 2, 2]);
    expect([at(2)['prev-page'], at(2)['next-page']]).toEqual([1, null]);
  });

  it('has no links to pages that do not exist', () => {
    expect(pageLinks('https://h/x', Query.parse(''), pagination({ number: 1, size: 10, offset: 0 }, 3))).toEqual({
      self: 'https://h/x?page%5Bnumber%5D=1&page%5Bsize%5D=10',
      first: 'https://h/x?page%5Bnumber%5D=1&page%5Bsize%5D=10',
      prev: null,
      next: null,
      last: 'https://h/x?page%5Bnumber%5D=1&page%5Bsize%5D=10',
    });
  });
});

describe('Query.instant', () => {
  const read = (text: string) =>
    Query.parse(`since=${encodeURIComponent(text)}`)
      .instant('since')
      ?.toISOString();

  it.each([
    ['2026-11-23', '2026-11-23T00:00:00.000Z'],
    ['2026-11-23T12:00:00+02:00', '2026-11-23T10:00:00.000Z'],
    ['', undefined],
  ])('reads %p', (text, expected) => expect(read(text)).toBe(expected));

  it.each([
    '0000-01-01',
    '0001-01-01T00:00:00+01:00',
    '9999-12-31T23:59:59-01:00',
    '-000001-01-01T00:00:00Z',
    '1',
    '2026-13-01',
    '2026-11-23 or so',
  ])('refuses %p, which no column stores', (text) => expect(() => read(text)).toThrow('must be a date or an instant'));
});
