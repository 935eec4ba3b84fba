import type { Database } from '../storage/database';
import type { Barrier, Tx } from '../storage/types';
import type { Mount, MountConfig, MountKind } from './mount';

interface Row {
  id: string;
  namespace_id: string;
  kind: string;
  path: string;
  type: string;
  accessor: string;
  local: boolean;
  tainted: boolean;
  created_at_ms: string;
  sealed: Buffer;
}

interface Sealed {
  readonly description: string;
  readonly config: MountConfig;
  readonly options: Record<string, string> | null;
  readonly sealWrap: boolean;
}

const cell = (row: string) => ({ table: 'mount', row, column: 'sealed' });

const sealedPart = ({ description, config, options, sealWrap }: Mount): Sealed => ({
  description,
  config,
  options,
  sealWrap,
});

/** Every mount there is. */
export async function readMounts(database: Database, barrier: Barrier): Promise<Mount[]> {
  const { rows } = await database.query<Row>({ name: 'mounts', text: 'SELECT * FROM mount' });
  return rows.map((row) => openMount(barrier, row));
}

/** A mount as it is now; nobody else changes it before the transaction ends. */
export async function lockMount(tx: Tx, barrier: Barrier, uuid: string): Promise<Mount | undefined> {
  const { rows } = await tx.query<Row>('SELECT * FROM mount WHERE id = $1 FOR UPDATE', [uuid]);
  return rows[0] && openMount(barrier, rows[0]);
}

/** A mount that lies above, at or below a path, the nearest to it. */
export async function findInTheWay(
  tx: Tx,
  namespaceId: string,
  path: string,
): Promise<{ uuid: string; path: string } | undefined> {
  const { rows } = await tx.query<{ uuid: string; path: string }>(
    `SELECT id AS uuid, path FROM mount WHERE namespace_id = $1 AND (starts_with($2, path) OR starts_with(path, $2))
      ORDER BY abs(length(path) - length($2)), path LIMIT 1`,
    [namespaceId, path],
  );
  return rows[0];
}

function openMount(barrier: Barrier, row: Row): Mount {
  return {
    uuid: row.id,
    namespaceId: row.namespace_id,
    kind: row.kind as MountKind,
    path: row.path,
    type: row.type,
    accessor: row.accessor,
    local: row.local,
    tainted: row.tainted,
    createdAtMs: Number(row.created_at_ms),
    ...barrier.openJson<Sealed>(row.sealed, cell(row.id)),
  };
}

/** Adds a mount; false when its path is taken. */
export async function insertMount(tx: Tx, barrier: Barrier, mount: Mount): Promise<boolean> {
  const { rowCount } = await tx.query(
    `INSERT INTO mount (id, namespace_id, kind, path, type, accessor, local, created_at_ms, sealed)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (namespace_id, kind, path) DO NOTHING`,
    [
      mount.uuid,
      mount.namespaceId,
      mount.kind,
      mount.path,
      mount.type,
      mount.accessor,
      mount.local,
      mount.createdAtMs,
      barrier.sealJson(sealedPart(mount), cell(mount.uuid)),
    ],
  );
  return rowCount === 1;
}

/** Writes what can change of a mount: path, taint, and everything sealed. */
export async function updateMount(tx: Tx, barrier: Barrier, mount: Mount): Promise<void> {
  await tx.query('UPDATE mount SET path = $2, tainted = $3, sealed = $4 WHERE id = $1', [
    mount.uuid,
    mount.path,
    mount.tainted,
    barrier.sealJson(sealedPart(mount), cell(mount.uuid)),
  ]);
}

/** Removes a mount. What was stored below it is removed by whoever calls. */
export async function deleteMount(tx: Tx, uuid: string): Promise<void> {
  await tx.query('DELETE FROM mount WHERE id = $1', [uuid]);
}
