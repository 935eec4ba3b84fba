import { Refusal } from '@keystead/refusal';
import type { Tx } from '../storage/types';
import { isId } from './checks';
import { type Entities, entityNotice } from './entities';
import type { EntityAliases } from './entity-aliases';
import { mfaSecretCell } from './rows';
import type { EntityAlias, IdentityNeeds } from './types';

/** What to merge into what. */
export interface Merge {
  readonly toId: string;
  readonly fromIds: readonly string[];
  /** Where both have an MFA secret of one method, the target's stays; without this, that is refused. */
  readonly force: boolean;
  /** Where both have an alias on one mount, the aliases to keep. */
  readonly aliasIdsToKeep: readonly string[];
}

/**
 * Merges entities: aliases and MFA secrets move, group memberships of the others end, and their tokens go on as tokens
 * of the target.
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
      const byEntity = await entities.aliasesOf([toId, ...fromIds], tx);
      await dropClashes(tx, byEntity, merge);
      for (const fromId of fromIds) {
        for (const alias of (await entities.aliasesOf([fromId], tx)).get(fromId) ?? []) {
          await aliases.save(tx, {
            ...alias,
            entityId: toId,
            mergedFromIds: [...new Set([...alias.mergedFromIds, fromId])],
          });
        }
        await moveSecrets(needs.barrier, tx, fromId, merge);
        await tx.query('UPDATE entity_merge SET entity_id = $2 WHERE entity_id = $1', [fromId, toId]);
        await tx.query('DELETE FROM entity WHERE id = $1', [fromId]);
        await tx.query('INSERT INTO entity_merge (merged_id, entity_id) VALUES ($1, $2)', [fromId, toId]);
      }
    },
    [...[toId, ...fromIds].map(entityNotice), { topic: 'mfa', key: '*' }],
  );
}

async function lockAll(tx: Tx, namespaceId: string, { toId, fromIds }: Merge): Promise<void> {
  // In one order, so that two merges cannot wait for each other.
  const { rows } = await tx.query<{ id: string }>(
    'SELECT id FROM entity WHERE namespace_id = $1 AND id = ANY($2) ORDER BY id FOR UPDATE',
    [namespaceId, [toId, ...fromIds].filter(isId)],
  );
  const found = new Set(rows.map(({ id }) => id));
  if (!found.has(toId)) throw new Refusal('malformed', 'entity id to merge to is invalid');
  if (!fromIds.every((id) => found.has(id))) throw new Refusal('malformed', 'entity id to merge from is invalid');
}

async function dropClashes(
  tx: Tx,
  byEntity: ReadonlyMap<string, EntityAlias[]>,
  { toId, fromIds, aliasIdsToKeep }: Merge,
): Promise<void> {
  const kept = new Map<string, EntityAlias>();
  const dropped: string[] = [];
  const clashes: string[] = [];
  for (const alias of [toId, ...fromIds].flatMap((id) => byEntity.get(id) ?? [])) {
    const rival = kept.get(alias.mountId);
    if (!rival) kept.set(alias.mountId, alias);
    else if (aliasIdsToKeep.includes(alias.id) && !aliasIdsToKeep.includes(rival.id)) {
      kept.set(alias.mountId, alias);
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
  if (dropped.length > 0) await tx.query('DELETE FROM entity_alias WHERE id = ANY($1)', [dropped]);
}

async function moveSecrets(
  barrier: IdentityNeeds['barrier'],
  tx: Tx,
  fromId: string,
  { toId, force }: Merge,
): Promise<void> {
  const { rows } = await tx.query<{ method_id: string }>(
    'SELECT a.method_id FROM mfa_secret a JOIN mfa_secret b ON b.method_id = a.method_id WHERE a.entity_id = $1 AND b.entity_id = $2',
    [fromId, toId],
  );
  if (rows.length > 0 && !force) {
    const ids = rows.map((row) => row.method_id).join(', ');
    throw new Refusal(
      'conflict',
      `both entities have a secret for MFA method ${ids}; set 'force' to keep the target's`,
    );
  }
  const kept = rows.map((row) => row.method_id);
  const moving = await tx.query<{ method_id: string; sealed: Buffer }>(
    'SELECT method_id, sealed FROM mfa_secret WHERE entity_id = $1 AND NOT method_id = ANY($2) FOR UPDATE',
    [fromId, kept],
  );
  for (const { method_id: methodId, sealed } of moving.rows) {
    // A sealed value opens only in its own row.
    const secret = barrier.openJson(sealed, mfaSecretCell(methodId, fromId));
    await tx.query('UPDATE mfa_secret SET entity_id = $3, sealed = $4 WHERE method_id = $1 AND entity_id = $2', [
      methodId,
      fromId,
      toId,
      barrier.sealJson(secret, mfaSecretCell(methodId, toId)),
    ]);
  }
}
