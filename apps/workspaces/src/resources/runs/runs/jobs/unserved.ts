import type { Keyring } from '@keystead/keyring';
import { Prisma } from '../../../../generated/prisma/client';
import type { Database } from '../../../../kernel/database/database';
import { finish } from '../queue';
import { workerVersions } from '../run';
import { lockRunIfThere, movePhase } from '../transition';
import { appendToPhase } from './logs';

const BATCH = 20;

const offered = Prisma.raw(workerVersions({ w: 'w', p: 'p', o: 'o' }));

// Plans that workers wait for, none of which has their version. While there is no worker at all, nothing is known.
const unserved = Prisma.sql`
  SELECT r.id FROM run r
    JOIN workspace w ON w.id = r.workspace_id
    JOIN project p ON p.id = w.project_id
    JOIN organization o ON o.id = w.organization_id
   WHERE r.finished_at IS NULL AND r.status IN ('pending', 'plan_queued') AND r.infra_version IS NOT NULL
     AND cardinality(${offered}) > 0 AND NOT r.infra_version = ANY(${offered})`;

/**
 * Ends runs whose version of the tool no worker has had for a while, with the reason in the log of their plan: command lines that
 * wait for a run print nothing else of it. Answers how many there were. For any number of callers.
 */
export async function endUnserved(db: Database, keyring: Keyring, waitSeconds: number): Promise<number> {
  await db.prisma.$executeRaw`
    WITH unserved AS MATERIALIZED (${unserved})
    UPDATE run SET unserved_since = CASE WHEN id IN (SELECT id FROM unserved) THEN now() END
     WHERE finished_at IS NULL AND (unserved_since IS NULL) = (id IN (SELECT id FROM unserved))`;
  const due = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT id FROM run WHERE finished_at IS NULL AND unserved_since < now() - make_interval(secs => ${waitSeconds})
     ORDER BY number LIMIT ${BATCH}`;
  let ended = 0;
  for (const { id } of due) ended += (await db.transaction((tx) => endOne(tx, keyring, id))) ? 1 : 0;
  return ended;
}

async function endOne(tx: Database, keyring: Keyring, id: string): Promise<boolean> {
  const run = await lockRunIfThere(tx, keyring, id);
  const [still] = await tx.prisma.$queryRaw<unknown[]>`${unserved} AND r.id = ${id} AND r.unserved_since IS NOT NULL`;
  if (!run || !still) return false;
  const has = run.workerVersions.join(', ');
  const those = run.executionMode === 'agent' ? 'agent of the pool' : 'worker';
  const reason = `No ${those} has version ${run.infraVersion} of the tool. Versions that are there: ${has}. Choose one of them for the workspace`;
  const [phase] = await tx.prisma.$queryRaw<{ log_size: bigint }[]>`
    SELECT log_size FROM run_phase WHERE id = ${run.planId} FOR UPDATE`;
  const log = { id: run.planId, logSize: BigInt(phase?.log_size ?? 0n) };
  await appendToPhase(tx, keyring, log, Buffer.from(`Error: ${reason}.\n`));
  await movePhase(tx, run.planId, 'errored', { errorMessage: reason });
  await finish(tx, run, 'errored', { reason });
  return true;
}
