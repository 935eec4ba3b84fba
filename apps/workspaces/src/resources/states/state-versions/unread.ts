import type { Keyring } from '@keystead/keyring';
import { readBlob } from '../../../kernel/blobs/blobs';
import type { Database } from '../../../kernel/database/database';
import * as outputs from './outputs';
import type { ParsedState } from './scanner/parse-state';
import { watch } from './scanner/state-threads';
import { find } from './state-version';
import { described } from './writes';

const claimSeconds = 600;
/**
 * The maximum number of attempts to read a state. A state is not read again if this number of nodes died while reading
 * it.
 */
const attempts = 5;

/**
 * Reads the finalized states that have not been read yet, for their outputs and resources. Each is claimed in the
 * database, so that only one node reads it, and another node after a crash. Returns the number of states.
 */
export async function readUnread(db: Database, keyring: Keyring): Promise<number> {
  let done = 0;
  for (;;) {
    const [claimed] = await db.rows<{ id: string; raw_blob_id: string }>({
      name: 'state_unread_claim',
      text: `UPDATE state_version SET processing_until = now() + make_interval(secs => $1),
               processing_attempts = processing_attempts + 1
              WHERE id = (SELECT id FROM state_version
                           WHERE status = 'finalized' AND NOT resources_processed AND raw_blob_id IS NOT NULL
                             AND (processing_until IS NULL OR processing_until < now()) AND processing_attempts < $2
                           ORDER BY finalized_at DESC LIMIT 1 FOR UPDATE SKIP LOCKED)
              RETURNING id, raw_blob_id`,
      values: [claimSeconds, attempts],
    });
    if (!claimed) return done;
    const parsed = await read(db, keyring, claimed.raw_blob_id);
    await store(db, keyring, claimed.id, parsed);
    done++;
  }
}

async function read(db: Database, keyring: Keyring, blobId: string): Promise<ParsedState | undefined> {
  const { parsed } = await watch(db, async (onPiece) => {
    for await (const piece of (await readBlob(db, keyring, blobId)) ?? []) await onPiece(piece as Buffer);
  });
  return parsed;
}

async function store(db: Database, keyring: Keyring, id: string, parsed: ParsedState | undefined): Promise<void> {
  await db.transaction(async (tx) => {
    const version = await find(tx, id);
    if (!version) return;
    const { count } = await tx.prisma.stateVersion.updateMany({
      where: { id, resourcesProcessed: false },
      data: parsed ? described(parsed, version) : { resourcesProcessed: true },
    });
    if (count === 0 || !parsed) return;
    await tx.prisma.workspace.updateMany({
      where: { id: version.workspaceId, currentStateVersionId: id },
      data: { resourceCount: parsed.managedCount },
    });
    if (!version.outputsGiven) await outputs.store(tx, keyring, id, parsed.outputs);
  });
}
