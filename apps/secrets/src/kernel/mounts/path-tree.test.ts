import { describe, expect, it } from '@jest/globals';
import { path } from '../../sdk/path';
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
  ] as const)('%s (%s) is %s', (given, verb, pattern, params) => {
    const found = tree.match(given, verb);
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
  ] as const)('hands %j (%s) to a rest as %j', (given, verb, value) => {
    expect(rest.match(given, verb)?.params).toEqual({ path: value });
  });
});
