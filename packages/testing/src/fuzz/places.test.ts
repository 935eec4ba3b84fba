import { describe, expect, it } from '@jest/globals';
import { Bodies } from './bodies';
import { type Document, Operations } from './operations';
import { Places } from './places';
import { Pools } from './pools';
import { Random } from './random';

const shown = (type: string) => ({
  200: {
    content: {
      'application/json': {
        schema: { properties: { data: { properties: { type: { type: 'string', enum: [type] } } } } },
      },
    },
  },
});
const document = {
  paths: {
    '/boxes': { get: { responses: shown('boxes') } },
    '/boxes/{box_id}': { get: { responses: shown('boxes') } },
    '/boxes/{box_id}/actions/open': { post: { responses: {} } },
    '/boxes/{box_id}/labels': { get: { responses: shown('labels') } },
    '/boxes/{box_id}/labels/{name}': { get: { responses: shown('labels') } },
    '/crates/{id}': { get: { responses: shown('boxes') } },
    '/files/{path}': { get: { responses: {} } },
  },
} as unknown as Document;

describe('what is known to be somewhere', () => {
  const random = new Random('places');
  const places = (never: string[] = []) => new Places(new Operations(document), new Set(never));

  it('is asked for by every operation about it', () => {
    const known = places();
    expect(known.pick('/boxes/{box_id}/actions/open', random)).toBeUndefined();
    known.learnResource('boxes', 'box 1');
    expect(known.pick('/boxes/{box_id}/actions/open', random)).toEqual({
      path: '/boxes/box%201',
      rest: '/actions/open',
    });
    expect(known.pick('/crates/{id}', random)).toEqual({ path: '/crates/box%201', rest: '' });
    expect(known.pick('/boxes/{box_id}/labels/{name}', random)).toEqual({
      path: '/boxes/box%201',
      rest: '/labels/{name}',
    });
    known.learnBelow('/boxes/box%201/labels', 'label-7', 'red');
    expect(known.pick('/boxes/{box_id}/labels/{name}', random)).toEqual({
      path: '/boxes/box%201/labels/red',
      rest: '',
    });
  });

  it('is learned from links, kept whole where they carry a query, and from paths that hold slashes', () => {
    const known = places();
    known.learn('/boxes/a/labels?signature=x');
    expect(known.link('/boxes/{box_id}/labels', random)).toBe('/boxes/a/labels?signature=x');
    expect(known.pick('/boxes/{box_id}', random)?.path).toBe('/boxes/a');
    known.learn('/files/one/two/three');
    expect(known.pick('/files/{path}', random)).toEqual({ path: '/files/one/two/three', rest: '' });
    known.learn('/elsewhere/a');
  });

  it('is forgotten when it is gone, and never learned when it must not be sent', () => {
    const known = places(['self']);
    known.learnResource('boxes', 'a');
    expect(known.forget('/boxes/a/actions/open')).toEqual({ type: 'boxes', id: 'a' });
    expect(known.pick('/boxes/{box_id}', random)).toBeUndefined();
    known.learnResource('boxes', 'self');
    known.learn('/boxes/self/labels');
    expect(known.pick('/boxes/{box_id}', random)).toBeUndefined();
  });

  it('takes the place of what stood in bodies that were taken', () => {
    const known = places();
    const pools = new Pools(new Set(), known, 'http://here');
    const bodies = new Bodies(pools);
    pools.harvest({ data: { type: 'boxes', id: 'box-2', links: { self: 'http://here/boxes/box-2/labels' } } });
    expect(known.pick('/boxes/{box_id}/labels', random)?.path).toBe('/boxes/box-2');
    bodies.add('POST /x', { path: '/x', body: { value: { data: [{ type: 'boxes', id: 'box-1' }] } } });
    const seen = new Set(Array.from({ length: 60 }, () => JSON.stringify(bodies.pick('POST /x', random))));
    expect([...seen].sort()).toEqual([
      '{"body":{"value":{"data":[{"type":"boxes","id":"box-1"}]}}}',
      '{"body":{"value":{"data":[{"type":"boxes","id":"box-2"}]}}}',
      '{"path":"/x","body":{"value":{"data":[{"type":"boxes","id":"box-1"}]}}}',
    ]);
  });
});
