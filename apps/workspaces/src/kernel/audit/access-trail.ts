import { isReadOnlyServer } from '@keystead/postgres';
import type { Logger } from '@keystead/server';
import { LRUCache } from 'lru-cache';
import type { Batched, Database } from '../database/database';
import { type Actor, auditColumns, auditJson, auditRow, type Change, recordChange } from './audit';

/** Records disclosures. Simultaneous disclosures share a statement. */
const disclosures: Batched<Record<string, unknown>, void> = {
  name: 'audit_given',
  text: `INSERT INTO audit_event (${auditColumns})
    SELECT ${auditColumns} FROM jsonb_populate_recordset(NULL::audit_event, $1::jsonb)`,
  batch: (items) => ({ values: [JSON.stringify(items)], settle: () => items.map(() => undefined) }),
};

/** The maximum number of refusals of one kind to one caller that each node records per minute. */
const mostInMinute = 20;
const minuteMs = 60_000;

/** The refusals of one kind to one caller within a minute. */
interface Window {
  readonly sinceMs: number;
  count: number;
  /** Records that this number of refusals was omitted. */
  readonly end: (leftOut: number) => void;
  timer?: NodeJS.Timeout;
}

/** Events in the audit trail that are not changes: disclosed secrets, and refusals. */
export class AccessTrail {
  private readonly refusals = new LRUCache<string, Window>({
    max: 10_000,
    dispose: ({ count, end, timer }) => {
      clearTimeout(timer);
      if (count > mostInMinute) end(count - mostInMinute);
    },
  });

  constructor(
    private readonly db: Database,
    private readonly now: () => number,
    private readonly log: Logger,
  ) {}

  /** Records that something will be disclosed. On a standby, which cannot write, the event goes to the log instead. */
  async gave(actor: Actor, change: Change): Promise<void> {
    try {
      await this.db.write(disclosures, auditJson(actor, change));
    } catch (error) {
      if (!isReadOnlyServer(error)) throw error;
      this.log.warn({ audit: auditRow(actor, change) }, 'disclosed on a standby');
    }
  }

  /**
   * Records that a caller was refused, up to a number per minute for each caller (or subject), organization and route,
   * so that many refusals of one kind do not hide others. The number of omitted refusals is recorded when the minute
   * ends. Never throws, because the request is refused even if this cannot be recorded, as on a standby.
   */
  async refused(actor: Actor, change: Change, about = actor.id): Promise<void> {
    const keep = async (more: object = {}) => {
      const after = { ...change.after, ...more };
      await recordChange(this.db, actor, { ...change, after }).catch(() => undefined);
    };
    const key = JSON.stringify([actor.type, about, change.organizationId, change.action, change.after]);
    if (this.takes(key, (leftOut) => void keep({ leftOut }))) await keep();
  }

  private takes(key: string, end: Window['end']): boolean {
    const nowMs = this.now();
    const previous = this.refusals.get(key);
    const isOver = previous === undefined || nowMs - previous.sinceMs >= minuteMs;
    const window: Window = isOver ? { sinceMs: nowMs, count: 0, end } : previous;
    if (isOver) this.refusals.set(key, window);
    window.count++;
    if (window.count <= mostInMinute) return true;
    window.timer ??= setTimeout(() => this.refusals.delete(key), minuteMs).unref();
    return false;
  }
}
