import { randomBytes, randomUUID } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { Prisma } from '../../generated/prisma/client';
import { lockRows } from '../storage/lock-rows';
import { mapInSlices } from '../storage/slices';
import type { Notice, Tx } from '../storage/types';
import { checkMetadata, checkName, checkPolicies, isId, isTaken } from './checks';
import { touchGroupsOf } from './memberships';
import { byName, idOfName, idsAfter, numbered, readInPages } from './pages';
import { cellOf, type EntityAliasRow, type SealedPrincipal, toEntity, toEntityAlias } from './rows';
import { GROUPS_OF_ENTITY } from './statements';
import type { Entity, EntityAlias, EntityDetails, IdentityNeeds, IdentityPage, Metadata } from './types';

/** Fields of an entity to write; omitted fields keep their value. */
export interface EntityWrite {
  readonly name?: string;
  readonly metadata?: Metadata;
  readonly policies?: readonly string[];
  readonly disabled?: boolean;
}

/** Names the entity to write: by id (it must exist), by name (it is created if absent), or neither (it is created). */
export interface EntityRef {
  readonly id?: string;
  readonly name?: string;
}

const nameIndex = 'entity_namespace_id_lower_name_key';

/** Aliases in the order of their creation. */
const IN_ORDER = { orderBy: [{ createdAtMs: 'asc' }, { id: 'asc' }] } satisfies Prisma.EntityAliasFindManyArgs;

/** The notice that an entity or its permissions have changed. */
export const entityNotice = (id: string): Notice => ({ topic: 'entity', key: id });

/** Creates, changes, finds and removes entities. The database keeps names unique. */
export class Entities {
  constructor(private readonly needs: IdentityNeeds) {}

  /** Creates or changes an entity. `created` is true if it is new. */
  async write(namespaceId: string, ref: EntityRef, write: EntityWrite): Promise<{ entity: Entity; created: boolean }> {
    const fields = {
      ...write,
      ...(write.policies && { policies: checkPolicies(write.policies) }),
      ...(write.metadata && { metadata: checkMetadata('metadata', write.metadata) }),
    };
    if (fields.name !== undefined) checkName('entity', fields.name);
    const run = async (tx: Tx): Promise<{ entity: Entity; created: boolean }> => {
      const existing = await this.lock(tx, namespaceId, ref);
      // An entity can be renamed only if the request names it by id. Another spelling of its name does not rename it.
      const changes = ref.id === undefined ? { ...fields, name: undefined } : fields;
      if (existing) return { entity: await this.update(tx, existing, changes), created: false };
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
      // Either the new name is taken, or an entity with this name was created in the meantime. In the second case,
      // change that entity.
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
    const newName = name || `entity_${randomBytes(4).toString('hex')}`;
    const sealed = this.sealed(id, { metadata, policies });
    const row = { id, namespaceId, name: newName, disabled, createdAtMs: nowMs, updatedAtMs: nowMs, sealed };
    await tx.prisma.entity.create({ data: row, select: { id: true } });
    return { id, namespaceId, name: newName, disabled, metadata, policies, createdAtMs: nowMs, updatedAtMs: nowMs };
  }

  async find(namespaceId: string, id: string): Promise<EntityDetails | undefined> {
    return isId(id) ? this.details({ id, namespaceId }) : undefined;
  }

  async findByName(namespaceId: string, name: string): Promise<EntityDetails | undefined> {
    const id = await idOfName(this.needs.database.prisma, 'entity', namespaceId, name);
    return id === undefined ? undefined : this.details({ id, namespaceId });
  }

  /** Ids or names in bytewise order, with the aliases that listings show. */
  async list(
    namespaceId: string,
    by: 'id' | 'name',
    { after = '', limit }: IdentityPage,
  ): Promise<{ id: string; name: string; aliases: EntityAlias[] }[]> {
    const { entity } = this.needs.database.prisma;
    const select = { id: true, name: true };
    if (by === 'name') {
      const rows = await readInPages<{ id: string; name: string }>(limit, (last, take) => {
        const where = { namespaceId, name: { gt: last?.name ?? after } };
        return entity.findMany({ where, orderBy: { name: 'asc' }, take, select });
      });
      return rows.map((row) => ({ ...row, aliases: [] }));
    }
    const rows = await readInPages<{ id: string; name: string; aliases: EntityAliasRow[] }>(limit, (last, take) => {
      const where = { namespaceId, id: last ? { gt: last.id } : idsAfter(after) };
      return entity.findMany({ where, orderBy: { id: 'asc' }, take, select: { ...select, aliases: IN_ORDER } });
    });
    return mapInSlices(rows, ({ id, name, aliases }) => ({ id, name, aliases: this.opened(aliases) }));
  }

  /** The number of entities in all namespaces. */
  count(): Promise<number> {
    return this.needs.database.prisma.entity.count();
  }

  /** Removes entities with their aliases, memberships and MFA secrets; unknown ids are not an error. */
  async delete(namespaceId: string, ids: readonly string[]): Promise<void> {
    const real = ids.filter(isId);
    if (real.length === 0) return;
    await this.needs.committer.transaction(
      async (tx) => {
        const where = Prisma.sql`namespace_id = ${namespaceId}::uuid AND id = ANY(${real}::uuid[])`;
        await this.remove(tx, await lockRows(tx, 'entity', where));
      },
      [...real.map(entityNotice), { topic: 'mfa', key: '*' }],
    );
  }

  async deleteByName(namespaceId: string, name: string): Promise<void> {
    await this.needs.committer.transaction(
      async (tx) => {
        const ids = await lockRows(tx, 'entity', byName(namespaceId, name));
        await this.remove(tx, ids);
        return ids;
      },
      (ids) => [...ids.map(entityNotice), { topic: 'mfa', key: '*' }],
    );
  }

  private async remove(tx: Tx, ids: readonly string[]): Promise<void> {
    await touchGroupsOf(tx, { entityIds: ids }, this.needs.clock.now());
    await tx.prisma.entity.deleteMany({ where: { id: { in: [...ids] } } });
  }

  /** Aliases by entity id. */
  async aliasesOf(
    entityIds: readonly string[],
    prisma: Pick<Tx['prisma'], 'entityAlias'> = this.needs.database.prisma,
  ): Promise<Map<string, EntityAlias[]>> {
    const rows = await prisma.entityAlias.findMany({ where: { entityId: { in: [...entityIds] } }, ...IN_ORDER });
    const byEntity = new Map<string, EntityAlias[]>();
    for (const alias of this.opened(rows)) {
      const list = byEntity.get(alias.entityId);
      if (list) list.push(alias);
      else byEntity.set(alias.entityId, [alias]);
    }
    return byEntity;
  }

  private opened(rows: readonly EntityAliasRow[]): EntityAlias[] {
    return rows.map((row) => toEntityAlias(this.needs.barrier, row));
  }

  private async details(where: { id: string; namespaceId: string }): Promise<EntityDetails | undefined> {
    const { barrier, database } = this.needs;
    const [row, groups] = await Promise.all([
      database.prisma.entity.findFirst({
        where,
        include: {
          aliases: IN_ORDER,
          merged: { select: { mergedId: true }, orderBy: { mergedId: 'asc' } },
          mfaSecrets: {
            select: { methodId: true, method: { select: { type: true, name: true } } },
            orderBy: { methodId: 'asc' },
          },
        },
      }),
      database.query<{ id: string; direct: boolean }>(GROUPS_OF_ENTITY, [where.id]),
    ]);
    if (!row) return undefined;
    return {
      ...toEntity(barrier, row),
      aliases: this.opened(row.aliases),
      mergedEntityIds: row.merged.map(({ mergedId }) => mergedId),
      directGroupIds: groups.rows.filter(({ direct }) => direct).map(({ id }) => id),
      inheritedGroupIds: groups.rows.filter(({ direct }) => !direct).map(({ id }) => id),
      mfaSecrets: row.mfaSecrets.map(({ methodId, method }) => ({
        methodId,
        methodType: method.type,
        methodName: method.name ?? '',
      })),
    };
  }

  private async lock(tx: Tx, namespaceId: string, { id, name }: EntityRef): Promise<Entity | undefined> {
    if (id !== undefined ? !isId(id) : !name) return undefined;
    const where = id !== undefined ? numbered(namespaceId, id) : byName(namespaceId, name!);
    const [lockedRow] = await lockRows(tx, 'entity', where);
    if (lockedRow === undefined) return undefined;
    return toEntity(this.needs.barrier, await tx.prisma.entity.findUniqueOrThrow({ where: { id: lockedRow } }));
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
    const { id, name, disabled, updatedAtMs } = entity;
    const data = { name, disabled, updatedAtMs, sealed: this.sealed(id, entity) };
    await tx.prisma.entity.update({ where: { id }, data, select: { id: true } });
    return entity;
  }

  private sealed(id: string, { metadata, policies }: SealedPrincipal): Buffer<ArrayBuffer> {
    return this.needs.barrier.sealJson({ metadata, policies }, cellOf('entity', id));
  }
}
