import { MergedLists } from './merged-lists';
import {
  capabilityBits,
  capabilityNames,
  type Decision,
  type DemandedMethod,
  type Operation,
  type ParameterLists,
  type PathRule,
  type RulePlace,
  type RuleReference,
} from './types';

const nothing: readonly never[] = [];

/** Everything in a caller's policies for one pattern. Adding a block costs no more than its content. */
export class PatternRule implements RuleReference {
  readonly places: RulePlace[] = [];
  bits = 0;
  minWrappingSeconds = 0;
  maxWrappingSeconds = 0;
  paginationLimit = 0;
  listFilter?: string;
  /** Grants, created when first needed. */
  readonly grants: Partial<Record<Operation, Decision>> = {};
  // Created only if a block has allowed parameters, which is rare.
  private allowed?: MergedLists;
  private denied?: MergedLists;
  private required?: Set<string>;
  private methods?: Map<string, DemandedMethod>;

  constructor(readonly pattern: string) {}

  get allowedParameters(): ParameterLists | undefined {
    return this.allowed?.lists;
  }

  get deniedParameters(): ParameterLists | undefined {
    return this.denied?.lists;
  }

  get requiredParameters(): readonly string[] {
    return this.required ? [...this.required] : nothing;
  }

  get mfaMethods(): readonly DemandedMethod[] {
    return this.methods ? [...this.methods.values()] : nothing;
  }

  get capabilities(): readonly string[] {
    return capabilityNames(this.bits);
  }

  /**
   * Adds a block for the same pattern. Grants accumulate, and `deny` overrides them. The lower of two bounds applies.
   * Parameter lists accumulate, where an empty list means every value. Second factors accumulate, too.
   */
  merge(rule: PathRule, place: RulePlace): void {
    this.places.push(place);
    if ((this.bits & capabilityBits.deny) !== 0) return;
    if ((rule.capabilities & capabilityBits.deny) !== 0) {
      this.deny();
      return;
    }
    this.bits |= rule.capabilities;
    this.bound(rule);
    for (const method of rule.mfaMethods) this.demand({ namespacePath: place.namespacePath, method });
  }

  /** Adds a rule with an equivalent pattern, like `merge` for a block. */
  absorb(other: PatternRule): void {
    for (const place of other.places) this.places.push(place);
    if ((this.bits & capabilityBits.deny) !== 0) return;
    if ((other.bits & capabilityBits.deny) !== 0) {
      this.deny();
      return;
    }
    this.bits |= other.bits;
    this.bound(other);
    for (const method of other.mfaMethods) this.demand(method);
  }

  private bound(other: Omit<PathRule, 'mfaMethods'> | PatternRule): void {
    this.minWrappingSeconds = lowerBound(this.minWrappingSeconds, other.minWrappingSeconds);
    this.maxWrappingSeconds = lowerBound(this.maxWrappingSeconds, other.maxWrappingSeconds);
    this.paginationLimit = lowerBound(this.paginationLimit, other.paginationLimit);
    this.listFilter ??= other.listFilter;
    if (other.allowedParameters) {
      this.allowed ??= new MergedLists();
      this.allowed.add(other.allowedParameters);
    }
    if (other.deniedParameters) {
      this.denied ??= new MergedLists();
      this.denied.add(other.deniedParameters);
    }
    if (other.requiredParameters.length > 0) {
      this.required ??= new Set();
      for (const name of other.requiredParameters) this.required.add(name);
    }
  }

  private deny(): void {
    this.bits = capabilityBits.deny;
    this.allowed = this.denied = this.required = undefined;
  }

  private demand(requirement: DemandedMethod): void {
    this.methods ??= new Map();
    this.methods.set(JSON.stringify([requirement.namespacePath, requirement.method]), requirement);
  }
}

/** The lower of two bounds; 0 means no bound. */
function lowerBound(one: number, other: number): number {
  return one === 0 || other === 0 ? Math.max(one, other) : Math.min(one, other);
}
