import type { PatternRule } from './rule';

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
