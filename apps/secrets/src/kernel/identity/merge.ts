import { Refusal } from '@keystead/refusal';
import { Prisma } from '../../generated/prisma/client';
import { lockRows } from '../storage/lock-rows';
import type { Tx } from '../storage/types';
import { isId } from './checks';
import { type Entities, entityNotice } from './entities';
import type { EntityAliases } from './entity-aliases';
import { joinGroupsOf, leaveGroupsWithoutAlias } from './memberships';
import { mfaSecretCell } from './rows';
import type { EntityAlias, IdentityNeeds } from './types';

/** The entities to merge, and their target. */
export interface Merge {
  readonly toId: string;
  readonly fromIds: readonly string[];
  /** If both have a secret of one MFA method, keep the target's; without `force`, the merge is refused. */
  readonly force: boolean;
  /** The aliases to keep if both have one on the same mount. */
  readonly aliasIdsToKeep: readonly string[];
}

/**
 * Merges entities: aliases, MFA secrets and group memberships move to the target, and tokens of the other entities
 * become tokens of the target.
 */
export async function mergeEntities(
  { needs, entities, aliases }: { needs: IdentityNeeds; entities: Entities; aliases: EntityAliases },
  namespaceId: string,
  merge: Merge,
): Promise<void> {
  const { toId, fromIds } = merge;
  if (fromIds.includes(toId)) throw new Refusal('malformed', 'to_entity_id should not be present in from_entity_ids');
  await needs.committer.transaction(
    async (tx) => {
      await lockAll(tx, namespaceId, merge);
      const byEntity = await entities.aliasesOf([toId, ...fromIds], tx.prisma);
      await dropClashes(tx, byEntity, merge);
      await leaveGroupsWithoutAlias(tx, toId);
      for (const fromId of fromIds) {
        const moving = (await entities.aliasesOf([fromId], tx.prisma)).get(fromId) ?? [];
        const mountIds = moving.map(({ mountId }) => mountId);
        await joinGroupsOf(tx, { fromId, toId, mountIds }, needs.clock.now());
        for (const alias of moving) {
          await aliases.save(tx, {
            ...alias,
            entityId: toId,
            mergedFromIds: [...new Set([...alias.mergedFromIds, fromId])],
          });
        }
        await moveSecrets(needs.barrier, tx, fromId, merge);
        await moveEnforcements(tx, fromId, toId);
        await tx.prisma.entityMerge.updateMany({ where: { entityId: fromId }, data: { entityId: toId } });
        await tx.prisma.entity.deleteMany({ where: { id: fromId } });
        await tx.prisma.entityMerge.createMany({ data: { mergedId: fromId, entityId: toId } });
      }
    },
    [...[toId, ...fromIds].map(entityNotice), { topic: 'mfa', key: '*' }],
  );
}

async function lockAll(tx: Tx, namespaceId: string, { toId, fromIds }: Merge): Promise<void> {
  const ids = [toId, ...fromIds].filter(isId);
  const where = Prisma.sql`namespace_id = ${namespaceId}::uuid AND id = ANY(${ids}::uuid[])`;
  const found = new Set(await lockRows(tx, 'entity', where));
  if (!found.has(toId)) throw new Refusal('malformed', 'entity id to merge to is invalid');
  if (!fromIds.every((id) => found.has(id))) throw new Refusal('malformed', 'entity id to merge from is invalid');
}

async function dropClashes(
  tx: Tx,
  byEntity: ReadonlyMap<string, EntityAlias[]>,
  { toId, fromIds, aliasIdsToKeep }: Merge,
): Promise<void> {
  const keptAliases = new Map<string, EntityAlias>();
  const dropped: string[] = [];
  const clashes: string[] = [];
  for (const alias of [toId, ...fromIds].flatMap((id) => byEntity.get(id) ?? [])) {
    const rival = keptAliases.get(alias.mountId);
    if (!rival) keptAliases.set(alias.mountId, alias);
    else if (aliasIdsToKeep.includes(alias.id) && !aliasIdsToKeep.includes(rival.id)) {
      keptAliases.set(alias.mountId, alias);
      dropped.push(rival.id);
    } else if (aliasIdsToKeep.includes(rival.id)) dropped.push(alias.id);
    else clashes.push(`${rival.id} and ${alias.id} (mount accessor ${alias.mountAccessor})`);
  }
  if (clashes.length > 0) {
    throw new Refusal(
      'conflict',
      `entities have aliases on the same mount; name the ones to keep in 'conflicting_alias_ids_to_keep': ${clashes.join('; ')}`,
    );
  }
  if (dropped.length > 0) await tx.prisma.entityAlias.deleteMany({ where: { id: { in: dropped } } });
}

/**
 * Moves MFA enforcements to the target, so that logins that must show a second factor because of their entity must
 * still do so.
 */
async function moveEnforcements(tx: Tx, fromId: string, toId: string): Promise<void> {
  await tx.prisma.$executeRaw`
    UPDATE mfa_enforcement
       SET entity_ids = array_append(array_remove(array_remove(entity_ids, ${fromId}::uuid), ${toId}::uuid), ${toId}::uuid)
     WHERE ${fromId}::uuid = ANY(entity_ids)`;
}

async function moveSecrets(
  barrier: IdentityNeeds['barrier'],
  tx: Tx,
  fromId: string,
  { toId, force }: Merge,
): Promise<void> {
  const rows = await tx.prisma.mfaSecret.findMany({
    where: { entityId: fromId, method: { secrets: { some: { entityId: toId } } } },
    select: { methodId: true },
  });
  if (rows.length > 0 && !force) {
    const ids = rows.map((row) => row.methodId).join(', ');
    throw new Refusal(
      'conflict',
      `both entities have a secret for MFA method ${ids}; set 'force' to keep the target's`,
    );
  }
  const methodIds = rows.map((row) => row.methodId);
  const moving = await tx.prisma.mfaSecret.findMany({
    where: { entityId: fromId, methodId: { notIn: methodIds } },
    select: { methodId: true, sealed: true },
  });
  for (const { methodId, sealed } of moving) {
    // A sealed value opens only in its own row.
    const secret = barrier.openJson(sealed, mfaSecretCell(methodId, fromId));
    await tx.prisma.mfaSecret.updateMany({
      where: { methodId, entityId: fromId },
      data: { entityId: toId, sealed: barrier.sealJson(secret, mfaSecretCell(methodId, toId)) },
    });
  }
}
