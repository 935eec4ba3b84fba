import type { CanonicalPath, Folding } from '../../sdk/canonical-path';
import type { ParameterReading } from '../../sdk/parameter-reading';

/**
 * A permission that a rule can grant. `deny` overrides everything. `sudo` is needed in addition to the operation's own
 * capability.
 */
export type Capability = 'create' | 'read' | 'update' | 'patch' | 'delete' | 'list' | 'scan' | 'sudo' | 'deny';

/** A capability a request can need. */
export type Operation = Exclude<Capability, 'sudo' | 'deny'>;

/** One bit per capability, so that grants are merged by one `|`. */
export const capabilityBits: Readonly<Record<Capability, number>> = {
  deny: 1,
  create: 2,
  read: 4,
  update: 8,
  delete: 16,
  list: 32,
  sudo: 64,
  patch: 128,
  scan: 256,
};

/** The names in a set of capability bits, sorted. */
export function capabilityNames(bits: number): Capability[] {
  const names = Object.keys(capabilityBits) as Capability[];
  return names.filter((name) => (bits & capabilityBits[name]) !== 0).sort();
}

/** A value in a parameter list; numbers keep the digits they were written with. */
export type PolicyValue =
  | string
  | boolean
  | { readonly number: string }
  | readonly PolicyValue[]
  | { readonly object: ReadonlyMap<string, PolicyValue> };

/** Lower-case parameter name → values; an empty list means every value, the name `*` every parameter. */
export type ParameterLists = ReadonlyMap<string, readonly PolicyValue[]>;

/** One `path` block of a policy, as written. */
export interface PathRule {
  /** The pattern without a leading slash. Its templates are not yet filled in. */
  readonly pattern: string;
  /** Where the block begins in the policy text, from 1. */
  readonly line: number;
  /** See `capabilityBits`; `deny` excludes all others. */
  readonly capabilities: number;
  readonly allowedParameters?: ParameterLists;
  readonly deniedParameters?: ParameterLists;
  /** The names of required parameters, in lower case. */
  readonly requiredParameters: readonly string[];
  /** 0 means no bound. */
  readonly minWrappingSeconds: number;
  /** 0 means no bound. */
  readonly maxWrappingSeconds: number;
  /** Second factors, by id or name, that every request must prove, in addition to those of the login. */
  readonly mfaMethods: readonly string[];
  /** From this time on the block has no effect. */
  readonly expiresAtMs?: number;
  readonly comment?: string;
  /** The longest page that a list may request; 0 means no limit. */
  readonly paginationLimit: number;
  /** A template that turns a listed key into a path; the key is shown if the caller has rights on that path. */
  readonly listFilter?: string;
}

/** A parsed policy. */
export interface Policy {
  /** The name in the policy text, if any. Everywhere else the stored name is used. */
  readonly name?: string;
  readonly rules: readonly PathRule[];
  /** Whether any pattern holds an identity template. */
  readonly templated: boolean;
}

/** A policy to compile into an access list. */
export interface NamedPolicy {
  readonly name: string;
  /** `''` for the root namespace, otherwise with a trailing slash; prefixes every pattern of the policy. */
  readonly namespacePath: string;
  readonly policy: Policy;
  /** Template values with `*` or `+` are refused unless this is set. */
  readonly allowsWildcardsInTemplates?: boolean;
  /** Template values with `/` are refused unless this is set. */
  readonly allowsSlashesInTemplates?: boolean;
}

/** The identity that templates in patterns are filled from. */
export interface Subject {
  readonly entity?: {
    readonly id: string;
    readonly name: string;
    readonly metadata: Readonly<Record<string, string>>;
    readonly aliases: readonly {
      readonly mountAccessor: string;
      readonly id: string;
      readonly name: string;
      readonly metadata: Readonly<Record<string, string>>;
      readonly customMetadata: Readonly<Record<string, string>>;
    }[];
  };
  /** The direct and inherited groups of the entity. */
  readonly groups: readonly {
    readonly id: string;
    readonly name: string;
    readonly metadata: Readonly<Record<string, string>>;
  }[];
}

/** The operation and the parameters of a request. */
export interface Question {
  /** The path with its namespace and without a leading slash. For a list, it keeps its trailing slash. */
  readonly path: CanonicalPath;
  /** The part of the path that is read in lower case; the same part of patterns is compared in lower case. */
  readonly folding?: Folding;
  readonly operation: Operation;
  /** Body or query fields under the names the client sent. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** All parameters are data, even null. Otherwise null means absent. */
  readonly freeform?: boolean;
  /**
   * How the operation parses its parameters, because rules check the parsed values. Absent if the parameters are data.
   */
  readonly reading?: ParameterReading;
  /** Undefined if the request does not ask for a wrapped response. */
  readonly wrapTtlSeconds?: number;
}

/** Where a rule was written. A rule has several places if blocks for the same pattern were merged. */
export interface RulePlace {
  readonly policy: string;
  readonly namespacePath: string;
  /** As written. */
  readonly pattern: string;
  readonly line: number;
}

/** A second factor that a rule requires of every request: a method by id or name, in the namespace of the policy. */
export interface DemandedMethod {
  readonly namespacePath: string;
  readonly method: string;
}

/** The one rule that applies to a path. */
export interface RuleReference {
  /** Namespace prefix and template values filled in. */
  readonly pattern: string;
  /** The names of the capabilities, sorted. */
  readonly capabilities: readonly string[];
  readonly places: readonly RulePlace[];
  /** The request itself must prove all of these methods. */
  readonly mfaMethods: readonly DemandedMethod[];
}

/** Why a question was refused. */
export type Objection =
  | 'no-rule'
  | 'denied'
  | 'capability'
  | 'wrapping'
  | 'required-parameter'
  | 'denied-parameter'
  | 'allowed-parameter'
  | 'pagination';

/** The answer to a question. */
export interface Decision {
  readonly allowed: boolean;
  /** Whether the rule also grants `sudo`. */
  readonly sudo: boolean;
  /** True for the root policy, which no rule limits. */
  readonly root: boolean;
  /** The rule that won; absent for root, and if no rule matched. */
  readonly rule?: RuleReference;
  readonly objection?: Objection;
  /** For lists: the page size if the request contains none; absent without a limit. */
  readonly paginationLimit?: number;
  /** For lists: see `PathRule.listFilter`. */
  readonly listFilter?: string;
}

/** A rule that matched but lost, and why. */
export interface LosingRule extends RuleReference {
  readonly lostBecause: string;
}

/** A decision with all its reasons. */
export interface Explanation extends Decision {
  readonly losers: readonly LosingRule[];
}

/** Compiled policies, which decide access without further look-ups. */
export interface AccessList {
  readonly root: boolean;
  /** One rule for each pattern, with templates filled in; empty for root. */
  readonly rules: readonly RuleReference[];
  /** Number of rules. */
  readonly size: number;
  /** The time at which the list must be compiled again because a rule expires; absent if no rule expires. */
  readonly validUntilMs?: number;
  /** Decides by the rule that wins for the path. If no rule matches, nothing is allowed. */
  decide(question: Question): Decision;
  /** Sorted names; `['deny']` if nothing is granted, `['root']` for root. */
  capabilities(path: CanonicalPath, folding?: Folding): string[];
  explain(question: Question): Explanation;
  /** Whether any capability is granted at or below a prefix such as `secret/`. */
  grantsBelow(prefix: string): boolean;
  /** Whether the template has a path whose winning rule grants the operation, and also `sudo` if `sudo` is true. */
  grantsSome(template: PathTemplate, operation: Operation, sudo?: boolean): boolean;
}

/**
 * A path with gaps. A segment is literal text, or free (any text). If `open` is true, any further segments may follow.
 */
export interface PathTemplate {
  readonly segments: readonly (string | { readonly free: true })[];
  readonly open?: boolean;
  /** See `Question.folding`. */
  readonly folding?: Folding;
}
