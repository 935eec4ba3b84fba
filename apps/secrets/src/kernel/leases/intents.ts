import type { Statement } from '../storage/database';
import { intentCell } from '../storage/rows';
import type { StorageKernel } from '../storage/storage';
import type { LeaseHosts } from './types';

interface Row {
  id: string;
  mount_id: string;
  kind: string;
  attempts: number;
  sealed: Buffer;
}

const CLAIM_MS = 5 * 60_000;
const AT_ONCE = 20;
const MAX_PAUSE_MS = 24 * 3600_000;

const CLAIM: Statement = {
  name: 'intent-claim',
  text: `UPDATE intent SET due_at_ms = $1::bigint + ${CLAIM_MS}, attempts = attempts + 1 WHERE id IN (
    SELECT id FROM intent WHERE due_at_ms <= $1 ORDER BY due_at_ms LIMIT ${AT_ONCE} FOR UPDATE SKIP LOCKED)
  RETURNING id, mount_id, kind, attempts, sealed`,
};
const DONE: Statement = { name: 'intent-done', text: 'DELETE FROM intent WHERE id = $1' };
const PAUSE: Statement = { name: 'intent-pause', text: 'UPDATE intent SET due_at_ms = $2 WHERE id = $1' };

/**
 * Undoes what calls began in other systems and never accounted for. An intent is old enough when no call can still be
 * running; one that is being undone cannot be settled any more.
 */
export class IntentSweep {
  constructor(
    private readonly storage: StorageKernel,
    private readonly hosts: LeaseHosts,
  ) {}

  /** Undoes what is due; true when more is waiting. */
  async run(): Promise<boolean> {
    const { database, clock } = this.storage;
    const { rows } = await database.query<Row>(CLAIM, [clock.now()]);
    if (rows.length === 0) return false;
    await this.hosts.refreshMounts();
    await Promise.all(rows.map((row) => this.undo(row)));
    return rows.length === AT_ONCE;
  }

  private async undo(row: Row): Promise<void> {
    const { database, barrier, clock, log } = this.storage;
    try {
      const mount = this.hosts.findMount(row.mount_id);
      const undo = mount?.backend.undo[row.kind];
      const what = barrier.openJson<Record<string, unknown>>(row.sealed, intentCell(row.id));
      if (mount && undo) await this.hosts.errand(mount, (errand) => undo(what, errand));
      await this.storage.fault('intent:undone');
      await database.query(DONE, [row.id]);
    } catch (error) {
      if (barrier.sealed) return;
      log?.warn({ err: error, kind: row.kind, attempts: row.attempts }, 'an intent could not be undone');
      const pause = Math.min(10_000 * 2 ** Math.min(row.attempts - 1, 20), MAX_PAUSE_MS);
      await database.query(PAUSE, [row.id, clock.now() + pause]);
    }
  }
}
