import { randomUUID } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { Prisma } from '../../generated/prisma/client';
import { lockRows } from '../storage/lock-rows';
import { mapInSlices } from '../storage/slices';
import type { Tx } from '../storage/types';
import { checkMetadata, checkName, isId, isTaken } from './checks';
import { type Entities, entityNotice } from './entities';
import { leaveGroupsOf } from './memberships';
import { idsAfter, numbered, readInPages } from './pages';
import { aliasNameHash, cellOf, type EntityAliasRow, type SealedEntityAlias, toEntityAlias } from './rows';
import type { EntityAlias, IdentityNeeds, IdentityPage, Metadata } from './types';

/** The properties of an auth mount that aliases need. */
export interface AliasMount {
  readonly uuid: string;
  readonly accessor: string;
  readonly local: boolean;
}

/** Fields of an alias to write; omitted fields keep their value. */
export interface AliasWrite {
  readonly name?: string;
  readonly mount?: AliasMount;
  readonly entityId?: string;
  readonly customMetadata?: Metadata;
}

const perEntityAndMount = 'entity_alias_entity_id_mount_id_key';

/** Entity aliases. Unique indexes ensure one name per mount and one alias per entity and mount. */
export class EntityAliases {
  constructor(
    private readonly needs: IdentityNeeds,
    private readonly entities: Entities,
  ) {}

  /**
   * Creates an alias, or changes the existing alias with this id or with the same mount and name. Returns `unchanged`
   * if there was nothing to change. Without an entity, a new one is created.
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
        // Another alias got this name in the meantime: search again, and change that alias.
      }
    }
  }

  /** The lock key for creating an alias. */
  turnOf(alias: Pick<EntityAlias, 'mountId' | 'name'>): string {
    return `entity-alias/${this.hash(alias).toString('hex')}`;
  }

  async find(namespaceId: string, id: string): Promise<EntityAlias | undefined> {
    if (!isId(id)) return undefined;
    const row = await this.needs.database.prisma.entityAlias.findFirst({ where: { id, namespaceId } });
    return row ? toEntityAlias(this.needs.barrier, row) : undefined;
  }

  async findByName(
    mountId: string,
    name: string,
    prisma: Pick<Tx['prisma'], 'entityAlias'> = this.needs.database.prisma,
  ): Promise<EntityAlias | undefined> {
    const mountId_nameHash = { mountId, nameHash: this.hash({ mountId, name }) };
    const row = await prisma.entityAlias.findUnique({ where: { mountId_nameHash } });
    return row ? toEntityAlias(this.needs.barrier, row) : undefined;
  }

  /** The alias an entity has at a mount. */
  async findOfEntity(entityId: string, mountId: string): Promise<EntityAlias | undefined> {
    const entityId_mountId = { entityId, mountId };
    const row = await this.needs.database.prisma.entityAlias.findUnique({ where: { entityId_mountId } });
    return row ? toEntityAlias(this.needs.barrier, row) : undefined;
  }

  async list(namespaceId: string, { after = '', limit }: IdentityPage): Promise<EntityAlias[]> {
    const rows = await readInPages<EntityAliasRow>(limit, (last, take) => {
      const where = { namespaceId, id: last ? { gt: last.id } : idsAfter(after) };
      return this.needs.database.prisma.entityAlias.findMany({ where, orderBy: { id: 'asc' }, take });
    });
    return mapInSlices(rows, (row) => toEntityAlias(this.needs.barrier, row));
  }

  /** Removes an alias. The entity is kept. */
  async delete(namespaceId: string, id: string): Promise<void> {
    if (!isId(id)) return;
    await this.needs.committer.transaction(
      async (tx) => {
        const alias = await this.lockById(tx, namespaceId, id);
        if (!alias) return [];
        await tx.prisma.entityAlias.deleteMany({ where: { id, namespaceId } });
        await leaveGroupsOf(tx, alias);
        return [alias.entityId];
      },
      (ids) => ids.map(entityNotice),
    );
  }

  /** Inserts inside an open transaction; a taken name throws the database's error. */
  async insert(tx: Tx, alias: Omit<EntityAlias, 'id' | 'createdAtMs' | 'updatedAtMs'>): Promise<EntityAlias> {
    const id = randomUUID();
    const nowMs = this.needs.clock.now();
    const { namespaceId } = alias;
    const data = { id, namespaceId, ...this.columns(id, alias), createdAtMs: nowMs, updatedAtMs: nowMs };
    await tx.prisma.entityAlias.create({ data, select: { id: true } });
    return { ...alias, id, createdAtMs: nowMs, updatedAtMs: nowMs };
  }

  /** Writes a changed alias inside an open transaction. */
  async save(tx: Tx, alias: EntityAlias): Promise<EntityAlias> {
    const updatedAtMs = this.needs.clock.now();
    const data = { ...this.columns(alias.id, alias), updatedAtMs };
    await tx.prisma.entityAlias.updateMany({ where: { id: alias.id }, data });
    return { ...alias, updatedAtMs };
  }

  /** An alias inside an open transaction, locked until its end. */
  async lockById(tx: Tx, namespaceId: string, id: string): Promise<EntityAlias | undefined> {
    return this.lockAlias(tx, numbered(namespaceId, id));
  }

  private async lockAlias(tx: Tx, where: Prisma.Sql): Promise<EntityAlias | undefined> {
    const [id] = await lockRows(tx, 'entity_alias', where);
    if (id === undefined) return undefined;
    return toEntityAlias(this.needs.barrier, await tx.prisma.entityAlias.findUniqueOrThrow({ where: { id } }));
  }

  private async lock(
    tx: Tx,
    namespaceId: string,
    id: string | undefined,
    { mount, name }: AliasWrite,
  ): Promise<EntityAlias | undefined> {
    if (id !== undefined) return isId(id) ? this.lockById(tx, namespaceId, id) : undefined;
    if (!mount || !name) return undefined;
    const hash = this.hash({ mountId: mount.uuid, name });
    return this.lockAlias(tx, Prisma.sql`mount_id = ${mount.uuid}::uuid AND name_hash = ${hash}`);
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
    // The auth method's data about a login is not valid for another name, mount or entity.
    if (!login || after.entityId !== before.entityId) await leaveGroupsOf(tx, before);
    const saved = await this.save(tx, login ? after : { ...after, groupNames: undefined });
    return { alias: saved, outcome: 'changed' as const };
  }

  private async requireEntity(tx: Tx, namespaceId: string, id: string): Promise<void> {
    const found = isId(id) && (await lockRows(tx, 'entity', numbered(namespaceId, id), 'SHARE')).length > 0;
    if (!found) throw new Refusal('malformed', 'invalid canonical ID');
  }

  /** The columns that an alias update may change. */
  private columns(id: string, alias: Omit<EntityAlias, 'id' | 'createdAtMs' | 'updatedAtMs'>) {
    const { entityId, mountId, mountAccessor } = alias;
    return { entityId, mountId, mountAccessor, nameHash: this.hash(alias), sealed: this.sealed(id, alias) };
  }

  private hash({ mountId, name }: Pick<EntityAlias, 'mountId' | 'name'>): Buffer<ArrayBuffer> {
    return aliasNameHash(this.needs.barrier, 'entity', mountId, name);
  }

  private sealed(id: string, alias: SealedEntityAlias): Buffer<ArrayBuffer> {
    const { name, metadata, customMetadata, groupNames, local, mergedFromIds } = alias;
    return this.needs.barrier.sealJson(
      { name, metadata, customMetadata, groupNames, local, mergedFromIds },
      cellOf('entity_alias', id),
    );
  }
}

/** Whether two sets of pairs are equal; null equals empty. */
export function equalMetadata(one: Metadata | null, other: Metadata | null): boolean {
  const [a, b] = [Object.entries(one ?? {}), other ?? {}];
  return a.length === Object.keys(b).length && a.every(([key, value]) => Object.hasOwn(b, key) && b[key] === value);
}
