import type { Folding } from '../../sdk/canonical-path';
import { foldSegments } from '../mounts/fold';
import { PatternRule } from './rule';

/** Rules of different patterns, ready to be searched. */
export class RuleLayer {
  /** The number of its segments. */
  readonly longestPattern: number;
  private readonly exact = new Map<string, PatternRule>();
  private readonly patterns = new Set<string>();
  private readonly wild: RuleTree;
  private readonly folded = new Map<string, RuleLayer>();

  constructor(readonly rules: readonly PatternRule[]) {
    const wild: PatternRule[] = [];
    let longest = 0;
    for (const rule of rules) {
      const { pattern } = rule;
      this.patterns.add(pattern);
      longest = Math.max(longest, pattern.split('/').length);
      if (hasWildcard(pattern)) wild.push(rule);
      else this.exact.set(pattern, rule);
    }
    this.longestPattern = longest;
    this.wild = new RuleTree(wild);
  }

  has(pattern: string): boolean {
    return this.patterns.has(pattern);
  }

  /**
   * The same rules for paths with some segments in lower case: patterns are folded, too, and equal ones are merged.
   * Returns this layer itself if nothing changes.
   */
  foldedBy(folding: Folding): RuleLayer {
    const key = keyOf(folding);
    let layer = this.folded.get(key);
    if (!layer) {
      layer = this.rules.every(({ pattern }) => foldSegments(pattern, folding) === pattern)
        ? this
        : new RuleLayer(foldRules(this.rules, folding));
      // There are as many layers as mount depths. Callers cannot choose these.
      if (this.folded.size >= 32) this.folded.clear();
      this.folded.set(key, layer);
    }
    return layer;
  }

  findExact(path: string): PatternRule | undefined {
    return this.exact.get(path);
  }

  findWild(path: string): PatternRule | undefined {
    return this.wild.find(path);
  }

  /** Every rule with wildcards that matches, best first. */
  findAllWild(path: string): PatternRule[] {
    return this.wild.findAll(path);
  }
}

/** Layers folded by `foldedBy`; a single layer if a pattern would otherwise be in two. */
export function foldLayers(layers: readonly RuleLayer[], folding: Folding): readonly RuleLayer[] {
  const folded = layers.map((layer) => layer.foldedBy(folding));
  if (folded.every((layer, i) => layer === layers[i])) return layers;
  const twice = folded.some((layer, i) =>
    layer.rules.some(({ pattern }) => folded.some((other, j) => j > i && other.has(pattern))),
  );
  if (!twice) return folded;
  return [
    new RuleLayer(
      foldRules(
        layers.flatMap(({ rules }) => rules),
        folding,
      ),
    ),
  ];
}

function foldRules(rules: readonly PatternRule[], folding: Folding): PatternRule[] {
  const byPattern = new Map<string, PatternRule>();
  for (const rule of rules) {
    const pattern = foldSegments(rule.pattern, folding);
    let merged = byPattern.get(pattern);
    if (!merged) {
      merged = new PatternRule(pattern);
      byPattern.set(pattern, merged);
    }
    merged.absorb(rule);
  }
  return [...byPattern.values()];
}

export function keyOf({ fold, from, to }: Folding): string {
  return `${fold} ${from} ${to}`;
}

/**
 * The rule that applies to a path, from layers that share no pattern. A list request also tries its path without the
 * slash: exact patterns in any case, patterns with wildcards only if no pattern matches the original path.
 */
export function findRule(layers: readonly RuleLayer[], path: string, listing: boolean): PatternRule | undefined {
  if (!listing || !path.endsWith('/')) return findExact(layers, path) ?? findWild(layers, path);
  const folder = path.slice(0, -1);
  return findExact(layers, path) ?? findExact(layers, folder) ?? findWild(layers, path) ?? findWild(layers, folder);
}

function findExact(layers: readonly RuleLayer[], path: string): PatternRule | undefined {
  for (const layer of layers) {
    const exact = layer.findExact(path);
    if (exact) return exact;
  }
  return undefined;
}

function findWild(layers: readonly RuleLayer[], path: string): PatternRule | undefined {
  let best: PatternRule | undefined;
  for (const layer of layers) {
    const found = layer.findWild(path);
    if (found && (!best || comparePatterns(found.pattern, best.pattern) > 0)) best = found;
  }
  return best;
}

/** Every rule that matches a path, best first. */
export function findAllRules(layers: readonly RuleLayer[], path: string, listing: boolean): PatternRule[] {
  const paths = listing && path.endsWith('/') ? [path, path.slice(0, -1)] : [path];
  const exact = paths.flatMap((one) => layers.map((layer) => layer.findExact(one)));
  const wild = paths.flatMap((one) =>
    layers.flatMap((layer) => layer.findAllWild(one)).sort((a, b) => comparePatterns(b.pattern, a.pattern)),
  );
  return [...new Set([...exact, ...wild])].filter((rule) => rule !== undefined);
}

/**
 * The rules with wildcards, by segment. Which of two matching patterns wins depends only on the patterns, so the rank
 * of every rule is computed once. A search looks for the highest rank, and skips branches that cannot contain a higher
 * rank than it has already found.
 */
export class RuleTree {
  private readonly top = new TreeNode();

  constructor(rules: readonly PatternRule[]) {
    rules
      .map((rule) => ({ rule, priority: priorityOf(rule.pattern) }))
      .sort((a, b) => comparePriorities(a.priority, b.priority))
      .forEach(({ rule }, rank) => {
        this.insert({ rule, rank });
      });
  }

  /** The winning rule for a path; undefined if none matches. */
  find(path: string): PatternRule | undefined {
    return this.top.best(path, 0, undefined)?.rule;
  }

  /** Every rule that matches, best first. */
  findAll(path: string): PatternRule[] {
    const found: Ranked[] = [];
    this.top.collect(path, 0, found);
    return found.sort((a, b) => b.rank - a.rank).map(({ rule }) => rule);
  }

  private insert(ranked: Ranked): void {
    const segments = ranked.rule.pattern.split('/');
    const last = segments[segments.length - 1]!;
    const path = last.endsWith('*') ? segments.slice(0, -1) : segments;
    let node = this.top;
    for (const segment of path) {
      node.bestRank = Math.max(node.bestRank, ranked.rank);
      node = node.child(segment);
    }
    node.bestRank = Math.max(node.bestRank, ranked.rank);
    if (last.endsWith('*')) node.addPrefix(last.slice(0, -1), ranked);
    else node.end = ranked;
  }
}

/** Whether a pattern has `+` segments or a trailing `*`. */
export function hasWildcard(pattern: string): boolean {
  return pattern.endsWith('*') || firstPlus(pattern) >= 0;
}

/** The properties of a pattern with wildcards that decide which pattern wins. */
interface Priority {
  readonly pattern: string;
  readonly firstWildcard: number;
  readonly open: boolean;
  readonly pluses: number;
}

/**
 * Orders patterns with wildcards; the greater wins: first wildcard further right, no trailing `*`, fewer `+`,
 * longer, lexicographically greater.
 */
export function comparePatterns(a: string, b: string): number {
  return comparePriorities(priorityOf(a), priorityOf(b));
}

function priorityOf(pattern: string): Priority {
  const plus = firstPlus(pattern);
  return {
    pattern,
    firstWildcard: plus < 0 ? pattern.length - 1 : plus,
    open: pattern.endsWith('*'),
    pluses: countPluses(pattern),
  };
}

function comparePriorities(a: Priority, b: Priority): number {
  return (
    a.firstWildcard - b.firstWildcard ||
    Number(b.open) - Number(a.open) ||
    b.pluses - a.pluses ||
    a.pattern.length - b.pattern.length ||
    (a.pattern < b.pattern ? -1 : a.pattern > b.pattern ? 1 : 0)
  );
}

/** The position of the first `+` segment; -1 if there is none. */
function firstPlus(pattern: string, from = 0): number {
  for (let at = pattern.indexOf('+', from); at >= 0; at = pattern.indexOf('+', at + 1)) {
    const atSegmentStart = at === 0 || pattern.charAt(at - 1) === '/';
    if (atSegmentStart && (at + 1 === pattern.length || pattern.charAt(at + 1) === '/')) return at;
  }
  return -1;
}

function countPluses(pattern: string): number {
  let count = 0;
  for (let at = firstPlus(pattern); at >= 0; at = firstPlus(pattern, at + 1)) count += 1;
  return count;
}

interface Ranked {
  readonly rule: PatternRule;
  readonly rank: number;
}

class TreeNode {
  /** The highest rank in this node and below. */
  bestRank = 0;
  /** The rule whose pattern ends here. */
  end: Ranked | undefined;
  /** Created with the first child, because most nodes have no children. */
  private children: Map<string, TreeNode> | undefined;
  private plus: TreeNode | undefined;
  /** Rules ending in `*`, by the text before it in the last segment. */
  private prefixes: Map<string, Ranked> | undefined;
  /** Lengths of the keys of `prefixes`. */
  private readonly prefixLengths: number[] = [];

  child(segment: string): TreeNode {
    if (segment === '+') {
      this.plus ??= new TreeNode();
      return this.plus;
    }
    this.children ??= new Map();
    let node = this.children.get(segment);
    if (!node) {
      node = new TreeNode();
      this.children.set(segment, node);
    }
    return node;
  }

  addPrefix(prefix: string, ranked: Ranked): void {
    this.prefixes ??= new Map();
    this.prefixes.set(prefix, ranked);
    if (!this.prefixLengths.includes(prefix.length)) this.prefixLengths.push(prefix.length);
  }

  /**
   * The best rule in this node and below. `from` is the position of the next segment; it is past the end of the path if
   * no segment is left.
   */
  best(path: string, from: number, soFar: Ranked | undefined): Ranked | undefined {
    if (soFar && this.bestRank <= soFar.rank) return soFar;
    if (from > path.length) return this.end && (!soFar || this.end.rank > soFar.rank) ? this.end : soFar;
    const slash = path.indexOf('/', from);
    const segmentEnd = slash < 0 ? path.length : slash;
    const segment = path.slice(from, segmentEnd);
    let best = soFar;
    const literal = this.children?.get(segment);
    if (literal) best = literal.best(path, segmentEnd + 1, best);
    for (const length of this.prefixLengths) {
      const found = this.prefixes!.get(segment.slice(0, length));
      if (found && (!best || found.rank > best.rank)) best = found;
    }
    return this.plus ? this.plus.best(path, segmentEnd + 1, best) : best;
  }

  collect(path: string, from: number, into: Ranked[]): void {
    if (from > path.length) {
      if (this.end) into.push(this.end);
      return;
    }
    const slash = path.indexOf('/', from);
    const segmentEnd = slash < 0 ? path.length : slash;
    const segment = path.slice(from, segmentEnd);
    this.children?.get(segment)?.collect(path, segmentEnd + 1, into);
    for (const [prefix, ranked] of this.prefixes ?? []) if (segment.startsWith(prefix)) into.push(ranked);
    this.plus?.collect(path, segmentEnd + 1, into);
  }
}
