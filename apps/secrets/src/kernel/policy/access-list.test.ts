import { describe, expect, it } from '@jest/globals';
import { ExactNumber } from '@keystead/envelope';
import type { CanonicalPath, Folding } from '../../sdk/canonical-path';
import { rootAccess } from './access-list';
import { compile } from './compile';
import { parsePolicy } from './parse-policy';
import type { AccessList, Capability, Operation, Subject } from './types';

const at = (path: string) => path as CanonicalPath;

/** An access list from the text of policies; a policy's name is its place in the list. */
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

describe('a rule that matched but did not apply', () => {
  it.each<[string, string, string, string]>([
    ['sec/*', 'sec/a', 'sec/a', 'an exact pattern wins over wildcards'],
    ['sec/+/x', 'sec/a/*', 'sec/a/x', 'its first wildcard is further to the left'],
    ['sec/*', 'sec/+', 'sec/a', 'it ends in *'],
    ['+/b*', '+/+', 'a/b', 'it ends in *'],
    ['+/+/c', '+/b/c', 'a/b/c', 'it has more + segments'],
    ['+/b*', '+/bc*', 'a/bcd', 'it is shorter'],
    ['+/a*', '+/a/b*', 'x/a/bc', 'it is shorter'],
    ['+/a*', '+/a+b*', 'x/a+bc', 'it is shorter'],
    // Only the last character can be a wildcard.
    ['a*b/c*', 'a*b/cd*', 'a*b/cde', 'its first wildcard is further to the left'],
    ['+/+/+/cd', '+/+/ab/+', 'x/y/ab/cd', 'it sorts before the winner'],
    // A + inside a segment is an ordinary character.
    ['+/a+b*', '+/a+bc*', 'x/a+bc', 'it is shorter'],
    ['a+/+', 'a+/b*', 'a+/b', 'its first wildcard is further to the left'],
    ['+/b+/+', '+/b+/c', 'a/b+/c', 'it has more + segments'],
    ['x+/y/*', 'x+/y/+', 'x+/y/z', 'it ends in *'],
    ['+x/y/*', '+x/y/+', '+x/y/z', 'it ends in *'],
  ])('%s against %s on %s: %s', (loser, winner, path, because) => {
    const list = access(rules(`${loser} read`, `${winner} read`));
    const { rule, losers } = list.explain({ path: at(path), operation: 'read' });
    expect(rule?.pattern).toBe(winner);
    expect(losers.map(({ pattern, lostBecause }) => [pattern, lostBecause])).toEqual([[loser, because]]);
  });

  it('is the rule for the path without its slash, if a list has its own rule with the slash', () => {
    const list = access(rules('sec/a/ list', 'sec/a list'));
    const { rule, losers } = list.explain({ path: at('sec/a/'), operation: 'list' });
    expect(rule?.pattern).toBe('sec/a/');
    expect(losers.map(({ lostBecause }) => lostBecause)).toEqual(['the path with its trailing slash wins']);
  });

  // A list uses the rule that matches its path with the slash, even if another would rank higher without it.
  it.each([
    ['sec/+', 'sec/*', 'sec/a/'],
    ['+/+', '+/a*', 'sec/ab/'],
    ['+/b', '+/b*', 'sec/b/'],
  ])('is %s against %s for a list of %s', (loser, winner, path) => {
    const { rule, losers } = access(rules(`${loser} list`, `${winner} list`)).explain({
      path: at(path),
      operation: 'list',
    });
    expect(rule?.pattern).toBe(winner);
    expect(losers).toMatchObject([{ pattern: loser, lostBecause: 'the path with its trailing slash wins' }]);
  });

  it('does not exist for root', () => {
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

  it('denies paths that no rule covers, and does not combine rules of different patterns', () => {
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

  it('lets deny win only within its own pattern', () => {
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
  ])('parses the short policy %s', (name, expected) => {
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

  it('does not treat a policy called root in a child namespace as the root policy', () => {
    const policy = parsePolicy('');
    expect(compile([{ name: 'root', namespacePath: 'ns1/', policy }], undefined, 0).root).toBe(false);
  });

  it('reports a refusal, and whether the rule grants sudo', () => {
    const list = access(rules('a read,sudo', 'b read', 'c deny'));
    const ask = (path: string, operation: Operation) => {
      const { allowed, sudo, root, objection } = list.decide({ path: at(path), operation });
      return { allowed, sudo, root, objection };
    };
    expect(ask('a', 'read')).toEqual({ allowed: true, sudo: true, root: false, objection: undefined });
    expect(ask('a', 'update')).toEqual({ allowed: false, sudo: true, root: false, objection: 'capability' });
    expect(ask('b', 'read')).toEqual({ allowed: true, sudo: false, root: false, objection: undefined });
    expect(ask('b', 'update')).toEqual({ allowed: false, sudo: false, root: false, objection: 'capability' });
    expect(ask('c', 'update')).toEqual({ allowed: false, sudo: false, root: false, objection: 'denied' });
  });

  it('has one rule for each pattern, and counts its own rules', () => {
    const list = access([rules('a read', 'b/* read'), rules('a list')]);
    expect(list.rules.map(({ pattern }) => pattern)).toEqual(['a', 'b/*']);
    expect(list.size).toBe(2);
    expect(list.rules[0]?.places).toEqual([
      { policy: 'p0', namespacePath: '', pattern: 'a', line: 1 },
      { policy: 'p1', namespacePath: '', pattern: 'a', line: 1 },
    ]);
  });

  it('treats a path that ends in a slash as a list for capabilities', () => {
    const list = access(rules('sec/a list', '/b/c read'));
    expect(list.capabilities(at('sec/a/'))).toEqual(['list']);
    expect(list.capabilities(at('/b/c'))).toEqual(['read']);
    expect(list.capabilities(at('//b/c'))).toEqual(['read']);
    expect(list.capabilities(at('b/c/'))).toEqual(['read']);
    expect(access(rules('b/+ read')).capabilities(at('/b/'))).toEqual(['read']);
  });

  it('puts the namespace of a policy in front of its patterns', () => {
    const policy = parsePolicy(rules('sec/* read'));
    const list = compile([{ name: 'p', namespacePath: 'ns1/', policy }], undefined, 0);
    expect(may(list, 'read', 'ns1/sec/a')).toBe(true);
    expect(may(list, 'read', 'sec/a')).toBe(false);
  });

  it('drops blocks from the moment they expire, and reports how long it is valid', () => {
    const text = `path "a" {\n capabilities = ["read"]\n expiration = "2030-01-01T00:00:00Z"\n}`;
    const expiry = Date.parse('2030-01-01T00:00:00Z');
    expect(access(text, undefined, expiry - 1).validUntilMs).toBe(expiry);
    expect(may(access(text, undefined, expiry - 1), 'read', 'a')).toBe(true);
    expect(may(access(text, undefined, expiry), 'read', 'a')).toBe(false);
    expect(access(rules('a read')).validUntilMs).toBeUndefined();
    expect(access(`${text}\n${rules('b read')}`).validUntilMs).toBe(expiry);
  });

  it('caches a positive decision', () => {
    const list = access(rules('a read'));
    const ask = () => list.decide({ path: at('a'), operation: 'read' });
    expect(ask()).toBe(ask());
  });

  it('lists exactly the path without a slash, not paths that begin like it', () => {
    const list = access(rules('sec/a list', 'sec/abc/ list'));
    expect(['sec/a', 'sec/a/', 'sec/ab', 'sec/abc'].map((path) => may(list, 'list', path))).toEqual([
      ...[true, true, false, false],
    ]);
    expect(list.capabilities(at('sec/ab'))).toEqual(['deny']);
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
    ['required_parameters = ["a"]', { a: 1, b: null }, true],
    ['required_parameters = ["toString"]', {}, false],
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
    ['allowed_parameters = { "x" = ["pre*"] }', { x: 'post' }, false],
    ['allowed_parameters = { "x" = ["pre"] }', { x: 'pro' }, false],
    ['allowed_parameters = { "x" = ["pre"] }', { x: 'prefix' }, false],
    ['allowed_parameters = { "x" = ["*fix"] }', { x: 'prefix' }, true],
    ['allowed_parameters = { "x" = ["*ef*"] }', { x: 'prefix' }, true],
    ['allowed_parameters = { "x" = ["*zz*"] }', { x: 'prefix' }, false],
    ['allowed_parameters = { "x" = ["*"] }', { x: '' }, false],
    ['allowed_parameters = { "x" = ["*"] }', { x: '*' }, true],
    ['allowed_parameters = { "x" = ["**"] }', { x: '' }, true],
    ['allowed_parameters = { "x" = [5] }', { x: 5 }, true],
    ['allowed_parameters = { "x" = [5] }', { x: '5' }, false],
    ['allowed_parameters = { "x" = [5] }', { x: 6 }, false],
    ['allowed_parameters = { "x" = [5] }', { x: null }, false],
    ['allowed_parameters = { "x" = [5] }', { x: [5] }, false],
    ['allowed_parameters = { "x" = [5] }', { x: { toString: () => '5' } }, false],
    ['allowed_parameters = { "x" = [-5.0] }', { x: -5 }, true],
    ['allowed_parameters = { "x" = [9007199254740991.0] }', { x: 9007199254740991 }, true],
    ['allowed_parameters = { "x" = [-9007199254740992.0] }', { x: -9007199254740992 }, true],
    ['allowed_parameters = { "x" = ["5"] }', { x: 5 }, false],
    ['allowed_parameters = { "x" = ["a"] }', { x: ['a'] }, false],
    ['allowed_parameters = { "x" = ["*a*"] }', { x: ['a'] }, false],
    ['allowed_parameters = { "x" = ["a*"] }', { x: 'ba' }, false],
    ['allowed_parameters = { "x" = ["*a"] }', { x: 'ab' }, false],
    ['allowed_parameters = { "x" = ["*"] }', { x: 'a' }, false],
    ['allowed_parameters = { "x" = [""] }', { x: '' }, true],
    ['allowed_parameters = { "x" = [""] }', { x: 'a' }, false],
    ['allowed_parameters = { "x" = ["a"] }', { x: 'a' }, true],
    ['allowed_parameters = { "x" = ["a"] }', { x: 'b' }, false],
    ['allowed_parameters = { "x" = ["**"] }', { x: 'any' }, true],
    ['allowed_parameters = { "x" = ["a*"] }', { x: 'a' }, true],
    ['allowed_parameters = { "x" = ["*a"] }', { x: 'a' }, true],
    ['allowed_parameters = { "x" = [false] }', { x: false }, true],
    ['allowed_parameters = { "x" = [true] }', { x: 'true' }, false],
    ['allowed_parameters = { "X" = ["1"] }', { x: '1' }, true],
    ['allowed_parameters = { "x" = ["1"], "y" = [] }', { x: '1', y: 'a' }, true],
    ['allowed_parameters = { "x" = ["1"], "y" = [] }', { x: '2', y: 'a' }, false],
    ['denied_parameters = { "x" = ["1"], "y" = ["2"] }', { x: '2', y: '2' }, false],
    ['denied_parameters = { "x" = ["1"], "y" = ["2"] }', { x: '2', y: '1', z: '1' }, true],
    ['denied_parameters = { "x" = ["1"] }\n allowed_parameters = { "x" = [], "y" = [] }', { x: '2', y: '1' }, true],
    ['allowed_parameters = { "x" = [1.50] }', { x: new ExactNumber('1.5') }, true],
    ['allowed_parameters = { "x" = [9007199254740993] }', { x: new ExactNumber('9007199254740992') }, false],
    ['allowed_parameters = { "x" = [9007199254740993] }', { x: new ExactNumber('9007199254740993') }, true],
    ['allowed_parameters = { "x" = [true] }', { x: true }, true],
    ['allowed_parameters = { "x" = [["a", "b"]] }', { x: ['a', 'b'] }, true],
    ['allowed_parameters = { "x" = [["a", "b"]] }', { x: ['b', 'a'] }, false],
    ['allowed_parameters = { "x" = [{ "k" = "v" }] }', { x: { k: 'v' } }, true],
    ['allowed_parameters = { "x" = [["a", "b"]] }', { x: ['a'] }, false],
    ['allowed_parameters = { "x" = [["a"]] }', { x: ['a', 'b'] }, false],
    ['allowed_parameters = { "x" = [["a*"]] }', { x: ['ab'] }, false],
    ['allowed_parameters = { "x" = [["a"]] }', { x: 'a' }, false],
    ['allowed_parameters = { "x" = [["a"]] }', { x: { 0: 'a', length: 1 } }, false],
    ['allowed_parameters = { "x" = [[]] }', { x: [] }, true],
    ['allowed_parameters = { "x" = [[[1], true]] }', { x: [[1], true] }, true],
    ['allowed_parameters = { "x" = [[[1], true]] }', { x: [[2], true] }, false],
    ['allowed_parameters = { "x" = [{ "k" = "v" }] }', { x: { k: 'v', l: 'w' } }, false],
    ['allowed_parameters = { "x" = [{ "k" = "v", "l" = 1 }] }', { x: { l: 1, k: 'v' } }, true],
    ['allowed_parameters = { "x" = [{ "k" = "v", "l" = 1 }] }', { x: { l: 2, k: 'v' } }, false],
    ['allowed_parameters = { "x" = [{ "k" = "v", "l" = 1 }] }', { x: { k: 'v' } }, false],
    ['allowed_parameters = { "x" = [{ "k" = "v" }] }', { x: { l: 'v' } }, false],
    ['allowed_parameters = { "x" = [{ "k" = "v" }] }', { x: null }, false],
    ['allowed_parameters = { "x" = [{ "k" = "v" }] }', { x: 'v' }, false],
    ['allowed_parameters = { "x" = [{ "0" = "v" }] }', { x: ['v'] }, false],
    ['allowed_parameters = { "x" = [{ "0" = "v" }] }', { x: 'v' }, false],
    ['allowed_parameters = { "x" = [{ }] }', { x: {} }, true],
    ['allowed_parameters = { "x" = [{ }] }', { x: [] }, false],
    ['allowed_parameters = { "x" = ["a"] }\n denied_parameters = { "x" = ["a"] }', { x: 'a' }, false],
  ])('%s allows %j: %s', (body, parameters, expected) => {
    expect(may(block(body), 'update', 'a', parameters)).toBe(expected);
  });

  it('treats null as a value only if all fields are data', () => {
    const list = block('required_parameters = ["a"]');
    const ask = (freeform: boolean) =>
      list.decide({ path: at('a'), operation: 'update', parameters: { a: null }, freeform }).allowed;
    expect([ask(false), ask(true)]).toEqual([false, true]);
  });

  it.each<[string, Record<string, unknown>, string | undefined]>([
    ['required_parameters = ["a"]', {}, 'required-parameter'],
    ['denied_parameters = { a = [] }', { a: 1 }, 'denied-parameter'],
    ['allowed_parameters = { a = [] }', { b: 1 }, 'allowed-parameter'],
    ['allowed_parameters = { a = [] }', { a: 1 }, undefined],
  ])('%s objects to %j: %s', (body, parameters, objection) => {
    expect(block(body).decide({ path: at('a'), operation: 'update', parameters }).objection).toBe(objection);
  });

  it('do not apply to deletions, nor, except for the page size, to lists', () => {
    const list = access(
      'path "a" { capabilities = ["delete", "list", "scan", "read"]\nrequired_parameters = ["x"]\ndenied_parameters = { y = [] } }',
    );
    const operations: Operation[] = ['delete', 'list', 'scan', 'read'];
    expect(operations.map((operation) => may(list, operation, 'a', { y: 1 }))).toEqual([true, true, true, false]);
    expect(list.decide({ path: at('a'), operation: 'list' })).not.toHaveProperty('paginationLimit');
    expect(list.decide({ path: at('a'), operation: 'list' })).not.toHaveProperty('listFilter');
  });

  it('merges lists of several policies, where an empty list means every value', () => {
    const one = 'path "a" { capabilities = ["update"] allowed_parameters = { "x" = ["1"] } }';
    const other = 'path "a" { capabilities = ["update"] allowed_parameters = { "x" = ["2"] "y" = [] } }';
    const open = 'path "a" { capabilities = ["update"] allowed_parameters = { "x" = [] } }';
    expect(may(access([one, other]), 'update', 'a', { x: '1', y: 'z' })).toBe(true);
    expect(may(access([one, other]), 'update', 'a', { x: '3' })).toBe(false);
    expect(may(access([one, other, open]), 'update', 'a', { x: '3' })).toBe(true);
  });

  it('combines the requirements of several policies for one pattern', () => {
    const policy = (body: string) => `path "a" { capabilities = ["update", "list"]\n${body} }`;
    const list = access([
      policy('required_parameters = ["p"] mfa_methods = ["one"] list_scan_response_keys_filter_path = "first"'),
      policy('min_wrapping_ttl = 5 max_wrapping_ttl = 9 pagination_limit = 7'),
      policy('required_parameters = ["q", "p"] mfa_methods = ["two", "one"] denied_parameters = { r = [] }'),
      policy('min_wrapping_ttl = 3 max_wrapping_ttl = 11 pagination_limit = 9'),
      policy('denied_parameters = { s = [] } list_scan_response_keys_filter_path = "second"'),
    ]);
    const ask = (parameters: Record<string, unknown>, wrapTtlSeconds: number) =>
      list.decide({ path: at('a'), operation: 'update', parameters, wrapTtlSeconds }).objection;
    expect([2, 3, 9, 10].map((seconds) => ask({ p: 1, q: 1 }, seconds))).toEqual([
      ...['wrapping', undefined, undefined, 'wrapping'],
    ]);
    expect([ask({ p: 1 }, 5), ask({ q: 1 }, 5)]).toEqual(['required-parameter', 'required-parameter']);
    expect([ask({ p: 1, q: 1, r: 1 }, 5), ask({ p: 1, q: 1, s: 1 }, 5)]).toEqual([
      'denied-parameter',
      'denied-parameter',
    ]);
    const { paginationLimit, listFilter, rule } = list.decide({ path: at('a'), operation: 'list', wrapTtlSeconds: 5 });
    expect([paginationLimit, listFilter]).toEqual([7, 'first']);
    expect(rule?.mfaMethods).toEqual(['one', 'two'].map((method) => ({ namespacePath: '', method })));
  });

  it('requires second factors of each namespace', () => {
    const policy = parsePolicy('path "a" { capabilities = ["read"] mfa_methods = ["m"] }');
    const inner = parsePolicy('path "x/a" { capabilities = ["read"] mfa_methods = ["m"] }');
    const list = compile(
      [
        { name: 'p', namespacePath: 'ns/x/', policy },
        { name: 'q', namespacePath: 'ns/', policy: inner },
      ],
      undefined,
      0,
    );
    expect(list.decide({ path: at('ns/x/a'), operation: 'read' }).rule?.mfaMethods).toEqual([
      { namespacePath: 'ns/x/', method: 'm' },
      { namespacePath: 'ns/', method: 'm' },
    ]);
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
    expect(['0', '9', 'x', '1e1', ' 5', '5 ', ''].map((limit) => may(list, 'list', 'a/', { limit }))).toEqual([
      ...[true, true, false, false, false, false, false],
    ]);
    expect(list.decide({ path: at('a/'), operation: 'list', parameters: { limit: 11 } }).objection).toBe('pagination');
  });

  it('requires the page size if the policy does, and limits it', () => {
    const body = 'capabilities = ["list", "read"] required_parameters = ["limit"]';
    const list = access(`path "a" { ${body} pagination_limit = 10 }`);
    const ask = (parameters: Record<string, unknown>) =>
      list.decide({ path: at('a'), operation: 'list', parameters }).objection;
    expect([ask({}), ask({ limit: 5 })]).toEqual(['required-parameter', undefined]);
    expect(may(access(`path "a" { ${body} }`), 'list', 'a')).toBe(true);
  });

  it('returns the list filter, only for lists', () => {
    const list = access(
      'path "a" { capabilities = ["list", "scan", "read"] pagination_limit = 10 list_scan_response_keys_filter_path = "{{ .key }}" }',
    );
    const ask = (operation: Operation) => {
      const { paginationLimit, listFilter } = list.decide({ path: at('a'), operation });
      return { paginationLimit, listFilter };
    };
    const limited = { paginationLimit: 10, listFilter: '{{ .key }}' };
    expect([ask('list'), ask('scan'), ask('read')]).toEqual([limited, limited, {}]);
  });
});

describe('identity templates', () => {
  const subject: Subject = {
    entity: {
      id: 'e1',
      name: 'bob',
      metadata: { team: 'web', wild: 'a*', plus: '+', deep: 'a/b', dotted: '..', dot: '.', braces: 'a{{', empty: '' },
      aliases: [
        { mountAccessor: 'auth_x_1', id: 'al1', name: 'bobby', metadata: { org: 'o1' }, customMetadata: { k: 'c1' } },
      ],
    },
    groups: [
      { id: 'g0', name: 'ops', metadata: { area: 'all' } },
      { id: 'g1', name: 'ops.eu', metadata: { area: 'eu' } },
    ],
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
    ['identity.groups.names.ops.id', 'g0'],
    ['identity.groups.names.ops.metadata.area', 'all'],
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
    'identity.entity.metadata.dot',
    'identity.entity.metadata.plus',
    'identity.entity.metadata.braces',
    'identity.entity.metadata.empty',
    'identity.entity.metadata',
    'identity.entity.metadata.',
    'identity.entity.team',
    'identity.entity.idx',
    'identity.entity.aliases.auth_x_1',
    'identity.entity.aliases.auth_x_1.org',
    'identity.entity.aliases.auth_x_1.custom_metadata.org',
    'identity.entity.aliases.auth_x_1.metadata.k',
    'identity.entity.x.auth_x_1.id',
    'identity.groups.ids.g1',
    'identity.groups.ids.g1.id',
    'identity.groups.ids.g1.area',
    'identity.groups.names.ops.eu',
    'identity.groups.names.ops.eu.name',
    'identity.groups.names.ops.eu.area',
    'identity.groups.names.ops.eux.id',
    'something.else',
    'something.entity.id',
  ])('drops a block whose template %s cannot be filled safely', (name) => {
    const list = access(`path "sec/{{${name}}}" { policy = "write" }\npath "sec/kept" { policy = "read" }`, subject);
    expect(list.explain({ path: at('sec/kept'), operation: 'read' }).losers).toEqual([]);
    expect(list.grantsSome({ segments: ['sec', { free: true }] }, 'update')).toBe(false);
  });

  it('drops templates for a caller without an entity', () => {
    expect(access(rules('sec/{{identity.entity.id}} read')).grantsBelow('sec/')).toBe(false);
  });

  it('fills all templates of a pattern, and keeps the text around them', () => {
    const list = access(
      rules('a/{{identity.entity.id}}-{{identity.entity.name}}x/{{identity.groups.ids.g1.name}} read'),
      subject,
    );
    expect(list.rules.map(({ pattern }) => pattern)).toEqual(['a/e1-bobx/ops.eu']);
  });

  it('fills group templates, if known, for a caller without an entity', () => {
    const list = access(rules('a/{{identity.entity.id}} read', 'b/{{identity.groups.ids.g1.name}} read'), {
      groups: subject.groups,
    });
    expect(list.rules.map(({ pattern }) => pattern)).toEqual(['b/ops.eu']);
  });

  it('merges a filled-in pattern with an equal literal one into one rule', () => {
    const list = access([rules('a/{{identity.entity.name}} read', 'b read'), rules('a/bob update')], subject);
    expect(list.capabilities(at('a/bob'))).toEqual(['read', 'update']);
    expect(list.capabilities(at('b'))).toEqual(['read']);
    expect(list.size).toBe(2);
    const apart = access([rules('a/{{identity.entity.name}} read', 'b read'), rules('c read')], subject);
    expect([apart.size, apart.rules.length]).toEqual([1, 3]);
    expect(['a/bob', 'b', 'c'].map((path) => may(apart, 'read', path))).toEqual([true, true, true]);
    const partly = access(
      [rules('a/{{identity.entity.name}} read', 'x/{{identity.entity.name}} read'), rules('a/bob update')],
      subject,
    );
    expect(partly.capabilities(at('a/bob'))).toEqual(['read', 'update']);
    const denied = access([rules('a/{{identity.entity.name}} read'), rules('a/bob deny')], subject);
    expect(denied.capabilities(at('a/bob'))).toEqual(['deny']);
  });

  it('ranks filled-in patterns among literal ones', () => {
    const list = access(
      rules('a/+ read', 'a/{{identity.entity.name}}* read', 'a/* read', '+/{{identity.entity.name}}* read'),
      subject,
    );
    const { rule, losers } = list.explain({ path: at('a/bobby'), operation: 'read' });
    expect([rule, ...losers].map((one) => one?.pattern)).toEqual(['a/bob*', 'a/+', 'a/*', '+/bob*']);
    expect(list.decide({ path: at('a/x'), operation: 'read' }).rule?.pattern).toBe('a/+');
    expect(list.decide({ path: at('x/bob'), operation: 'read' }).rule?.pattern).toBe('+/bob*');
    expect(list.grantsSome({ segments: ['a'], open: true }, 'read')).toBe(true);
  });

  it.each([
    [{}, [false, false]],
    [{ allowsWildcardsInTemplates: true }, [true, false]],
    [{ allowsSlashesInTemplates: true }, [false, true]],
  ])('fills values under %j', (flags, expected) => {
    const policy = parsePolicy(
      rules('s/{{identity.entity.metadata.plus}} read', 't/{{identity.entity.metadata.deep}} read'),
    );
    const list = compile([{ name: 'p', namespacePath: '', policy, ...flags }], subject, 0);
    expect([may(list, 'read', 's/a'), may(list, 'read', 't/a/b')]).toEqual(expected);
  });

  it('fills nothing for root, who may do everything', () => {
    const root = { name: 'root', namespacePath: '', policy: parsePolicy(rules('a/{{identity.entity.name}} deny')) };
    expect(compile([root], subject, 0)).toBe(rootAccess);
  });

  it('inserts values with wildcards or slashes only if the policy allows them', () => {
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
    ['a prefix of a name', ['sec/ab* read'], { segments: ['sec', 'abc'] }, 'read', true],
    ['only a prefix', ['sec/ab* read', 'sec/ab deny'], { segments: ['sec', free] }, 'read', true],
    ['a prefix far above', ['sec/ab* read'], { segments: ['sec', 'abc', 'd', free] }, 'read', true],
    ['a deny far below a prefix', ['sec/ab* read', 'sec/abc/d deny'], { segments: ['sec', 'abc', 'd'] }, 'read', false],
    ['a + for a name', ['+/x read'], { segments: ['sec', 'x'] }, 'read', true],
    ['a + for a name that is denied', ['+/x read', 'sec/x deny'], { segments: ['sec', 'x'] }, 'read', false],
    ['a + for the free segment', ['+/+ read'], { segments: [free, free] }, 'read', true],
    ['a + inside a name', ['+a/x read'], { segments: ['sec', 'x'] }, 'read', false],
    ['another name', ['a/x read'], { segments: ['b', 'x'] }, 'read', false],
    ['another last name', ['sec/a read'], { segments: ['sec', 'b'] }, 'read', false],
    ['a longer name', ['secret/x read'], { segments: ['sec', 'x'] }, 'read', false],
    ['an empty name inside', ['sec//x read'], { segments: ['sec', free, 'x'] }, 'read', false],
    ['an empty name below', ['sec//x read'], { segments: ['sec'], open: true }, 'read', true],
    ['the folder itself', ['sec/ read'], { segments: ['sec'], open: true }, 'read', true],
    ['nothing below', ['sec read'], { segments: ['sec'], open: true }, 'read', false],
    ['more segments than any rule', ['* read'], { segments: ['a', 'b'], open: true }, 'read', true],
    ['only depth', ['sec/* read', 'sec/+ deny', 'sec/+/+ deny'], { segments: ['sec'], open: true }, 'read', true],
    ['a list of the free segment', ['sec list'], { segments: ['sec', free] }, 'list', false],
    ['a list further down', ['sec list'], { segments: ['sec', 'a', ''] }, 'list', false],
    ['a read of a folder', ['sec read'], { segments: ['sec', ''] }, 'read', false],
    ['a list below a +', ['sec/+ list'], { segments: ['sec', free, ''] }, 'list', true],
    ['a scan', ['sec scan'], { segments: ['sec', ''] }, 'scan', true],
    ['one of many rules', ['a/x read', 'sec/a list', 'sec/b read'], { segments: ['sec', free] }, 'read', true],
  ])('%s', (_, lines, template, operation, expected) => {
    expect(access(rules(...lines)).grantsSome(template, operation)).toBe(expected);
  });

  it('requires sudo as well if asked for it', () => {
    const list = access(rules('a read', 'b read,sudo', 'c sudo', 'd deny'));
    const ask = (name: string, sudo?: boolean) => list.grantsSome({ segments: [name] }, 'read', sudo);
    expect(['a', 'b', 'c', 'd'].map((name) => [ask(name), ask(name, true)])).toEqual([
      [true, false],
      [true, true],
      [false, false],
      [false, false],
    ]);
    expect(
      ['a', 'b', 'c', 'd'].map((name) =>
        access(rules(`${name}/x ${name === 'd' ? 'deny' : 'sudo'}`)).grantsBelow(`${name}/`),
      ),
    ).toEqual([...[false, false, false, false]]);
  });

  it('lets a rule without the slash decide about a list, as decisions do', () => {
    const list = access(rules('sec/* read,list', 'sec deny'));
    const folder: Parameters<AccessList['grantsSome']>[0] = { segments: ['sec', ''] };
    expect([list.grantsSome(folder, 'list'), list.grantsSome(folder, 'read')]).toEqual([false, true]);
  });

  it('knows the whole prefix below which something is granted', () => {
    const list = access(rules('ns1/kv/x read', '+/x/ list', 'sec/x deny'));
    // Listing sec/ is decided by the rule without the slash.
    expect(['ns1/kv/', 'ns1/other/', 'sec/'].map((prefix) => list.grantsBelow(prefix))).toEqual([true, false, false]);
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

  it('are read again for each depth', () => {
    const list = access(rules('A/B/C read'));
    const ask = (from: number, to: number, path: string) =>
      list.decide({ path: at(path), folding: { fold: 'case', from, to }, operation: 'read' }).allowed;
    expect([ask(2, 3, 'A/B/c'), ask(1, 2, 'A/B/c'), ask(1, 2, 'A/b/C'), ask(1, 3, 'A/b/c')]).toEqual([
      ...[true, false, true, true],
    ]);
  });

  it('are one rule if they then mean the same, and deny takes precedence', () => {
    const list = access([rules('a/b/BOB read', 'a/b/bob update'), rules('a/b/Eve deny', 'a/b/* read')]);
    expect(list.capabilities(at('a/b/bob'), folding)).toEqual(['read', 'update']);
    expect(list.capabilities(at('a/b/eve'), folding)).toEqual(['deny']);
    expect(list.capabilities(at('a/b/eve'))).toEqual(['read']);
    const { rule, losers } = list.explain({ path: at('a/b/eve'), folding, operation: 'read' });
    expect(rule?.places.map(({ pattern }) => pattern)).toEqual(['a/b/Eve']);
    expect(losers.map(({ pattern }) => pattern)).toEqual(['a/b/*']);
  });

  it('keep their constraints: parameters, wrapping and second factors add up', () => {
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

  it('are denied if one of them is denied', () => {
    const list = access(rules('a/b/EVE read', 'a/b/Eve deny', 'a/b/eve list'));
    expect(list.capabilities(at('a/b/eve'), folding)).toEqual(['deny']);
    expect(access(rules('a/b/EVE deny', 'a/b/eve list')).capabilities(at('a/b/eve'), folding)).toEqual(['deny']);
  });

  it('are found in templates too, in any case of the value', () => {
    const subject = { entity: { id: 'e', name: 'Anna', metadata: {}, aliases: [] }, groups: [] };
    const list = access([rules('a/b/{{identity.entity.name}} read'), rules('a/b/anna deny', 'a/c read')], subject);
    expect(may(list, 'read', 'a/b/anna')).toBe(false);
    expect(may(access(rules('a/b/{{identity.entity.name}} read'), subject), 'read', 'a/b/anna')).toBe(true);
    expect(list.grantsSome({ segments: ['a', 'b', { free: true }], folding }, 'read')).toBe(false);
    expect(list.grantsSome({ segments: ['a', 'b', { free: true }] }, 'read')).toBe(true);
  });
});
