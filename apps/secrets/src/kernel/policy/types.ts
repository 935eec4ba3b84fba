import type { CanonicalPath, Folding } from '../../sdk/canonical-path';
import type { ParameterReading } from '../../sdk/parameter-reading';
import type { Operation } from './capability';

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
  /** Without a leading slash; templates not yet filled in. */
  readonly pattern: string;
  /** Where the block begins in the policy text, from 1. */
  readonly line: number;
  /** See `capabilityBits`; `deny` excludes all others. */
  readonly capabilities: number;
  readonly allowedParameters?: ParameterLists;
  readonly deniedParameters?: ParameterLists;
  /** Lower-case names. */
  readonly requiredParameters: readonly string[];
  /** 0 means no bound. */
  readonly minWrappingSeconds: number;
  /** 0 means no bound. */
  readonly maxWrappingSeconds: number;
  /** Second factors, by id or name, that every request must prove, besides what the login proved. */
  readonly mfaMethods: readonly string[];
  /** The block has no effect from this moment on. */
  readonly expiresAtMs?: number;
  readonly comment?: string;
  /** Longest page a list may ask for; 0 means no limit. */
  readonly paginationLimit: number;
  /** Template that turns a listed key into the path whose accessibility decides whether the key is shown. */
  readonly listFilter?: string;
}

/** A parsed policy. */
export interface Policy {
  /** The name inside the text, if any; the name it is stored under wins everywhere else. */
  readonly name?: string;
  readonly rules: readonly PathRule[];
  /** Whether any pattern holds an identity template. */
  readonly templated: boolean;
}

/** A policy on its way into an access list. */
export interface NamedPolicy {
  readonly name: string;
  /** `''` for the root namespace, else with a trailing slash; prefixes every pattern of the policy. */
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
  /** Direct and inherited. */
  readonly groups: readonly {
    readonly id: string;
    readonly name: string;
    readonly metadata: Readonly<Record<string, string>>;
  }[];
}

/** What a request wants to do. */
export interface Question {
  /** Namespace path included, no leading slash; a list keeps its trailing slash. */
  readonly path: CanonicalPath;
  /** What of the path is read in lower case: patterns are read likewise. */
  readonly folding?: Folding;
  readonly operation: Operation;
  /** Body or query fields under the names the client sent. */
  readonly parameters?: Readonly<Record<string, unknown>>;
  /** All of them are data, null as well; elsewhere null is not given. */
  readonly freeform?: boolean;
  /** How the operation reads its parameters: rules about them judge what they say to it. Absent where they are data. */
  readonly reading?: ParameterReading;
  /** Undefined when the request does not ask for a wrapped response. */
  readonly wrapTtlSeconds?: number;
}

/** Where a rule was written. One rule has several places when blocks for the same pattern were merged. */
export interface RulePlace {
  readonly policy: string;
  readonly namespacePath: string;
  /** As written. */
  readonly pattern: string;
  readonly line: number;
}

/** A second factor that a rule asks of every request: a method by id or name, in the namespace of the policy. */
export interface DemandedMethod {
  readonly namespacePath: string;
  readonly method: string;
}

/** The one rule that applies to a path. */
export interface RuleReference {
  /** Namespace prefix and template values filled in. */
  readonly pattern: string;
  /** Names, sorted. */
  readonly capabilities: readonly string[];
  readonly places: readonly RulePlace[];
  /** All of them are to be proven by the request itself. */
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
  /** The rule that won; absent for root and when nothing matched. */
  readonly rule?: RuleReference;
  readonly objection?: Objection;
  /** Lists: the page size to apply when the request names none; absent without a limit. */
  readonly paginationLimit?: number;
  /** Lists: see `PathRule.listFilter`. */
  readonly listFilter?: string;
}

/** A rule that matched without winning, and what decided against it. */
export interface LosingRule extends RuleReference {
  readonly lostBecause: string;
}

/** A decision with everything that spoke for and against it. */
export interface Explanation extends Decision {
  readonly losers: readonly LosingRule[];
}

/** Compiled policies: answers what may be done where, without looking anything up. */
export interface AccessList {
  readonly root: boolean;
  /** One for every pattern, templates filled in; none for root. */
  readonly rules: readonly RuleReference[];
  /** Number of rules. */
  readonly size: number;
  /** From this moment on the list must be compiled again, because a rule has expired; absent when none does. */
  readonly validUntilMs?: number;
  decide(question: Question): Decision;
  /** Sorted names; `['deny']` when nothing is granted, `['root']` for root. */
  capabilities(path: CanonicalPath, folding?: Folding): string[];
  explain(question: Question): Explanation;
  /** Whether any capability is granted somewhere at or below a prefix such as `secret/`. */
  grantsBelow(prefix: string): boolean;
  /** Whether some concrete path of a template exists for which the winning rule grants the operation, and sudo if asked. */
  grantsSome(template: PathTemplate, operation: Operation, sudo?: boolean): boolean;
}

/** A path with holes: literal text, one free segment, or any free rest (`open`, only at the end). */
export interface PathTemplate {
  readonly segments: readonly (string | { readonly free: true })[];
  readonly open?: boolean;
  /** See `Question.folding`. */
  readonly folding?: Folding;
}
