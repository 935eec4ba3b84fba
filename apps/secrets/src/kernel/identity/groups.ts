import { randomBytes, randomUUID } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import type { Notice, Tx } from '../storage/types';
import { checkMetadata, checkName, checkPolicies, isId, isTaken } from './checks';
import { cellOf, type GroupAliasRow, type GroupRow, type SealedPrincipal, toGroup, toGroupAlias } from './rows';
import type { Group, GroupDetails, GroupType, IdentityNeeds, IdentityPage, Metadata } from './types';

/** Fields of a group to write; those left out keep their value. */
export interface GroupWrite {
  readonly name?: string;
  readonly type?: string;
  readonly metadata?: Metadata;
  readonly policies?: readonly string[];
  readonly memberEntityIds?: readonly string[];
  readonly memberGroupIds?: readonly string[];
}

const nameIndex = 'group_namespace_id_lower_name_key';

/** Changed groups may change what any entity may do. */
export const groupNotice: Notice = { topic: 'group', key: '*' };

/** Groups and their members. Names, single membership and the absence of cycles are the database's affair. */
export class Groups {
  constructor(private readonly needs: IdentityNeeds) {}

  /** Creates or changes a group: by id (which must exist), by name (created when absent), or neither (created). */
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
      // Two writes that each look free of cycles could make one together, so they take turns.
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
      // A rename met a taken name; or another group was given this name meanwhile, and is the one to change.
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
    const given = name || `group_${randomBytes(4).toString('hex')}`;
    await tx.query(
      `INSERT INTO "group" (id, namespace_id, name, type, version, created_at_ms, updated_at_ms, sealed)
       VALUES ($1, $2, $3, $4, 1, $5, $5, $6)`,
      [id, namespaceId, given, type, nowMs, this.sealed(id, { metadata, policies })],
    );
    const kind = type as GroupType;
    return {
      id,
      namespaceId,
      name: given,
      type: kind,
      metadata,
      policies,
      version: 1,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
    };
  }

  async find(namespaceId: string, id: string): Promise<GroupDetails | undefined> {
    if (!isId(id)) return undefined;
    return this.details('id = $1 AND namespace_id = $2', [id, namespaceId]);
  }

  async findByName(namespaceId: string, name: string): Promise<GroupDetails | undefined> {
    return this.details('namespace_id = $1 AND lower(name) = lower($2::text COLLATE "C")', [namespaceId, name]);
  }

  /** Ids or names in bytewise order, with the counts that listings show. */
  async list(namespaceId: string, by: 'id' | 'name', { after = '', limit }: IdentityPage) {
    const order = by === 'id' ? 'g.id::text COLLATE "C"' : 'g.name';
    const { rows } = await this.needs.database.query<{ id: string; name: string; members: number; parents: number }>(
      `SELECT g.id, g.name,
              (SELECT count(*)::int FROM group_member m WHERE m.group_id = g.id AND m.entity_id IS NOT NULL) AS members,
              (SELECT count(*)::int FROM group_member m WHERE m.member_group_id = g.id) AS parents
         FROM "group" g WHERE g.namespace_id = $1 AND ${order} > $2 ORDER BY ${order} LIMIT $3`,
      [namespaceId, after, limit ?? null],
    );
    return rows;
  }

  /** Removes a group, its alias and its memberships; an absent one is no error. */
  async delete(namespaceId: string, by: { id: string } | { name: string }): Promise<void> {
    if ('id' in by && !isId(by.id)) return;
    await this.needs.committer.transaction(
      (tx) =>
        'id' in by
          ? tx.query('DELETE FROM "group" WHERE namespace_id = $1 AND id = $2', [namespaceId, by.id])
          : tx.query('DELETE FROM "group" WHERE namespace_id = $1 AND lower(name) = lower($2::text COLLATE "C")', [
              namespaceId,
              by.name,
            ]),
      [groupNotice],
    );
  }

  private async details(where: string, values: readonly unknown[]): Promise<GroupDetails | undefined> {
    const { database, barrier } = this.needs;
    const { rows } = await database.query<GroupRow>(`SELECT * FROM "group" WHERE ${where}`, values);
    if (!rows[0]) return undefined;
    const group = toGroup(barrier, rows[0]);
    const [members, parents, aliases] = await Promise.all([
      database.query<{ entity_id: string | null; member_group_id: string | null }>(
        'SELECT entity_id, member_group_id FROM group_member WHERE group_id = $1 ORDER BY entity_id, member_group_id',
        [group.id],
      ),
      database.query<{ group_id: string }>(
        'SELECT group_id FROM group_member WHERE member_group_id = $1 ORDER BY group_id',
        [group.id],
      ),
      database.query<GroupAliasRow>('SELECT * FROM group_alias WHERE group_id = $1', [group.id]),
    ]);
    return {
      ...group,
      memberEntityIds: members.rows.map((row) => row.entity_id).filter((id) => id !== null),
      memberGroupIds: members.rows.map((row) => row.member_group_id).filter((id) => id !== null),
      parentGroupIds: parents.rows.map((row) => row.group_id),
      ...(aliases.rows[0] && { alias: toGroupAlias(barrier, aliases.rows[0]) }),
    };
  }

  private async lock(
    tx: Tx,
    namespaceId: string,
    { id, name }: { id?: string; name?: string },
  ): Promise<Group | undefined> {
    if (id !== undefined ? !isId(id) : !name) return undefined;
    const { rows } = await tx.query<GroupRow>(
      id !== undefined
        ? 'SELECT * FROM "group" WHERE namespace_id = $1 AND id = $2 FOR UPDATE'
        : 'SELECT * FROM "group" WHERE namespace_id = $1 AND lower(name) = lower($2::text COLLATE "C") FOR UPDATE',
      [namespaceId, id ?? name],
    );
    return rows[0] && toGroup(this.needs.barrier, rows[0]);
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
    await tx.query(
      'UPDATE "group" SET name = $2, version = version + 1, updated_at_ms = $3, sealed = $4 WHERE id = $1',
      [group.id, group.name, group.updatedAtMs, this.sealed(group.id, group)],
    );
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
    const column = kind === 'entity' ? 'entity_id' : 'member_group_id';
    await this.requireMembers(tx, group, kind, ids);
    await tx.query(
      `DELETE FROM group_member WHERE group_id = $1 AND ${column} IS NOT NULL AND NOT ${column} = ANY($2)`,
      [group.id, ids],
    );
    await tx.query(
      `INSERT INTO group_member (group_id, ${column}) SELECT $1, unnest($2::uuid[]) ON CONFLICT DO NOTHING`,
      [group.id, ids],
    );
  }

  /** Members live in the group's namespace or in one above it. */
  private async requireMembers(tx: Tx, group: Group, kind: 'entity' | 'group', ids: readonly string[]): Promise<void> {
    if (ids.length === 0) return;
    const { rows } = await tx.query<{ id: string; namespace_id: string }>(
      `SELECT id, namespace_id FROM "${kind}" WHERE id = ANY($1) FOR KEY SHARE`,
      [ids.filter(isId)],
    );
    const found = new Map(rows.map((row) => [row.id, row.namespace_id]));
    for (const id of ids) {
      const namespaceId = found.get(id.toLowerCase());
      if (namespaceId !== undefined && this.needs.isWithin(namespaceId, group.namespaceId)) continue;
      throw new Refusal('malformed', `1 error occurred:\n\t* invalid ${kind} ID ${JSON.stringify(id)}\n\n`);
    }
  }

  private sealed(id: string, { metadata, policies }: SealedPrincipal): Buffer {
    return this.needs.barrier.sealJson({ metadata, policies }, cellOf('group', id));
  }
}

async function lockMembers(tx: Tx, namespaceId: string): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(hashtextextended('group-members/' || $1, 0))`, [namespaceId]);
}

async function refuseCycle(tx: Tx, groupId: string, memberGroupIds: readonly string[]): Promise<void> {
  const { rows } = await tx.query<{ origin: string }>(
    `WITH RECURSIVE below(origin, id) AS (
       SELECT id, id FROM unnest($2::uuid[]) AS given(id)
       UNION
       SELECT b.origin, m.member_group_id FROM group_member m JOIN below b ON m.group_id = b.id WHERE m.member_group_id IS NOT NULL
     )
     SELECT origin FROM below WHERE id = $1 LIMIT 1`,
    [groupId, memberGroupIds],
  );
  if (rows[0])
    throw new Refusal(
      'malformed',
      `cyclic relationship detected for member group ID ${JSON.stringify(rows[0].origin)}`,
    );
}
