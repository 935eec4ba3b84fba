import { Prisma } from '../../generated/prisma/client';
import type { Database } from '../storage/database';
import { lockRows } from '../storage/lock-rows';
import type { Barrier, Tx } from '../storage/types';
import type { Mount, MountConfig, MountKind } from './mount';

type MountRow = Prisma.MountGetPayload<object>;

interface SealedMount {
  readonly description: string;
  readonly config: MountConfig;
  readonly options: Record<string, string> | null;
  readonly sealWrap: boolean;
}

const cell = (row: string) => ({ table: 'mount', row, column: 'sealed' });

const sealedPart = ({ description, config, options, sealWrap }: Mount): SealedMount => ({
  description,
  config,
  options,
  sealWrap,
});

/** Reads all mounts. */
export async function readMounts(database: Database, barrier: Barrier): Promise<Mount[]> {
  const rows = await database.prisma.mount.findMany();
  return rows.map((row) => openMount(barrier, row));
}

/** The current state of a mount, locked for the rest of the transaction. */
export async function lockMount(tx: Tx, barrier: Barrier, uuid: string): Promise<Mount | undefined> {
  await lockRows(tx, 'mount', Prisma.sql`id = ${uuid}::uuid`);
  const row = await tx.prisma.mount.findUnique({ where: { id: uuid } });
  return row ? openMount(barrier, row) : undefined;
}

/** The nearest mount above, at or below a path. */
export async function findInTheWay(
  tx: Tx,
  namespaceId: string,
  path: string,
): Promise<{ uuid: string; path: string } | undefined> {
  const rows = await tx.prisma.$queryRaw<{ uuid: string; path: string }[]>`
    SELECT id AS uuid, path FROM mount
     WHERE namespace_id = ${namespaceId}::uuid AND (starts_with(${path}, path) OR starts_with(path, ${path}))
     ORDER BY abs(length(path) - length(${path})), path LIMIT 1`;
  return rows[0];
}

function openMount(barrier: Barrier, row: MountRow): Mount {
  return {
    uuid: row.id,
    namespaceId: row.namespaceId,
    kind: row.kind as MountKind,
    path: row.path,
    type: row.type,
    accessor: row.accessor,
    local: row.local,
    tainted: row.tainted,
    createdAtMs: Number(row.createdAtMs),
    ...barrier.openJson<SealedMount>(row.sealed, cell(row.id)),
  };
}

/** Adds a mount. Returns false if its path is taken. */
export async function insertMount(tx: Tx, barrier: Barrier, mount: Mount): Promise<boolean> {
  const { uuid: id, namespaceId, kind, path, type, accessor, local, createdAtMs } = mount;
  const sealed = barrier.sealJson(sealedPart(mount), cell(id));
  const row = { id, namespaceId, kind, path, type, accessor, local, createdAtMs, sealed };
  const { count } = await tx.prisma.mount.createMany({ data: [row], skipDuplicates: true });
  return count === 1;
}

/** Writes the parts of a mount that can change: path, taint, and the sealed part. */
export async function updateMount(tx: Tx, barrier: Barrier, mount: Mount): Promise<void> {
  const { uuid: id, path, tainted } = mount;
  const sealed = barrier.sealJson(sealedPart(mount), cell(id));
  await tx.prisma.mount.updateMany({ where: { id }, data: { path, tainted, sealed } });
}

/** Removes a mount. The caller removes what was stored below it. */
export async function deleteMount(tx: Tx, uuid: string): Promise<void> {
  await tx.prisma.mount.deleteMany({ where: { id: uuid } });
}
