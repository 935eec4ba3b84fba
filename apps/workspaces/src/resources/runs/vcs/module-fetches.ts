import type { Keyring } from '@keystead/keyring';
import { BlobTooLarge, keepBlob, removeBlob, writeBlob } from '../../../kernel/blobs/blobs';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import {
  credentialsFor,
  type Fetch,
  leaseSeconds,
  patienceHours,
  pauseAfter,
  poolOf,
  type TakenFetch,
  workerIsGone,
} from './fetch';

const kind = 'modfetch';

/** Whether a commit is for a version of a module or of a policy set. */
export const isModuleFetch = (id: string): boolean => id.startsWith(`${kind}-`);

/** A commit that a version of a module or of a policy set waits for. */
export type AwaitedCommit = ({ readonly moduleVersionId: string } | { readonly policySetVersionId: string }) & {
  readonly commitSha: string;
  /** The branch or tag where the commit was seen. */
  readonly ref: string;
  /** Whether the content of its submodules is fetched, too. */
  readonly submodules?: boolean;
};

/** Queues commits of a repository to be fetched for versions, in the transaction that creates the versions. */
export async function awaitCommits(
  tx: Database,
  { id: repositoryId, cloneUrl }: { readonly id: string; readonly cloneUrl: string },
  commits: readonly AwaitedCommit[],
): Promise<void> {
  const data = commits.map((commit) => ({ ...commit, id: newId(kind), repositoryId, cloneUrl }));
  await tx.prisma.moduleFetch.createMany({ data });
}

/** Claims one commit that a version waits for. */
export async function claimModuleFetch(
  db: Database,
  keyring: Keyring,
  workerId: string,
  agentPoolId: string | null,
): Promise<Fetch | undefined> {
  const [row] = await db.prisma.$queryRawUnsafe<{ id: string }[]>(
    `UPDATE module_fetch f SET claim = claim + 1, fetch_worker_id = $1, next_at = now() + interval '${leaseSeconds} seconds'
      WHERE f.id = (
        SELECT j.id FROM module_fetch j
         WHERE j.status = 'fetching' AND (j.next_at <= now()::timestamptz(3) OR ${workerIsGone('j')}) AND ${poolOf} IS NOT DISTINCT FROM $2
         ORDER BY j.next_at LIMIT 1 FOR UPDATE OF j SKIP LOCKED)
     RETURNING f.id`,
    workerId,
    agentPoolId,
  );
  const found = row && (await db.prisma.moduleFetch.findUnique({ where: row, include: { repository: true } }));
  if (!found) return undefined;
  const { id, claim: attempt, cloneUrl, repository } = found;
  const claim = { configurationVersionId: id, workspaceId: '', attempt };
  const credentials = await credentialsFor(db, keyring, repository, { cloneUrl, agentPoolId });
  if (typeof credentials === 'string') {
    await failModuleFetch(db, claim, credentials, false);
    return undefined;
  }
  return {
    ...claim,
    cloneUrl,
    commit: found.commitSha,
    ref: found.ref ?? undefined,
    submodules: found.submodules,
    ...credentials,
  };
}

const heldBy = ({ configurationVersionId: id, attempt: claim }: TakenFetch) => ({ id, claim, status: 'fetching' });
const ended = { fetchWorkerId: null, claim: { increment: 1 } } as const;

/** The claimed commit, unless another worker has claimed it since. */
export async function findModuleFetch(db: Database, id: string, attempt: number): Promise<TakenFetch | undefined> {
  const claim = { configurationVersionId: id, workspaceId: '', attempt };
  return (await db.prisma.moduleFetch.count({ where: heldBy(claim) })) > 0 ? claim : undefined;
}

/** Releases commits whose fetch did not start: a single commit, or all commits that a worker never received. */
export async function releaseModuleFetches(db: Database, whose: TakenFetch | { workerId: string }): Promise<void> {
  const where = 'workerId' in whose ? { fetchWorkerId: whose.workerId, status: 'fetching' } : heldBy(whose);
  await db.prisma.moduleFetch.updateMany({ where, data: { ...ended, nextAt: new Date(0) } });
}

/** Stores the archive of a commit, to be published later by any node. */
export async function finishModuleFetch(
  db: Database,
  { keyring, configurationBytes: limit }: { keyring: Keyring; configurationBytes: number },
  claim: TakenFetch,
  archive: AsyncIterable<Uint8Array>,
): Promise<void> {
  const blob = await writeBlob(db, keyring, archive, { limit, provisional: true }).catch((error: unknown) => {
    if (error instanceof BlobTooLarge) return undefined;
    throw error;
  });
  if (!blob) return failModuleFetch(db, claim, `the archive of the repository is larger than ${limit} bytes`, false);
  const isTaken = await db.transaction(async (tx) => {
    const data = { ...ended, status: 'fetched', blobId: blob.id, nextAt: new Date(0) };
    const { count } = await tx.prisma.moduleFetch.updateMany({ where: heldBy(claim), data });
    if (count > 0) await keepBlob(tx, blob.id);
    return count > 0;
  });
  if (!isTaken) await removeBlob(db, blob.id);
}

/** Records a failed fetch, to be tried again for hours if that may help. */
export async function failModuleFetch(db: Database, claim: TakenFetch, problem: string, again: boolean): Promise<void> {
  const { configurationVersionId: id, attempt } = claim;
  const row = await db.prisma.moduleFetch.findFirst({ where: heldBy(claim) });
  if (!row) return;
  const failures = row.fetchFailures + 1;
  await db.prisma.$executeRaw`
    UPDATE module_fetch SET claim = claim + 1, fetch_worker_id = NULL, fetch_failures = ${failures},
           problem = ${problem.slice(0, 1000)}, next_at = now() + make_interval(secs => ${again ? pauseAfter(failures) : 0}),
           status = CASE WHEN ${again} AND created_at > now() - make_interval(hours => ${patienceHours})
                         THEN 'fetching' ELSE 'failed' END
     WHERE id = ${id} AND claim = ${attempt} AND status = 'fetching'`;
}
