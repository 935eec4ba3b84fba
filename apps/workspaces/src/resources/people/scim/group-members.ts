import type { Database } from '../../../kernel/database/database';
import { ScimRefusal } from './dialect';
import { isObject } from './values';

/** A user in a group. */
export interface Member {
  readonly groupId: string;
  readonly id: string;
  readonly userName: string;
}

/** The ids in a list of members. Throws `invalidValue` for groups in groups, and for entries without an id. */
export function readMembers(value: unknown): string[] {
  const list = value === undefined || value === null ? [] : Array.isArray(value) ? value : [value];
  const ids = list.map((one: unknown) => {
    if (!isObject(one) || typeof one.value !== 'string' || one.value.length > 64) {
      throw new ScimRefusal('invalidValue', 'Each member needs a value: the ID of a user.');
    }
    if (typeof one.type === 'string' && one.type.toLowerCase() === 'group') {
      throw new ScimRefusal('invalidValue', 'members must be users: nested groups are not supported.');
    }
    return one.value;
  });
  return [...new Set(ids)];
}

/** Adds users to a group. Returns the accounts of those who were not in it. */
export async function addMembers(tx: Database, groupId: string, ids: string[]): Promise<string[]> {
  if (ids.length === 0) return [];
  // Locked, so that no one is removed from the directory in the meantime.
  const memberships = await tx.prisma.$queryRaw<{ id: string; userId: string }[]>`
    SELECT id, user_id AS "userId" FROM scim_user WHERE id = ANY(${ids}) AND removed_at IS NULL ORDER BY id FOR SHARE`;
  if (memberships.length < ids.length) {
    const there = new Set(memberships.map(({ id }) => id));
    const missing = ids.find((id) => !there.has(id));
    throw new ScimRefusal('invalidValue', `members has no user with this id: ${JSON.stringify(missing)}.`);
  }
  const added = await tx.prisma.$queryRaw<{ id: string }[]>`
    INSERT INTO scim_group_member (group_id, scim_user_id) SELECT ${groupId}, unnest(${ids}::text[])
    ON CONFLICT DO NOTHING RETURNING scim_user_id AS id`;
  const isNew = new Set(added.map(({ id }) => id));
  return memberships.filter(({ id }) => isNew.has(id)).map(({ userId }) => userId);
}

/** Removes users from a group: the given users, or all except those in `stay`. Returns their accounts. */
export async function removeMembers(
  tx: Database,
  groupId: string,
  ids: string[] | undefined,
  stay: string[] = [],
): Promise<string[]> {
  const rows = await tx.prisma.$queryRaw<{ userId: string }[]>`
    DELETE FROM scim_group_member m USING scim_user s
     WHERE s.id = m.scim_user_id AND m.group_id = ${groupId}
       AND (${ids === undefined} OR m.scim_user_id = ANY(${ids ?? []}::text[]))
       AND NOT m.scim_user_id = ANY(${stay}::text[])
    RETURNING s.user_id AS "userId"`;
  return rows.map(({ userId }) => userId);
}

/** The members of some groups, by user name. */
export async function membersOf(db: Database, groupIds: readonly string[]): Promise<Member[]> {
  return db.prisma.$queryRaw<Member[]>`
    SELECT m.group_id AS "groupId", s.id, s.user_name AS "userName"
      FROM scim_group_member m JOIN scim_user s ON s.id = m.scim_user_id
     WHERE m.group_id = ANY(${[...groupIds]}) ORDER BY lower(s.user_name), s.id`;
}
