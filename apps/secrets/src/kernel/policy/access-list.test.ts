import { describe, expect, it } from '@jest/globals';
import type { CanonicalPath, Folding } from '../../sdk/canonical-path';
import { rootAccess } from './access-list';
import type { Capability, Operation } from './capability';
import { compile } from './compile';
import { parsePolicy } from './parse-policy';
import type { AccessList, Subject } from './types';

const at = (path: string) => path as CanonicalPath;

/** An access list from policy texts; a policy's name is its place in the list. */
function access(texts: string | readonly string[], subject?: Subject, nowMs = 0): AccessList {
  const policies = [texts]
    .flat()
    .map((text, index) => ({ name: `p${index}`, namespacePath: '', policy: parsePolicy(text) }));
  return compile(policies, subject, nowMs);
}

/** One block per `pattern capability,capability` line. */
function rules(...lines: string[]): string {
  return lines
    .map((line) => {
      const [pattern, capabilities] = line.split(' ') as [string, string];
      return `path "${pattern}" { capabilities = ${JSON.stringify(capabilities.split(','))} }`;
    })
    .join('\n');
}

function may(list: AccessList, operation: Operation, path: string, parameters?: Record<string, unknown>): boolean {
  return list.decide({ path: at(path), operation, ...(parameters && { parameters }) }).allowed;
}

describe('a rule that matched and lost', () => {
  it.each<[string, string, string, string]>([
    ['sec/*', 'sec/a', 'sec/a', 'an exact pattern wins over wildcards'],
    ['sec/+/x', 'sec/a/*', 'sec/a/x', 'its first wildcard stands further left'],
    ['sec/*', 'sec/+', 'sec/a', 'it ends in *'],
    ['+/b*', '+/+', 'a/b', 'it ends in *'],
    ['+/+/c', '+/b/c', 'a/b/c', 'it has more + segments'],
    ['+/b*', '+/bc*', 'a/bcd', 'it is shorter'],
    ['+/+/+/cd', '+/+/ab/+', 'x/y/ab/cd', 'it sorts before the winner'],
  ])('%s against %s on %s: %s', (loser, winner, path, because) => {
    const list = access(rules(`${loser} read`, `${winner} read`));
    const { rule, losers } = list.explain({ path: at(path), operation: 'read' });
    expect(rule?.pattern).toBe(winner);
    expect(losers.map(({ pattern, lostBecause }) => [pattern, lostBecause])).toEqual([[loser, because]]);
  });

  it('is the path without its slash, where a list has a rule of its own with it', () => {
    const list = access(rules('sec/a/ list', 'sec/a list'));
    const { rule, losers } = list.explain({ path: at('sec/a/'), operation: 'list' });
    expect(rule?.pattern).toBe('sec/a/');
    expect(losers.map(({ lostBecause }) => lostBecause)).toEqual(['the path with its trailing slash wins']);
  });

  it('is none for root, who may everything everywhere', () => {
    expect(rootAccess.explain({ path: at('a'), operation: 'read' })).toEqual({
      allowed: true,
      sudo: true,
      root: true,
      losers: [],
    });
    expect(rootAccess.grantsBelow('a/')).toBe(true);
    expect(rootAccess.grantsSome({ segments: ['a'] }, 'delete', true)).toBe(true);
    expect([rootAccess.capabilities(at('a')), rootAccess.size, rootAccess.rules]).toEqual([['root'], 0, []]);
  });
});

describe('access list', () => {
  it.each<[string, string, string, boolean]>([
    ['sec/a', 'read', 'sec/a', true],
    ['sec/a', 'read', 'sec/ab', false],
    ['sec/a', 'read', 'sec/a/', false],
    ['sec/*', 'read', 'sec/a/b', true],
    ['sec/*', 'read', 'sec/', true],
    ['sec/*', 'read', 'sec', false],
    ['sec*', 'read', 'secret/x', true],
    ['*', 'read', 'anything/at/all', true],
    ['sec/+', 'read', 'sec/a', true],
    ['sec/+', 'read', 'sec/a/b', false],
    ['sec/+', 'list', 'sec/', true],
    ['sec/+', 'read', 'sec', false],
    ['sec/+/x', 'read', 'sec/a/x', true],
    ['+/x', 'read', 'sec/x', true],
    ['+', 'read', 'sec', true],
    ['sec/+/a*', 'read', 'sec/q/abc/d', true],
    ['sec/+/a*', 'read', 'sec/q/b', false],
    ['sec/a+b', 'read', 'sec/a+b', true],
    ['sec/a+b', 'read', 'sec/axb', false],
    ['sec/a*b', 'read', 'sec/axb', false],
    ['/sec/a', 'read', 'sec/a', true],
    ['sec/a', 'read', '/sec/a', true],
    ['sec/a', 'list', 'sec/a/', true],
    ['sec/a/', 'list', 'sec/a/', true],
    ['sec/a/', 'list', 'sec/a', false],
  ])('a rule for %s and %s on %s: %s', (pattern, operation, path, expected) => {
    expect(may(access(rules(`${pattern} ${operation}`)), operation as Operation, path)).toBe(expected);
  });

  it.each<[string, string[], string, string]>([
    ['an exact pattern over wildcards', ['sec/a/xy', 'sec/a/*', 'sec/+/xy'], 'sec/a/xy', 'sec/a/xy'],
    ['the first wildcard further right', ['sec/+/x', 'sec/a/*'], 'sec/a/x', 'sec/a/*'],
    ['the first + further right', ['sec/+/+/x', 'sec/a/+/x'], 'sec/a/b/x', 'sec/a/+/x'],
    ['the longer prefix', ['sec/*', 'sec/a*', 'sec/ab*'], 'sec/abc', 'sec/ab*'],
    ['no trailing *', ['sec/*', 'sec/+'], 'sec/a', 'sec/+'],
    ['no trailing * even with more +', ['sec/+/a*', 'sec/+/+'], 'sec/q/ab', 'sec/+/+'],
    ['fewer +', ['sec/+/+/x', 'sec/+/b/x'], 'sec/a/b/x', 'sec/+/b/x'],
    ['longer', ['sec/+/bar/b*', 'sec/+/bar/ba*'], 'sec/a/bar/baz', 'sec/+/bar/ba*'],
    ['lexicographically greater', ['+/+/ab/+', '+/+/+/cd'], 'x/y/ab/cd', '+/+/ab/+'],
  ])('prefers %s', (_, patterns, path, winner) => {
    for (const order of [patterns, [...patterns].reverse()]) {
      const decision = access(rules(...order.map((pattern) => `${pattern} read`))).decide({
        path: at(path),
        operation: 'read',
      });
      expect(decision.rule?.pattern).toBe(winner);
    }
  });

  it('lets the path with its slash win over the one without when listing', () => {
    const list = access(rules('sec/a/ deny', 'sec/a list'));
    expect(may(list, 'list', 'sec/a/')).toBe(false);
  });

  it('tries the exact path without its slash before wildcards when listing', () => {
    expect(may(access(rules('sec/* deny', 'sec/a list')), 'list', 'sec/a/')).toBe(true);
  });

  it('denies what no rule covers, and does not add up different patterns', () => {
    const list = access(rules('sec/* read,update', 'sec/a* read'));
    expect(list.decide({ path: at('other'), operation: 'read' })).toEqual({
      allowed: false,
      sudo: false,
      root: false,
      objection: 'no-rule',
    });
    expect(may(list, 'update', 'sec/b')).toBe(true);
    expect(may(list, 'update', 'sec/ab')).toBe(false);
  });

  it('lets a deny win inside its own pattern only', () => {
    const list = access(rules('sec/* read', 'sec/a* deny', 'sec/abc read'));
    expect(may(list, 'read', 'sec/ab')).toBe(false);
    expect(may(list, 'read', 'sec/b')).toBe(true);
    expect(may(list, 'read', 'sec/abc')).toBe(true);
  });

  it('merges blocks of one pattern: grants add up, deny beats them all, in any order', () => {
    expect(access([rules('a read'), rules('a update,sudo')]).capabilities(at('a'))).toEqual(['read', 'sudo', 'update']);
    expect(access([rules('a read'), rules('a deny'), rules('a list')]).capabilities(at('a'))).toEqual(['deny']);
    expect(access([rules('a deny,read')]).capabilities(at('a'))).toEqual(['deny']);
  });

  it.each<[string, Capability[]]>([
    ['deny', ['deny']],
    ['read', ['list', 'read']],
    ['write', ['create', 'delete', 'list', 'read', 'update']],
    ['sudo', ['create', 'delete', 'list', 'read', 'sudo', 'update']],
  ])('reads the short policy %s', (name, expected) => {
    expect(access(`path "a" { policy = "${name}" }`).capabilities(at('a'))).toEqual(expected);
  });

  it('answers capabilities: sorted, deny for nothing, root for root', () => {
    const list = access(rules('sec/* update,create,read', 'sec/no deny'));
    expect(list.capabilities(at('sec/x'))).toEqual(['create', 'read', 'update']);
    expect(list.capabilities(at('/sec/x'))).toEqual(['create', 'read', 'update']);
    expect(list.capabilities(at('sec/no'))).toEqual(['deny']);
    expect(list.capabilities(at('else'))).toEqual(['deny']);
    const root = compile([{ name: 'root', namespacePath: '', policy: { rules: [], templated: false } }], undefined, 0);
    expect(root.capabilities(at('x'))).toEqual(['root']);
    expect(root.decide({ path: at('x'), operation: 'delete' })).toEqual({ allowed: true, sudo: true, root: true });
  });

  it('does not take a policy called root in a child namespace for the root policy', () => {
    const policy = parsePolicy('');
    expect(compile([{ name: 'root', namespacePath: 'ns1/', policy }], undefined, 0).root).toBe(false);
  });

  it('puts the namespace of a policy in front of its patterns', () => {
    const policy = parsePolicy(rules('sec/* read'));
    const list = compile([{ name: 'p', namespacePath: 'ns1/', policy }], undefined, 0);
    expect(may(list, 'read', 'ns1/sec/a')).toBe(true);
    expect(may(list, 'read', 'sec/a')).toBe(false);
  });

  it('drops blocks from the moment they expire and says until when it holds', () => {
    const text = `path "a" {\n capabilities = ["read"]\n expiration = "2030-01-01T00:00:00Z"\n}`;
    const expiry = Date.parse('2030-01-01T00:00:00Z');
    expect(access(text, undefined, expiry - 1).validUntilMs).toBe(expiry);
    expect(may(access(text, undefined, expiry - 1), 'read', 'a')).toBe(true);
    expect(may(access(text, undefined, expiry), 'read', 'a')).toBe(false);
  });

  it('names the winning rule with policy, pattern and line, and the losers with the reason', () => {
    const list = access([rules('sec/* read'), `\n\n${rules('sec/+ read')}`, rules('sec/a deny')]);
    const explanation = list.explain({ path: at('sec/a'), operation: 'read' });
    expect(explanation).toMatchObject({
      allowed: false,
      objection: 'denied',
      rule: { pattern: 'sec/a', capabilities: ['deny'], places: [{ policy: 'p2', pattern: 'sec/a', line: 1 }] },
      losers: [
        { pattern: 'sec/+', lostBecause: 'an exact pattern wins over wildcards', places: [{ policy: 'p1', line: 3 }] },
        { pattern: 'sec/*', lostBecause: 'an exact pattern wins over wildcards' },
      ],
    });
    expect(list.explain({ path: at('sec/b'), operation: 'read' }).losers).toMatchObject([
      { pattern: 'sec/*', lostBecause: 'it ends in *' },
    ]);
  });
});

describe('parameters in rules', () => {
  const block = (body: string) => access(`path "a" {\n capabilities = ["update"]\n ${body}\n}`);
  it.each<[string, Record<string, unknown>, boolean]>([
    ['required_parameters = ["a"]', {}, false],
    ['required_parameters = ["a"]', { A: 1 }, false],
    ['required_parameters = ["A"]', { a: 1 }, true],
    ['required_parameters = ["a"]', { a: null }, false],
    ['required_parameters = ["A", "b"]', { a: 1 }, false],
    ['denied_parameters = { "*" = [] }', { x: 1 }, false],
    ['denied_parameters = { "*" = [] }', {}, true],
    ['denied_parameters = { "x" = [] }', { X: 1 }, false],
    ['denied_parameters = { "X" = [] }', { x: 1 }, false],
    ['denied_parameters = { "x" = ["bad"] }', { x: 'good' }, true],
    ['denied_parameters = { "x" = ["bad"] }', { x: 'bad' }, false],
    ['denied_parameters = { "x" = ["b*"] }', { x: 'bad' }, false],
    ['allowed_parameters = { "x" = [] }', { x: 'any' }, true],
    ['allowed_parameters = { "x" = [] }', { y: 'any' }, false],
    ['allowed_parameters = { "x" = [] }', {}, true],
    ['allowed_parameters = { "x" = ["1", "2"] }', { x: '3' }, false],
    ['allowed_parameters = { "x" = ["1", "2"] }', { x: '2' }, true],
    ['allowed_parameters = { "x" = ["1"] "*" = [] }', { y: 'any' }, true],
    ['allowed_parameters = { "x" = ["1"] "*" = [] }', { x: '2' }, false],
    ['allowed_parameters = { "x" = ["pre*"] }', { x: 'prefix' }, true],
    ['allowed_parameters = { "x" = ["*fix"] }', { x: 'prefix' }, true],
    ['allowed_parameters = { "x" = ["*ef*"] }', { x: 'prefix' }, true],
    ['allowed_parameters = { "x" = ["*zz*"] }', { x: 'prefix' }, false],
    ['allowed_parameters = { "x" = ["*"] }', { x: '' }, false],
    ['allowed_parameters = { "x" = ["*"] }', { x: '*' }, true],
    ['allowed_parameters = { "x" = ["**"] }', { x: '' }, true],
    ['allowed_parameters = { "x" = [5] }', { x: 5 }, true],
    ['allowed_parameters = { "x" = [5] }', { x: '5' }, false],
    ['allowed_parameters = { "x" = [1.50] }', { x: { isLosslessNumber: true, toString: () => '1.5' } }, true],
    [
      'allowed_parameters = { "x" = [9007199254740993] }',
      { x: { isLosslessNumber: true, toString: () => '9007199254740992' } },
      false,
    ],
    ['allowed_parameters = { "x" = [true] }', { x: true }, true],
    ['allowed_parameters = { "x" = [["a", "b"]] }', { x: ['a', 'b'] }, true],
    ['allowed_parameters = { "x" = [["a", "b"]] }', { x: ['b', 'a'] }, false],
    ['allowed_parameters = { "x" = [{ "k" = "v" }] }', { x: { k: 'v' } }, true],
    ['allowed_parameters = { "x" = [{ "k" = "v" }] }', { x: { k: 'v', l: 'w' } }, false],
    ['allowed_parameters = { "x" = ["a"] }\n denied_parameters = { "x" = ["a"] }', { x: 'a' }, false],
  ])('%s judges %j: %s', (body, parameters, expected) => {
    expect(may(block(body), 'update', 'a', parameters)).toBe(expected);
  });

  it('merges lists of several policies, an empty list standing for every value', () => {
    const one = 'path "a" { capabilities = ["update"] allowed_parameters = { "x" = ["1"] } }';
    const other = 'path "a" { capabilities = ["update"] allowed_parameters = { "x" = ["2"] "y" = [] } }';
    const open = 'path "a" { capabilities = ["update"] allowed_parameters = { "x" = [] } }';
    expect(may(access([one, other]), 'update', 'a', { x: '1', y: 'z' })).toBe(true);
    expect(may(access([one, other]), 'update', 'a', { x: '3' })).toBe(false);
    expect(may(access([one, other, open]), 'update', 'a', { x: '3' })).toBe(true);
  });

  it.each<[string, number | undefined, boolean]>([
    ['min_wrapping_ttl = "1m"', undefined, false],
    ['min_wrapping_ttl = "1m"', 59, false],
    ['min_wrapping_ttl = "1m"', 60, true],
    ['max_wrapping_ttl = 120', undefined, false],
    ['max_wrapping_ttl = 120', 121, false],
    ['max_wrapping_ttl = "120"', 120, true],
    ['min_wrapping_ttl = "1m"\n max_wrapping_ttl = "2m"', 90, true],
  ])('%s with a wrapping time of %s: %s', (body, wrapTtlSeconds, expected) => {
    const decision = block(body).decide({ path: at('a'), operation: 'update', wrapTtlSeconds });
    expect(decision.allowed).toBe(expected);
    if (!expected) expect(decision.objection).toBe('wrapping');
  });

  it('limits the pages of lists', () => {
    const list = access('path "a" { capabilities = ["list"] pagination_limit = 10 }');
    expect(list.decide({ path: at('a/'), operation: 'list' })).toMatchObject({ allowed: true, paginationLimit: 10 });
    expect(may(list, 'list', 'a/', { limit: '10' })).toBe(true);
    expect(may(list, 'list', 'a/', { limit: 11 })).toBe(false);
    expect(may(list, 'list', 'a/', { limit: -1 })).toBe(false);
  });
});

describe('identity templates', () => {
  const subject: Subject = {
    entity: {
      id: 'e1',
      name: 'bob',
      metadata: { team: 'web', wild: 'a*', deep: 'a/b', dotted: '..' },
      aliases: [
        { mountAccessor: 'auth_x_1', id: 'al1', name: 'bobby', metadata: { org: 'o1' }, customMetadata: { k: 'c1' } },
      ],
    },
    groups: [{ id: 'g1', name: 'ops.eu', metadata: { area: 'eu' } }],
  };
  it.each([
    ['identity.entity.id', 'e1'],
    ['identity.entity.name', 'bob'],
    ['identity.entity.metadata.team', 'web'],
    ['identity.entity.aliases.auth_x_1.id', 'al1'],
    ['identity.entity.aliases.auth_x_1.name', 'bobby'],
    ['identity.entity.aliases.auth_x_1.metadata.org', 'o1'],
    ['identity.entity.aliases.auth_x_1.custom_metadata.k', 'c1'],
    ['identity.groups.ids.g1.name', 'ops.eu'],
    ['identity.groups.ids.g1.metadata.area', 'eu'],
    ['identity.groups.names.ops.eu.id', 'g1'],
    ['identity.groups.names.ops.eu.metadata.area', 'eu'],
  ])('fills %s', (name, value) => {
    const list = access(rules(`sec/{{${name}}}/* read`), subject);
    expect(may(list, 'read', `sec/${value}/x`)).toBe(true);
    expect(may(list, 'read', 'sec/other/x')).toBe(false);
    expect(may(access(`path "sec/{{ ${name} }}/*" { policy = "read" }`, subject), 'read', `sec/${value}/x`)).toBe(true);
  });

  it.each([
    'identity.entity.metadata.absent',
    'identity.entity.aliases.auth_y_2.name',
    'identity.groups.ids.g2.name',
    'identity.groups.names.dev.id',
    'identity.entity.metadata.toString',
    'identity.entity.metadata.wild',
    'identity.entity.metadata.deep',
    'identity.entity.metadata.dotted',
    'something.else',
  ])('drops a block whose template %s cannot be filled safely', (name) => {
    const list = access(`path "sec/{{${name}}}" { policy = "write" }\npath "sec/kept" { policy = "read" }`, subject);
    expect(list.explain({ path: at('sec/kept'), operation: 'read' }).losers).toEqual([]);
    expect(list.grantsSome({ segments: ['sec', { free: true }] }, 'update')).toBe(false);
  });

  it('drops templates for a caller without an entity', () => {
    expect(access(rules('sec/{{identity.entity.id}} read')).grantsBelow('sec/')).toBe(false);
  });

  it('fills values with wildcards or slashes only where the policy allows them', () => {
    const policy = parsePolicy(
      rules('s/{{identity.entity.metadata.deep}} read', 's/{{identity.entity.metadata.wild}} read'),
    );
    const flags = { allowsWildcardsInTemplates: true, allowsSlashesInTemplates: true };
    const list = compile([{ name: 'p', namespacePath: '', policy, ...flags }], subject, 0);
    expect(may(list, 'read', 's/a/b')).toBe(true);
    expect(may(list, 'read', 's/abc')).toBe(true);
  });
});

describe('rights on path templates', () => {
  const free = { free: true } as const;
  it.each<[string, string[], Parameters<AccessList['grantsSome']>[0], Operation, boolean]>([
    ['a literal rule', ['sys/mounts read'], { segments: ['sys', 'mounts'] }, 'read', true],
    ['another capability', ['sys/mounts read'], { segments: ['sys', 'mounts'] }, 'update', false],
    ['one concrete name', ['sec/a read'], { segments: ['sec', free] }, 'read', true],
    ['a deny on everything else', ['sec/a read', 'sec/* deny'], { segments: ['sec', free] }, 'read', true],
    ['a deny that covers the grant', ['sec/* read', 'sec/+ deny'], { segments: ['sec', free] }, 'read', false],
    ['a deny on one segment only', ['sec/* read', 'sec/+ deny'], { segments: ['sec'], open: true }, 'read', true],
    ['a deny on one name', ['sec/+ read', 'sec/a deny'], { segments: ['sec', free] }, 'read', true],
    ['another depth', ['sec/+/x read'], { segments: ['sec', free] }, 'read', false],
    ['an empty name', ['sec/ read'], { segments: ['sec', free] }, 'read', false],
    ['a list without its slash', ['sec list'], { segments: ['sec', ''] }, 'list', true],
    ['a prefix inside a segment', ['sec/ab* read'], { segments: ['sec', free, 'x'] }, 'read', true],
    ['a prefix that does not fit', ['sec/ab* read'], { segments: ['sec', 'xy'] }, 'read', false],
  ])('%s', (_, lines, template, operation, expected) => {
    expect(access(rules(...lines)).grantsSome(template, operation)).toBe(expected);
  });

  it('knows whether anything below a prefix is granted', () => {
    const list = access(rules('sec/a/b read', 'kv/* deny', 'list/ list', 'ns1/kv/x read'));
    expect(['sec/', 'kv/', 'list/', 'ns1/', 'none/'].map((prefix) => list.grantsBelow(prefix))).toEqual([
      true,
      false,
      true,
      true,
      false,
    ]);
  });
});

describe('rules for paths of which a segment is read in lower case', () => {
  const folding: Folding = { fold: 'case', from: 2, to: 3 };
  const may = (list: AccessList, operation: Operation, path: string) =>
    list.decide({ path: at(path), folding, operation }).allowed;

  it('are read in lower case there, and only there', () => {
    const list = access(rules('auth/UP/Bob read', 'auth/UP/An* read', 'auth/Up/eve read', 'auth/+/x/Y read'));
    expect(may(list, 'read', 'auth/UP/bob')).toBe(true);
    expect(may(list, 'read', 'auth/UP/anna')).toBe(true);
    expect(may(list, 'read', 'auth/up/bob')).toBe(false);
    expect(may(list, 'read', 'auth/UP/eve')).toBe(false);
    expect(may(list, 'read', 'auth/UP/x/Y')).toBe(true);
    expect(may(list, 'read', 'auth/UP/x/y')).toBe(false);
  });

  it('are one rule where they then mean the same, and deny beats all', () => {
    const list = access([rules('a/b/BOB read', 'a/b/bob update'), rules('a/b/Eve deny', 'a/b/* read')]);
    expect(list.capabilities(at('a/b/bob'), folding)).toEqual(['read', 'update']);
    expect(list.capabilities(at('a/b/eve'), folding)).toEqual(['deny']);
    expect(list.capabilities(at('a/b/eve'))).toEqual(['read']);
    const { rule, losers } = list.explain({ path: at('a/b/eve'), folding, operation: 'read' });
    expect(rule?.places.map(({ pattern }) => pattern)).toEqual(['a/b/Eve']);
    expect(losers.map(({ pattern }) => pattern)).toEqual(['a/b/*']);
  });

  it('keep their demands: parameters, wrapping and second factors add up', () => {
    const list = access(
      'path "a/b/X" { capabilities = ["update"] required_parameters = ["p"] mfa_methods = ["one"] max_wrapping_ttl = "9s" }\n' +
        'path "a/b/x" { capabilities = ["update"] required_parameters = ["q"] mfa_methods = ["two"] max_wrapping_ttl = "5s" }',
    );
    const ask = (parameters: Record<string, unknown>, wrapTtlSeconds: number) =>
      list.decide({ path: at('a/b/x'), folding, operation: 'update', parameters, wrapTtlSeconds });
    expect(ask({ p: 1, q: 1 }, 5)).toMatchObject({ allowed: true });
    expect(ask({ p: 1, q: 1 }, 5).rule?.mfaMethods.map(({ method }) => method)).toEqual(['one', 'two']);
    expect(ask({ p: 1 }, 5).allowed).toBe(false);
    expect(ask({ q: 1 }, 5).allowed).toBe(false);
    expect(ask({ p: 1, q: 1 }, 6).allowed).toBe(false);
  });

  it('are found in templates too, whatever the case of the value', () => {
    const subject = { entity: { id: 'e', name: 'Anna', metadata: {}, aliases: [] }, groups: [] };
    const list = access([rules('a/b/{{identity.entity.name}} read'), rules('a/b/anna deny', 'a/c read')], subject);
    expect(may(list, 'read', 'a/b/anna')).toBe(false);
    expect(may(access(rules('a/b/{{identity.entity.name}} read'), subject), 'read', 'a/b/anna')).toBe(true);
    expect(list.grantsSome({ segments: ['a', 'b', { free: true }], folding }, 'read')).toBe(false);
    expect(list.grantsSome({ segments: ['a', 'b', { free: true }] }, 'read')).toBe(true);
  });
});
