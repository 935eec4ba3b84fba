import type { Statement } from '../storage/database';
import type { StorageKernel } from '../storage/storage';

/**
 * After a configuration was written, calls from before the write may still fail and postpone their leases for this
 * long.
 */
const OLD_CALLS_MS = 35_000;

/**
 * Ends the pauses of leases whose revocation failed, so that they are due. This happens when an unreachable system
 * answers a call of any node, and when the configuration of a mount is written.
 */
export class Rests {
  /** The start times of the calls that systems answered. */
  private readonly answering = new Map<string, number>();
  private readonly reconfigured = new Set<string>();

  constructor(private readonly storage: StorageKernel) {}

  /** Records that the system of a mount answered a call that started at this time. Pauses that began later continue. */
  noteAnswer(mountId: string, askedMs: number): void {
    this.answering.set(mountId, Math.max(askedMs, this.answering.get(mountId) ?? 0));
  }

  /** Records that the configuration of a mount's outside system was written. */
  wroteConfig(mountId: string): void {
    this.reconfigured.add(mountId);
    setTimeout(() => this.reconfigured.add(mountId), OLD_CALLS_MS).unref();
  }

  /** Makes paused leases of the recorded mounts due. Returns their number. */
  async run(): Promise<number> {
    const answering = [...this.answering];
    const reconfigured = [...this.reconfigured];
    if (answering.length + reconfigured.length === 0) return 0;
    this.answering.clear();
    this.reconfigured.clear();
    const { clock, database } = this.storage;
    try {
      if (reconfigured.length > 0) await database.query(HASTEN_INTENTS, [reconfigured, clock.now()]);
      const [ids, askedMs] = [answering.map(([id]) => id), answering.map(([, at]) => at)];
      const { rowCount } = await database.query(END_RESTS, [ids, reconfigured, clock.now(), askedMs]);
      return rowCount ?? 0;
    } catch (error) {
      for (const [mountId, at] of answering) this.noteAnswer(mountId, at);
      for (const mountId of reconfigured) this.reconfigured.add(mountId);
      throw error;
    }
  }

  /** Makes paused leases under a prefix due. */
  async endUnder(namespaceId: string, prefix: string, end: string | null): Promise<void> {
    const { clock, database } = this.storage;
    await database.query(END_RESTS_UNDER_PREFIX, [namespaceId, prefix, end, clock.now()]);
  }
}

const AWAKE = 'state = 1, attempts = 0, away_since_ms = NULL, due_at_ms';

/**
 * $1 mounts whose system answers, $2 mounts with a new configuration, $3 now, $4 start times of the calls for $1. Skips
 * leases that are being ended.
 */
const END_RESTS: Statement = {
  name: 'lease-end-rests',
  text: `UPDATE lease SET ${AWAKE} = $3 WHERE hash IN (
    SELECT hash FROM lease WHERE state > 0 AND claimed_by IS NULL AND due_at_ms > $3
       AND ((mount_id = ANY($1::uuid[])
             AND away_since_ms <= (SELECT a.asked FROM unnest($1::uuid[], $4::bigint[]) AS a (id, asked) WHERE a.id = mount_id))
         OR (mount_id = ANY($2::uuid[]) AND (attempts > 0 OR away_since_ms IS NOT NULL)))
     ORDER BY hash FOR UPDATE SKIP LOCKED)`,
};

/** $1 namespace, $2 prefix, $3 its end or null, $4 now. */
const END_RESTS_UNDER_PREFIX: Statement = {
  name: 'lease-end-rests-prefix',
  text: `UPDATE lease SET ${AWAKE} = $4 WHERE hash IN (
    SELECT hash FROM lease WHERE namespace_id = $1 AND path >= $2 AND ($3::text IS NULL OR path < $3)
       AND state = 1 AND claimed_by IS NULL AND (due_at_ms > $4 OR attempts > 0 OR away_since_ms IS NOT NULL)
     ORDER BY hash FOR UPDATE SKIP LOCKED)`,
};

const HASTEN_INTENTS: Statement = {
  name: 'intent-hasten',
  text: `UPDATE intent SET due_at_ms = $2 WHERE mount_id = ANY($1::uuid[]) AND owner IS NULL AND attempts > 0 AND due_at_ms > $2`,
};
