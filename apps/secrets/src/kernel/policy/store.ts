import { randomUUID } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { CoherentCache } from '../storage/cache';
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
import type { Policy } from './types';

/** What an operator sets beside the text. */
export interface PolicyOptions {
  /** Writes must name the version they replace. */
  readonly casRequired: boolean;
  readonly allowsWildcardsInTemplates: boolean;
  readonly allowsSlashesInTemplates: boolean;
  /** The policy grants nothing from this moment on. */
  readonly expiresAtMs?: number;
}

/** A policy as stored (or built in), parsed. */
export interface StoredPolicy extends PolicyOptions {
  readonly name: string;
  readonly text: string;
  /** Counts writes; 0 for a built-in text that nobody has edited. */
  readonly version: number;
  readonly updatedAtMs: number;
  readonly policy: Policy;
}

/** What a policy is written with; `cas` is the version the caller saw, 0 for none. */
export interface PolicyWrite extends Partial<PolicyOptions> {
  readonly text: string;
  readonly cas?: number;
}

/** What the store stands on. */
export interface PolicyStoreNeeds {
  readonly database: Pick<Tx, 'query'>;
  readonly committer: Pick<Committer, 'transaction' | 'inTurn'>;
  readonly barrier: Pick<Barrier, 'sealJson' | 'openJson'>;
  readonly notices: ChangeNotices;
  readonly clock: Clock;
}

interface Row {
  id: string;
  name: string;
  version: number;
  updated_at_ms: string;
  sealed: Buffer;
}

type Sealed = PolicyOptions & { readonly text: string };

const noOptions: PolicyOptions = {
  casRequired: false,
  allowsWildcardsInTemplates: false,
  allowsSlashesInTemplates: false,
};
const cell = (row: string) => ({ table: 'policy', row, column: 'sealed' });
const maxRemembered = 100_000;
const noticeKey = (namespaceId: string, name: string) => `${namespaceId}/${name}`;

const findRow = {
  name: 'policy-find',
  text: `SELECT id, name, version, updated_at_ms, sealed FROM policy WHERE namespace_id = $1 AND type = 'acl' AND name = $2`,
};
const upsert = {
  name: 'policy-upsert',
  text: `INSERT INTO policy (id, namespace_id, type, name, version, created_at_ms, updated_at_ms, sealed)
         VALUES ($1, $2, 'acl', $3, 1, $4, $4, $5)
         ON CONFLICT (namespace_id, type, name)
         DO UPDATE SET version = policy.version + 1, updated_at_ms = excluded.updated_at_ms, sealed = excluded.sealed,
                       id = excluded.id
         WHERE $6::int IS NULL OR policy.version = $6
         RETURNING version`,
};

/**
 * The policies of all namespaces. Names are case-insensitive and kept in lower case.
 *
 * Reads are cached; a write is seen by the next request on this node and within a second on others.
 */
export class PolicyStore {
  private readonly cache: CoherentCache<StoredPolicy>;
  private readonly builtIn = new Map<string, StoredPolicy>();
  private changes = 0;
  /** When a policy changed last, by `epoch`; what is not here changed before `forgottenAt`, or never. */
  private readonly changedAt = new Map<string, number>();
  private forgottenAt = 0;

  constructor(private readonly needs: PolicyStoreNeeds) {
    this.cache = new CoherentCache({ maxEntries: 10_000, fresh: () => needs.notices.fresh });
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

  /** Grows with every change of any policy; while it stands still, what was derived from policies holds. */
  get epoch(): number {
    return this.changes;
  }

  /** Whether none of the policies has changed after an earlier `epoch`. */
  unchangedSince(
    epoch: number,
    policies: readonly { readonly namespaceId: string; readonly names: readonly string[] }[],
  ): boolean {
    if (epoch < this.forgottenAt) return false;
    return policies.every(({ namespaceId, names }) =>
      names.every((name) => (this.changedAt.get(noticeKey(namespaceId, name.toLowerCase())) ?? 0) <= epoch),
    );
  }

  /** A policy by any spelling of its name; undefined when there is none. */
  async find(namespaceId: string, anyName: string): Promise<StoredPolicy | undefined> {
    const name = anyName.toLowerCase();
    if (name === rootPolicyName) {
      if (namespaceId !== ROOT_NAMESPACE_ID) return undefined;
      return { ...noOptions, name, text: '', version: 0, updatedAtMs: 0, policy: rootPolicy };
    }
    if (name === wrappingPolicyName) return this.builtIn.get(name);
    const stored = await this.cache.get(noticeKey(namespaceId, name), () => this.load(namespaceId, name));
    return stored ?? this.builtIn.get(name);
  }

  /** All names, sorted; `root` in the root namespace only. Internal policies are not listed. */
  async list(namespaceId: string): Promise<string[]> {
    const { rows } = await this.needs.database.query<{ name: string }>(
      `SELECT name FROM policy WHERE namespace_id = $1 AND type = 'acl' ORDER BY name COLLATE "C"`,
      [namespaceId],
    );
    const names = new Set(rows.map(({ name }) => name));
    names.add(defaultPolicyName);
    if (namespaceId === ROOT_NAMESPACE_ID) names.add(rootPolicyName);
    return [...names].sort();
  }

  /** Those of the names that no policy has. */
  async missing(namespaceId: string, names: readonly string[]): Promise<string[]> {
    const found = await Promise.all(names.map((name) => this.find(namespaceId, name)));
    return names.filter((_, index) => found[index] === undefined);
  }

  /** Creates or replaces a policy. Throws `malformed` for text that does not parse and for the names nobody may write. */
  async put(namespaceId: string, anyName: string, write: PolicyWrite): Promise<void> {
    const name = anyName.toLowerCase();
    if (name === rootPolicyName || name === wrappingPolicyName) {
      throw new Refusal('malformed', `cannot update "${name}" policy`);
    }
    parsePolicy(write.text);
    await this.needs.committer.inTurn(
      `policy/${namespaceId}/${name}`,
      async (tx) => {
        const existing = (await tx.query<Row>(`${findRow.text} FOR UPDATE`, [namespaceId, name])).rows[0];
        const before: PolicyOptions = existing
          ? this.needs.barrier.openJson<Sealed>(existing.sealed, cell(existing.id))
          : noOptions;
        if (before.casRequired && write.cas === undefined) {
          throw new Refusal('malformed', 'check-and-set parameter required for this call');
        }
        if (write.cas !== undefined && write.cas !== (existing?.version ?? 0)) throw casMismatch();
        const sealed: Sealed = {
          text: write.text,
          casRequired: write.casRequired ?? before.casRequired,
          allowsWildcardsInTemplates: write.allowsWildcardsInTemplates ?? false,
          allowsSlashesInTemplates: write.allowsSlashesInTemplates ?? false,
          expiresAtMs: write.expiresAtMs,
        };
        // A new id with every write binds the sealed text to this version.
        const id = randomUUID();
        const written = await tx.query(upsert, [
          id,
          namespaceId,
          name,
          this.needs.clock.now(),
          this.needs.barrier.sealJson(sealed, cell(id)),
          write.cas === undefined ? null : (existing?.version ?? 0),
        ]);
        if (written.rowCount === 0) throw casMismatch();
      },
      [{ topic: 'policy', key: noticeKey(namespaceId, name) }],
    );
  }

  /** Deletes a policy; an absent one is no error. */
  async delete(namespaceId: string, anyName: string): Promise<void> {
    const name = anyName.toLowerCase();
    if (name === rootPolicyName || name === wrappingPolicyName) {
      throw new Refusal('malformed', `cannot delete "${name}" policy`);
    }
    if (name === defaultPolicyName) throw new Refusal('malformed', 'cannot delete default policy');
    await this.needs.committer.transaction(
      (tx) =>
        tx.query(`DELETE FROM policy WHERE namespace_id = $1 AND type = 'acl' AND name = $2`, [namespaceId, name]),
      [{ topic: 'policy', key: noticeKey(namespaceId, name) }],
    );
  }

  private async load(namespaceId: string, name: string): Promise<StoredPolicy | undefined> {
    const row = (await this.needs.database.query<Row>(findRow, [namespaceId, name])).rows[0];
    if (!row) return undefined;
    const { text, ...options } = this.needs.barrier.openJson<Sealed>(row.sealed, cell(row.id));
    const { version } = row;
    return { ...options, name, text, version, updatedAtMs: Number(row.updated_at_ms), policy: parsePolicy(text) };
  }
}

function casMismatch(): Refusal {
  return new Refusal('malformed', 'check-and-set parameter did not match the current version');
}
