import { runInSlices, runToEnd, type SlicedWork } from '../storage/slices';
import { RuleAccess, rootAccess } from './access-list';
import { PatternRule } from './rule';
import { RuleLayer } from './rule-layer';
import { fillTemplate, isTemplated } from './template';
import type { AccessList, NamedPolicy, PathRule, Subject } from './types';

/** A block that is being compiled into a rule, with its policy. */
interface Block {
  readonly rule: PathRule;
  readonly from: NamedPolicy;
}

/**
 * The part of a set of policies that is the same for all callers, compiled once. Only blocks with templates depend on
 * the caller.
 */
export interface Groundwork {
  /** The complete list for callers without values for templates. */
  readonly list: AccessList;
  readonly layer: RuleLayer;
  readonly plain: readonly Block[];
  readonly templated: readonly Block[];
  readonly validUntilMs?: number;
}

/**
 * Compiles policies for one subject. Drops blocks whose template cannot be filled in, and blocks that have expired at
 * `nowMs`. `validUntilMs` of the list is the time until which it may be used.
 *
 * This function does all work in one turn, and is for tests. `prepare` and `fill` yield to other work.
 */
export function compile(policies: readonly NamedPolicy[], subject: Subject | undefined, nowMs: number): AccessList {
  return runToEnd(filling(runToEnd(preparing(policies, nowMs)), subject));
}

/** The part of compiling that is the same for every subject. */
export const prepare = (policies: readonly NamedPolicy[], nowMs: number): Promise<Groundwork> =>
  runInSlices(preparing(policies, nowMs));

/**
 * Adds the filled-in templates of a subject. They become a small separate layer, unless one of them has the pattern of
 * an existing rule.
 */
export const fill = (groundwork: Groundwork, subject: Subject | undefined): Promise<AccessList> =>
  runInSlices(filling(groundwork, subject));

function* preparing(policies: readonly NamedPolicy[], nowMs: number): SlicedWork<Groundwork> {
  if (policies.some(({ name, namespacePath }) => name === 'root' && namespacePath === '')) {
    return { list: rootAccess, layer: new RuleLayer([]), plain: [], templated: [] };
  }
  const plain: Block[] = [];
  const templated: Block[] = [];
  let validUntilMs: number | undefined;
  for (const from of policies) {
    for (const rule of from.policy.rules) {
      if (rule.expiresAtMs !== undefined) {
        if (rule.expiresAtMs <= nowMs) continue;
        validUntilMs = Math.min(validUntilMs ?? Number.POSITIVE_INFINITY, rule.expiresAtMs);
      }
      (isTemplated(rule.pattern) ? templated : plain).push({ rule, from });
    }
  }
  const layer = yield* layerOf(plain, undefined);
  return { list: new RuleAccess([layer], validUntilMs), layer, plain, templated, validUntilMs };
}

function* filling(
  { list, layer, plain, templated, validUntilMs }: Groundwork,
  subject: Subject | undefined,
): SlicedWork<AccessList> {
  const ownLayer = yield* layerOf(templated, subject);
  if (ownLayer.rules.length === 0) return list;
  const layers = ownLayer.rules.some(({ pattern }) => layer.has(pattern))
    ? [yield* layerOf([...plain, ...templated], subject)]
    : [ownLayer, layer];
  return new RuleAccess(layers, validUntilMs, layers[0]!.rules.length);
}

function* layerOf(blocks: readonly Block[], subject: Subject | undefined): SlicedWork<RuleLayer> {
  const rules = yield* merge(blocks, subject);
  yield;
  return new RuleLayer(rules);
}

/** Merges blocks into one rule per pattern. */
function* merge(blocks: readonly Block[], subject: Subject | undefined): SlicedWork<PatternRule[]> {
  const rules = new Map<string, PatternRule>();
  for (const { rule: blockRule, from } of blocks) {
    yield;
    const filled = isTemplated(blockRule.pattern) ? fillTemplate(blockRule.pattern, subject, from) : blockRule.pattern;
    if (filled === undefined) continue;
    const pattern = from.namespacePath + filled;
    let rule = rules.get(pattern);
    if (!rule) {
      rule = new PatternRule(pattern);
      rules.set(pattern, rule);
    }
    const { name: policy, namespacePath } = from;
    rule.merge(blockRule, { policy, namespacePath, pattern: blockRule.pattern, line: blockRule.line });
  }
  return [...rules.values()];
}
