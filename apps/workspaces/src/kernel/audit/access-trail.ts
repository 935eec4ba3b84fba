import { isReadOnlyServer } from '@keystead/postgres';
import type { Logger } from '@keystead/server';
import { LRUCache } from 'lru-cache';
import type { Database } from '../database/database';
import { type Actor, auditRow, type Change, recordChange } from './audit';

/** So many refusals of one caller are kept in a minute, on each node. */
const mostInMinute = 20;
const minuteMs = 60_000;

/** What belongs into the trail of changes without being one: what was given out, and who was refused. */
export class AccessTrail {
  private readonly refusals = new LRUCache<string, { sinceMs: number; count: number }>({ max: 10_000 });

  constructor(
    private readonly db: Database,
    private readonly now: () => number,
    private readonly log: Logger,
  ) {}

  /** Keeps that something was given out, before it is. A standby cannot write: its log has it instead. */
  async gave(actor: Actor, change: Change): Promise<void> {
    try {
      await recordChange(this.db, actor, change);
    } catch (error) {
      if (!isReadOnlyServer(error)) throw error;
      this.log.warn({ audit: auditRow(actor, change) }, 'given out on a standby');
    }
  }

  /**
   * Keeps that somebody was refused, up to a number in a minute for each caller, or for what it is about. Never throws: the refusal stands, whether it can be kept or not,
   * as on a standby.
   */
  async refused(actor: Actor, change: Change, about = actor.id): Promise<void> {
    if (!this.takes(`${actor.type} ${about}`)) return;
    await recordChange(this.db, actor, change).catch(() => undefined);
  }

  private takes(caller: string): boolean {
    const nowMs = this.now();
    const known = this.refusals.get(caller);
    const window = known && nowMs - known.sinceMs < minuteMs ? known : { sinceMs: nowMs, count: 0 };
    window.count++;
    this.refusals.set(caller, window);
    return window.count <= mostInMinute;
  }
}
