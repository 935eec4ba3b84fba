import { randomUUID } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { Prisma } from '../../generated/prisma/client';
import { isId } from '../identity/checks';
import { CoherentCache } from '../storage/cache';
import { lockRows } from '../storage/lock-rows';
import type { Tx } from '../storage/types';
import { mfaNotice } from './methods';
import type { Enforcement, MfaNeeds } from './types';

/** Fields of an enforcement to write; omitted fields keep their value. */
export type EnforcementWrite = Partial<Omit<Enforcement, 'id' | 'namespaceId' | 'name'>>;

/** Checks whether auth mounts exist. */
export interface AuthMounts {
  hasAccessor(namespaceId: string, accessor: string): boolean;
  hasType(namespaceId: string, type: string): boolean;
}

/** The properties of a login that enforcements match. */
export interface EnforceableLogin {
  readonly namespaceId: string;
  readonly accessor: string;
  readonly mountType: string;
  readonly entityId: string;
  readonly groupIds: ReadonlySet<string>;
}

/** Login enforcements; they also apply to namespaces below their own. */
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
      const where = Prisma.sql`namespace_id = ${namespaceId}::uuid AND name = ${name}`;
      const [lockedRow] = await lockRows(tx, 'mfa_enforcement', where);
      const row =
        lockedRow === undefined ? null : await tx.prisma.mfaEnforcement.findUnique({ where: { id: lockedRow } });
      const nothing = { methodIds: [], authMethodAccessors: [], authMethodTypes: [], groupIds: [], entityIds: [] };
      const before = row ?? { ...nothing, id: randomUUID(), namespaceId, name };
      const changes = Object.entries(write).filter(([, value]) => value !== undefined);
      const after: Enforcement = { ...before, ...Object.fromEntries(changes) };
      await this.check(tx, after);
      const lists = {
        methodIds: [...after.methodIds],
        authMethodAccessors: [...after.authMethodAccessors],
        authMethodTypes: [...after.authMethodTypes],
        groupIds: [...after.groupIds],
        entityIds: [...after.entityIds],
      };
      if (row) await tx.prisma.mfaEnforcement.updateMany({ where: { id: row.id }, data: lists });
      else await tx.prisma.mfaEnforcement.createMany({ data: { id: after.id, namespaceId, name, ...lists } });
    };
    await this.needs.committer.inTurn(`mfa-enforcement/${namespaceId}/${name}`, run, [mfaNotice]);
  }

  async find(namespaceId: string, name: string): Promise<Enforcement | undefined> {
    const namespaceId_name = { namespaceId, name };
    const row = await this.needs.database.prisma.mfaEnforcement.findUnique({ where: { namespaceId_name } });
    return row ?? undefined;
  }

  async list(namespaceId: string): Promise<Enforcement[]> {
    const where = { namespaceId };
    return this.needs.database.prisma.mfaEnforcement.findMany({ where, orderBy: { name: 'asc' } });
  }

  /** Deletes an enforcement. An absent enforcement is not an error. */
  async delete(namespaceId: string, name: string): Promise<void> {
    await this.needs.committer.transaction(
      (tx) => tx.prisma.mfaEnforcement.deleteMany({ where: { namespaceId, name } }),
      [mfaNotice],
    );
  }

  /** The enforcements that still exist, in the order of their names. */
  async byIds(ids: readonly string[]): Promise<Enforcement[]> {
    const where = { id: { in: [...ids] } };
    return this.needs.database.prisma.mfaEnforcement.findMany({ where, orderBy: { name: 'asc' } });
  }

  /** All enforcements that a login must meet. */
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
    return this.needs.database.prisma.mfaEnforcement.findMany({ orderBy: [{ namespaceId: 'asc' }, { name: 'asc' }] });
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
  const where = Prisma.sql`id = ANY(${ids.filter(isId)}::uuid[]) AND namespace_id = ANY(${namespaceIds}::uuid[])`;
  return (await lockRows(tx, table, where, 'KEY SHARE')).length;
}

function wrong(field: string, message: string): Refusal {
  return new Refusal('malformed', message, [{ path: [field], message }]);
}
