import { randomUUID } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { mapInTurns } from '../storage/in-turns';
import type { Tx } from '../storage/types';
import { checkName, isId, isTaken } from './checks';
import type { AliasMount } from './entity-aliases';
import { type Groups, groupNotice } from './groups';
import { aliasNameHash, cellOf, type GroupAliasRow, toGroupAlias } from './rows';
import type { GroupAlias, IdentityNeeds, IdentityPage } from './types';

/** Fields of a group alias to write. An absent mount means that no login can match. */
export interface GroupAliasWrite {
  readonly name?: string;
  readonly mount?: AliasMount;
  readonly groupId?: string;
}

const perGroup = 'group_alias_group_id_key';

/**
 * Group aliases: at most one per group, one name per mount, both unique indexes.
 * Spec: Group alias.
 */
export class GroupAliases {
  constructor(
    private readonly needs: IdentityNeeds,
    private readonly groups: Groups,
  ) {}

  /** Creates an alias; without a group, an external one is made for it. */
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
      await tx.query(
        `INSERT INTO group_alias (id, namespace_id, group_id, mount_id, mount_accessor, name_hash, created_at_ms, updated_at_ms, sealed)
         VALUES ($1, $2, $3, $4, $5, $6, $7, $7, $8)`,
        [
          id,
          namespaceId,
          groupId,
          alias.mountId ?? null,
          alias.mountAccessor,
          this.hash(alias),
          nowMs,
          this.sealed(alias),
        ],
      );
      return alias;
    });
  }

  /** Changes an alias; fields left out keep their value. Throws `malformed` for an unknown id. */
  async update(namespaceId: string, id: string, write: GroupAliasWrite): Promise<GroupAlias> {
    if (write.name) checkName('alias', write.name);
    return this.commit(write.groupId, async (tx) => {
      const { rows } = isId(id)
        ? await tx.query<GroupAliasRow>('SELECT * FROM group_alias WHERE id = $1 AND namespace_id = $2 FOR UPDATE', [
            id,
            namespaceId,
          ])
        : { rows: [] };
      if (!rows[0]) throw new Refusal('malformed', 'invalid group alias ID');
      const before = toGroupAlias(this.needs.barrier, rows[0]);
      if (write.groupId && write.groupId !== before.groupId) await this.requireGroup(tx, namespaceId, write.groupId);
      const after: GroupAlias = {
        ...before,
        name: write.name || before.name,
        groupId: write.groupId || before.groupId,
        ...(write.mount && mountFields(write.mount)),
        updatedAtMs: this.needs.clock.now(),
      };
      await tx.query(
        `UPDATE group_alias SET group_id = $2, mount_id = $3, mount_accessor = $4, name_hash = $5, updated_at_ms = $6, sealed = $7
         WHERE id = $1`,
        [
          after.id,
          after.groupId,
          after.mountId ?? null,
          after.mountAccessor,
          this.hash(after),
          after.updatedAtMs,
          this.sealed(after),
        ],
      );
      // Membership came from logins under the old name and mount; it would outlive what it was founded on.
      const moved =
        after.groupId !== before.groupId || after.mountId !== before.mountId || !sameName(after.name, before.name);
      if (moved)
        await tx.query('DELETE FROM group_member WHERE group_id = $1 AND entity_id IS NOT NULL', [before.groupId]);
      return after;
    });
  }

  async find(namespaceId: string, id: string): Promise<GroupAlias | undefined> {
    if (!isId(id)) return undefined;
    const { rows } = await this.needs.database.query<GroupAliasRow>(
      'SELECT * FROM group_alias WHERE id = $1 AND namespace_id = $2',
      [id, namespaceId],
    );
    return rows[0] && toGroupAlias(this.needs.barrier, rows[0]);
  }

  async findByName(mountId: string, name: string): Promise<GroupAlias | undefined> {
    const { rows } = await this.needs.database.query<GroupAliasRow>(
      'SELECT * FROM group_alias WHERE mount_id = $1 AND name_hash = $2',
      [mountId, aliasNameHash(this.needs.barrier, 'group', mountId, name)],
    );
    return rows[0] && toGroupAlias(this.needs.barrier, rows[0]);
  }

  async list(namespaceId: string, { after = '', limit }: IdentityPage): Promise<GroupAlias[]> {
    const { rows } = await this.needs.database.query<GroupAliasRow>(
      `SELECT * FROM group_alias WHERE namespace_id = $1 AND id::text COLLATE "C" > $2 ORDER BY id::text COLLATE "C" LIMIT $3`,
      [namespaceId, after, limit ?? null],
    );
    return mapInTurns(rows, (row) => toGroupAlias(this.needs.barrier, row));
  }

  /** Removes an alias and the memberships it brought; the group stays, and an absent alias is no error. */
  async delete(namespaceId: string, id: string): Promise<void> {
    if (!isId(id)) return;
    await this.needs.committer.transaction(
      (tx) =>
        tx.query(
          `WITH gone AS (DELETE FROM group_alias WHERE id = $1 AND namespace_id = $2 RETURNING group_id)
           DELETE FROM group_member m USING gone WHERE m.group_id = gone.group_id AND m.entity_id IS NOT NULL`,
          [id, namespaceId],
        ),
      [groupNotice],
    );
  }

  private async commit(groupId: string | undefined, run: (tx: Tx) => Promise<GroupAlias>): Promise<GroupAlias> {
    try {
      return await this.needs.committer.transaction(run, [groupNotice]);
    } catch (error) {
      if (isTaken(error, perGroup)) {
        const { rows } = await this.needs.database.query<{ id: string }>(
          'SELECT id FROM group_alias WHERE group_id = $1',
          [groupId],
        );
        throw new Refusal('conflict', `the group already has the alias ${JSON.stringify(rows[0]?.id ?? '')}`);
      }
      if (isTaken(error)) throw new Refusal('conflict', 'combination of mount and group alias name is already in use');
      throw error;
    }
  }

  private async requireGroup(tx: Tx, namespaceId: string, id: string): Promise<void> {
    const { rows } = isId(id)
      ? await tx.query<{ type: string }>('SELECT type FROM "group" WHERE id = $1 AND namespace_id = $2 FOR SHARE', [
          id,
          namespaceId,
        ])
      : { rows: [] };
    if (!rows[0]) throw new Refusal('malformed', "invalid group ID given in 'canonical_id'");
    if (rows[0].type !== 'external') throw new Refusal('malformed', "alias can't be set on an internal group");
  }

  private hash({ mountId, name }: Pick<GroupAlias, 'mountId' | 'name'>): Buffer {
    return aliasNameHash(this.needs.barrier, 'group', mountId ?? '', name);
  }

  private sealed({ id, name }: Pick<GroupAlias, 'id' | 'name'>): Buffer {
    return this.needs.barrier.sealJson({ name }, cellOf('group_alias', id));
  }
}

function mountFields(mount: AliasMount | undefined) {
  return { mountId: mount?.uuid, mountAccessor: mount?.accessor ?? '' };
}

function sameName(one: string, other: string): boolean {
  return one.toLowerCase() === other.toLowerCase();
}
