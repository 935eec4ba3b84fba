import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  anything,
  attributesSchema,
  choice,
  flag,
  hasMany,
  hasOne,
  hasOneOf,
  instant,
  linksTo,
  related,
  serializer,
  sometimes,
  text,
  timestamps,
  toMany,
  toOne,
  whole,
} from './index';

interface Box {
  id: string;
  owner?: string;
}

describe('a resource', () => {
  it('has the type, links and relationships of its serializer', () => {
    const boxes = serializer({
      type: (box: Box) => (box.owner === undefined ? 'boxes' : 'owned-boxes'),
      shape: { name: text },
      relations: { owner: hasOne('users'), tags: hasMany('tags') },
      id: ({ id }: Box) => id,
      self: ({ id }) => (id === 'hidden' ? undefined : `/boxes/${id}`),
      links: ({ id }) => ({ download: `/boxes/${id}/content` }),
      attributes: ({ id }, _view: { aliases: boolean }) => ({ name: `box ${id}` }),
      relationships: ({ owner }) => ({
        owner: toOne('users', owner, '/users'),
        tags: toMany('tags', ['a', 'b']),
      }),
    });
    expect(boxes.type).toBe('');
    expect(boxes.resource({ id: '1', owner: 'u' }, { aliases: true })).toEqual({
      id: '1',
      type: 'owned-boxes',
      attributes: { name: 'box 1' },
      relationships: {
        owner: { data: { id: 'u', type: 'users' }, links: { related: '/users' } },
        tags: {
          data: [
            { id: 'a', type: 'tags' },
            { id: 'b', type: 'tags' },
          ],
        },
      },
      links: { self: '/boxes/1', download: '/boxes/1/content' },
    });
    expect(boxes.resource({ id: 'hidden' }, { aliases: true })).toMatchObject({
      type: 'boxes',
      links: { download: '/boxes/hidden/content' },
    });
    expect(boxes.resource({ id: 'hidden' }, { aliases: true }).links).not.toHaveProperty('self');
  });

  it('has neither links nor relationships if its serializer has none', () => {
    const spec = {
      type: 'boxes',
      shape: {},
      id: ({ id }: Box) => id,
      attributes: (_box: Box, _view: { aliases: boolean }) => ({}),
    };
    const bare = serializer(spec);
    expect(bare.type).toBe('boxes');
    expect(bare.resource({ id: '1' }, { aliases: true })).toEqual({ id: '1', type: 'boxes', attributes: {} });
    const withSelf = serializer({ ...spec, self: () => '/here' });
    expect(withSelf.resource({ id: '1' }, { aliases: true }).links).toEqual({ self: '/here' });
    const unnamed = serializer({ ...spec, self: () => undefined });
    expect(unnamed.resource({ id: '1' }, { aliases: true })).not.toHaveProperty('links');
  });

  it('has no alias of an absent attribute', () => {
    const boxes = serializer({
      type: 'boxes',
      shape: { lid: anything.optional(), size: whole.optional() },
      id: ({ id }: Box) => id,
      attributes: ({ owner }, _view: { aliases: boolean }) => ({ lid: owner === undefined ? null : owner }),
      aliases: { 'lid.open': 'lid.opened', size: 'legacy-size', 'deep.er.x': 'deep.er.y' },
    });
    expect(boxes.resource({ id: '1' }, { aliases: true }).attributes).toEqual({ lid: null });
    expect(boxes.resource({ id: '1', owner: 'text' }, { aliases: true }).attributes).toEqual({ lid: 'text' });
  });
});

describe('relationships', () => {
  it('name one, many or nothing', () => {
    expect(toOne('users', undefined)).toEqual({ data: null });
    expect(toOne('users', null, '/users')).toEqual({ data: null, links: { related: '/users' } });
    expect(toOne('users', 'u')).toEqual({ data: { id: 'u', type: 'users' } });
    expect(toMany('tags', [], '/tags')).toEqual({ data: [], links: { related: '/tags' } });
    expect(related('/runs')).toEqual({ links: { related: '/runs' } });
  });

  it('are declared with their types', () => {
    expect(hasOne('users', 'teams')).toEqual({ names: 'one', types: ['users', 'teams'] });
    expect(hasOneOf()).toEqual({ names: 'one', types: [] });
    expect(hasOneOf(['users'])).toEqual({ names: 'one', types: ['users'] });
    expect(linksTo('runs')).toEqual({ names: 'nothing', types: ['runs'] });
    expect(sometimes(hasMany('tags'))).toEqual({ names: 'many', types: ['tags'], optional: true });
  });
});

describe('the schema of attributes', () => {
  it('has their types, and no alias of absent attributes', () => {
    const shape = {
      name: text,
      open: flag,
      size: whole.optional(),
      at: instant,
      any: anything,
      times: timestamps,
      mode: choice(['a', 'b']),
      lid: z.object({ inner: text.optional() }),
    };
    const aliases = { size: 'legacy-size', absent: 'gone', 'lid.inner': 'lid.core', 'absent.too': 'absent.gone' };
    const schema = attributesSchema(shape, aliases) as { properties: object; required: string[] };
    expect(schema).not.toHaveProperty('$schema');
    expect(schema.properties).toMatchObject({
      name: { type: 'string' },
      open: { type: 'boolean' },
      size: { type: 'integer' },
      'legacy-size': { type: 'integer' },
      at: { type: 'string', format: 'date-time' },
      times: { type: 'object', nullable: true, additionalProperties: { type: 'string', format: 'date-time' } },
      mode: { type: 'string', enum: ['a', 'b'] },
      lid: { properties: { inner: { type: 'string' }, core: { type: 'string' } } },
    });
    expect(schema.properties).not.toHaveProperty('gone');
    expect(schema.required).not.toContain('legacy-size');
    expect(schema.required).toContain('name');
  });
});
