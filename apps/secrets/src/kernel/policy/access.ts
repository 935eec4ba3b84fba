import { Refusal } from '@keystead/refusal';
import { LRUCache } from 'lru-cache';
import type { Soon } from '../../sdk/soon';
import { type ChangeNotices, type Clock, ROOT_NAMESPACE_ID } from '../storage/types';
import { rootAccess } from './access-list';
import { rootPolicyName } from './built-in';
import { fill, type Groundwork, prepare } from './compile';
import { maxRulesOfCaller, maxTextOfCaller, sizeOf } from './policy-size';
import type { PolicyStore } from './store';
import type { AccessList, NamedPolicy, Subject } from './types';

/** Policy names of one namespace. */
export interface PolicyNames {
  readonly namespaceId: string;
  readonly names: readonly string[];
}

/** The identity behind a caller: a new object whenever anything in it has changed. */
export interface Identified {
  readonly entityId: string;
  readonly subject: Subject;
  /** Policies of the entity and of all its groups, each in the namespace it comes from. */
  readonly policies: readonly PolicyNames[];
}

/** The caller: the token's own policies, and its identity, if any. */
export interface AccessQuery {
  readonly namespaceId: string;
  /** Lookups are fastest if all requests of a token pass the same array. */
  readonly policies: readonly string[];
  readonly identity?: Identified;
}

/** The sources of access lists. */
export interface AccessNeeds {
  readonly policies: PolicyStore;
  readonly notices: Pick<ChangeNotices, 'fresh'>;
  readonly clock: Clock;
  /** `''` for the root namespace, otherwise with a trailing slash; undefined for a namespace that no longer exists. */
  namespacePath(id: string): string | undefined;
}

/** A result that is valid until one of its policies changes. */
interface Derived {
  /** The policy revisions at which this is known to be valid. */
  epoch: number;
  readonly names: readonly PolicyNames[];
  readonly validUntilMs?: number;
}
interface DerivedGroundwork extends Derived {
  readonly groundwork: Groundwork;
}
interface Compiled extends Derived {
  /** Undefined if the list does not depend on an identity. */
  readonly identity: Identified | undefined;
  readonly list: AccessList;
}

const anonymous = {};
/** The maximum number of rules in all cached lists together; each rule takes a few hundred bytes. */
const maxRules = 200_000;
const maxLists = 50_000;

/**
 * Compiled access lists of callers: the policies of the token, the entity and its groups, as they are now.
 *
 * A list is valid as long as none of its policies has changed and the identity is the same object. So no list has to be
 * invalidated, because an outdated list is never found. The part that is the same for all callers is compiled once and
 * shared.
 */
export class Access {
  /** Keys of `lists`, so that dropped lists can be collected. */
  private readonly keys = new WeakMap<readonly string[], WeakMap<object, string>>();
  private readonly lists = new LRUCache<string, Compiled>({
    maxSize: maxRules,
    sizeCalculation: ({ list, identity }) => (identity ? list.size : 0) + maxRules / maxLists,
  });
  private readonly groundworks = new LRUCache<string, DerivedGroundwork>({
    maxSize: maxRules,
    sizeCalculation: ({ groundwork }) =>
      groundwork.layer.rules.length + groundwork.templated.length + maxRules / 10_000,
  });

  constructor(private readonly needs: AccessNeeds) {}

  /** The list if it is cached, without waiting. */
  peek({ policies, namespaceId, identity }: AccessQuery): AccessList | undefined {
    if (policies.length === 1 && policies[0] === rootPolicyName && namespaceId === ROOT_NAMESPACE_ID) return rootAccess;
    const key = this.keys.get(policies)?.get(identity ?? anonymous);
    const compiled = key === undefined ? undefined : this.lists.get(key);
    if (!compiled || !this.isCurrent(compiled)) return undefined;
    return compiled.identity === undefined || compiled.identity === identity ? compiled.list : undefined;
  }

  /** The list of a caller: cached, or compiled from the current policies. Throws `denied` for too many rules. */
  of(query: AccessQuery): Soon<AccessList> {
    return this.peek(query) ?? this.compile(query);
  }

  private async compile(query: AccessQuery): Promise<AccessList> {
    const { policies, identity } = query;
    const names = collectNames(query);
    const base = JSON.stringify(names.map((group) => [group.namespaceId, group.names]));
    const { groundwork, epoch } = await this.groundworkOf(base, names);
    const list = await fill(groundwork, identity?.subject);
    // Callers without filled-in templates share one list.
    const subject = list === groundwork.list ? undefined : identity;
    const key = subject ? `${base}${subject.entityId}` : base;
    this.lists.set(key, { epoch, names, validUntilMs: list.validUntilMs, identity: subject, list });
    let callers = this.keys.get(policies);
    if (!callers) {
      callers = new WeakMap();
      this.keys.set(policies, callers);
    }
    callers.set(identity ?? anonymous, key);
    return list;
  }

  private async groundworkOf(key: string, names: readonly PolicyNames[]): Promise<DerivedGroundwork> {
    const cached = this.groundworks.get(key);
    if (cached && this.isCurrent(cached)) return cached;
    // Read before the policies, so that a change in between makes the result outdated.
    const { epoch } = this.needs.policies;
    const groundwork = await prepare(await this.load(names), this.needs.clock.now());
    const derived = { epoch, names, validUntilMs: groundwork.validUntilMs, groundwork };
    this.groundworks.set(key, derived);
    return derived;
  }

  private isCurrent(derived: Derived): boolean {
    const { validUntilMs, names } = derived;
    if (!this.needs.notices.fresh) return false;
    if (this.needs.clock.now() >= (validUntilMs ?? Number.POSITIVE_INFINITY)) return false;
    const { policies } = this.needs;
    if (derived.epoch !== policies.epoch) {
      if (!policies.unchangedSince(derived.epoch, names)) return false;
      derived.epoch = policies.epoch;
    }
    return true;
  }

  /** Throws `denied` if a caller has too many rules, because compiling them could block all other requests. */
  private async load(names: readonly PolicyNames[]): Promise<NamedPolicy[]> {
    const nowMs = this.needs.clock.now();
    const found: NamedPolicy[] = [];
    let rules = 0;
    let bytes = 0;
    for (const { namespaceId, names: ofNamespace } of names) {
      const namespacePath = this.needs.namespacePath(namespaceId);
      if (namespacePath === undefined) continue;
      for await (const stored of this.needs.policies.findAll(namespaceId, ofNamespace)) {
        const { expiresAtMs, policy } = stored;
        if (expiresAtMs !== undefined && expiresAtMs <= nowMs) continue;
        rules += sizeOf(policy);
        bytes += stored.text.length;
        if (rules > maxRulesOfCaller || bytes > maxTextOfCaller) throw tooManyRules();
        found.push(
          expiresAtMs === undefined
            ? { ...stored, namespacePath }
            : { ...stored, namespacePath, policy: expiring(policy, expiresAtMs) },
        );
      }
    }
    return found;
  }
}

function tooManyRules(): Refusal {
  return new Refusal(
    'denied',
    `permission denied: the policies of the caller have more than ${maxRulesOfCaller} rules, or are too long`,
  );
}

/** The policy with rules that expire no later than the policy itself. */
function expiring(policy: NamedPolicy['policy'], atMs: number): NamedPolicy['policy'] {
  const rules = policy.rules.map((rule) => ({ ...rule, expiresAtMs: Math.min(rule.expiresAtMs ?? atMs, atMs) }));
  return { ...policy, rules };
}

function collectNames({ namespaceId, policies, identity }: AccessQuery): PolicyNames[] {
  const byNamespace = new Map<string, Set<string>>();
  for (const group of [{ namespaceId, names: policies }, ...(identity?.policies ?? [])]) {
    const names = byNamespace.get(group.namespaceId) ?? new Set();
    for (const name of group.names) names.add(name);
    byNamespace.set(group.namespaceId, names);
  }
  return [...byNamespace].map(([id, names]) => ({ namespaceId: id, names: [...names].sort() }));
}
