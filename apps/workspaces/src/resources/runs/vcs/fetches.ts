import type { Keyring } from '@keystead/keyring';
import type { Database } from '../../../kernel/database/database';
import { find as findConfiguration } from '../configuration-versions/configuration-version';
import { refuse, upload } from '../configuration-versions/upload';
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
import {
  claimModuleFetch,
  failModuleFetch,
  findModuleFetch,
  finishModuleFetch,
  isModuleFetch,
  releaseModuleFetches,
} from './module-fetches';

export type { Fetch, TakenFetch } from './fetch';

/** Claims a commit to fetch, for a while. Commits of hosts that the agents of a pool call are only for these agents. */
export async function claimFetch(
  db: Database,
  keyring: Keyring,
  workerId: string,
  agentPoolId: string | null = null,
): Promise<Fetch | undefined> {
  const [row] = await db.prisma.$queryRawUnsafe<
    { configuration_version_id: string; workspace_id: string; fetch_attempts: number }[]
  >(
    `WITH fetching AS MATERIALIZED (SELECT id FROM configuration_version WHERE status = 'fetching')
     UPDATE ingress_attributes i SET fetch_attempts = fetch_attempts + 1, fetch_worker_id = $1,
           fetch_at = now() + interval '${leaseSeconds} seconds'
      FROM configuration_version c
     WHERE c.id = i.configuration_version_id AND i.id = (
       SELECT j.id FROM fetching d JOIN ingress_attributes j ON j.configuration_version_id = d.id
        WHERE (j.fetch_at <= now()::timestamptz(3) OR ${workerIsGone('j')})
          AND ${poolOf} IS NOT DISTINCT FROM $2
        ORDER BY j.fetch_at LIMIT 1 FOR UPDATE OF j SKIP LOCKED)
     RETURNING i.configuration_version_id, c.workspace_id, i.fetch_attempts`,
    workerId,
    agentPoolId,
  );
  if (!row) return claimModuleFetch(db, keyring, workerId, agentPoolId);
  const { configuration_version_id: configurationVersionId, workspace_id: workspaceId } = row;
  const ingress = await db.prisma.ingressAttributes.findUnique({
    where: { configurationVersionId },
    include: { repository: true },
  });
  const { cloneUrl = '' } = ingress ?? {};
  const credentials = await credentialsFor(db, keyring, ingress?.repository ?? null, { cloneUrl, agentPoolId });
  if (typeof credentials === 'string' || !ingress) {
    await refuse(db, { id: configurationVersionId, workspaceId }, String(credentials), 'fetch failed');
    return undefined;
  }
  return {
    configurationVersionId,
    workspaceId,
    attempt: row.fetch_attempts,
    cloneUrl,
    commit: ingress.commitSha,
    ref:
      ingress.tag !== null ? `refs/tags/${ingress.tag}` : ingress.branch ? `refs/heads/${ingress.branch}` : undefined,
    submodules: ingress.submodules,
    ...credentials,
  };
}

/**
 * Releases commits that were given to a worker in a response that it never received. A worker that asks for a commit
 * has none.
 */
export async function releaseUnheard(db: Database, workerId: string): Promise<void> {
  await db.prisma.$executeRaw`
    UPDATE ingress_attributes i SET fetch_at = now(), fetch_worker_id = NULL
      FROM configuration_version c
     WHERE i.fetch_worker_id = ${workerId} AND i.fetch_at > now()
       AND c.id = i.configuration_version_id AND c.status = 'fetching'`;
  await releaseModuleFetches(db, { workerId });
}

/** Releases a commit whose fetch did not start. */
export async function releaseFetch(db: Database, fetch: Fetch): Promise<void> {
  const { configurationVersionId, attempt } = fetch;
  if (isModuleFetch(configurationVersionId)) return releaseModuleFetches(db, fetch);
  await db.prisma.$executeRaw`
    UPDATE ingress_attributes SET fetch_at = now(), fetch_worker_id = NULL
     WHERE configuration_version_id = ${configurationVersionId} AND fetch_attempts = ${attempt}`;
}

/** The claimed commit, unless another worker has claimed it since. */
export async function findTaken(
  db: Database,
  configurationVersionId: string,
  attempt: number,
): Promise<TakenFetch | undefined> {
  if (isModuleFetch(configurationVersionId)) return findModuleFetch(db, configurationVersionId, attempt);
  const row = await db.prisma.ingressAttributes.findFirst({
    where: { configurationVersionId, fetchAttempts: attempt, configurationVersion: { status: 'fetching' } },
    select: { configurationVersion: { select: { workspaceId: true } } },
  });
  const workspaceId = row?.configurationVersion.workspaceId;
  return workspaceId ? { configurationVersionId, workspaceId, attempt } : undefined;
}

/**
 * Stores the archive of a commit, so that its run can start. `requireTaken` throws if the sender has lost the claim
 * before the whole archive has arrived.
 */
export async function finishFetch(
  db: Database,
  deps: { keyring: Keyring; configurationBytes: number },
  claim: TakenFetch,
  archive: AsyncIterable<Uint8Array>,
  requireTaken: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  async function* whole() {
    yield* archive;
    await requireTaken();
  }
  const { configurationVersionId } = claim;
  if (isModuleFetch(configurationVersionId)) return finishModuleFetch(db, deps, claim, whole());
  const configuration = await findConfiguration(db, configurationVersionId);
  if (configuration?.status !== 'fetching') return;
  await upload(db, deps, configuration, whole(), false);
  await hostIsBack(db, configurationVersionId);
}

/** Makes fetches due that were waiting because a host was down. */
async function hostIsBack(db: Database, configurationVersionId: string): Promise<void> {
  await db.prisma.$executeRaw`
    UPDATE ingress_attributes i SET fetch_at = now()
      FROM ingress_attributes fetched
      JOIN vcs_repository a ON a.id = fetched.repository_id
      JOIN vcs_repository b ON b.oauth_token_id = a.oauth_token_id
     WHERE fetched.configuration_version_id = ${configurationVersionId} AND i.repository_id = b.id
       AND i.fetch_at > now() AND i.fetch_worker_id IS NULL`;
}

/**
 * Records a failed fetch. It is retried for hours if that may help; otherwise its configuration becomes errored. Does
 * nothing if another worker has claimed the commit in the meantime.
 */
export async function failFetch(db: Database, claim: TakenFetch, reason: string, again: boolean): Promise<void> {
  const { configurationVersionId: id, workspaceId, attempt } = claim;
  if (isModuleFetch(id)) return failModuleFetch(db, claim, reason, again);
  // The number is incremented, as with a claim, so that a repeated report of this attempt is ignored.
  const [row] = await db.prisma.$queryRaw<{ failures: number; waits: boolean }[]>`
    UPDATE ingress_attributes i SET fetch_attempts = fetch_attempts + 1, fetch_failures = fetch_failures + ${again ? 1 : 0}
      FROM configuration_version c
     WHERE c.id = i.configuration_version_id AND c.id = ${id} AND i.fetch_attempts = ${attempt}
     RETURNING i.fetch_failures AS failures, c.created_at > now() - make_interval(hours => ${patienceHours}) AS waits`;
  if (!row) return;
  if (!again || !row.waits) return refuse(db, { id, workspaceId }, reason, 'fetch failed');
  const pause = pauseAfter(row.failures);
  await db.prisma.$executeRaw`
    UPDATE ingress_attributes SET fetch_worker_id = NULL, fetch_at = now() + make_interval(secs => ${pause})
     WHERE configuration_version_id = ${id} AND fetch_attempts = ${attempt + 1}`;
}
