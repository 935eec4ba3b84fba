import { Refusal } from '@keystead/refusal';
import { type Actor, recordChange } from '../audit/audit';
import type { Database } from '../database/database';
import { removeBlob } from './blobs';

/** The statuses of objects whose content is hidden, and of objects whose content was removed permanently. */
export const hidden = 'backing_data_soft_deleted';
export const deletedStatus = 'backing_data_permanently_deleted';

/** The time seven days ago. Content that was hidden before it can no longer be restored, and is removed permanently. */
export const restorableSince = (nowMs: number): Date => new Date(nowMs - 7 * 86_400_000);

/** The actions on stored content. Each requires a certain status. */
export const backingDataActions = [
  'soft_delete_backing_data',
  'restore_backing_data',
  'permanently_delete_backing_data',
] as const;
export type BackingDataAction = (typeof backingDataActions)[number];

/** An object with stored content: a state version or a configuration. */
export interface Backed {
  readonly type: 'state-versions' | 'configuration-versions' | 'plans' | 'applies' | 'assessment-results';
  readonly id: string;
  readonly name?: string;
  readonly organizationId: string;
  /** Its current status, and the status in which its content can be read. */
  readonly status: string;
  readonly readable: string;
  readonly blobIds: readonly (string | null)[];
  /** The reason why its content must be kept; undefined if it may be removed. */
  needed(): Promise<string | undefined>;
  /**
   * Changes the row if it has the given status. If the content is removed, the row no longer refers to its blobs.
   * Returns the number of changed rows.
   */
  move(from: string, change: { status: string; deletedAt?: Date | null }): Promise<{ count: number }>;
}

/**
 * Hides, restores or removes content. Throws `malformed` with the text `transition not allowed` if the content is still
 * needed or has a wrong status.
 */
export async function changeBackingData(
  tx: Database,
  actor: Actor,
  item: Backed,
  action: BackingDataAction,
): Promise<void> {
  const { readable } = item;
  const moves = {
    soft_delete_backing_data: { from: readable, status: hidden, deletedAt: new Date() },
    restore_backing_data: { from: hidden, status: readable, deletedAt: null },
    permanently_delete_backing_data: { from: hidden, status: deletedStatus },
  };
  const { from, ...change } = moves[action];
  const why = from === readable ? await item.needed() : undefined;
  if (why !== undefined) throw notAllowed(why);
  const { count } = await item.move(from, change);
  if (count === 0) throw notAllowed(`it is ${item.status}, not ${from}`);
  if (change.status === deletedStatus) for (const id of item.blobIds) if (id !== null) await removeBlob(tx, id);
  await recordChange(tx, actor, {
    organizationId: item.organizationId,
    action: `${item.type.replace(/ies$/, 'y').replace(/s$/, '')}.${action.replace(/_/g, '-')}`,
    target: { type: item.type, id: item.id, name: item.name },
    before: { status: from },
    after: { status: change.status },
  });
}

const notAllowed = (why: string) => new Refusal('malformed', `transition not allowed: ${why}`);
