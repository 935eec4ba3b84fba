import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { keepBlob } from '../../../kernel/blobs/blobs';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import type { Workspace } from '../../workspaces/workspaces/workspace';
import type { Claim } from './rules';
import { shownSerial } from './scanner/parse-state';

const keptPerWorkspace = 5;
const keptMs = 30 * 24 * 60 * 60_000;

/** A complete upload that was refused, with the reason. */
export interface QuarantinedState {
  readonly id: string;
  readonly workspaceId: string;
  readonly blobId: string;
  readonly serial: bigint;
  readonly lineage: string | null;
  readonly md5: string;
  readonly size: bigint;
  readonly reason: string;
  readonly createdAt: Date;
}

/** Stores a refused upload for thirty days. Only the newest five uploads of a workspace are kept. */
export async function keep(
  db: Database,
  actor: Actor,
  workspace: Workspace,
  claim: Claim,
  blob: { id: string; size: number },
  reason: string,
): Promise<void> {
  await db.transaction(async (tx) => {
    const id = newId('qs');
    await keepBlob(tx, blob.id);
    await tx.prisma.quarantinedState.create({
      data: {
        id,
        workspaceId: workspace.id,
        blobId: blob.id,
        serial: claim.serial,
        lineage: claim.lineage,
        md5: claim.md5,
        size: BigInt(blob.size),
        reason,
        createdByType: actor.type,
        createdById: actor.id,
      },
    });
    const older = await tx.prisma.quarantinedState.findMany({
      where: { workspaceId: workspace.id },
      orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
      skip: keptPerWorkspace,
      select: { id: true },
    });
    await tx.prisma.quarantinedState.deleteMany({ where: { id: { in: older.map((row) => row.id) } } });
    await recordChange(tx, actor, {
      organizationId: workspace.organizationId,
      action: 'state-version.quarantine',
      target: { type: 'quarantined-states', id, name: workspace.name },
      after: { reason, serial: shownSerial(claim.serial) },
    });
  });
}

/** The refused uploads of a workspace, newest first. */
export async function list(db: Database, workspaceId: string): Promise<QuarantinedState[]> {
  const orderBy = [{ createdAt: 'desc' as const }, { id: 'desc' as const }];
  return db.prisma.quarantinedState.findMany({ where: { workspaceId }, orderBy });
}

/** The refused upload with a `qs-…` id. */
export async function find(db: Database, id: string): Promise<QuarantinedState | undefined> {
  return (await db.prisma.quarantinedState.findUnique({ where: { id } })) ?? undefined;
}

/** Removes expired uploads; returns how many. */
export async function sweep(db: Database, nowMs: number): Promise<number> {
  const createdAt = { lt: new Date(nowMs - keptMs) };
  return (await db.prisma.quarantinedState.deleteMany({ where: { createdAt } })).count;
}
