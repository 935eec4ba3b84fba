import { describe, expect, it } from '@jest/globals';
import { propertySettings } from '@keystead/testing';
import * as fc from 'fast-check';
import type { CanonicalPath } from '../../sdk/canonical-path';
import { compile } from './compile';
import { parsePolicy } from './parse-policy';
import type { Capability, Operation, PathTemplate, Subject } from './types';

fc.configureGlobal(propertySettings);

/**
 * The rules of the language restated as plainly as possible: look at every block, no tree, no shared code. Without this
 * test, a mistake in the compiled tree would only show as a wrong grant in production.
 */
interface Block {
  pattern: string;
  /** The pattern is written with a template instead of its first `a`: the name of the caller, which is `a`. */
  templated?: boolean;
  capabilities: Capability[];
  allowed?: Record<string, string[]>;
  denied?: Record<string, string[]>;
  required?: string[];
  min?: number;
  max?: number;
}
interface Asked {
  path: string;
  operation: Operation;
  parameters: Record<string, string>;
  wrap?: number;
}

const isPlus = (segment: string) => segment === '+';
const wild = (pattern: string) => pattern.endsWith('*') || pattern.split('/').some(isPlus);

function matches(pattern: string, path: string): boolean {
  const open = pattern.endsWith('*');
  const quote = (text: string) => text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&');
  const source = (open ? pattern.slice(0, -1) : pattern)
    .split('/')
    .map((segment, index, all) => (isPlus(segment) && !(open && index === all.length - 1) ? '[^/]*' : quote(segment)))
    .join('/');
  return new RegExp(`^${source}${open ? '.*' : ''}$`, 's').test(path);
}

/** The pattern with the greater value wins. */
function priority(pattern: string): [number, number, number, number] {
  const segments = pattern.split('/');
  const firstPlus = segments.findIndex(isPlus);
  const position =
    firstPlus < 0 ? pattern.length - 1 : segments.slice(0, firstPlus).join('/').length + (firstPlus > 0 ? 1 : 0);
  return [position, pattern.endsWith('*') ? 0 : 1, -segments.filter(isPlus).length, pattern.length];
}

function winner(blocks: Block[], path: string, listing: boolean): string | undefined {
  const patterns = [...new Set(blocks.map((block) => block.pattern))];
  const exact = patterns.filter((pattern) => !wild(pattern));
  if (exact.includes(path)) return path;
  if (listing && path.endsWith('/') && exact.includes(path.slice(0, -1))) return path.slice(0, -1);
  const matching = (text: string) => patterns.filter((pattern) => wild(pattern) && matches(pattern, text));
  const allMatches = matching(path);
  const candidates =
    allMatches.length === 0 && listing && path.endsWith('/') ? matching(path.slice(0, -1)) : allMatches;
  candidates.sort((a, b) => {
    const [pa, pb] = [priority(a), priority(b)];
    for (let i = 0; i < 4; i += 1) if (pa[i] !== pb[i]) return pb[i]! - pa[i]!;
    return a < b ? 1 : -1;
  });
  return candidates[0];
}

function union(maps: (Record<string, string[]> | undefined)[]): Record<string, string[]> | undefined {
  const parameterMaps = maps.filter((map) => map !== undefined && Object.keys(map).length > 0) as Record<
    string,
    string[]
  >[];
  if (parameterMaps.length === 0) return undefined;
  const result: Record<string, string[]> = {};
  for (const name of new Set(parameterMaps.flatMap((map) => Object.keys(map)))) {
    const lists = parameterMaps.filter((map) => name in map).map((map) => map[name]!);
    result[name] = lists.some((list) => list.length === 0) ? [] : lists.flat();
  }
  return result;
}

const glob = (pattern: string, value: string) =>
  pattern === '*'
    ? value === '*'
    : new RegExp(`^${pattern.replace(/^\*|\*$/g, '\u0000').replaceAll('\u0000', '.*')}$`).test(value);
const listed = (values: string[], value: string) =>
  values.length === 0 || values.some((pattern) => glob(pattern, value));

function slowDecide(blocks: Block[], { path, operation, parameters, wrap }: Asked): boolean {
  const listing = operation === 'list' || operation === 'scan';
  const pattern = winner(blocks, path, listing);
  if (pattern === undefined) return false;
  const same = blocks.filter((block) => block.pattern === pattern);
  if (same.some((block) => block.capabilities.includes('deny'))) return false;
  if (!same.some((block) => block.capabilities.includes(operation))) return false;
  const lowest = (bounds: (number | undefined)[]) => Math.min(...bounds.filter((bound) => bound !== undefined));
  const max = lowest(same.map((block) => block.max));
  const min = lowest(same.map((block) => block.min));
  if (Number.isFinite(max) && (wrap === undefined || wrap > max)) return false;
  if (Number.isFinite(min) && (wrap === undefined || wrap < min)) return false;
  const names = Object.keys(parameters);
  if (listing || operation === 'delete') return true;
  if (!same.flatMap((block) => block.required ?? []).every((name) => parameters[name.toLowerCase()] != null))
    return false;
  if (names.length === 0) return true;
  const denied = union(same.map((block) => block.denied));
  if (
    denied &&
    ('*' in denied ||
      names.some((name) => name.toLowerCase() in denied && listed(denied[name.toLowerCase()]!, parameters[name]!)))
  )
    return false;
  const allowed = union(same.map((block) => block.allowed));
  if (!allowed) return true;
  return names.every((name) =>
    name.toLowerCase() in allowed ? listed(allowed[name.toLowerCase()]!, parameters[name]!) : '*' in allowed,
  );
}

const subject: Subject = { entity: { id: 'e', name: 'a', metadata: {}, aliases: [] }, groups: [] };
/** The pattern as written in the policy text. */
const textOf = ({ pattern, templated }: Block) =>
  templated ? pattern.replace(/(^|\/)a(?=\/|$)/, '$1{{identity.entity.name}}') : pattern;

const asHcl = (blocks: Block[]) =>
  blocks
    .map((block) => {
      const { capabilities, allowed, denied, required, min, max } = block;
      const map = (name: string, lists?: Record<string, string[]>) =>
        lists
          ? `${name} = { ${Object.entries(lists)
              .map(([key, values]) => `"${key}" = ${JSON.stringify(values)}`)
              .join(' ')} }`
          : '';
      return `path "${textOf(block)}" {
        capabilities = ${JSON.stringify(capabilities)}
        ${map('allowed_parameters', allowed)}
        ${map('denied_parameters', denied)}
        ${required ? `required_parameters = ${JSON.stringify(required)}` : ''}
        ${min === undefined ? '' : `min_wrapping_ttl = ${min}`}
        ${max === undefined ? '' : `max_wrapping_ttl = "${max}s"`}
      }`;
    })
    .join('\n');

const asJson = (blocks: Block[]) =>
  JSON.stringify({
    path: blocks.map((block) => ({
      [textOf(block)]: {
        capabilities: block.capabilities,
        allowed_parameters: block.allowed,
        denied_parameters: block.denied,
        required_parameters: block.required,
        min_wrapping_ttl: block.min,
        max_wrapping_ttl: block.max,
      },
    })),
  });

// A small alphabet, so that patterns and paths collide all the time.
const word = fc.constantFrom('a', 'b', 'ab', 'abc', 'b*', 'a+', '');
const pathWord = fc.constantFrom('a', 'b', 'ab', 'abc', 'abcd', 'c', '', '+', '*');
const pattern = fc
  .tuple(
    fc.array(fc.oneof({ weight: 3, arbitrary: word }, { weight: 2, arbitrary: fc.constant('+') }), {
      minLength: 1,
      maxLength: 5,
    }),
    fc.boolean(),
  )
  .map(([segments, open]) => {
    const text = segments.join('/').replace(/^\/+/, '');
    return open && !text.endsWith('+') ? `${text}*` : text;
  })
  .filter((text) => !text.includes('+*'));
const capability = fc.constantFrom<Capability>('create', 'read', 'update', 'delete', 'list', 'sudo', 'patch', 'scan');
const capabilities = fc.oneof(
  { weight: 9, arbitrary: fc.uniqueArray(capability, { maxLength: 4 }) },
  { weight: 1, arbitrary: fc.constant<Capability[]>(['deny']) },
);
const value = fc.constantFrom('x', 'y', 'xy', 'x*', '*y', '*x*', '*');
const name = fc.constantFrom('p', 'q', 'r');
const lists = fc.dictionary(
  fc.oneof({ weight: 5, arbitrary: name }, { weight: 1, arbitrary: fc.constant('*') }),
  fc.array(value, { maxLength: 2 }),
  { maxKeys: 3, noNullPrototype: true },
);
const rare = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 3 }).map((x) => x);
const block: fc.Arbitrary<Block> = fc
  .record({
    pattern,
    templated: fc.boolean(),
    capabilities,
    allowed: fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: lists }),
    denied: fc.oneof({ weight: 4, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: lists }),
    required: fc.oneof(
      { weight: 6, arbitrary: fc.constant(undefined) },
      { weight: 1, arbitrary: fc.uniqueArray(name, { maxLength: 2 }) },
    ),
    bounds: fc.oneof(
      { weight: 8, arbitrary: fc.constant([]) },
      { weight: 1, arbitrary: fc.tuple(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 9 })) },
    ),
    half: fc.constantFrom('both', 'min', 'max'),
  })
  .map(({ bounds, half, ...rest }) => {
    const [one, other] = bounds as [number?, number?];
    if (one === undefined || other === undefined) return rest;
    return {
      ...rest,
      ...(half !== 'max' && { min: Math.min(one, other) }),
      ...(half !== 'min' && { max: Math.max(one, other) }),
    };
  });
const arbitraryQuestion: fc.Arbitrary<Asked> = fc.record({
  path: fc.array(pathWord, { minLength: 1, maxLength: 5 }).map((segments) => segments.join('/').replace(/^\/+/, '')),
  operation: fc.constantFrom<Operation>('create', 'read', 'update', 'delete', 'list', 'patch', 'scan'),
  parameters: fc.dictionary(fc.constantFrom('p', 'Q', 'r', 's'), fc.constantFrom('x', 'y', 'xy', 'zxz', ''), {
    maxKeys: 3,
    noNullPrototype: true,
  }),
  wrap: rare(fc.integer({ min: 1, max: 9 })),
});

const numRuns = process.env.KEYSTEAD_LONG === '1' ? 1_000_000 : 5_000;

const at = (path: string) => path as CanonicalPath;

describe('the compiled access list', () => {
  it('decides like a naive evaluation of the rules, on random policies in both notations', () => {
    let allowed = 0;
    void fc.assert(
      fc.property(
        fc.array(fc.array(block, { maxLength: 5 }), { minLength: 1, maxLength: 3 }),
        fc.array(arbitraryQuestion, { minLength: 1, maxLength: 4 }),
        fc.boolean(),
        (policies, questions, json) => {
          const list = compile(
            policies.map((blocks, index) => ({
              name: `p${index}`,
              namespacePath: '',
              policy: parsePolicy(json ? asJson(blocks) : asHcl(blocks)),
            })),
            subject,
            0,
          );
          const blocks = policies.flat();
          for (const question of questions) {
            const { path, operation, parameters, wrap } = question;
            const decision = list.decide({ path: at(path), operation, parameters, wrapTtlSeconds: wrap });
            expect(decision.allowed).toBe(slowDecide(blocks, question));
            const listing = operation === 'list' || operation === 'scan';
            expect(decision.rule?.pattern).toBe(winner(blocks, path, listing));
            allowed += decision.allowed ? 1 : 0;
            const pattern = winner(blocks, path, path.endsWith('/'));
            const granted = [
              ...new Set(blocks.filter((b) => b.pattern === pattern).flatMap((b) => b.capabilities)),
            ].sort();
            const expected = granted.length === 0 || granted.includes('deny') ? ['deny'] : granted;
            expect(list.capabilities(at(path))).toEqual(expected);
            const { losers } = list.explain({ path: at(path), operation, parameters, wrapTtlSeconds: wrap });
            expect(losers.every((loser) => loser.pattern !== decision.rule?.pattern)).toBe(true);
          }
        },
      ),
      { numRuns },
    );
    // If nothing were granted, the comparison would prove nothing.
    expect(allowed).toBeGreaterThan(numRuns / 50);
  }, 3_600_000);

  it('finds a concrete path for a template exactly when there is one', () => {
    const free = { free: true } as const;
    const segment = fc.oneof(fc.constantFrom('a', 'b', 'ab'), fc.constant(free));
    const names = ['a', 'b', 'ab', 'abc', 'bb', 'c', 'abz', 'b*', 'b*z', 'a+', 'z', 'a+z', 'abcz'];
    const concrete = ({ segments, open }: PathTemplate): string[] => {
      let paths: string[][] = [[]];
      for (const segment of segments)
        paths = paths.flatMap((p) => (typeof segment === 'string' ? [segment] : names).map((n) => [...p, n]));
      if (open) {
        // One segment longer than the longest pattern: a path may escape a denying pattern by its length.
        const tails = names.flatMap((n) => [
          [n],
          ...['', ...names].map((m) => [n, m]),
          ...names.map((m) => [n, m, 'z']),
        ]);
        paths = paths.flatMap((p) => tails.map((tail) => [...p, ...tail]));
      }
      return paths.map((p) => p.join('/'));
    };
    void fc.assert(
      fc.property(
        fc.array(
          fc.record({
            pattern: pattern.filter((p) => p.split('/').length <= 3),
            templated: fc.boolean(),
            capabilities,
          }),
          {
            maxLength: 5,
          },
        ),
        fc.array(segment, { minLength: 1, maxLength: 2 }),
        fc.boolean(),
        (blocks, segments, open) => {
          const template: PathTemplate = { segments, open };
          const list = compile([{ name: 'p', namespacePath: '', policy: parsePolicy(asHcl(blocks)) }], subject, 0);
          const exists = concrete(template).some((path) => list.decide({ path: at(path), operation: 'read' }).allowed);
          if (exists) expect(list.grantsSome(template, 'read')).toBe(true);
          else if (!blocks.some((b) => /\/\/|\/$/.test(b.pattern)))
            expect(list.grantsSome(template, 'read')).toBe(false);
        },
      ),
      { numRuns: Math.min(numRuns, 20_000) / 5 },
    );
  }, 3_600_000);
});
