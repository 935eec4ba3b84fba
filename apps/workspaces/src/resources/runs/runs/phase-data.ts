import { Prisma } from '../../../generated/prisma/client';
import { policy } from '../../../kernel/access/policy';
import type { Actor } from '../../../kernel/audit/audit';
import {
  type BackingDataAction,
  backingDataActions,
  changeBackingData,
  hidden,
  restorableSince,
} from '../../../kernel/blobs/backing-data';
import type { Database } from '../../../kernel/database/database';
import { lockRow } from '../../../kernel/database/lock-row';

/** A phase whose results and log can be soft-deleted. `runId` is its run. */
export interface DataOwner {
  readonly type: 'plans' | 'applies' | 'assessment-results';
  readonly id: string;
  readonly organizationId: string;
  readonly phaseId: string;
  readonly runId: string;
}

/** The last segments of the paths of the actions, and the action of each. */
export const dataActions = backingDataActions.map((action) => ({ action, name: action.replaceAll('_', '-') }));

/** The permission rule for hiding, restoring and removing the data of a phase. */
export const dataPolicy = policy<{ readonly organizationId: string }>()({
  'can-manage-backing-data': (access, { organizationId }) => access.isOwner(organizationId),
});

const verbs: Readonly<Record<BackingDataAction, string>> = {
  soft_delete_backing_data: 'Hide the results and the log of',
  restore_backing_data: 'Bring back the hidden results and the log of',
  permanently_delete_backing_data: 'Permanently remove the hidden results and the log of',
};
/** The sentence that describes an action. */
export const summaryOfData = (action: BackingDataAction, of: string): string => `${verbs[action]} ${of}.`;

const available = 'available';

/**
 * Hides, restores or removes the results and the log of a finished phase. Hidden data is in a separate row, where reads
 * of phases do not find it.
 */
export async function changePhaseData(
  db: Database,
  actor: Actor,
  { type, id, organizationId, phaseId, runId }: DataOwner,
  action: BackingDataAction,
): Promise<void> {
  await db.transaction(async (tx) => {
    await lockRow(tx, 'run_phase', phaseId);
    const { prisma } = tx;
    const isHidden = (await prisma.hiddenPhaseData.count({ where: { phaseId } })) > 0;
    await changeBackingData(
      tx,
      actor,
      {
        ...{ type, id, organizationId, status: isHidden ? hidden : available, readable: available, blobIds: [] },
        async needed() {
          const ended = await prisma.run.count({ where: { id: runId, finishedAt: { not: null } } });
          return ended === 0 ? 'its run is in progress' : undefined;
        },
        move: async (from, { status }) => {
          if (from === available) return { count: await hide(tx, phaseId) };
          return { count: status === available ? await restore(tx, phaseId) : await removePhaseData(tx, [phaseId]) };
        },
      },
      action,
    );
  });
}

const blobColumns = ['json_blob_id', 'redacted_blob_id', 'plan_blob_id', 'state_blob_id'];
const columns = Prisma.raw([...blobColumns, 'log_size'].join(', '));
const nulls = Prisma.raw(blobColumns.map((column) => `${column} = NULL`).join(', '));

/** Hides the data of a phase. A phase without data is treated as removed. */
async function hide({ prisma }: Database, phaseId: string): Promise<number> {
  const moved = await prisma.$executeRaw`
    INSERT INTO hidden_phase_data (phase_id, ${columns})
    SELECT id, ${columns} FROM run_phase WHERE id = ${phaseId}
       AND (log_size > 0 OR coalesce(${Prisma.raw(blobColumns.join(', '))}) IS NOT NULL)
    ON CONFLICT DO NOTHING`;
  if (moved > 0) await prisma.$executeRaw`UPDATE run_phase SET ${nulls}, log_size = 0 WHERE id = ${phaseId}`;
  return moved;
}

async function restore({ prisma }: Database, phaseId: string): Promise<number> {
  const back = Prisma.raw([...blobColumns, 'log_size'].map((column) => `${column} = h.${column}`).join(', '));
  const moved = await prisma.$executeRaw`
    UPDATE run_phase p SET ${back} FROM hidden_phase_data h WHERE p.id = ${phaseId} AND h.phase_id = p.id`;
  // Deleting the row also deletes its blobs.
  await prisma.$executeRaw`UPDATE hidden_phase_data SET ${nulls} WHERE phase_id = ${phaseId}`;
  await prisma.hiddenPhaseData.deleteMany({ where: { phaseId } });
  return moved;
}

/** Permanently removes hidden data; returns the number of phases. */
async function removePhaseData({ prisma }: Database, phaseIds: readonly string[]): Promise<number> {
  const where = { phaseId: { in: [...phaseIds] } };
  await prisma.logChunk.deleteMany({ where });
  return (await prisma.hiddenPhaseData.deleteMany({ where })).count;
}

const BATCH = 500;

/** Permanently removes data that was hidden long enough ago. */
export async function sweepPhaseData(db: Database, nowMs: number): Promise<void> {
  for (let done = BATCH; done === BATCH; ) {
    done = await db.transaction(async (tx) => {
      const rows = await tx.prisma.$queryRaw<{ phase_id: string }[]>`
        SELECT phase_id FROM hidden_phase_data WHERE deleted_at < ${restorableSince(nowMs)}
         ORDER BY deleted_at LIMIT ${BATCH} FOR UPDATE SKIP LOCKED`;
      return removePhaseData(
        tx,
        rows.map((row) => row.phase_id),
      );
    });
  }
}
