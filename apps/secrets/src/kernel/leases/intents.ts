import type { Statement } from '../storage/database';
import type { StorageKernel } from '../storage/storage';
import { INTENT_GRACE_MS, intentCell } from '../storage/write-steps';
import { restOf } from './revocation';
import type { LeaseHosts } from './types';

interface IntentRow {
  id: string;
  mount_id: string;
  kind: string;
  attempts: number;
  created_at_ms: string;
  sealed: Buffer;
}

const CLAIM_MS = 5 * 60_000;
const CLAIMED_AT_ONCE = 20;
/**
 * How many intents of one mount are undone at a time on one node, so that a system that hangs blocks only its own
 * intents.
 */
const AT_ONCE = 10;
const MAX_PAUSE_MS = 5 * 60_000;

// An intent waits while its owner is alive, because a running call must not be undone.
const CLAIM: Statement = {
  name: 'intent-claim',
  text: `UPDATE intent SET due_at_ms = $1::bigint + ${CLAIM_MS}, attempts = attempts + 1, owner = $2 WHERE id IN (
    SELECT id FROM intent
     WHERE (due_at_ms <= $1 OR (owner IS NOT NULL AND owner NOT IN (
             SELECT id FROM node WHERE seen_at > clock_timestamp() - interval '5 seconds')))
       AND NOT (mount_id = ANY($3::uuid[]))
     ORDER BY due_at_ms LIMIT ${CLAIMED_AT_ONCE} FOR UPDATE SKIP LOCKED)
  RETURNING id, mount_id, kind, attempts, created_at_ms, sealed`,
};
const DONE: Statement = { name: 'intent-done', text: 'DELETE FROM intent WHERE id = $1' };
const PAUSE: Statement = { name: 'intent-pause', text: 'UPDATE intent SET owner = NULL, due_at_ms = $2 WHERE id = $1' };
const ABANDON_INTENTS: Statement = {
  name: 'intent-let-go',
  text: 'UPDATE intent SET owner = NULL, due_at_ms = $2 WHERE id = ANY($1::uuid[]) AND attempts = 0',
};

/**
 * Undoes what calls started in other systems but never finished. An intent is undone immediately if the call failed or
 * its node is dead. It is undone once more later, when no outside system can still be working on the call. An intent
 * that is being undone can no longer be settled.
 */
export class IntentSweep {
  private readonly running = new Map<string, number>();

  constructor(
    private readonly storage: StorageKernel,
    private readonly hosts: LeaseHosts,
  ) {}

  /** Starts to undo due intents. Returns true if more are waiting. */
  async run(): Promise<boolean> {
    const { database, clock, changes } = this.storage;
    const busy = [...this.running].filter(([, count]) => count >= AT_ONCE).map(([mountId]) => mountId);
    const { rows } = await database.query<IntentRow>(CLAIM, [clock.now(), changes.id, busy]);
    if (rows.length === 0) return false;
    await this.hosts.refreshMounts();
    for (const row of rows) void this.oneOfMount(row);
    return rows.length === CLAIMED_AT_ONCE;
  }

  /** Makes the intents of a finished call due immediately. */
  async abandon(ids: readonly string[]): Promise<void> {
    await this.storage.database.query(ABANDON_INTENTS, [ids, this.storage.clock.now()]);
  }

  private async oneOfMount(row: IntentRow): Promise<void> {
    const count = (by: number) => this.running.set(row.mount_id, (this.running.get(row.mount_id) ?? 0) + by);
    count(1);
    // If the intent can be neither undone nor postponed, it stays claimed by this node until the claim ends.
    await this.undo(row).catch((error) => this.storage.log?.warn({ err: error }, 'an intent could not be postponed'));
    count(-1);
    if (this.running.get(row.mount_id) === 0) this.running.delete(row.mount_id);
  }

  private async undo(row: IntentRow): Promise<void> {
    const { database, barrier, clock, log } = this.storage;
    try {
      const mount = this.hosts.findMount(row.mount_id);
      const undo = mount?.backend.undo[row.kind];
      const what = barrier.openJson<Record<string, unknown>>(row.sealed, intentCell(row.id));
      if (mount && undo) await this.hosts.inBackground(mount, (call) => undo(what, call));
      await this.storage.fault('intent:undone');
      const again = Number(row.created_at_ms) + INTENT_GRACE_MS;
      if (again > clock.now()) await database.query(PAUSE, [row.id, again]);
      else await database.query(DONE, [row.id]);
    } catch (error) {
      if (barrier.sealed) return;
      log?.warn({ err: error, kind: row.kind, attempts: row.attempts }, 'an intent could not be undone');
      const pause = Math.min(Math.max(restOf(error) ?? 0, 10_000 * 2 ** Math.min(row.attempts - 1, 20)), MAX_PAUSE_MS);
      await database.query(PAUSE, [row.id, clock.now() + pause]);
    }
  }
}
