import { capabilityBits, capabilityNames, type Operation } from './capability';
import { mergeValues } from './path-rule';
import type {
  Decision,
  DemandedMethod,
  ParameterLists,
  PathRule,
  PolicyValue,
  RulePlace,
  RuleReference,
} from './types';

/** Everything the policies of a caller say about one pattern. */
export class Rule implements RuleReference {
  readonly places: RulePlace[] = [];
  bits = 0;
  allowedParameters?: ParameterLists;
  deniedParameters?: ParameterLists;
  requiredParameters: readonly string[] = [];
  minWrappingSeconds = 0;
  maxWrappingSeconds = 0;
  paginationLimit = 0;
  listFilter?: string;
  mfaMethods: readonly DemandedMethod[] = [];
  /** Decisions in favour, made when first needed. */
  readonly grants: Partial<Record<Operation, Decision>> = {};

  constructor(readonly pattern: string) {}

  get capabilities(): readonly string[] {
    return capabilityNames(this.bits);
  }

  /**
   * Adds a block for the same pattern. Grants add up and `deny` beats them all; of two bounds the lower holds;
   * parameter lists add up, an empty list of values standing for every value; so do second factors.
   */
  merge(rule: PathRule, place: RulePlace): void {
    this.places.push(place);
    if ((this.bits & capabilityBits.deny) !== 0) return;
    if ((rule.capabilities & capabilityBits.deny) !== 0) {
      this.deny();
      return;
    }
    this.bits |= rule.capabilities;
    this.minWrappingSeconds = lowerBound(this.minWrappingSeconds, rule.minWrappingSeconds);
    this.maxWrappingSeconds = lowerBound(this.maxWrappingSeconds, rule.maxWrappingSeconds);
    this.paginationLimit = lowerBound(this.paginationLimit, rule.paginationLimit);
    this.listFilter ??= rule.listFilter;
    this.allowedParameters = mergeLists(this.allowedParameters, rule.allowedParameters);
    this.deniedParameters = mergeLists(this.deniedParameters, rule.deniedParameters);
    for (const method of rule.mfaMethods) this.demand({ namespacePath: place.namespacePath, method });
    this.requiredParameters = [...new Set([...this.requiredParameters, ...rule.requiredParameters])];
  }

  /** Adds a rule whose pattern means the same, as `merge` adds a block. */
  absorb(other: Rule): void {
    this.places.push(...other.places);
    if ((this.bits & capabilityBits.deny) !== 0) return;
    if ((other.bits & capabilityBits.deny) !== 0) {
      this.deny();
      return;
    }
    this.bits |= other.bits;
    this.minWrappingSeconds = lowerBound(this.minWrappingSeconds, other.minWrappingSeconds);
    this.maxWrappingSeconds = lowerBound(this.maxWrappingSeconds, other.maxWrappingSeconds);
    this.paginationLimit = lowerBound(this.paginationLimit, other.paginationLimit);
    this.listFilter ??= other.listFilter;
    this.allowedParameters = mergeLists(this.allowedParameters, other.allowedParameters);
    this.deniedParameters = mergeLists(this.deniedParameters, other.deniedParameters);
    for (const method of other.mfaMethods) this.demand(method);
    this.requiredParameters = [...new Set([...this.requiredParameters, ...other.requiredParameters])];
  }

  private deny(): void {
    this.bits = capabilityBits.deny;
    this.allowedParameters = this.deniedParameters = undefined;
    this.requiredParameters = [];
  }

  private demand({ namespacePath, method }: DemandedMethod): void {
    const known = this.mfaMethods.some((one) => one.namespacePath === namespacePath && one.method === method);
    if (!known) this.mfaMethods = [...this.mfaMethods, { namespacePath, method }];
  }
}

/** The lower of two bounds; 0 is none. */
function lowerBound(one: number, other: number): number {
  return one === 0 || other === 0 ? Math.max(one, other) : Math.min(one, other);
}

function mergeLists(one: ParameterLists | undefined, other: ParameterLists | undefined): ParameterLists | undefined {
  if (!one || !other) return one ?? other;
  const merged = new Map<string, readonly PolicyValue[]>(one);
  for (const [name, values] of other) merged.set(name, mergeValues(merged.get(name), values));
  return merged;
}
