import { randomUUID } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { lockRows } from '../storage/lock-rows';
import { mapInSlices } from '../storage/slices';
import type { Tx } from '../storage/types';
import { checkName, isId, isTaken } from './checks';
import type { AliasMount } from './entity-aliases';
import { type Groups, groupNotice } from './groups';
import { idsAfter, numbered, readInPages } from './pages';
import { aliasNameHash, cellOf, type GroupAliasRow, toGroupAlias } from './rows';
import type { GroupAlias, IdentityNeeds, IdentityPage } from './types';

/** Fields of a group alias to write. Without a mount, no login can match. */
export interface GroupAliasWrite {
  readonly name?: string;
  readonly mount?: AliasMount;
  readonly groupId?: string;
}

const perGroup = 'group_alias_group_id_key';

/**
 * Group aliases. A group has at most one alias, and an alias name is unique within a mount. Unique indexes enforce both
 * rules. Spec: Group alias.
 */
export class GroupAliases {
  constructor(
    private readonly needs: IdentityNeeds,
    private readonly groups: Groups,
  ) {}

  /** Creates an alias; without a group, it creates an external group. */
  async create(namespaceId: string, write: GroupAliasWrite): Promise<GroupAlias> {
    const id = randomUUID();
    const name = write.name || `entity-${randomUUID()}`;
    checkName('alias', name);
    return this.commit(write.groupId, async (tx) => {
      if (write.groupId) await this.requireGroup(tx, namespaceId, write.groupId);
      const groupId = write.groupId || (await this.groups.insert(tx, namespaceId, { type: 'external' })).id;
      const nowMs = this.needs.clock.now();
      const alias = {
        id,
        namespaceId,
        groupId,
        ...mountFields(write.mount),
        name,
        createdAtMs: nowMs,
        updatedAtMs: nowMs,
      };
      const data = { id, namespaceId, ...this.columns(alias), createdAtMs: nowMs, updatedAtMs: nowMs };
      await tx.prisma.groupAlias.create({ data, select: { id: true } });
      return alias;
    });
  }

  /** Changes an alias; omitted fields keep their value. Throws `malformed` for an unknown id. */
  async update(namespaceId: string, id: string, write: GroupAliasWrite): Promise<GroupAlias> {
    if (write.name) checkName('alias', write.name);
    return this.commit(write.groupId, async (tx) => {
      const [lockedRow] = isId(id) ? await lockRows(tx, 'group_alias', numbered(namespaceId, id)) : [];
      if (lockedRow === undefined) throw new Refusal('malformed', 'invalid group alias ID');
      const row = await tx.prisma.groupAlias.findUniqueOrThrow({ where: { id: lockedRow } });
      const before = toGroupAlias(this.needs.barrier, row);
      if (write.groupId && write.groupId !== before.groupId) await this.requireGroup(tx, namespaceId, write.groupId);
      const after: GroupAlias = {
        ...before,
        name: write.name || before.name,
        groupId: write.groupId || before.groupId,
        ...(write.mount && mountFields(write.mount)),
        updatedAtMs: this.needs.clock.now(),
      };
      const data = { ...this.columns(after), updatedAtMs: after.updatedAtMs };
      await tx.prisma.groupAlias.update({ where: { id: lockedRow }, data, select: { id: true } });
      // Memberships came from logins under the old name and mount, so they must end.
      const moved =
        after.groupId !== before.groupId || after.mountId !== before.mountId || !sameName(after.name, before.name);
      if (moved) await dropMembers(tx, before.groupId);
      return after;
    });
  }

  async find(namespaceId: string, id: string): Promise<GroupAlias | undefined> {
    if (!isId(id)) return undefined;
    const row = await this.needs.database.prisma.groupAlias.findFirst({ where: { id, namespaceId } });
    return row ? toGroupAlias(this.needs.barrier, row) : undefined;
  }

  async findByName(mountId: string, name: string): Promise<GroupAlias | undefined> {
    const mountId_nameHash = { mountId, nameHash: this.hash({ mountId, name }) };
    const row = await this.needs.database.prisma.groupAlias.findUnique({ where: { mountId_nameHash } });
    return row ? toGroupAlias(this.needs.barrier, row) : undefined;
  }

  async list(namespaceId: string, { after = '', limit }: IdentityPage): Promise<GroupAlias[]> {
    const rows = await readInPages<GroupAliasRow>(limit, (last, take) => {
      const where = { namespaceId, id: last ? { gt: last.id } : idsAfter(after) };
      return this.needs.database.prisma.groupAlias.findMany({ where, orderBy: { id: 'asc' }, take });
    });
    return mapInSlices(rows, (row) => toGroupAlias(this.needs.barrier, row));
  }

  /** Removes an alias and the memberships from its logins, but not the group. An absent alias is not an error. */
  async delete(namespaceId: string, id: string): Promise<void> {
    if (!isId(id)) return;
    await this.needs.committer.transaction(
      async (tx) => {
        const [lockedRow] = await lockRows(tx, 'group_alias', numbered(namespaceId, id));
        if (lockedRow === undefined) return;
        const { groupId } = await tx.prisma.groupAlias.delete({ where: { id: lockedRow } });
        await dropMembers(tx, groupId);
      },
      [groupNotice],
    );
  }

  private async commit(groupId: string | undefined, run: (tx: Tx) => Promise<GroupAlias>): Promise<GroupAlias> {
    try {
      return await this.needs.committer.transaction(run, [groupNotice]);
    } catch (error) {
      if (isTaken(error, perGroup)) {
        const other = await this.needs.database.prisma.groupAlias.findFirst({
          where: { groupId },
          select: { id: true },
        });
        throw new Refusal('conflict', `the group already has the alias ${JSON.stringify(other?.id ?? '')}`);
      }
      if (isTaken(error)) throw new Refusal('conflict', 'combination of mount and group alias name is already in use');
      throw error;
    }
  }

  private async requireGroup(tx: Tx, namespaceId: string, id: string): Promise<void> {
    const [lockedGroup] = isId(id) ? await lockRows(tx, 'group', numbered(namespaceId, id), 'SHARE') : [];
    if (lockedGroup === undefined) throw new Refusal('malformed', "invalid group ID given in 'canonical_id'");
    const { type } = await tx.prisma.group.findUniqueOrThrow({ where: { id: lockedGroup }, select: { type: true } });
    if (type !== 'external') throw new Refusal('malformed', "alias can't be set on an internal group");
  }

  /** The columns that an alias update may change. */
  private columns(alias: Pick<GroupAlias, 'id' | 'groupId' | 'mountId' | 'mountAccessor' | 'name'>) {
    const { groupId, mountId = null, mountAccessor } = alias;
    return { groupId, mountId, mountAccessor, nameHash: this.hash(alias), sealed: this.sealed(alias) };
  }

  private hash({ mountId, name }: Pick<GroupAlias, 'mountId' | 'name'>): Buffer<ArrayBuffer> {
    return aliasNameHash(this.needs.barrier, 'group', mountId ?? '', name);
  }

  private sealed({ id, name }: Pick<GroupAlias, 'id' | 'name'>): Buffer<ArrayBuffer> {
    return this.needs.barrier.sealJson({ name }, cellOf('group_alias', id));
  }
}

/** Ends the memberships that logins created. */
async function dropMembers(tx: Tx, groupId: string): Promise<void> {
  await tx.prisma.groupMember.deleteMany({ where: { groupId, entityId: { not: null } } });
}

function mountFields(mount: AliasMount | undefined) {
  return { mountId: mount?.uuid, mountAccessor: mount?.accessor ?? '' };
}

function sameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
