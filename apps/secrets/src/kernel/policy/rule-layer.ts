import type { Folding } from '../../sdk/canonical-path';
import { foldSegments } from '../mounts/fold';
import { PatternRule } from './rule';
import { comparePatterns, hasWildcard, RuleTree } from './rule-tree';

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
