import type { Database, KeyedRead, PackedRow } from '../../../kernel/database/database';
import type { LockHolder } from '../../workspaces/workspaces/lock';
import type { History } from './rules';

/** What decides whether a workspace takes a state: who holds it, and which state it is at. */
export interface StateBase {
  /** Moves with every change of the workspace, its lock and its current state among them. */
  readonly revision: string;
  readonly holder: LockHolder | undefined;
  readonly current: History | undefined;
}

type StateBaseRow = PackedRow<
  [
    revision: string,
    locked: boolean,
    holderType: string,
    holderId: string,
    serial: string | null,
    md5: string,
    lineage: string | null,
  ]
>;

const read: KeyedRead = {
  name: 'state_base',
  text: `SELECT json_agg(json_build_array(w.id, w.revision::text, w.locked_at IS NOT NULL, w.locked_by_type,
                w.locked_by_id, s.serial::text, s.md5, s.lineage))::text AS packed
    FROM unnest($1::text[]) AS k(key)
    CROSS JOIN LATERAL (SELECT * FROM workspace x WHERE x.id = k.key LIMIT 1) w
    LEFT JOIN LATERAL (SELECT * FROM state_version x WHERE x.id = w.current_state_version_id LIMIT 1) s ON true`,
  quick: true,
  packed: true,
};

/** What a new state would follow, as it is now. */
export async function findBase(db: Database, workspaceId: string): Promise<StateBase | undefined> {
  const row = await db.readOne<StateBaseRow>(read, workspaceId);
  if (!row) return undefined;
  const [, revision, locked, type, id, serial, md5, lineage] = row.columns;
  return {
    revision,
    holder: locked ? { type, id } : undefined,
    current: serial === null ? undefined : { serial: BigInt(serial), md5, lineage },
  };
}
