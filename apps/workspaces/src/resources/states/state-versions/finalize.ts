import type { Keyring } from '@keystead/keyring';
import type { Prisma } from '../../../generated/prisma/client';
import type { Actor } from '../../../kernel/audit/audit';
import { recordChange } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import * as outputs from './outputs';
import type { ParsedState } from './parse-state';
import type { StateVersion } from './state-version';

/** What is known of a state once its bytes are here; `parsed` is absent for those too large to read at once. */
export interface Content {
  readonly blobId: string;
  readonly size: number;
  readonly parsed: ParsedState | undefined;
  /** The tool's JSON, where it came along. */
  readonly jsonBlobId?: string;
}

/**
 * Makes a state version the current one of its workspace, with everything the workspace shows of it. To be called in the
 * transaction that holds the workspace's row; older uploads that never came are discarded.
 */
export async function finalize(
  tx: Database,
  keyring: Keyring,
  actor: Actor,
  version: StateVersion,
  { blobId, size, parsed, jsonBlobId }: Content,
): Promise<void> {
  const { id, workspaceId } = version;
  const now = new Date();
  await tx.prisma.stateVersion.update({
    where: { id },
    data: {
      status: 'finalized',
      rawBlobId: blobId,
      ...(jsonBlobId ? { jsonBlobId } : {}),
      size: BigInt(size),
      finalizedAt: now,
      ...(parsed ? described(parsed, version) : {}),
    },
  });
  await tx.prisma.workspace.update({
    where: { id: workspaceId },
    data: {
      currentStateVersionId: id,
      latestChangeAt: version.createdAt,
      ...(parsed ? { resourceCount: parsed.managedCount } : {}),
    },
  });
  if (parsed && !version.outputsGiven) await outputs.store(tx, keyring, id, parsed.outputs);
  await tx.prisma.stateVersion.updateMany({
    where: { workspaceId, status: 'pending', createdAt: { lt: version.createdAt } },
    data: { status: 'discarded' },
  });
  await recordChange(tx, actor, {
    organizationId: version.organizationId,
    action: 'state-version.create',
    target: { type: 'state-versions', id, name: workspaceId },
    after: { serial: Number(version.serial), lineage: version.lineage, md5: version.md5, size },
  });
}

/** What a state says of itself, as columns. */
export function described(parsed: ParsedState, version: Pick<StateVersion, 'lineage'>) {
  return {
    format: parsed.format,
    infraVersion: parsed.infraVersion,
    lineage: version.lineage ?? (parsed.lineage || null),
    resourceCount: parsed.managedCount,
    resourcesProcessed: true,
    modules: parsed.modules,
    providers: parsed.providers,
    resources: parsed.resources as unknown as Prisma.InputJsonValue,
  };
}
