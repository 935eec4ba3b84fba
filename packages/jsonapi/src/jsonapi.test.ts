import { describe, expect, it } from '@jest/globals';
import { isRefusal, Refusal } from '@keystead/refusal';
import { z } from 'zod';
import {
  attributesSchema,
  document,
  errorObjects,
  flag,
  humanised,
  invalid,
  many,
  one,
  pageLinks,
  pageOf,
  pagination,
  Query,
  references,
  serializer,
  whole,
} from './index';

const issuesOf = (work: () => unknown): readonly { path: readonly unknown[]; message: string }[] => {
  try {
    work();
  } catch (error) {
    if (isRefusal(error)) return error.issues;
    throw error;
  }
  throw new Error('nothing was refused');
};

describe('a request document', () => {
  const Box = document('boxes', {
    attributes: {
      name: z.string().min(1),
      'max-size': z.int().min(1).nullable().optional(),
      lid: z.object({ 'is-open': z.boolean().optional() }).nullable().optional(),
      data: z
        .string()
        .transform((text) => Buffer.from(text))
        .optional(),
    },
    relationships: { owner: one('users'), 'other-boxes': many('boxes') },
    aliases: { 'max-size': 'legacy-size', 'lid.is-open': 'lid.opened' },
  });
  const parse = (attributes: object, relationships?: object, aliases = true) =>
    Box.parse({ data: { type: 'boxes', attributes, relationships } }, { aliases });

  it('is read under its own names, nested ones too', () => {
    const { value } = parse({ name: 'a', 'max-size': 3, lid: { 'is-open': true } }, { owner: { data: { id: 'u' } } });
    expect(value).toEqual({ name: 'a', maxSize: 3, lid: { isOpen: true }, owner: 'u' });
  });

  it('keeps bytes as bytes', () => {
    expect(parse({ name: 'a', data: 'xyz' }).value.data).toEqual(Buffer.from('xyz'));
  });

  it('distinguishes null from an absent attribute', () => {
    expect(parse({ name: 'a', 'max-size': null, lid: null }, { owner: { data: null } }).value).toEqual({
      name: 'a',
      maxSize: null,
      lid: null,
      owner: null,
    });
    expect(parse({ name: 'a' }).value).toEqual({ name: 'a' });
  });

  it('accepts aliases, also nested ones, and remembers which key was sent', () => {
    const { value, pointers } = parse({ name: 'a', 'legacy-size': 4, lid: { opened: false } });
    expect(value).toEqual({ name: 'a', maxSize: 4, lid: { isOpen: false } });
    expect(pointers.get('maxSize')).toBe('/data/attributes/legacy-size');
  });

  it('ignores aliases if they are switched off', () => {
    expect(parse({ name: 'a', 'legacy-size': 4 }, undefined, false).value).toEqual({ name: 'a' });
  });

  it('accepts a name and its alias with the same value, and names both if they differ', () => {
    expect(parse({ name: 'a', 'max-size': 4, 'legacy-size': 4 }).value.maxSize).toBe(4);
    expect(issuesOf(() => parse({ name: 'a', 'max-size': 4, 'legacy-size': 5 })).map(({ path }) => path)).toEqual([
      ['data', 'attributes', 'max-size'],
      ['data', 'attributes', 'legacy-size'],
    ]);
  });

  it('has one issue for each failing attribute and relationship', () => {
    const sent = { name: 5, 'max-size': 0, lid: 'x' };
    expect(issuesOf(() => parse(sent, { owner: { data: { id: 7 } }, 'other-boxes': { data: {} } }))).toEqual([
      { path: ['data', 'attributes', 'name'], message: 'must be a string' },
      { path: ['data', 'attributes', 'max-size'], message: 'must be greater than or equal to 1' },
      { path: ['data', 'attributes', 'lid'], message: 'must be an object' },
      { path: ['data', 'relationships', 'owner'], message: 'is malformed' },
      { path: ['data', 'relationships', 'other-boxes'], message: 'is malformed' },
    ]);
  });

  it('refuses a relationship to another type', () => {
    expect(issuesOf(() => parse({ name: 'a' }, { owner: { data: { type: 'teams', id: 't' } } }))[0]?.message).toBe(
      'must be of type users',
    );
  });
});

describe('a list of references', () => {
  it('may hold resources without an id', () => {
    const body = {
      data: [
        { type: 'tags', attributes: { name: 'x' } },
        { type: 'tags', id: 't' },
      ],
    };
    expect(references('tags').parse(body, { aliases: true }).value).toEqual(body.data);
  });

  it.each([{}, { data: {} }, { data: [1] }, { data: [{ type: 'users', id: 'u' }] }])('refuses %j', (body) => {
    expect(() => references('tags').parse(body, { aliases: true })).toThrow(Refusal);
  });
});

describe('error objects', () => {
  it('name the attribute in words, and point to where it was sent', () => {
    const pointers = new Map([['maxSize', '/data/attributes/legacy-size']]);
    expect(errorObjects(invalid('maxSize', "can't be blank"), { pointers })).toEqual([
      {
        status: '422',
        title: 'invalid attribute',
        detail: "Max size can't be blank",
        source: { pointer: '/data/attributes/legacy-size' },
      },
    ]);
  });

  it('keep a whole sentence unchanged', () => {
    expect(errorObjects(invalid('name', 'Name may only contain letters'))[0]?.detail).toBe(
      'Name may only contain letters',
    );
  });

  it('give no detail for a missing resource', () => {
    expect(errorObjects(new Refusal('missing', 'secret reason'))).toEqual([{ status: '404', title: 'not found' }]);
  });

  it.each([
    ['session-timeout', 'Session timeout'],
    ['sessionTimeout', 'Session timeout'],
    ['current_password', 'Current password'],
  ])('name %s as %s', (name, words) => {
    expect(humanised(name)).toBe(words);
  });
});

describe('paging', () => {
  it.each([
    ['', undefined],
    ['page[number]=2', { number: 2, size: 20, offset: 20 }],
    ['page%5Bsize%5D=5', { number: 1, size: 5, offset: 0 }],
    ['page[size]=5000&page[number]=3', { number: 3, size: 100, offset: 200 }],
  ])('of %j is %j if the whole list may be requested', (search, page) => {
    expect(pageOf(Query.parse(search), 'optional')).toEqual(page);
  });

  it('has one page for an empty list, without neighbours', () => {
    expect(pagination({ number: 1, size: 20, offset: 0 }, 0)).toEqual({
      'current-page': 1,
      'page-size': 20,
      'prev-page': null,
      'next-page': null,
      'total-pages': 1,
      'total-count': 0,
    });
  });

  it('keeps other parameters in its links', () => {
    const query = Query.parse('search[name]=a%20b&page[number]=2');
    const links = pageLinks('https://h/x', query, pagination({ number: 2, size: 10, offset: 10 }, 25));
    expect(links).toEqual({
      self: 'https://h/x?search%5Bname%5D=a+b&page%5Bnumber%5D=2&page%5Bsize%5D=10',
      first: 'https://h/x?search%5Bname%5D=a+b&page%5Bnumber%5D=1&page%5Bsize%5D=10',
      prev: 'https://h/x?search%5Bname%5D=a+b&page%5Bnumber%5D=1&page%5Bsize%5D=10',
      next: 'https://h/x?search%5Bname%5D=a+b&page%5Bnumber%5D=3&page%5Bsize%5D=10',
      last: 'https://h/x?search%5Bname%5D=a+b&page%5Bnumber%5D=3&page%5Bsize%5D=10',
    });
  });
});

describe('a serializer', () => {
  const shape = { size: whole, permissions: z.object({ 'can-open': flag }) };
  const boxes = serializer<{ id: string }, { aliases: boolean }, typeof shape>({
    type: 'boxes',
    shape,
    id: ({ id }) => id,
    attributes: () => ({ size: 1, permissions: { 'can-open': true } }),
    aliases: { size: 'legacy-size', 'permissions.can-open': 'permissions.can-unlid' },
  });

  it('sends aliases next to the main names only if configured', () => {
    expect(boxes.resource({ id: 'b' }, { aliases: true }).attributes).toEqual({
      size: 1,
      'legacy-size': 1,
      permissions: { 'can-open': true, 'can-unlid': true },
    });
    expect(boxes.resource({ id: 'b' }, { aliases: false }).attributes).toEqual({
      size: 1,
      permissions: { 'can-open': true },
    });
  });

  it('declares its attributes, including aliases', () => {
    expect(attributesSchema(boxes.spec.shape, boxes.spec.aliases)).toEqual({
      type: 'object',
      properties: {
        size: { type: 'integer' },
        'legacy-size': { type: 'integer' },
        permissions: {
          type: 'object',
          properties: { 'can-open': { type: 'boolean' }, 'can-unlid': { type: 'boolean' } },
          required: ['can-open', 'can-unlid'],
        },
      },
      required: ['size', 'permissions', 'legacy-size'],
    });
  });
});
