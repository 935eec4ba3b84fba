import { describe, expect, it } from '@jest/globals';
import { Bodies } from './bodies';
import { type Document, Operations } from './operations';
import { Places } from './places';
import { Pools } from './pools';
import { Random } from './random';

const parameterOf = (type: string) => ({
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
    '/boxes': { get: { responses: parameterOf('boxes') } },
    '/boxes/{box_id}': { get: { responses: parameterOf('boxes') } },
    '/boxes/{box_id}/actions/open': { post: { responses: {} } },
    '/boxes/{box_id}/labels': { get: { responses: parameterOf('labels') } },
    '/boxes/{box_id}/labels/{name}': { get: { responses: parameterOf('labels') } },
    '/crates/{id}': { get: { responses: parameterOf('boxes') } },
    '/files/{path}': { get: { responses: {} } },
  },
} as unknown as Document;

describe('a known resource', () => {
  const random = new Random('places');
  const places = (never: string[] = []) => new Places(new Operations(document), new Set(never));

  it('is used by every operation on it', () => {
    const store = places();
    expect(store.pick('/boxes/{box_id}/actions/open', random)).toBeUndefined();
    store.learnResource('boxes', 'box 1');
    expect(store.pick('/boxes/{box_id}/actions/open', random)).toEqual({
      path: '/boxes/box%201',
      rest: '/actions/open',
    });
    expect(store.pick('/crates/{id}', random)).toEqual({ path: '/crates/box%201', rest: '' });
    expect(store.pick('/boxes/{box_id}/labels/{name}', random)).toEqual({
      path: '/boxes/box%201',
      rest: '/labels/{name}',
    });
    store.learnBelow('/boxes/box%201/labels', 'label-7', 'red');
    expect(store.pick('/boxes/{box_id}/labels/{name}', random)).toEqual({
      path: '/boxes/box%201/labels/red',
      rest: '',
    });
  });

  it('is learned from links, with their query if any, and from paths with slashes', () => {
    const store = places();
    store.learn('/boxes/a/labels?signature=x');
    expect(store.link('/boxes/{box_id}/labels', random)).toBe('/boxes/a/labels?signature=x');
    expect(store.pick('/boxes/{box_id}', random)?.path).toBe('/boxes/a');
    store.learn('/files/one/two/three');
    expect(store.pick('/files/{path}', random)).toEqual({ path: '/files/one/two/three', rest: '' });
    store.learn('/elsewhere/a');
  });

  it('is forgotten when it no longer exists, and never recorded if it must not be sent', () => {
    const store = places(['self']);
    store.learnResource('boxes', 'a');
    expect(store.forget('/boxes/a/actions/open')).toEqual({ type: 'boxes', id: 'a' });
    expect(store.pick('/boxes/{box_id}', random)).toBeUndefined();
    store.learnResource('boxes', 'self');
    store.learn('/boxes/self/labels');
    expect(store.pick('/boxes/{box_id}', random)).toBeUndefined();
  });

  it('replaces ids in accepted bodies', () => {
    const store = places();
    const pools = new Pools(new Set(), store, 'http://here');
    const bodies = new Bodies(pools);
    pools.harvest({ data: { type: 'boxes', id: 'box-2', links: { self: 'http://here/boxes/box-2/labels' } } });
    expect(store.pick('/boxes/{box_id}/labels', random)?.path).toBe('/boxes/box-2');
    bodies.add('POST /x', { path: '/x', body: { value: { data: [{ type: 'boxes', id: 'box-1' }] } } });
    const picks = new Set(Array.from({ length: 60 }, () => JSON.stringify(bodies.pick('POST /x', random))));
    expect([...picks].sort()).toEqual([
      '{"body":{"value":{"data":[{"type":"boxes","id":"box-1"}]}}}',
      '{"body":{"value":{"data":[{"type":"boxes","id":"box-2"}]}}}',
      '{"path":"/x","body":{"value":{"data":[{"type":"boxes","id":"box-1"}]}}}',
    ]);
  });
});
