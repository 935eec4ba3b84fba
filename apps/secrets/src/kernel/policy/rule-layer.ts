import type { Rule } from './rule';
import { comparePatterns, hasWildcard, RuleTree } from './rule-tree';

/** Rules of different patterns, ready to be searched. */
export class RuleLayer {
  /** In segments. */
  readonly longestPattern: number;
  private readonly exact = new Map<string, Rule>();
  private readonly patterns = new Set<string>();
  private readonly wild: RuleTree;

  constructor(readonly rules: readonly Rule[]) {
    const wild: Rule[] = [];
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

  findExact(path: string): Rule | undefined {
    return this.exact.get(path);
  }

  findWild(path: string): Rule | undefined {
    return this.wild.find(path);
  }

  /** Every rule with wildcards that matches, best first. */
  findAllWild(path: string): Rule[] {
    return this.wild.findAll(path);
  }
}

/** The rule that applies to a path, out of layers that share no pattern; a list also tries its path without the slash. */
export function findRule(layers: readonly RuleLayer[], path: string, listing: boolean): Rule | undefined {
  for (const layer of layers) {
    const exact = layer.findExact(path);
    if (exact) return exact;
  }
  if (listing && path.endsWith('/')) {
    const folder = path.slice(0, -1);
    for (const layer of layers) {
      const exact = layer.findExact(folder);
      if (exact) return exact;
    }
  }
  let best: Rule | undefined;
  for (const layer of layers) {
    const found = layer.findWild(path);
    if (found && (!best || comparePatterns(found.pattern, best.pattern) > 0)) best = found;
  }
  return best;
}

/** Every rule that matches a path, best first. */
export function findAllRules(layers: readonly RuleLayer[], path: string, listing: boolean): Rule[] {
  const folder = listing && path.endsWith('/') ? path.slice(0, -1) : undefined;
  const exact = layers.map((layer) => layer.findExact(path));
  const folders = layers.map((layer) => (folder === undefined ? undefined : layer.findExact(folder)));
  const wild = layers.flatMap((layer) => layer.findAllWild(path));
  if (layers.length > 1) wild.sort((a, b) => comparePatterns(b.pattern, a.pattern));
  return [...exact, ...folders, ...wild].filter((rule) => rule !== undefined);
}
