import { Prisma } from '../../../generated/prisma/client';
import { restorableSince } from '../../../kernel/blobs/backing-data';
import type { Database } from '../../../kernel/database/database';

const BATCH = 500;

/** Kinds of data that a policy removes. */
export type Kind = 'state-versions' | 'configuration-versions';

// The policy on the nearest level is used, even if it keeps everything.
const effectiveDays = Prisma.sql`CASE WHEN rw.id IS NOT NULL THEN rw.delete_older_than_n_days
  WHEN ro.id IS NOT NULL THEN ro.delete_older_than_n_days ELSE ri.delete_older_than_n_days END`;

const policies = Prisma.sql`
  JOIN workspace w ON w.id = x.workspace_id
  JOIN organization o ON o.id = w.organization_id AND o.removed_at IS NULL
  LEFT JOIN retention_policy rw ON rw.workspace_id = w.id
  LEFT JOIN retention_policy ro ON ro.organization_id = w.organization_id
  LEFT JOIN retention_policy ri ON ri.workspace_id IS NULL AND ri.organization_id IS NULL`;

const tableOf = {
  'state-versions': Prisma.sql`state_version`,
  'configuration-versions': Prisma.sql`configuration_version`,
} as const;

/** Data in use is never removed: the current state, the current configuration, and data of unfinished runs. */
const conditions = {
  'state-versions': Prisma.sql`x.status = 'finalized' AND x.id IS DISTINCT FROM w.current_state_version_id`,
  'configuration-versions': Prisma.sql`x.status = 'uploaded' AND x.id IS DISTINCT FROM w.current_configuration_id
    AND NOT EXISTS (SELECT 1 FROM run u WHERE u.configuration_version_id = x.id AND u.finished_at IS NULL)`,
} as const;

function due(kind: Kind, nowMs: number, within: Prisma.Sql): Prisma.Sql {
  const old = Prisma.sql`x.created_at < ${new Date(nowMs)}::timestamptz - make_interval(days => ${effectiveDays})`;
  return Prisma.sql`FROM ${tableOf[kind]} x ${policies} WHERE ${conditions[kind]} AND ${old} AND ${within}`;
}

/** The versions that a policy would remove now: their number, and the first ids, oldest first. */
export interface Preview {
  readonly kind: Kind;
  readonly count: number;
  readonly ids: readonly string[];
}

const SHOWN = 100;

/** The versions that the effective policies would remove now, in one workspace, one organization, or everywhere. */
export async function preview(
  db: Database,
  holder: { readonly workspaceId: string | null; readonly organizationId: string | null },
  nowMs: number,
): Promise<Preview[]> {
  const within =
    holder.workspaceId !== null
      ? Prisma.sql`w.id = ${holder.workspaceId}`
      : holder.organizationId !== null
        ? Prisma.sql`w.organization_id = ${holder.organizationId}`
        : Prisma.sql`TRUE`;
  const found: Preview[] = [];
  for (const kind of Object.keys(tableOf) as Kind[]) {
    const rows = await db.prisma.$queryRaw<{ id: string; count: number }[]>`
      SELECT x.id, count(*) OVER ()::int AS count ${due(kind, nowMs, within)} ORDER BY x.created_at, x.id LIMIT ${SHOWN}`;
    found.push({ kind, count: rows[0]?.count ?? 0, ids: rows.map(({ id }) => id) });
  }
  return found;
}

async function softDelete(db: Database, kind: Kind, nowMs: number): Promise<number> {
  return db.prisma.$executeRaw`
    UPDATE ${tableOf[kind]} SET status = 'backing_data_soft_deleted', deleted_at = ${new Date(nowMs)}
     WHERE id IN (SELECT x.id ${due(kind, nowMs, Prisma.sql`TRUE`)} ORDER BY x.created_at, x.id
                   LIMIT ${BATCH} FOR UPDATE OF x SKIP LOCKED)`;
}

/** Permanently removes the files of configurations that were deleted long enough ago. */
async function removeConfigurations(db: Database, nowMs: number): Promise<number> {
  const before = restorableSince(nowMs);
  return db.transaction(async ({ prisma }) => {
    const rows = await prisma.$queryRaw<{ id: string; blob_id: string | null }[]>`
      SELECT id, blob_id FROM configuration_version WHERE status = 'backing_data_soft_deleted' AND deleted_at < ${before}
       ORDER BY deleted_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`;
    await prisma.blob.deleteMany({ where: { id: { in: rows.flatMap((row) => row.blob_id ?? []) } } });
    await prisma.configurationVersion.updateMany({
      where: { id: { in: rows.map(({ id }) => id) } },
      data: { status: 'backing_data_permanently_deleted', blobId: null },
    });
    return rows.length;
  });
}

/** Permanently removes the bytes of states that were deleted long enough ago. */
async function removeForGood(db: Database, nowMs: number): Promise<number> {
  const before = restorableSince(nowMs);
  return db.transaction(async ({ prisma }) => {
    const rows = await prisma.$queryRaw<{ id: string; raw_blob_id: string | null; json_blob_id: string | null }[]>`
      SELECT id, raw_blob_id, json_blob_id FROM state_version WHERE status = 'backing_data_soft_deleted' AND deleted_at < ${before}
       ORDER BY deleted_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`;
    const ids = rows.map(({ id }) => id);
    const blobs = rows.flatMap((row) => [row.raw_blob_id, row.json_blob_id].filter((blob) => blob !== null));
    await prisma.blob.deleteMany({ where: { id: { in: blobs } } });
    await prisma.stateOutput.deleteMany({ where: { stateVersionId: { in: ids } } });
    await prisma.stateVersion.updateMany({
      where: { id: { in: ids } },
      data: { status: 'backing_data_permanently_deleted', rawBlobId: null, jsonBlobId: null },
    });
    return ids.length;
  });
}

/** The numbers of objects that a sweep has removed. */
export interface Swept {
  readonly softDeleted: number;
  readonly removed: number;
}

/**
 * Applies the retention policies: old data is soft-deleted, and data that was soft-deleted a week ago is removed. Works
 * in small batches that several nodes share. If it is interrupted, the next sweep continues.
 */
export async function sweep(db: Database, nowMs: number): Promise<Swept> {
  let softDeleted = 0;
  let removed = 0;
  const removing = await db.prisma.retentionPolicy.count({ where: { deleteOlderThanNDays: { not: null } } });
  for (const kind of removing === 0 ? [] : (Object.keys(tableOf) as Kind[])) {
    for (let done = BATCH; done === BATCH; softDeleted += done) {
      done = await softDelete(db, kind, nowMs);
    }
  }
  for (const remove of [removeForGood, removeConfigurations]) {
    for (let done = BATCH; done === BATCH; removed += done) {
      done = await remove(db, nowMs);
    }
  }
  return { softDeleted, removed };
}
