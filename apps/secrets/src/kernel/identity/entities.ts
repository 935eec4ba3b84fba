import { randomBytes, randomUUID } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { mapInTurns } from '../storage/in-turns';
import type { Notice, Tx } from '../storage/types';
import { checkMetadata, checkName, checkPolicies, isId, isTaken } from './checks';
import { cellOf, type EntityAliasRow, type EntityRow, type SealedPrincipal, toEntity, toEntityAlias } from './rows';
import type { Entity, EntityAlias, EntityDetails, IdentityNeeds, IdentityPage, Metadata } from './types';

/** Fields of an entity to write; those left out keep their value. */
export interface EntityWrite {
  readonly name?: string;
  readonly metadata?: Metadata;
  readonly policies?: readonly string[];
  readonly disabled?: boolean;
}

/** Names the entity a write is about: by id (which must exist), by name (created when absent), or neither (created). */
export interface EntityRef {
  readonly id?: string;
  readonly name?: string;
}

const nameIndex = 'entity_namespace_id_lower_name_key';

/** The notice that an entity, or what it may do, has changed. */
export const entityNotice = (id: string): Notice => ({ topic: 'entity', key: id });

/** Entities: made, changed, looked up, removed. Unique names are the database's affair. */
export class Entities {
  constructor(private readonly needs: IdentityNeeds) {}

  /** Creates or changes an entity; `created` tells which. */
  async write(namespaceId: string, ref: EntityRef, write: EntityWrite): Promise<{ entity: Entity; created: boolean }> {
    const fields = {
      ...write,
      ...(write.policies && { policies: checkPolicies(write.policies) }),
      ...(write.metadata && { metadata: checkMetadata('metadata', write.metadata) }),
    };
    if (fields.name !== undefined) checkName('entity', fields.name);
    const run = async (tx: Tx): Promise<{ entity: Entity; created: boolean }> => {
      const existing = await this.lock(tx, namespaceId, ref);
      // Only who is named by id can get another name: a spelling that was looked up is no rename.
      const kept = ref.id === undefined ? { ...fields, name: undefined } : fields;
      if (existing) return { entity: await this.update(tx, existing, kept), created: false };
      if (ref.id !== undefined) throw new Refusal('malformed', 'entity not found from id');
      return {
        entity: await this.insert(tx, namespaceId, { ...fields, name: fields.name || ref.name }),
        created: true,
      };
    };
    const name = ref.name?.toLowerCase();
    const turn = `entity/${ref.id ?? (name ? `${namespaceId}/${name}` : randomUUID())}`;
    const inTurn = () => this.needs.committer.inTurn(turn, run, ({ entity }) => [entityNotice(entity.id)]);
    try {
      return await inTurn();
    } catch (error) {
      if (!isTaken(error, nameIndex)) throw error;
      // A rename met a taken name; or another entity was given this name meanwhile, and is the one to change.
      if (ref.id !== undefined) throw new Refusal('conflict', 'entity name is already in use');
      return inTurn();
    }
  }

  /** Inserts a new entity inside an open transaction. */
  async insert(
    tx: Tx,
    namespaceId: string,
    { name, metadata = {}, policies = [], disabled = false }: EntityWrite,
  ): Promise<Entity> {
    const id = randomUUID();
    const nowMs = this.needs.clock.now();
    const given = name || `entity_${randomBytes(4).toString('hex')}`;
    await tx.query(
      {
        name: 'entity-insert',
        text: `INSERT INTO entity (id, namespace_id, name, disabled, created_at_ms, updated_at_ms, sealed)
               VALUES ($1, $2, $3, $4, $5, $5, $6)`,
      },
      [id, namespaceId, given, disabled, nowMs, this.sealed(id, { metadata, policies })],
    );
    return { id, namespaceId, name: given, disabled, metadata, policies, createdAtMs: nowMs, updatedAtMs: nowMs };
  }

  async find(namespaceId: string, id: string): Promise<EntityDetails | undefined> {
    if (!isId(id)) return undefined;
    const { rows } = await this.needs.database.query<EntityRow>(
      { name: 'entity-find', text: 'SELECT * FROM entity WHERE id = $1 AND namespace_id = $2' },
      [id, namespaceId],
    );
    return rows[0] && this.details(toEntity(this.needs.barrier, rows[0]));
  }

  async findByName(namespaceId: string, name: string): Promise<EntityDetails | undefined> {
    const { rows } = await this.needs.database.query<EntityRow>(
      {
        name: 'entity-find-name',
        text: 'SELECT * FROM entity WHERE namespace_id = $1 AND lower(name) = lower($2::text COLLATE "C")',
      },
      [namespaceId, name],
    );
    return rows[0] && this.details(toEntity(this.needs.barrier, rows[0]));
  }

  /** Ids or names in bytewise order, with the aliases that listings show. */
  async list(
    namespaceId: string,
    by: 'id' | 'name',
    { after = '', limit }: IdentityPage,
  ): Promise<{ id: string; name: string; aliases: EntityAlias[] }[]> {
    const order = by === 'id' ? 'e.id::text COLLATE "C"' : 'e.name';
    const { rows } = await this.needs.database.query<{ id: string; name: string }>(
      `SELECT e.id, e.name FROM entity e WHERE e.namespace_id = $1 AND ${order} > $2 ORDER BY ${order} LIMIT $3`,
      [namespaceId, after, limit ?? null],
    );
    const aliases = by === 'id' ? await this.aliasesOf(rows.map(({ id }) => id)) : new Map<string, EntityAlias[]>();
    return rows.map(({ id, name }) => ({ id, name, aliases: aliases.get(id) ?? [] }));
  }

  /** Removes entities with their aliases, memberships and MFA secrets; ids that are not there are no error. */
  async delete(namespaceId: string, ids: readonly string[]): Promise<void> {
    const real = ids.filter(isId);
    if (real.length === 0) return;
    await this.needs.committer.transaction(
      (tx) => tx.query('DELETE FROM entity WHERE namespace_id = $1 AND id = ANY($2)', [namespaceId, real]),
      [...real.map(entityNotice), { topic: 'mfa', key: '*' }],
    );
  }

  async deleteByName(namespaceId: string, name: string): Promise<void> {
    await this.needs.committer.transaction(
      async (tx) => {
        const { rows } = await tx.query<{ id: string }>(
          'DELETE FROM entity WHERE namespace_id = $1 AND lower(name) = lower($2::text COLLATE "C") RETURNING id',
          [namespaceId, name],
        );
        return rows.map(({ id }) => id);
      },
      (ids) => ids.map(entityNotice),
    );
  }

  /** Aliases by entity id. */
  async aliasesOf(
    entityIds: readonly string[],
    tx: Pick<Tx, 'query'> = this.needs.database,
  ): Promise<Map<string, EntityAlias[]>> {
    const byEntity = new Map<string, EntityAlias[]>();
    if (entityIds.length === 0) return byEntity;
    const { rows } = await tx.query<EntityAliasRow>(
      {
        name: 'entity-aliases',
        text: 'SELECT * FROM entity_alias WHERE entity_id = ANY($1) ORDER BY created_at_ms, id',
      },
      [entityIds],
    );
    for (const alias of await mapInTurns(rows, (row) => toEntityAlias(this.needs.barrier, row))) {
      const list = byEntity.get(alias.entityId);
      if (list) list.push(alias);
      else byEntity.set(alias.entityId, [alias]);
    }
    return byEntity;
  }

  private async details(entity: Entity): Promise<EntityDetails> {
    const { database } = this.needs;
    const [aliases, merged, groups, secrets] = await Promise.all([
      this.aliasesOf([entity.id]),
      database.query<{ merged_id: string }>(
        'SELECT merged_id FROM entity_merge WHERE entity_id = $1 ORDER BY merged_id',
        [entity.id],
      ),
      database.query<{ id: string; direct: boolean }>(groupsOfEntity, [entity.id]),
      database.query<{ method_id: string; type: string; name: string | null }>(
        'SELECT s.method_id, m.type, m.name FROM mfa_secret s JOIN mfa_method m ON m.id = s.method_id WHERE s.entity_id = $1 ORDER BY s.method_id',
        [entity.id],
      ),
    ]);
    return {
      ...entity,
      aliases: aliases.get(entity.id) ?? [],
      mergedEntityIds: merged.rows.map((row) => row.merged_id),
      directGroupIds: groups.rows.filter(({ direct }) => direct).map(({ id }) => id),
      inheritedGroupIds: groups.rows.filter(({ direct }) => !direct).map(({ id }) => id),
      mfaSecrets: secrets.rows.map((row) => ({
        methodId: row.method_id,
        methodType: row.type,
        methodName: row.name ?? '',
      })),
    };
  }

  private async lock(tx: Tx, namespaceId: string, { id, name }: EntityRef): Promise<Entity | undefined> {
    if (id !== undefined) {
      if (!isId(id)) return undefined;
      const { rows } = await tx.query<EntityRow>(
        'SELECT * FROM entity WHERE id = $1 AND namespace_id = $2 FOR UPDATE',
        [id, namespaceId],
      );
      return rows[0] && toEntity(this.needs.barrier, rows[0]);
    }
    if (!name) return undefined;
    const { rows } = await tx.query<EntityRow>(
      'SELECT * FROM entity WHERE namespace_id = $1 AND lower(name) = lower($2::text COLLATE "C") FOR UPDATE',
      [namespaceId, name],
    );
    return rows[0] && toEntity(this.needs.barrier, rows[0]);
  }

  private async update(tx: Tx, before: Entity, write: EntityWrite): Promise<Entity> {
    const entity: Entity = {
      ...before,
      name: write.name || before.name,
      metadata: write.metadata ?? before.metadata,
      policies: write.policies ?? before.policies,
      disabled: write.disabled ?? before.disabled,
      updatedAtMs: this.needs.clock.now(),
    };
    await tx.query('UPDATE entity SET name = $2, disabled = $3, updated_at_ms = $4, sealed = $5 WHERE id = $1', [
      entity.id,
      entity.name,
      entity.disabled,
      entity.updatedAtMs,
      this.sealed(entity.id, entity),
    ]);
    return entity;
  }

  private sealed(id: string, { metadata, policies }: SealedPrincipal): Buffer {
    return this.needs.barrier.sealJson({ metadata, policies }, cellOf('entity', id));
  }
}

/** Groups an entity is in, directly or through other groups. */
export const groupsOfEntity = `
  WITH RECURSIVE reached(id, direct) AS (
    SELECT group_id, true FROM group_member WHERE entity_id = $1
    UNION
    SELECT m.group_id, false FROM group_member m JOIN reached r ON m.member_group_id = r.id
  )
  SELECT id, bool_or(direct) AS direct FROM reached GROUP BY id ORDER BY id`;
