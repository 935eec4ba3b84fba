import { describe, expect, it } from '@jest/globals';
import { path } from '../../sdk/path';
import { empty } from '../../sdk/reply';
import { PathTree } from './path-tree';

const declared = (pattern: string, params = {}) => path(pattern, { summary: pattern, params } as never);

describe('PathTree', () => {
  const tree = new PathTree([
    declared('role/:name'),
    declared('role'),
    declared('role/:name/secret-id'),
    declared('method/:id', { id: 'uuid' }),
    declared('method/generate'),
    declared('mounts'),
    declared('mounts/:path*'),
    declared('mounts/:path*/tune'),
    declared('tools/:source/:bytes', { source: 'segment' }),
  ]);

  it.each([
    ['role', 'read', 'role', {}],
    ['role/', 'list', 'role', {}],
    ['role/ops', 'read', 'role/:name', { name: 'ops' }],
    ['role/a.b-c', 'write', 'role/:name', { name: 'a.b-c' }],
    ['role/-a', 'read', undefined, {}],
    ['role/ops/secret-id', 'write', 'role/:name/secret-id', { name: 'ops' }],
    ['role/ops/other', 'read', undefined, {}],
    ['method/generate', 'write', 'method/generate', {}],
    ['method/zz', 'read', undefined, {}],
    [
      'method/7b3f4044-0000-4000-8000-000000000000',
      'read',
      'method/:id',
      { id: '7b3f4044-0000-4000-8000-000000000000' },
    ],
    ['mounts', 'read', 'mounts', {}],
    ['mounts/a/b', 'write', 'mounts/:path*', { path: 'a/b' }],
    ['mounts/a/b/tune', 'write', 'mounts/:path*/tune', { path: 'a/b' }],
    ['mounts/tune', 'write', 'mounts/:path*', { path: 'tune' }],
    ['tools/all/3', 'write', 'tools/:source/:bytes', { source: 'all', bytes: '3' }],
    ['nothing', 'read', undefined, {}],
  ] as const)('%s (%s) is %s', (path, verb, pattern, params) => {
    const found = tree.match(path, verb);
    expect(found?.path.pattern).toBe(pattern);
    if (pattern) expect(found?.params).toEqual(params);
  });

  const rest = new PathTree([declared(':path*')]);
  it.each([
    ['', 'read', ''],
    ['', 'list', ''],
    ['a', 'list', 'a/'],
    ['a/', 'list', 'a/'],
    ['a/', 'read', 'a/'],
    ['a/b', 'read', 'a/b'],
  ] as const)('passes %j (%s) to a rest parameter as %j', (path, verb, value) => {
    expect(rest.match(path, verb)?.params).toEqual({ path: value });
  });

  const listed = path('users', { summary: 'users', list: { summary: 'list', run: () => empty } });
  const exact = new PathTree([
    listed,
    path('users/:name', { summary: 'user', folds: { name: 'case' } }),
    path('entity/:name', { summary: 'entity', params: { name: 'segment' }, folds: { name: 'ascii-case' } }),
    path('method/:id', { summary: 'method', params: { id: 'uuid' } }),
    path('policy/:name*', { summary: 'policy', folds: { name: 'case' } }),
    path('mounts', { summary: 'mounts' }),
    path('mounts/:at*', { summary: 'mount', params: { at: 'folder' } }),
    path('mounts/:at*/tune', { summary: 'tune', params: { at: 'folder' } }),
  ]);

  it.each([
    ['users', 'read', 'users'],
    ['users/', 'read', 'users'],
    ['users/', 'list', 'users/'],
    ['users/bob', 'read', 'users/bob'],
    ['users/BOB', 'delete', 'users/bob'],
    ['users/bob/', 'read', undefined],
    ['users/bob/', 'delete', undefined],
    ['users/bob/', 'patch', undefined],
    ['users/Bob/', 'list', 'users/bob/'],
    ['entity/\u00c9COLE', 'read', 'entity/\u00c9cole'],
    ['entity/\u212aurt', 'read', 'entity/\u212aurt'],
    ['method/7B3F4044-0000-4000-8000-00000000000A', 'read', 'method/7b3f4044-0000-4000-8000-00000000000a'],
    ['policy/A/B', 'read', 'policy/a/b'],
    ['policy/A/B/', 'read', 'policy/a/b/'],
    ['policy/\u212aurt', 'read', 'policy/kurt'],
    ['mounts', 'read', 'mounts'],
    ['mounts/', 'read', undefined],
    ['mounts/A/b', 'read', 'mounts/A/b'],
    ['mounts/A/b/', 'delete', 'mounts/A/b'],
    ['mounts/A/tune', 'read', 'mounts/A/tune'],
    ['mounts/A/tune/', 'read', undefined],
  ] as const)('parses %j (%s) as %j', (path, verb, text) => {
    expect(exact.match(path, verb)?.text).toBe(text);
  });

  it('returns parameters in canonical form, and their original spelling', () => {
    expect(exact.match('users/BOB', 'read')).toMatchObject({ params: { name: 'bob' }, written: { shown: 'BOB' } });
    expect(exact.match('mounts/A/b/', 'read')).toMatchObject({ params: { at: 'A/b' }, folding: undefined });
  });

  it('refuses paths that policies could not describe', () => {
    const two = path('a/:x/:y', { summary: 'two', folds: { x: 'case', y: 'case' } });
    expect(() => new PathTree([two])).toThrow('can fold one parameter only');
  });
});
