import { randomUUID } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { mapInTurns } from '../storage/in-turns';
import type { Tx } from '../storage/types';
import { checkMetadata, checkName, isId, isTaken } from './checks';
import { type Entities, entityNotice } from './entities';
import { aliasNameHash, cellOf, type EntityAliasRow, type SealedEntityAlias, toEntityAlias } from './rows';
import type { EntityAlias, IdentityNeeds, IdentityPage, Metadata } from './types';

/** An auth mount as aliases know it. */
export interface AliasMount {
  readonly uuid: string;
  readonly accessor: string;
  readonly local: boolean;
}

/** Fields of an alias to write; those left out keep their value. */
export interface AliasWrite {
  readonly name?: string;
  readonly mount?: AliasMount;
  readonly entityId?: string;
  readonly customMetadata?: Metadata;
}

const perEntityAndMount = 'entity_alias_entity_id_mount_id_key';

/** Entity aliases. One name per mount and one alias per entity and mount are unique indexes, not reads. */
export class EntityAliases {
  constructor(
    private readonly needs: IdentityNeeds,
    private readonly entities: Entities,
  ) {}

  /**
   * Creates an alias, or changes the one with the id or with the same mount and name. `unchanged` when there was
   * nothing to do. Without an entity, a new one is made.
   */
  async write(
    namespaceId: string,
    id: string | undefined,
    write: AliasWrite,
  ): Promise<{ alias: EntityAlias; outcome: 'created' | 'changed' | 'unchanged' }> {
    if (write.name !== undefined) checkName('alias', write.name);
    if (write.customMetadata) checkMetadata('custom_metadata', write.customMetadata);
    let touched: string[] = [];
    const run = async (tx: Tx) => {
      touched = [];
      const before = await this.lock(tx, namespaceId, id, write);
      if (id !== undefined && !before) throw new Refusal('malformed', 'invalid alias ID provided');
      if (before) touched.push(before.entityId);
      const result = before ? await this.change(tx, before, write) : await this.create(tx, namespaceId, write);
      touched.push(result.alias.entityId);
      return result;
    };
    const { mount, name } = write;
    const turn =
      id !== undefined || !mount || !name ? `entity-alias/${id}` : this.turnOf({ mountId: mount.uuid, name });
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.needs.committer.inTurn(turn, run, () => [...new Set(touched)].map(entityNotice));
      } catch (error) {
        if (isTaken(error, perEntityAndMount)) {
          throw new Refusal('conflict', 'Alias already exists for requested entity and mount accessor');
        }
        if (!isTaken(error)) throw error;
        if (id !== undefined || attempt === 3) {
          throw new Refusal('conflict', 'combination of mount and alias name is already in use');
        }
        // Another alias was given this name meanwhile: look again, and change that one.
      }
    }
  }

  /** What those who make an alias take turns by. */
  turnOf(alias: Pick<EntityAlias, 'mountId' | 'name'>): string {
    return `entity-alias/${this.hash(alias).toString('hex')}`;
  }

  async find(namespaceId: string, id: string): Promise<EntityAlias | undefined> {
    if (!isId(id)) return undefined;
    const { rows } = await this.needs.database.query<EntityAliasRow>(
      'SELECT * FROM entity_alias WHERE id = $1 AND namespace_id = $2',
      [id, namespaceId],
    );
    return rows[0] && toEntityAlias(this.needs.barrier, rows[0]);
  }

  async findByName(
    mountId: string,
    name: string,
    on: Pick<Tx, 'query'> = this.needs.database,
  ): Promise<EntityAlias | undefined> {
    const { rows } = await on.query<EntityAliasRow>(
      { name: 'entity-alias-name', text: 'SELECT * FROM entity_alias WHERE mount_id = $1 AND name_hash = $2' },
      [mountId, aliasNameHash(this.needs.barrier, 'entity', mountId, name)],
    );
    return rows[0] && toEntityAlias(this.needs.barrier, rows[0]);
  }

  /** The alias an entity has at a mount. */
  async findOfEntity(entityId: string, mountId: string): Promise<EntityAlias | undefined> {
    const { rows } = await this.needs.database.query<EntityAliasRow>(
      { name: 'entity-alias-entity', text: 'SELECT * FROM entity_alias WHERE entity_id = $1 AND mount_id = $2' },
      [entityId, mountId],
    );
    return rows[0] && toEntityAlias(this.needs.barrier, rows[0]);
  }

  async list(namespaceId: string, { after = '', limit }: IdentityPage): Promise<EntityAlias[]> {
    const { rows } = await this.needs.database.query<EntityAliasRow>(
      `SELECT * FROM entity_alias WHERE namespace_id = $1 AND id::text COLLATE "C" > $2 ORDER BY id::text COLLATE "C" LIMIT $3`,
      [namespaceId, after, limit ?? null],
    );
    return mapInTurns(rows, (row) => toEntityAlias(this.needs.barrier, row));
  }

  /** Removes an alias; the entity stays. */
  async delete(namespaceId: string, id: string): Promise<void> {
    if (!isId(id)) return;
    await this.needs.committer.transaction(
      async (tx) => {
        const { rows } = await tx.query<{ entity_id: string }>(
          'DELETE FROM entity_alias WHERE id = $1 AND namespace_id = $2 RETURNING entity_id',
          [id, namespaceId],
        );
        return rows.map((row) => row.entity_id);
      },
      (ids) => ids.map(entityNotice),
    );
  }

  /** Inserts inside an open transaction; a taken name surfaces as the database's error. */
  async insert(tx: Tx, alias: Omit<EntityAlias, 'id' | 'createdAtMs' | 'updatedAtMs'>): Promise<EntityAlias> {
    const id = randomUUID();
    const nowMs = this.needs.clock.now();
    await tx.query(
      {
        name: 'entity-alias-insert',
        text: `INSERT INTO entity_alias (id, namespace_id, entity_id, mount_id, mount_accessor, name_hash, created_at_ms, updated_at_ms, sealed)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8)`,
      },
      [
        id,
        alias.namespaceId,
        alias.entityId,
        alias.mountId,
        alias.mountAccessor,
        this.hash(alias),
        nowMs,
        this.sealed(id, alias),
      ],
    );
    return { ...alias, id, createdAtMs: nowMs, updatedAtMs: nowMs };
  }

  /** Writes a changed alias inside an open transaction. */
  async save(tx: Tx, alias: EntityAlias): Promise<EntityAlias> {
    const updatedAtMs = this.needs.clock.now();
    await tx.query(
      {
        name: 'entity-alias-save',
        text: `UPDATE entity_alias SET entity_id = $2, mount_id = $3, mount_accessor = $4, name_hash = $5, updated_at_ms = $6, sealed = $7
               WHERE id = $1`,
      },
      [
        alias.id,
        alias.entityId,
        alias.mountId,
        alias.mountAccessor,
        this.hash(alias),
        updatedAtMs,
        this.sealed(alias.id, alias),
      ],
    );
    return { ...alias, updatedAtMs };
  }

  /** An alias inside an open transaction, kept from others until its end. */
  async lockById(tx: Tx, namespaceId: string, id: string): Promise<EntityAlias | undefined> {
    const { rows } = await tx.query<EntityAliasRow>(
      'SELECT * FROM entity_alias WHERE id = $1 AND namespace_id = $2 FOR UPDATE',
      [id, namespaceId],
    );
    return rows[0] && toEntityAlias(this.needs.barrier, rows[0]);
  }

  private async lock(
    tx: Tx,
    namespaceId: string,
    id: string | undefined,
    { mount, name }: AliasWrite,
  ): Promise<EntityAlias | undefined> {
    if (id !== undefined) return isId(id) ? this.lockById(tx, namespaceId, id) : undefined;
    if (!mount || !name) return undefined;
    const { rows } = await tx.query<EntityAliasRow>(
      'SELECT * FROM entity_alias WHERE mount_id = $1 AND name_hash = $2 FOR UPDATE',
      [mount.uuid, aliasNameHash(this.needs.barrier, 'entity', mount.uuid, name)],
    );
    return rows[0] && toEntityAlias(this.needs.barrier, rows[0]);
  }

  private async create(tx: Tx, namespaceId: string, { name, mount, entityId, customMetadata }: AliasWrite) {
    if (!mount || !name) throw new Refusal('malformed', "'id' or 'mount_accessor' and 'name' must be provided");
    if (entityId) await this.requireEntity(tx, namespaceId, entityId);
    const owner = entityId || (await this.entities.insert(tx, namespaceId, {})).id;
    const alias = await this.insert(tx, {
      namespaceId,
      entityId: owner,
      mountId: mount.uuid,
      mountAccessor: mount.accessor,
      name,
      metadata: null,
      customMetadata: customMetadata ?? null,
      local: mount.local,
      mergedFromIds: [],
    });
    return { alias, outcome: 'created' as const };
  }

  private async change(tx: Tx, before: EntityAlias, { name, mount, entityId, customMetadata }: AliasWrite) {
    const after: EntityAlias = {
      ...before,
      name: name || before.name,
      entityId: entityId || before.entityId,
      mountId: mount?.uuid ?? before.mountId,
      mountAccessor: mount?.accessor ?? before.mountAccessor,
      local: mount?.local ?? before.local,
      customMetadata: customMetadata ?? before.customMetadata,
    };
    const login = after.name === before.name && after.mountId === before.mountId;
    const same =
      after.name === before.name &&
      after.entityId === before.entityId &&
      after.mountId === before.mountId &&
      equalMetadata(after.customMetadata, before.customMetadata);
    if (same) return { alias: before, outcome: 'unchanged' as const };
    if (after.entityId !== before.entityId) await this.requireEntity(tx, before.namespaceId, after.entityId);
    // What a method said of a login holds for no other name and no other mount.
    const saved = await this.save(tx, login ? after : { ...after, groupNames: undefined });
    return { alias: saved, outcome: 'changed' as const };
  }

  private async requireEntity(tx: Tx, namespaceId: string, id: string): Promise<void> {
    const found =
      isId(id) &&
      (await tx.query('SELECT 1 FROM entity WHERE id = $1 AND namespace_id = $2 FOR SHARE', [id, namespaceId]))
        .rowCount;
    if (!found) throw new Refusal('malformed', 'invalid canonical ID');
  }

  private hash({ mountId, name }: Pick<EntityAlias, 'mountId' | 'name'>): Buffer {
    return aliasNameHash(this.needs.barrier, 'entity', mountId, name);
  }

  private sealed(id: string, alias: SealedEntityAlias): Buffer {
    const { name, metadata, customMetadata, groupNames, local, mergedFromIds } = alias;
    return this.needs.barrier.sealJson(
      { name, metadata, customMetadata, groupNames, local, mergedFromIds },
      cellOf('entity_alias', id),
    );
  }
}

/** Whether two sets of pairs say the same; null and empty do. */
export function equalMetadata(one: Metadata | null, other: Metadata | null): boolean {
  const [a, b] = [Object.entries(one ?? {}), other ?? {}];
  return a.length === Object.keys(b).length && a.every(([key, value]) => Object.hasOwn(b, key) && b[key] === value);
}
