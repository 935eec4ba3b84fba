import type { Statement } from '../storage/database';

// Everything else in this folder uses Prisma. These statements are for logins and for the views of access checks. A
// node that gets no notices reads a view with every request, and every node reads all views after a group has changed.
// Through Prisma such a read takes several times as much CPU time (decision 0005).

const ROW = `id, namespace_id AS "namespaceId", created_at_ms AS "createdAtMs", updated_at_ms AS "updatedAtMs", sealed`;
const GROUPS = `
  WITH RECURSIVE reached(id, direct) AS (
    SELECT group_id, true FROM group_member WHERE entity_id = $1
    UNION
    SELECT m.group_id, false FROM group_member m JOIN reached r ON m.member_group_id = r.id
  )
  SELECT id, bool_or(direct) AS direct FROM reached GROUP BY id ORDER BY id`;

/** The groups of an entity, directly or through other groups. */
export const GROUPS_OF_ENTITY: Statement = { name: 'entity-groups', text: GROUPS };

/** The row of an entity. */
export const VIEW_ENTITY: Statement = {
  name: 'entity-view',
  text: `SELECT ${ROW}, name, disabled FROM entity WHERE id = $1`,
};

/** The entity into which an entity was merged. */
export const VIEW_MERGE: Statement = {
  name: 'entity-view-merge',
  text: 'SELECT entity_id FROM entity_merge WHERE merged_id = $1',
};

/** Aliases of an entity, in the order of their creation. */
export const VIEW_ALIASES: Statement = {
  name: 'entity-view-aliases',
  text: `SELECT ${ROW}, entity_id AS "entityId", mount_id AS "mountId", mount_accessor AS "mountAccessor"
    FROM entity_alias WHERE entity_id = $1 ORDER BY created_at_ms, id`,
};

/** Rows of all groups an entity is in. */
export const VIEW_GROUPS: Statement = {
  name: 'entity-view-groups',
  text: `SELECT ${ROW}, name, type, version FROM "group" WHERE id IN (SELECT id FROM (${GROUPS}) AS mine) ORDER BY id`,
};

/**
 * $1 numbers of the logins, $2 mounts, $3 hashes of alias names, $4 whether to look up groups, $5 numbers of the logins
 * again and $6 the hash of a group name for each.
 */
export const KNOWN_LOGINS: Statement = {
  name: 'identity-logins',
  text: `WITH asked AS (
    SELECT * FROM unnest($1::int[], $2::uuid[], $3::bytea[], $4::boolean[]) AS q(n, mount_id, name_hash, grouped)
  ), named AS (
    SELECT * FROM unnest($5::int[], $6::bytea[]) AS g(n, name_hash)
  )
  SELECT q.n, a.id, a.namespace_id AS "namespaceId", a.entity_id AS "entityId", a.mount_id AS "mountId",
    a.mount_accessor AS "mountAccessor", a.created_at_ms AS "createdAtMs", a.updated_at_ms AS "updatedAtMs", a.sealed,
    ARRAY(SELECT g.group_id FROM named JOIN group_alias g ON g.mount_id = a.mount_id AND g.name_hash = named.name_hash
           WHERE named.n = q.n AND NOT EXISTS (
             SELECT 1 FROM group_member m WHERE m.group_id = g.group_id AND m.entity_id = a.entity_id)) AS join,
    ARRAY(SELECT g.group_id FROM group_member m JOIN group_alias g ON g.group_id = m.group_id
           WHERE q.grouped AND m.entity_id = a.entity_id AND g.mount_id = a.mount_id AND NOT EXISTS (
             SELECT 1 FROM named WHERE named.n = q.n AND named.name_hash = g.name_hash)) AS leave
    FROM asked q JOIN entity_alias a ON a.mount_id = q.mount_id AND a.name_hash = q.name_hash`,
};

/** Groups of a mount ($1) that have one of the names ($2) but not the entity ($3) as a member, or vice versa. */
export const GROUP_MOVES: Statement = {
  name: 'group-alias-membership',
  text: `SELECT a.group_id, a.name_hash = ANY($2) AS wanted FROM group_alias a
    LEFT JOIN group_member m ON m.group_id = a.group_id AND m.entity_id = $3
    WHERE a.mount_id = $1 AND (a.name_hash = ANY($2)) <> (m.id IS NOT NULL)`,
};

/** Removes an entity ($1) from groups ($2). */
export const LEAVE_GROUPS: Statement = {
  name: 'group-leave',
  text: 'DELETE FROM group_member WHERE entity_id = $1 AND group_id = ANY($2)',
};

/** Adds an entity ($1) to those of the groups ($2) that still exist. */
export const JOIN_GROUPS: Statement = {
  name: 'group-join',
  text: `INSERT INTO group_member (group_id, entity_id) SELECT g.id, $1 FROM "group" g WHERE g.id = ANY($2)
    ON CONFLICT DO NOTHING`,
};
