import { randomBytes, randomUUID } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { Prisma } from '../../generated/prisma/client';
import { lockRows } from '../storage/lock-rows';
import type { Notice, Tx } from '../storage/types';
import { checkMetadata, checkName, checkPolicies, isId, isTaken } from './checks';
import { touchGroupsOf } from './memberships';
import { byName, idOfName, idsAfter, numbered, readInPages } from './pages';
import { cellOf, type SealedPrincipal, toGroup, toGroupAlias } from './rows';
import type { Group, GroupDetails, GroupType, IdentityNeeds, IdentityPage, Metadata } from './types';

/** Fields of a group to write; omitted fields keep their value. */
export interface GroupWrite {
  readonly name?: string;
  readonly type?: string;
  readonly metadata?: Metadata;
  readonly policies?: readonly string[];
  readonly memberEntityIds?: readonly string[];
  readonly memberGroupIds?: readonly string[];
}

const nameIndex = 'group_namespace_id_lower_name_key';

/** The notice that groups have changed, which may change the permissions of any entity. */
export const groupNotice: Notice = { topic: 'group', key: '*' };

/** The counts in listings: entities in a group, and groups it is in. */
const COUNTS = { select: { members: { where: { entityId: { not: null } } }, parents: true } } as const;

interface ListedGroup {
  readonly id: string;
  readonly name: string;
  readonly _count: { readonly members: number; readonly parents: number };
}

/**
 * Groups and their members. The database ensures that names are unique, that no member is in a group twice, and that
 * memberships have no cycles.
 */
export class Groups {
  constructor(private readonly needs: IdentityNeeds) {}

  /**
   * Creates or changes a group: by id (it must exist), by name (it is created if absent), or neither (it is created).
   */
  async write(
    namespaceId: string,
    ref: { id?: string; name?: string },
    write: GroupWrite,
  ): Promise<{ group: Group; created: boolean }> {
    const fields = {
      ...write,
      ...(write.policies && { policies: checkPolicies(write.policies) }),
      ...(write.metadata && { metadata: checkMetadata('metadata', write.metadata) }),
    };
    if (fields.name !== undefined) checkName('group', fields.name);
    if (fields.type !== undefined && fields.type !== 'internal' && fields.type !== 'external') {
      throw new Refusal('malformed', `invalid group type ${JSON.stringify(fields.type)}`);
    }
    const run = async (tx: Tx) => {
      // Two simultaneous writes, each without a cycle, could together create a cycle. So writes run one after the
      // other.
      if (fields.memberGroupIds) await lockMembers(tx, namespaceId);
      const before = await this.lock(tx, namespaceId, ref);
      if (!before && ref.id !== undefined) throw new Refusal('malformed', 'invalid group ID');
      const group = before
        ? await this.update(tx, before, ref.id === undefined ? { ...fields, name: undefined } : fields)
        : await this.insert(tx, namespaceId, { ...fields, name: fields.name || ref.name });
      await this.writeMembers(tx, group, fields);
      return { group, created: !before };
    };
    const name = ref.name?.toLowerCase();
    const turn = `group/${ref.id ?? (name ? `${namespaceId}/${name}` : randomUUID())}`;
    const inTurn = () => this.needs.committer.inTurn(turn, run, [groupNotice]);
    try {
      return await inTurn();
    } catch (error) {
      if (!isTaken(error, nameIndex)) throw error;
      // Either the new name is taken, or a group with this name was created in the meantime. In the second case, change
      // that group.
      if (ref.id !== undefined) throw new Refusal('conflict', 'group name is already in use');
      return inTurn();
    }
  }

  /** Inserts a new group inside an open transaction. */
  async insert(
    tx: Tx,
    namespaceId: string,
    { name, type = 'internal', metadata = {}, policies = [] }: GroupWrite,
  ): Promise<Group> {
    const id = randomUUID();
    const nowMs = this.needs.clock.now();
    const newName = name || `group_${randomBytes(4).toString('hex')}`;
    const sealed = this.sealed(id, { metadata, policies });
    const row = { id, namespaceId, name: newName, type, version: 1, createdAtMs: nowMs, updatedAtMs: nowMs, sealed };
    await tx.prisma.group.create({ data: row, select: { id: true } });
    const kind = type as GroupType;
    return {
      id,
      namespaceId,
      name: newName,
      type: kind,
      metadata,
      policies,
      version: 1,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    };
  }

  async find(namespaceId: string, id: string): Promise<GroupDetails | undefined> {
    return isId(id) ? this.details({ id, namespaceId }) : undefined;
  }

  async findByName(namespaceId: string, name: string): Promise<GroupDetails | undefined> {
    const id = await idOfName(this.needs.database.prisma, 'group', namespaceId, name);
    return id === undefined ? undefined : this.details({ id, namespaceId });
  }

  /** Ids or names in bytewise order, with the counts that listings show. */
  async list(
    namespaceId: string,
    by: 'id' | 'name',
    { after = '', limit }: IdentityPage,
  ): Promise<{ id: string; name: string; members: number; parents: number }[]> {
    const rows = await readInPages<ListedGroup>(limit, (last, take) =>
      this.needs.database.prisma.group.findMany({
        where: {
          namespaceId,
          ...(by === 'name' ? { name: { gt: last?.name ?? after } } : { id: last ? { gt: last.id } : idsAfter(after) }),
        },
        orderBy: { [by]: 'asc' },
        take,
        select: { id: true, name: true, _count: COUNTS },
      }),
    );
    return rows.map(({ id, name, _count: counts }) => ({ id, name, ...counts }));
  }

  /** Removes a group, its alias and its memberships; an absent group is not an error. */
  async delete(namespaceId: string, by: { id: string } | { name: string }): Promise<void> {
    if ('id' in by && !isId(by.id)) return;
    await this.needs.committer.transaction(
      async (tx) => {
        const ids = 'id' in by ? [by.id] : await lockRows(tx, 'group', byName(namespaceId, by.name));
        await touchGroupsOf(tx, { groupIds: ids }, this.needs.clock.now());
        await tx.prisma.group.deleteMany({ where: { namespaceId, id: { in: ids } } });
      },
      [groupNotice],
    );
  }

  private async details(where: { id: string; namespaceId: string }): Promise<GroupDetails | undefined> {
    const { database, barrier } = this.needs;
    const row = await database.prisma.group.findFirst({
      where,
      include: {
        members: {
          select: { entityId: true, memberGroupId: true },
          orderBy: [{ entityId: 'asc' }, { memberGroupId: 'asc' }],
        },
        parents: { select: { groupId: true }, orderBy: { groupId: 'asc' } },
        alias: true,
      },
    });
    if (!row) return undefined;
    return {
      ...toGroup(barrier, row),
      memberEntityIds: row.members.map(({ entityId }) => entityId).filter((id) => id !== null),
      memberGroupIds: row.members.map(({ memberGroupId }) => memberGroupId).filter((id) => id !== null),
      parentGroupIds: row.parents.map(({ groupId }) => groupId),
      ...(row.alias && { alias: toGroupAlias(barrier, row.alias) }),
    };
  }

  private async lock(
    tx: Tx,
    namespaceId: string,
    { id, name }: { id?: string; name?: string },
  ): Promise<Group | undefined> {
    if (id !== undefined ? !isId(id) : !name) return undefined;
    const where = id !== undefined ? numbered(namespaceId, id) : byName(namespaceId, name!);
    const [lockedRow] = await lockRows(tx, 'group', where);
    if (lockedRow === undefined) return undefined;
    return toGroup(this.needs.barrier, await tx.prisma.group.findUniqueOrThrow({ where: { id: lockedRow } }));
  }

  private async update(tx: Tx, before: Group, write: GroupWrite): Promise<Group> {
    if (write.type !== undefined && write.type !== before.type)
      throw new Refusal('malformed', 'group type cannot be changed');
    const group: Group = {
      ...before,
      name: write.name || before.name,
      metadata: write.metadata ?? before.metadata,
      policies: write.policies ?? before.policies,
      version: before.version + 1,
      updatedAtMs: this.needs.clock.now(),
    };
    const { id, name, updatedAtMs } = group;
    const data = { name, version: { increment: 1 }, updatedAtMs, sealed: this.sealed(id, group) };
    await tx.prisma.group.update({ where: { id }, data, select: { id: true } });
    return group;
  }

  private async writeMembers(tx: Tx, group: Group, { memberEntityIds, memberGroupIds }: GroupWrite): Promise<void> {
    if (group.type === 'external') {
      if (memberEntityIds && memberEntityIds.length > 0) {
        throw new Refusal('malformed', "member entities can't be set manually for external groups");
      }
      if (memberGroupIds && memberGroupIds.length > 0) {
        throw new Refusal('malformed', "member groups can't be set for external groups");
      }
      return;
    }
    if (memberEntityIds) await this.replaceMembers(tx, group, 'entity', [...new Set(memberEntityIds)]);
    if (memberGroupIds) {
      const ids = [...new Set(memberGroupIds)];
      await this.replaceMembers(tx, group, 'group', ids);
      await refuseCycle(tx, group.id, ids);
    }
  }

  private async replaceMembers(tx: Tx, group: Group, kind: 'entity' | 'group', ids: readonly string[]): Promise<void> {
    await this.requireMembers(tx, group, kind, ids);
    const column = kind === 'entity' ? 'entityId' : 'memberGroupId';
    const rows = await tx.prisma.groupMember.findMany({ where: { groupId: group.id, [column]: { not: null } } });
    const wantedIds = new Set(ids.map((id) => id.toLowerCase()));
    const existing = new Map(rows.map((row) => [row[column], row.id]));
    const removedIds = rows.filter((row) => !wantedIds.has(row[column]!)).map(({ id }) => id);
    if (removedIds.length > 0) await tx.prisma.groupMember.deleteMany({ where: { id: { in: removedIds } } });
    const added = [...wantedIds].filter((id) => !existing.has(id)).map((id) => ({ groupId: group.id, [column]: id }));
    if (added.length > 0) await tx.prisma.groupMember.createMany({ data: added });
  }

  /** Throws unless the members belong to the group's namespace or to one above it. */
  private async requireMembers(tx: Tx, group: Group, kind: 'entity' | 'group', ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    // One array, because there may be more members than a statement may have parameters.
    const rows = await tx.prisma.$queryRaw<{ id: string; namespace_id: string }[]>`
      SELECT id, namespace_id FROM ${Prisma.raw(`"${kind}"`)} WHERE id = ANY(${ids.filter(isId)}::uuid[]) ORDER BY id FOR KEY SHARE`;
    const found = new Map(rows.map((row) => [row.id, row.namespace_id]));
    for (const id of ids) {
      const namespaceId = found.get(id.toLowerCase());
      if (namespaceId !== undefined && this.needs.isWithin(namespaceId, group.namespaceId)) continue;
      throw new Refusal('malformed', `1 error occurred:\n\t* invalid ${kind} ID ${JSON.stringify(id)}\n\n`);
    }
  }

  private sealed(id: string, { metadata, policies }: SealedPrincipal): Buffer<ArrayBuffer> {
    return this.needs.barrier.sealJson({ metadata, policies }, cellOf('group', id));
  }
}

async function lockMembers(tx: Tx, namespaceId: string): Promise<void> {
  await tx.prisma.$executeRaw`SELECT pg_advisory_xact_lock(hashtextextended('group-members/' || ${namespaceId}, 0))`;
}

async function refuseCycle(tx: Tx, groupId: string, memberGroupIds: readonly string[]): Promise<void> {
  const rows = await tx.prisma.$queryRaw<{ origin: string }[]>`
    WITH RECURSIVE below(origin, id) AS (
      SELECT id, id FROM unnest(${memberGroupIds}::uuid[]) AS given(id)
      UNION
      SELECT b.origin, m.member_group_id FROM group_member m JOIN below b ON m.group_id = b.id WHERE m.member_group_id IS NOT NULL
    )
    SELECT origin FROM below WHERE id = ${groupId}::uuid LIMIT 1`;
  if (rows[0])
    throw new Refusal(
      'malformed',
      `cyclic relationship detected for member group ID ${JSON.stringify(rows[0].origin)}`,
    );
}
