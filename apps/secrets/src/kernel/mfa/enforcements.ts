import { randomUUID } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { isId } from '../identity/checks';
import { CoherentCache } from '../storage/cache';
import type { Tx } from '../storage/types';
import { mfaNotice } from './methods';
import type { Enforcement, MfaNeeds } from './types';

interface Row {
  id: string;
  namespace_id: string;
  name: string;
  method_ids: string[];
  auth_method_accessors: string[];
  auth_method_types: string[];
  group_ids: string[];
  entity_ids: string[];
}

/** Fields of an enforcement to write; those left out keep their value. */
export type EnforcementWrite = Partial<Omit<Enforcement, 'id' | 'namespaceId' | 'name'>>;

/** Says whether auth mounts exist. */
export interface AuthMounts {
  hasAccessor(namespaceId: string, accessor: string): boolean;
  hasType(namespaceId: string, type: string): boolean;
}

/** A login, as enforcements look at it. */
export interface EnforceableLogin {
  readonly namespaceId: string;
  readonly accessor: string;
  readonly mountType: string;
  readonly entityId: string;
  readonly groupIds: ReadonlySet<string>;
}

/** Login enforcements; those of a namespace hold for the namespaces below it as well. */
export class Enforcements {
  private readonly cache: CoherentCache<readonly Enforcement[]>;

  constructor(
    private readonly needs: MfaNeeds,
    private readonly mounts: AuthMounts,
  ) {
    this.cache = new CoherentCache({ maxEntries: 1, fresh: () => needs.notices.fresh });
    needs.notices.listen('mfa', () => this.cache.clear());
  }

  async write(namespaceId: string, name: string, write: EnforcementWrite): Promise<void> {
    const run = async (tx: Tx) => {
      const { rows } = await tx.query<Row>(
        'SELECT * FROM mfa_enforcement WHERE namespace_id = $1 AND name = $2 FOR UPDATE',
        [namespaceId, name],
      );
      const nothing = { methodIds: [], authMethodAccessors: [], authMethodTypes: [], groupIds: [], entityIds: [] };
      const before = rows[0] ? toEnforcement(rows[0]) : { ...nothing, id: randomUUID(), namespaceId, name };
      const given = Object.entries(write).filter(([, value]) => value !== undefined);
      const after: Enforcement = { ...before, ...Object.fromEntries(given) };
      await this.check(tx, after);
      const values = [
        after.id,
        namespaceId,
        name,
        after.methodIds,
        after.authMethodAccessors,
        after.authMethodTypes,
        after.groupIds,
        after.entityIds,
      ];
      await tx.query(
        rows[0]
          ? `UPDATE mfa_enforcement SET method_ids = $4, auth_method_accessors = $5, auth_method_types = $6, group_ids = $7, entity_ids = $8
             WHERE id = $1 AND namespace_id = $2 AND name = $3`
          : `INSERT INTO mfa_enforcement (id, namespace_id, name, method_ids, auth_method_accessors, auth_method_types, group_ids, entity_ids)
             VALUES ($1, $2, $3, $4, $5, $6, $7, $8)`,
        values,
      );
    };
    await this.needs.committer.inTurn(`mfa-enforcement/${namespaceId}/${name}`, run, [mfaNotice]);
  }

  async find(namespaceId: string, name: string): Promise<Enforcement | undefined> {
    const { rows } = await this.needs.database.query<Row>(
      'SELECT * FROM mfa_enforcement WHERE namespace_id = $1 AND name = $2',
      [namespaceId, name],
    );
    return rows[0] && toEnforcement(rows[0]);
  }

  async list(namespaceId: string): Promise<Enforcement[]> {
    const { rows } = await this.needs.database.query<Row>(
      'SELECT * FROM mfa_enforcement WHERE namespace_id = $1 ORDER BY name COLLATE "C"',
      [namespaceId],
    );
    return rows.map(toEnforcement);
  }

  /** An absent enforcement is no error. */
  async delete(namespaceId: string, name: string): Promise<void> {
    await this.needs.committer.transaction(
      (tx) => tx.query('DELETE FROM mfa_enforcement WHERE namespace_id = $1 AND name = $2', [namespaceId, name]),
      [mfaNotice],
    );
  }

  /** Those of the enforcements that still exist, in the order of their names. */
  async byIds(ids: readonly string[]): Promise<Enforcement[]> {
    const { rows } = await this.needs.database.query<Row>(
      { name: 'mfa-enforcements', text: 'SELECT * FROM mfa_enforcement WHERE id = ANY($1) ORDER BY name' },
      [ids],
    );
    return rows.map(toEnforcement);
  }

  /** The enforcements a login must meet, each of them. */
  async matching(login: EnforceableLogin): Promise<Enforcement[]> {
    const all = (await this.cache.get('all', () => this.loadAll())) ?? [];
    if (all.length === 0) return [];
    const lineage = new Set(this.needs.lineage(login.namespaceId));
    return all.filter(
      (enforcement) =>
        lineage.has(enforcement.namespaceId) &&
        (enforcement.authMethodAccessors.includes(login.accessor) ||
          enforcement.authMethodTypes.includes(login.mountType) ||
          enforcement.entityIds.includes(login.entityId) ||
          enforcement.groupIds.some((id) => login.groupIds.has(id))),
    );
  }

  private async loadAll(): Promise<readonly Enforcement[]> {
    const { rows } = await this.needs.database.query<Row>('SELECT * FROM mfa_enforcement ORDER BY namespace_id, name');
    return rows.map(toEnforcement);
  }

  private async check(tx: Tx, { namespaceId, methodIds, ...targets }: Enforcement): Promise<void> {
    if (methodIds.length === 0) throw wrong('mfa_method_ids', 'missing method ids');
    const lineage = this.needs.lineage(namespaceId);
    // A method named here cannot be deleted before this commits.
    const methods = await countLocked(tx, 'mfa_method', methodIds, lineage);
    if (methods < new Set(methodIds).size)
      throw wrong('mfa_method_ids', "one of the provided method ids doesn't exist");
    if (!targets.authMethodAccessors.every((accessor) => this.mounts.hasAccessor(namespaceId, accessor))) {
      throw wrong('auth_method_accessors', 'one of the auth method accessors provided is invalid');
    }
    if (!targets.authMethodTypes.every((type) => this.mounts.hasType(namespaceId, type))) {
      throw wrong('auth_method_types', 'one of the auth method types provided is invalid');
    }
    const groups = await countLocked(tx, 'group', targets.groupIds, [namespaceId]);
    if (groups < new Set(targets.groupIds).size)
      throw wrong('identity_group_ids', "one of the provided group ids doesn't exist");
    const entities = await countLocked(tx, 'entity', targets.entityIds, [namespaceId]);
    if (entities < new Set(targets.entityIds).size)
      throw wrong('identity_entity_ids', "one of the provided entity ids doesn't exist");
    const { authMethodAccessors, authMethodTypes, groupIds, entityIds } = targets;
    if (authMethodAccessors.length + authMethodTypes.length + groupIds.length + entityIds.length === 0) {
      throw new Refusal(
        'malformed',
        'One of auth_method_accessors, auth_method_types, identity_group_ids, identity_entity_ids must be specified',
      );
    }
  }
}

async function countLocked(
  tx: Tx,
  table: 'mfa_method' | 'group' | 'entity',
  ids: readonly string[],
  namespaceIds: readonly string[],
): Promise<number> {
  if (ids.length === 0) return 0;
  const { rows } = await tx.query(
    `SELECT id FROM "${table}" WHERE id = ANY($1) AND namespace_id = ANY($2) FOR KEY SHARE`,
    [ids.filter(isId), namespaceIds],
  );
  return rows.length;
}

function wrong(field: string, message: string): Refusal {
  return new Refusal('malformed', message, [{ path: [field], message }]);
}

function toEnforcement(row: Row): Enforcement {
  return {
    id: row.id,
    namespaceId: row.namespace_id,
    name: row.name,
    methodIds: row.method_ids,
    authMethodAccessors: row.auth_method_accessors,
    authMethodTypes: row.auth_method_types,
    groupIds: row.group_ids,
    entityIds: row.entity_ids,
  };
}
