import { describe, expect, it } from '@jest/globals';
import { isRefusal } from '@keystead/refusal';
import { z } from 'zod';
import { bare, document, freeForm, many, maxListMembers, one, references, requiredOne, writeOnly } from './index';

const options = { aliases: true };
const issuesOf = (work: () => unknown): string[] => {
  try {
    work();
  } catch (error) {
    if (isRefusal(error)) return error.issues.map(({ path, message }) => `${path.join('/')}: ${message}`);
    throw error;
  }
  return [];
};

describe('a document', () => {
  const Box = document('boxes', { attributes: { name: z.string().optional() }, otherTypes: ['crates'] });
  const parse = (data: unknown) => Box.parse({ data }, options);

  it.each([
    ['nothing', undefined, 'data: param is missing or the value is empty: data'],
    ['a list', [], 'data: param is missing or the value is empty: data'],
    ['null', null, 'data: param is missing or the value is empty: data'],
    ['an object without data', {}, 'data: param is missing or the value is empty: data'],
    ['data that is undefined', { data: undefined }, 'data: param is missing or the value is empty: data'],
    ['data that is null', { data: null }, 'data: data must be an object'],
    ['data that is a list', { data: [] }, 'data: data must be an object'],
    ['data without a type', { data: {} }, 'data/type: data.type must be boxes'],
    ['an empty type', { data: { type: '' } }, 'data/type: data.type must be boxes'],
    ['another type', { data: { type: 'teams' } }, 'data/type: data.type must be boxes'],
    ['a type that is a list', { data: { type: ['boxes'] } }, 'data/type: data.type must be boxes'],
    [
      'attributes in a list',
      { data: { type: 'boxes', attributes: [] } },
      'data/attributes: attributes must be an object',
    ],
    ['an id that is a number', { data: { type: 'boxes', id: 1 } }, 'data/id: must be a string'],
    [
      'relationships in a string',
      { data: { type: 'boxes', relationships: 'x' } },
      'data/relationships: relationships must be an object',
    ],
  ])('cannot be %s', (_what, raw, issue) => {
    expect(issuesOf(() => Box.parse(raw, options))).toEqual([issue]);
  });

  it('needs only one of its types, and may have an id', () => {
    expect(parse({ type: 'boxes' })).toEqual({ value: {}, pointers: new Map(), id: undefined });
    expect(parse({ type: 'crates', id: 'b', attributes: null, relationships: null })).toMatchObject({ id: 'b' });
    expect(parse({ type: 'boxes', id: null }).id).toBeUndefined();
    expect(parse({ type: 'boxes', id: '' }).id).toBeUndefined();
  });

  it('points to where each part was sent', () => {
    const Lid = document('lids', {
      attributes: { 'max-size': z.int().optional() },
      relationships: { 'made-by': one('users'), 'max-size': one('sizes') },
    });
    const attributes = { 'max-size': 1, unknown: 2 };
    const data = { type: 'lids', attributes, relationships: { 'made-by': { data: null } } };
    expect(Lid.parse({ data }, options).pointers).toEqual(
      new Map([
        ['maxSize', '/data/attributes/max-size'],
        ['unknown', '/data/attributes/unknown'],
        ['madeBy', '/data/relationships/made-by'],
      ]),
    );
    const both = { ...data, relationships: { 'max-size': { data: { id: 's' } } } };
    expect(Lid.parse({ data: both }, options).pointers.get('maxSize')).toBe('/data/attributes/max-size');
  });

  it('may be absent or have no type if that is allowed', () => {
    const Optional = document('boxes', { optional: true });
    expect(Optional.optional).toBe(true);
    expect(Box.optional).toBe(false);
    expect(Optional.parse(undefined, options).value).toEqual({});
    expect(Optional.parse({}, options).value).toEqual({});
    expect(issuesOf(() => Optional.parse([], options))).toHaveLength(1);
    expect(issuesOf(() => Optional.parse({ data: {} }, options))).toEqual(['data/type: data.type must be boxes']);
    const Untyped = document('boxes', { untyped: true });
    for (const type of [undefined, '', 'boxes']) {
      expect(Untyped.parse({ data: { type } }, options).value).toEqual({});
    }
    expect(issuesOf(() => Untyped.parse({ data: { type: 'teams' } }, options))).toHaveLength(1);
    expect(issuesOf(() => Untyped.parse({ data: { type: null } }, options))).toHaveLength(1);
    expect(issuesOf(() => Untyped.parse(undefined, options))).toHaveLength(1);
  });

  it('ignores an attribute of another edition, with any value', () => {
    const Edition = document('boxes', {
      attributes: { name: z.string().optional(), rank: z.int().optional() },
      editions: { rank: 'enterprise' },
    });
    const sent = { data: { type: 'boxes', attributes: { name: 'a', rank: 1 } } };
    const wrong = { data: { type: 'boxes', attributes: { name: 'a', rank: 'x' } } };
    expect(Edition.parse(sent, { aliases: true, edition: 'enterprise' }).value).toEqual({ name: 'a', rank: 1 });
    expect(Edition.parse(wrong, { aliases: true, edition: 'cloud' })).toMatchObject({ value: { name: 'a' } });
    expect(Edition.parse(wrong, { aliases: true, edition: 'cloud' }).pointers.has('rank')).toBe(false);
    expect(issuesOf(() => Edition.parse(wrong, { aliases: true, edition: 'enterprise' }))).toEqual([
      'data/attributes/rank: must be a number',
    ]);
    expect(wrong.data.attributes.rank).toBe('x');
    const schemaNames = (edition?: string) =>
      Object.keys(Object(Edition.jsonSchema(edition)).properties.data.properties.attributes.properties);
    expect([schemaNames(), schemaNames('enterprise'), schemaNames('cloud')]).toEqual([
      ['name', 'rank'],
      ['name', 'rank'],
      ['name'],
    ]);
  });

  it('refuses unsupported features, with the pointer and the reason, unless they are empty', () => {
    const Partly = document('boxes', {
      attributes: { lid: z.object({ open: z.boolean().optional() }).nullish() },
      unserved: { stamps: 'there is no post', 'lid.lock': 'there are no keys' },
    });
    const parse = (attributes: object, relationships: object = {}) =>
      Partly.parse({ data: { type: 'boxes', attributes, relationships } }, options);
    for (const stamps of [true, 'x', 7, ['x'], { a: { b: 1 } }]) {
      expect(issuesOf(() => parse({ stamps }))).toEqual(['data/attributes/stamps: must be left out: there is no post']);
    }
    expect(issuesOf(() => parse({ lid: { open: true, lock: true } }, { stamps: { data: [{ id: 'a' }] } }))).toEqual([
      'data/relationships/stamps: must be left out: there is no post',
      'data/attributes/lid/lock: must be left out: there are no keys',
    ]);
    for (const stamps of [null, false, '', [], {}, { a: [false] }]) expect(parse({ stamps }).value).toEqual({});
    expect(parse({ lid: { lock: false } }, { stamps: { data: [] } }).value).toEqual({ lid: {} });
    expect(issuesOf(() => parse({ lid: 'x' }))).toEqual(['data/attributes/lid: must be an object']);
  });

  it('accepts aliases inside objects, and leaves the sent body unchanged', () => {
    const Nested = document('boxes', {
      attributes: { lid: z.object({ 'is-open': z.boolean() }).nullable().optional(), size: z.int().optional() },
      aliases: { 'lid.is-open': 'lid.opened', size: 'legacy-size' },
    });
    const attributes = { lid: { opened: 'x' }, 'legacy-size': 1 };
    expect(issuesOf(() => Nested.parse({ data: { type: 'boxes', attributes } }, options))).toEqual([
      'data/attributes/lid/opened: must be a boolean',
    ]);
    expect(attributes).toEqual({ lid: { opened: 'x' }, 'legacy-size': 1 });
    const differs = { lid: { opened: true, 'is-open': false } };
    expect(issuesOf(() => Nested.parse({ data: { type: 'boxes', attributes: differs } }, options))).toEqual([
      'data/attributes/lid/is-open: must not be given as is-open and opened with different values',
      'data/attributes/lid/opened: must not be given as is-open and opened with different values',
    ]);
    const none = { lid: null };
    expect(Nested.parse({ data: { type: 'boxes', attributes: none } }, options).value).toEqual({ lid: null });
  });
});

describe('the error of an attribute', () => {
  const wrong = (shape: z.ZodType, value: unknown) =>
    issuesOf(() =>
      document('a', { attributes: { x: shape } }).parse({ data: { type: 'a', attributes: { x: value } } }, options),
    );

  it.each<[string, z.ZodType, unknown]>([
    ["can't be blank", z.string(), undefined],
    ["can't be blank", z.string(), null],
    ["can't be blank", z.string().min(1), ''],
    ['must be a string', z.string(), 1],
    ['must be a boolean', z.boolean(), null],
    ['must be an integer', z.int(), 1.5],
    ['must be a number', z.number(), 'x'],
    ['must be a list', z.array(z.string()), {}],
    ['must be an object', z.object({}), []],
    ['must be an object', z.record(z.string(), z.string()), 1],
    ['must be one of a, b', z.enum(['a', 'b']), 'c'],
    ['is too short (minimum is 3 characters)', z.string().min(3), 'ab'],
    ['is too long (maximum is 3 characters)', z.string().max(3), 'abcd'],
    ['has too many members (maximum is 1)', z.array(z.string()).max(1), ['a', 'b']],
    ['must be greater than or equal to 1', z.int().min(1), 0],
    ['must be less than or equal to 3', z.int().max(3), 4],
    ['is invalid', z.string().regex(/^a$/), 'b'],
    ['is not what it seems', z.string().refine(() => false, 'is not what it seems'), 'b'],
  ])('says that it %s', (message, shape, value) => {
    expect(wrong(shape, value)).toEqual([`data/attributes/x: ${message}`]);
  });

  it('appears once for each place', () => {
    const shape = z.array(z.string().min(3).regex(/^b/));
    expect(wrong(shape, ['a', 1])).toEqual([
      'data/attributes/x/0: is too short (minimum is 3 characters)',
      'data/attributes/x/1: must be a string',
    ]);
  });
});

describe('relationships', () => {
  const Box = document('boxes', {
    relationships: { owner: one('users', 'teams'), keeper: requiredOne('users'), tags: many('tags') },
  });
  const parse = (relationships: object) => Box.parse({ data: { type: 'boxes', relationships } }, options).value;
  const keeper = { data: { type: 'users', id: 'k' } };

  it('are ids, null if they are removed, and absent if they are not mentioned', () => {
    expect(parse({ keeper })).toEqual({ keeper: 'k' });
    expect(parse({ keeper, owner: { data: { id: 'o', type: 'teams' } } })).toMatchObject({ owner: 'o' });
    expect(parse({ keeper, owner: null })).toMatchObject({ owner: null });
    expect(parse({ keeper, tags: { data: [{ type: 'tags', id: 't' }, { attributes: { name: 'n' } }] } })).toMatchObject(
      {
        tags: [{ type: 'tags', id: 't' }, { attributes: { name: 'n' } }],
      },
    );
  });

  it('are refused by name', () => {
    expect(issuesOf(() => parse({}))).toEqual(["data/relationships/keeper: can't be blank"]);
    expect(issuesOf(() => parse({ keeper: { data: null } }))).toEqual(['data/relationships/keeper: is malformed']);
    const owner = { data: { id: 'o', type: 'boxes' } };
    const tags = {
      data: [
        { type: 'tags', id: 't' },
        { type: 'users', id: 'u' },
      ],
    };
    expect(issuesOf(() => parse({ keeper, owner, tags }))).toEqual([
      'data/relationships/owner: must be of type users or teams',
      'data/relationships/tags: must be of type tags',
    ]);
    expect(issuesOf(() => parse({ keeper, tags: { data: [1] } }))).toEqual(['data/relationships/tags: is malformed']);
  });
});

describe('a list of references', () => {
  it('names the member that is of another type', () => {
    const data = [{ type: 'tags', id: 'a' }, { id: 'b' }, { type: 'users', id: 'c' }];
    expect(issuesOf(() => references('tags').parse({ data }, options))).toEqual([
      'data/2/type: data.type must be tags',
    ]);
    expect(issuesOf(() => references('tags').parse({ data: 'x' }, options))).toEqual([
      'data: data must be a list of resource identifiers',
    ]);
    expect(references('tags').optional).toBe(false);
  });
});

describe('a body of another form', () => {
  it('is read by its function, and may be absent unless required', () => {
    const Sum = freeForm((raw) => (raw as number) + 1, { type: 'integer' });
    expect(Sum.parse(1, options)).toEqual({ value: 2, pointers: new Map() });
    expect([Sum.optional, freeForm(() => 1, {}, false).optional]).toEqual([true, false]);
    expect(Sum.jsonSchema()).toEqual({ type: 'integer' });
  });
});

describe('a body of an action', () => {
  const Told = bare({ 'the-reason': z.string().nullish(), seconds: z.int().nullish() });

  it.each([
    [undefined, {}],
    [null, {}],
    [{ 'the-reason': 'a', other: 1 }, { theReason: 'a' }],
    [{ data: { type: 'any', attributes: { 'the-reason': 'a', seconds: 1 } } }, { theReason: 'a', seconds: 1 }],
    [
      { seconds: 1, data: { attributes: { 'the-reason': 'a', seconds: 1 } } },
      { theReason: 'a', seconds: 1 },
    ],
    [{ data: null }, {}],
    [{ data: { attributes: null } }, {}],
  ])('has attributes at the top level, or in a document: %j', (raw, value) => {
    expect(Told.parse(raw, options)).toEqual({ value, pointers: new Map() });
  });

  it.each([
    ['text', ['data: must be an object']],
    [{ data: 1 }, ['data: must be an object']],
    [{ data: { attributes: 'text' } }, ['data/attributes: must be an object']],
    [
      { seconds: 'x', 'the-reason': 1 },
      ['data/attributes/the-reason: must be a string', 'data/attributes/seconds: must be a number'],
    ],
    [
      { seconds: 1, data: { attributes: { seconds: 2 } } },
      ['data/attributes/seconds: must not be given twice with different values'],
    ],
  ])('is refused with the place: %j', (raw, issues) => {
    expect(issuesOf(() => Told.parse(raw, options))).toEqual(issues);
  });

  it('is described in both forms', () => {
    const inner = { 'the-reason': { type: 'string', nullable: true } };
    expect(Told.optional).toBe(true);
    expect(Told.jsonSchema()).toMatchObject({ type: 'object', properties: inner });
    expect(Told.jsonSchema()).toHaveProperty(
      'properties.data.properties.attributes',
      expect.objectContaining({ properties: expect.objectContaining(inner) }),
    );
  });
});

describe('the schema of a body', () => {
  it('marks attributes that are never shown', () => {
    const Box = document('boxes', { attributes: { key: writeOnly(z.string()).nullish() } });
    expect(Box.jsonSchema()).toHaveProperty('properties.data.properties.attributes.properties.key', {
      type: 'string',
      nullable: true,
      writeOnly: true,
    });
  });

  it('has attributes, relationships and required members', () => {
    const Box = document('boxes', {
      attributes: { name: z.string(), 'max-size': z.int().min(1).max(9).optional() },
      relationships: { owner: one('users', 'teams'), tags: many('tags') },
    });
    const reference = (types: string[]) => ({
      type: 'object',
      nullable: true,
      properties: { type: { type: 'string', enum: types }, id: { type: 'string' } },
    });
    expect(Box.jsonSchema()).toEqual({
      type: 'object',
      required: ['data'],
      properties: {
        data: {
          type: 'object',
          required: ['type'],
          properties: {
            type: { type: 'string', enum: ['boxes'] },
            id: { type: 'string' },
            attributes: {
              type: 'object',
              properties: { name: { type: 'string' }, 'max-size': { type: 'integer', minimum: 1, maximum: 9 } },
              required: ['name'],
            },
            relationships: {
              type: 'object',
              properties: {
                owner: { type: 'object', properties: { data: reference(['users', 'teams']) } },
                tags: {
                  type: 'object',
                  properties: { data: { type: 'array', items: reference(['tags']), maxItems: maxListMembers } },
                },
              },
            },
          },
        },
      },
    });
  });

  it('requires nothing of a body that may be absent', () => {
    expect(document('boxes', { optional: true }).jsonSchema()).toEqual({
      type: 'object',
      properties: {
        data: {
          type: 'object',
          properties: {
            type: { type: 'string', enum: ['boxes'] },
            id: { type: 'string' },
            attributes: { type: 'object', properties: {} },
          },
        },
      },
    });
  });

  it('of references gives their types and number', () => {
    expect(references('tags', 'users').jsonSchema()).toEqual({
      type: 'object',
      required: ['data'],
      properties: {
        data: {
          type: 'array',
          maxItems: 10_000,
          items: {
            type: 'object',
            properties: {
              type: { type: 'string', enum: ['tags', 'users'] },
              id: { type: 'string' },
            },
          },
        },
      },
    });
  });

  it('shows the attributes of references that may be new resources', () => {
    const attributes = { name: { type: 'string', maxLength: 9 } };
    const item = {
      type: 'object',
      properties: {
        type: { type: 'string', enum: ['tags'] },
        id: { type: 'string' },
        attributes: { type: 'object', properties: attributes },
      },
    };
    expect(references({ type: 'tags', attributes }).jsonSchema()).toHaveProperty('properties.data.items', item);
    const Box = document('boxes', { relationships: { tags: many({ type: 'tags', attributes }) } });
    const at = 'properties.data.properties.relationships.properties.tags.properties.data.items';
    expect(Box.jsonSchema()).toHaveProperty(at, { ...item, nullable: true });
  });
});
