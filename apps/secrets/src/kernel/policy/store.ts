import { randomUUID } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { Prisma } from '../../generated/prisma/client';
import { CoherentCache, type Ticket } from '../storage/cache';
import { lockRows } from '../storage/lock-rows';
import { Pauses } from '../storage/slices';
import {
  type Barrier,
  type ChangeNotices,
  type Clock,
  type Committer,
  ROOT_NAMESPACE_ID,
  type Tx,
} from '../storage/types';
import {
  defaultPolicyName,
  defaultPolicyText,
  rootPolicy,
  rootPolicyName,
  wrappingPolicyName,
  wrappingPolicyText,
} from './built-in';
import { parsePolicy } from './parse-policy';
import { parseBounded } from './policy-size';
import type { Policy } from './types';

/** What an operator sets in addition to the text. */
export interface PolicyOptions {
  /** Whether writes must name the version that they replace. */
  readonly casRequired: boolean;
  readonly allowsWildcardsInTemplates: boolean;
  readonly allowsSlashesInTemplates: boolean;
  /** From this time on the policy grants nothing. */
  readonly expiresAtMs?: number;
}

/** A policy as stored (or built in), parsed. */
export interface StoredPolicy extends PolicyOptions {
  readonly name: string;
  readonly text: string;
  /** Counts writes; 0 for a built-in text that was never edited. */
  readonly version: number;
  readonly updatedAtMs: number;
  readonly policy: Policy;
}

/** The input of a policy write; `cas` is the version that the caller saw, 0 for none. */
export interface PolicyWrite extends Partial<PolicyOptions> {
  readonly text: string;
  readonly cas?: number;
}

/** The dependencies of the store. */
export interface PolicyStoreNeeds {
  readonly database: { readonly prisma: Pick<Tx['prisma'], 'policy'> };
  readonly committer: Pick<Committer, 'transaction' | 'inTurn'>;
  readonly barrier: Pick<Barrier, 'sealJson' | 'openJson'>;
  readonly notices: ChangeNotices;
  readonly clock: Clock;
}

type PolicyRow = Pick<Prisma.PolicyGetPayload<object>, keyof typeof COLUMNS>;

type SealedPolicy = PolicyOptions & { readonly text: string };

const noOptions: PolicyOptions = {
  casRequired: false,
  allowsWildcardsInTemplates: false,
  allowsSlashesInTemplates: false,
};
/** The only policy type. */
const ACL = 'acl';
const cell = (row: string) => ({ table: 'policy', row, column: 'sealed' });
const maxRemembered = 100_000;
const noticeKey = (namespaceId: string, name: string) => `${namespaceId}/${name}`;

/** The number of policies that are read in one statement. */
const perStatement = 50;
/** The maximum text size of all cached policies. A parsed policy takes about ten times the size of its text. */
const maxRememberedBytes = 32 * 1024 * 1024;
const COLUMNS = { id: true, name: true, version: true, updatedAtMs: true, sealed: true } as const;

/**
 * The policies of all namespaces. Names are case-insensitive and stored in lower case. Reads are cached; a write is
 * visible to the next request on this node and within a second on others.
 */
export class PolicyStore {
  private readonly cache: CoherentCache<StoredPolicy>;
  private readonly builtIn = new Map<string, StoredPolicy>();
  private changes = 0;
  /**
   * The epoch of each policy's last change. Policies that are not in this map changed before `forgottenAt`, or never.
   */
  private readonly changedAt = new Map<string, number>();
  private forgottenAt = 0;

  constructor(private readonly needs: PolicyStoreNeeds) {
    this.cache = new CoherentCache({
      maxEntries: 10_000,
      maxBytes: maxRememberedBytes,
      sizeOf: ({ text }) => text.length,
      fresh: () => needs.notices.fresh,
    });
    needs.notices.listen('policy', (key) => {
      this.changes += 1;
      if (key === '*' || this.changedAt.size >= maxRemembered) {
        this.changedAt.clear();
        this.forgottenAt = this.changes;
      }
      if (key === '*') this.cache.clear();
      else {
        this.changedAt.set(key, this.changes);
        this.cache.forget(key);
      }
    });
    for (const [name, text] of [
      [defaultPolicyName, defaultPolicyText],
      [wrappingPolicyName, wrappingPolicyText],
    ] as const) {
      this.builtIn.set(name, { ...noOptions, name, text, version: 0, updatedAtMs: 0, policy: parsePolicy(text) });
    }
  }

  /** Increases with every change of any policy; while it is unchanged, data derived from policies is valid. */
  get epoch(): number {
    return this.changes;
  }

  /** Whether none of the policies has changed since an `epoch`. */
  unchangedSince(
    epoch: number,
    policies: readonly { readonly namespaceId: string; readonly names: readonly string[] }[],
  ): boolean {
    if (epoch < this.forgottenAt) return false;
    return policies.every(({ namespaceId, names }) =>
      names.every((name) => (this.changedAt.get(noticeKey(namespaceId, name.toLowerCase())) ?? 0) <= epoch),
    );
  }

  /** A policy by its name in any case; undefined if there is none. */
  async find(namespaceId: string, anyName: string): Promise<StoredPolicy | undefined> {
    const name = anyName.toLowerCase();
    if (isFixed(name)) return this.fixed(namespaceId, name);
    const stored = await this.cache.get(noticeKey(namespaceId, name), () => this.load(namespaceId, name));
    return stored ?? this.builtIn.get(name);
  }

  /**
   * The policies that exist, in the order of their names. They are read a few at a time, on demand, so that other work
   * runs in between.
   */
  async *findAll(namespaceId: string, anyNames: readonly string[]): AsyncGenerator<StoredPolicy> {
    const names = [...new Set(anyNames.map((name) => name.toLowerCase()))];
    const pauses = new Pauses();
    for (let from = 0; from < names.length; from += perStatement) {
      yield* await this.findSome(namespaceId, names.slice(from, from + perStatement), pauses);
    }
  }

  private async findSome(namespaceId: string, names: readonly string[], pauses: Pauses): Promise<StoredPolicy[]> {
    const found = new Map<string, StoredPolicy | undefined>();
    const loading = new Map<string, Ticket>();
    for (const name of names) {
      const key = noticeKey(namespaceId, name);
      const cached = isFixed(name) ? (this.fixed(namespaceId, name) ?? null) : this.cache.peek(key);
      if (cached === undefined) loading.set(name, this.cache.begin(key, false));
      else found.set(name, cached ?? undefined);
    }
    try {
      for (const row of await this.rowsOf(namespaceId, [...loading.keys()])) {
        if (pauses.due) await pauses.take();
        const policy = this.open(row);
        this.cache.settle(loading.get(row.name)!, policy);
        loading.delete(row.name);
        found.set(row.name, policy);
      }
      for (const ticket of loading.values()) this.cache.settle(ticket, null);
      loading.clear();
    } finally {
      for (const ticket of loading.values()) this.cache.settle(ticket, undefined);
    }
    return names.flatMap((name) => found.get(name) ?? (isFixed(name) ? [] : (this.builtIn.get(name) ?? [])));
  }

  private async rowsOf(namespaceId: string, names: readonly string[]): Promise<PolicyRow[]> {
    if (names.length === 0) return [];
    return this.needs.database.prisma.policy.findMany({
      where: { namespaceId, type: ACL, name: { in: [...names] } },
      select: COLUMNS,
    });
  }

  private fixed(namespaceId: string, name: string): StoredPolicy | undefined {
    if (name === wrappingPolicyName) return this.builtIn.get(name);
    if (namespaceId !== ROOT_NAMESPACE_ID) return undefined;
    return { ...noOptions, name, text: '', version: 0, updatedAtMs: 0, policy: rootPolicy };
  }

  /** All names, sorted; `root` in the root namespace only. Internal policies are not listed. */
  async list(namespaceId: string): Promise<string[]> {
    const rows = await this.needs.database.prisma.policy.findMany({
      where: { namespaceId, type: ACL },
      select: { name: true },
    });
    const names = new Set(rows.map(({ name }) => name));
    names.add(defaultPolicyName);
    if (namespaceId === ROOT_NAMESPACE_ID) names.add(rootPolicyName);
    return [...names].sort();
  }

  /** The names without a policy. */
  async missing(namespaceId: string, names: readonly string[]): Promise<string[]> {
    const found = new Set<string>();
    for await (const { name } of this.findAll(namespaceId, names)) found.add(name);
    return names.filter((name) => !found.has(name.toLowerCase()));
  }

  /** Creates or replaces a policy. Throws `malformed` for text that does not parse and for fixed names. */
  async put(namespaceId: string, anyName: string, write: PolicyWrite): Promise<void> {
    const name = anyName.toLowerCase();
    if (name === rootPolicyName || name === wrappingPolicyName) {
      throw new Refusal('malformed', `cannot update "${name}" policy`);
    }
    parseBounded(write.text);
    await this.needs.committer.inTurn(
      `policy/${namespaceId}/${name}`,
      async (tx) => {
        const key = { namespaceId, type: ACL, name };
        await lockRows(
          tx,
          'policy',
          Prisma.sql`namespace_id = ${namespaceId}::uuid AND type = ${ACL} AND name = ${name}`,
        );
        const existing = await tx.prisma.policy.findUnique({
          where: { namespaceId_type_name: key },
          select: COLUMNS,
        });
        const before: PolicyOptions = existing
          ? this.needs.barrier.openJson<SealedPolicy>(existing.sealed, cell(existing.id))
          : noOptions;
        if (before.casRequired && write.cas === undefined) {
          throw new Refusal('malformed', 'check-and-set parameter required for this call');
        }
        if (write.cas !== undefined && write.cas !== (existing?.version ?? 0)) throw casMismatch();
        const sealed: SealedPolicy = {
          text: write.text,
          casRequired: write.casRequired ?? before.casRequired,
          allowsWildcardsInTemplates: write.allowsWildcardsInTemplates ?? false,
          allowsSlashesInTemplates: write.allowsSlashesInTemplates ?? false,
          expiresAtMs: write.expiresAtMs,
        };
        // The new id of every write binds the sealed text to this version.
        const id = randomUUID();
        const nowMs = this.needs.clock.now();
        const row = { id, updatedAtMs: nowMs, sealed: this.needs.barrier.sealJson(sealed, cell(id)) };
        if (existing) {
          const data = { ...row, version: { increment: 1 } };
          await tx.prisma.policy.update({ where: { id: existing.id }, data, select: { id: true } });
        } else {
          await tx.prisma.policy.create({ data: { ...key, ...row, createdAtMs: nowMs }, select: { id: true } });
        }
      },
      [{ topic: 'policy', key: noticeKey(namespaceId, name) }],
    );
  }

  /** Deletes a policy; an absent one is not an error. */
  async delete(namespaceId: string, anyName: string): Promise<void> {
    const name = anyName.toLowerCase();
    if (name === rootPolicyName || name === wrappingPolicyName) {
      throw new Refusal('malformed', `cannot delete "${name}" policy`);
    }
    if (name === defaultPolicyName) throw new Refusal('malformed', 'cannot delete default policy');
    await this.needs.committer.transaction(
      (tx) => tx.prisma.policy.deleteMany({ where: { namespaceId, type: ACL, name } }),
      [{ topic: 'policy', key: noticeKey(namespaceId, name) }],
    );
  }

  /** Removes the policies of a namespace. The caller sends the notice. */
  async clear({ prisma }: Tx, namespaceId: string): Promise<void> {
    await prisma.policy.deleteMany({ where: { namespaceId } });
  }

  private async load(namespaceId: string, name: string): Promise<StoredPolicy | undefined> {
    const row = await this.needs.database.prisma.policy.findUnique({
      where: { namespaceId_type_name: { namespaceId, type: ACL, name } },
      select: COLUMNS,
    });
    return row ? this.open(row) : undefined;
  }

  private open({ sealed, id, name, version, updatedAtMs }: PolicyRow): StoredPolicy {
    const { text, ...options } = this.needs.barrier.openJson<SealedPolicy>(sealed, cell(id));
    return { ...options, name, text, version, updatedAtMs: Number(updatedAtMs), policy: parsePolicy(text) };
  }
}

/** Names whose policies cannot be written. */
const isFixed = (name: string): boolean => name === rootPolicyName || name === wrappingPolicyName;

function casMismatch(): Refusal {
  return new Refusal('malformed', 'check-and-set parameter did not match the current version');
}
