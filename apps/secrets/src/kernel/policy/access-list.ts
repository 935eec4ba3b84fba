import type { Folding } from '../../sdk/canonical-path';
import { judgeParameters } from './parameters';
import type { PatternRule } from './rule';
import { comparePatterns, findAllRules, findRule, foldLayers, hasWildcard, keyOf, type RuleLayer } from './rule-layer';
import { isTemplateWitnessed } from './template-witness';
import {
  type AccessList,
  capabilityBits,
  capabilityNames,
  type Decision,
  type Explanation,
  type LosingRule,
  type Objection,
  type Operation,
  type PathTemplate,
  type Question,
} from './types';

const rootDecision: Decision = { allowed: true, sudo: true, root: true };
const noRule: Decision = { allowed: false, sudo: false, root: false, objection: 'no-rule' };

/** The access list of the root policy, which allows everything. */
export const rootAccess: AccessList = {
  root: true,
  rules: [],
  size: 0,
  decide: () => rootDecision,
  capabilities: () => ['root'],
  explain: () => ({ ...rootDecision, losers: [] }),
  grantsBelow: () => true,
  grantsSome: () => true,
};

/**
 * Compiled rules. Exactly one rule applies to a path: an exact pattern, otherwise the best pattern with wildcards. Each
 * pattern is in one layer only. Layers may be shared between lists; `size` counts only this list's own rules.
 */
export class RuleAccess implements AccessList {
  readonly root = false;
  private readonly folded = new Map<string, readonly RuleLayer[]>();

  constructor(
    private readonly layers: readonly RuleLayer[],
    readonly validUntilMs?: number,
    readonly size: number = layers.reduce((sum, { rules }) => sum + rules.length, 0),
  ) {}

  get rules(): readonly PatternRule[] {
    return this.layers.flatMap(({ rules }) => rules);
  }

  decide(question: Question): Decision {
    const path = withoutLeadingSlashes(question.path);
    const rule = findRule(this.layersFor(question.folding), path, isListing(question.operation));
    if (!rule) return noRule;
    const objection = judge(rule, question);
    return objection === undefined ? granted(rule, question.operation) : refused(rule, objection);
  }

  capabilities(path: string, folding?: Folding): string[] {
    const bits = findRule(this.layersFor(folding), withoutLeadingSlashes(path), true)?.bits ?? 0;
    return bits === 0 ? ['deny'] : capabilityNames(bits);
  }

  explain(question: Question): Explanation {
    const path = withoutLeadingSlashes(question.path);
    const decision = this.decide(question);
    const losers = findAllRules(this.layersFor(question.folding), path, isListing(question.operation)).filter(
      (rule) => rule !== decision.rule,
    );
    return { ...decision, losers: losers.map((rule) => describeLoser(rule, decision.rule as PatternRule)) };
  }

  grantsBelow(prefix: string): boolean {
    return this.grantsSome({ segments: prefix.split('/').slice(0, -1), open: true }, undefined);
  }

  grantsSome(template: PathTemplate, operation: Operation | undefined, sudo = false): boolean {
    const bit = operation === undefined ? ~(capabilityBits.deny | capabilityBits.sudo) : capabilityBits[operation];
    const listing = operation === undefined || isListing(operation);
    const layers = this.layersFor(template.folding);
    const longest = layers.reduce((most, { longestPattern }) => Math.max(most, longestPattern), 0);
    const grants = ({ bits }: PatternRule) => (bits & bit) !== 0 && (!sudo || (bits & capabilityBits.sudo) !== 0);
    // A rule is always found, because the path was built from the pattern of a rule.
    const witness = (path: string) => grants(findRule(layers, path, listing)!);
    return layers.some(({ rules }) =>
      rules.some((rule) => grants(rule) && isTemplateWitnessed(template, rule.pattern, listing, longest, witness)),
    );
  }

  private layersFor(folding: Folding | undefined): readonly RuleLayer[] {
    if (!folding) return this.layers;
    const key = keyOf(folding);
    let layers = this.folded.get(key);
    if (!layers) {
      layers = foldLayers(this.layers, folding);
      if (this.folded.size >= 32) this.folded.clear();
      this.folded.set(key, layers);
    }
    return layers;
  }
}

/** The decision that grants an operation. It is the same for every request, so it is created only once. */
function granted(rule: PatternRule, operation: Operation): Decision {
  let decision = rule.grants[operation];
  if (!decision) {
    const { paginationLimit, listFilter } = rule;
    decision = {
      allowed: true,
      sudo: (rule.bits & capabilityBits.sudo) !== 0,
      root: false,
      rule,
      ...(isListing(operation) && paginationLimit > 0 && { paginationLimit }),
      ...(isListing(operation) && listFilter !== undefined && { listFilter }),
    };
    rule.grants[operation] = decision;
  }
  return decision;
}

function isListing(operation: Operation): boolean {
  return operation === 'list' || operation === 'scan';
}

function withoutLeadingSlashes(path: string): string {
  let start = 0;
  while (path.charAt(start) === '/') start += 1;
  return path.slice(start);
}

function refused(rule: PatternRule, objection: Objection): Decision {
  return { allowed: false, sudo: (rule.bits & capabilityBits.sudo) !== 0, root: false, rule, objection };
}

/** The reason why the applicable rule denies the request; undefined if it does not. */
function judge(rule: PatternRule, question: Question): Objection | undefined {
  const { operation, parameters, wrapTtlSeconds } = question;
  if ((rule.bits & capabilityBits[operation]) === 0) {
    return (rule.bits & capabilityBits.deny) !== 0 ? 'denied' : 'capability';
  }
  if ((wrapTtlSeconds ?? 0) < rule.minWrappingSeconds) return 'wrapping';
  if (rule.maxWrappingSeconds > 0 && (wrapTtlSeconds ?? Number.POSITIVE_INFINITY) > rule.maxWrappingSeconds) {
    return 'wrapping';
  }
  if (isListing(operation)) return rule.paginationLimit > 0 ? judgePage(rule, parameters) : undefined;
  if (operation === 'delete') return undefined;
  return judgeParameters(rule, question);
}

/**
 * Checks the page of a list against the rule. If `limit` is absent or `0`, the longest page is returned. A required
 * `limit` must be sent.
 */
function judgePage(rule: PatternRule, parameters: Question['parameters']): Objection | undefined {
  const limit = parameters?.limit;
  if (limit === undefined) return rule.requiredParameters.includes('limit') ? 'required-parameter' : undefined;
  return /^\d+$/.test(String(limit)) && Number(limit) <= rule.paginationLimit ? undefined : 'pagination';
}

function describeLoser(rule: PatternRule, winner: PatternRule): LosingRule {
  const { pattern, capabilities, places, mfaMethods } = rule;
  return { pattern, capabilities, places, mfaMethods, lostBecause: whyLost(pattern, winner.pattern) };
}

const slashWins = 'the path with its trailing slash wins';

function whyLost(loser: string, winner: string): string {
  if (!hasWildcard(winner)) return hasWildcard(loser) ? 'an exact pattern wins over wildcards' : slashWins;
  // A list request uses its path without the slash only if nothing matches it with the slash.
  if (comparePatterns(loser, winner) > 0) return slashWins;
  const place = (pattern: string) => pattern.search(/(?<=^|\/)\+(?=\/|$)|\*$/);
  if (place(loser) !== place(winner)) return 'its first wildcard is further to the left';
  if (loser.endsWith('*') !== winner.endsWith('*')) return 'it ends in *';
  const pluses = (pattern: string) => pattern.split('/').filter((segment) => segment === '+').length;
  if (pluses(loser) !== pluses(winner)) return 'it has more + segments';
  return loser.length === winner.length ? 'it sorts before the winner' : 'it is shorter';
}
