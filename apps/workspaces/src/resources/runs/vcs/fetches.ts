import type { Keyring } from '@keystead/keyring';
import type { Database } from '../../../kernel/database/database';
import { workerSilenceSeconds } from '../../../kernel/installation/infra-versions';
import { isOwnHost } from '../../connections/forwarding/host-call';
import { hostOf } from '../../connections/git-hosts/hosts';
import { pauseSeconds, quickTries } from '../../connections/git-hosts/pause';
import { accessTo } from '../../connections/repositories/repository';
import { find as findConfiguration } from '../configuration-versions/configuration-version';
import { refuse, upload } from '../configuration-versions/upload';

const leaseSeconds = 900;
/** A host may be away for so long before a commit of it is given up. */
const patienceHours = 6;
const longestPauseSeconds = 60;

/** A commit to be fetched, with the credential for it; for no eyes but those of the program that fetches. */
export interface Fetch {
  readonly configurationVersionId: string;
  readonly workspaceId: string;
  readonly attempt: number;
  readonly cloneUrl: string;
  readonly commit: string;
  /** Where it was seen: for hosts that serve a commit only by the name of its branch or tag. */
  readonly ref: string | undefined;
  readonly submodules: boolean;
  /** An HTTP header for the host of the repository. */
  readonly authorization: string;
  /** A private key for submodules that are fetched by SSH. */
  readonly sshKey: string | undefined;
}

/** Whether the worker that took a commit is gone. Workers send heartbeats, whether they fetch or not. */
const workerIsGone = (ingress: string): string => `(${ingress}.fetch_worker_id IS NOT NULL AND NOT EXISTS (
  SELECT 1 FROM run_worker k WHERE k.id = ${ingress}.fetch_worker_id AND k.ended_at IS NULL
     AND k.seen_at > now() - interval '${workerSilenceSeconds} seconds'))`;

/** SQL: the pool whose agents call the host of a repository, as its connection says now. */
const poolOf = `(SELECT CASE WHEN o.id IS NULL THEN v.agent_pool_id ELSE o.agent_pool_id END
   FROM vcs_repository v LEFT JOIN oauth_token t ON t.id = v.oauth_token_id LEFT JOIN oauth_client o ON o.id = t.oauth_client_id
  WHERE v.id = j.repository_id)`;

/**
 * Claims one commit that is to be fetched, for a while. Commits of hosts that the agents of a pool call are only
 * for these agents.
 */
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
        WHERE (j.fetch_at <= now() OR ${workerIsGone('j')})
          AND ${poolOf} IS NOT DISTINCT FROM $2
        ORDER BY j.fetch_at LIMIT 1 FOR UPDATE OF j SKIP LOCKED)
     RETURNING i.configuration_version_id, c.workspace_id, i.fetch_attempts`,
    workerId,
    agentPoolId,
  );
  if (!row) return undefined;
  const configurationVersionId = row.configuration_version_id;
  const ingress = await db.prisma.ingressAttributes.findUnique({
    where: { configurationVersionId },
    include: { repository: true },
  });
  const host = ingress?.repository && hostOf(ingress.repository.serviceProvider);
  if (!ingress?.repository || !host) {
    const target = { id: configurationVersionId, workspaceId: row.workspace_id };
    await refuse(db, target, 'the workspace is not connected to the repository any more', 'fetch failed');
    return undefined;
  }
  const access = await accessTo({ db, keyring }, ingress.repository);
  if (agentPoolId !== null && !isOwnHost(access, ingress.cloneUrl)) {
    const target = { id: configurationVersionId, workspaceId: row.workspace_id };
    const reason = `the repository is said to be at ${ingress.cloneUrl}, which is not the host of its connection`;
    await refuse(db, target, reason, 'fetch failed');
    return undefined;
  }
  const token = await db.prisma.oauthToken.findUnique({ where: { id: ingress.repository.oauthTokenId } });
  const sshKey =
    token?.sshKey &&
    keyring.open(token.sshKey, { table: 'oauth_token', row: token.id, column: 'ssh_key' }).toString('utf8');
  return {
    configurationVersionId,
    workspaceId: row.workspace_id,
    attempt: row.fetch_attempts,
    cloneUrl: ingress.cloneUrl,
    commit: ingress.commitSha,
    ref:
      ingress.tag !== null ? `refs/tags/${ingress.tag}` : ingress.branch ? `refs/heads/${ingress.branch}` : undefined,
    submodules: ingress.submodules,
    authorization: host.gitAuthorization(access.credential),
    sshKey: sshKey || undefined,
  };
}

/** Releases commits given to a worker in an answer that it never received: a worker that asks for one has none. */
export async function releaseUnheard(db: Database, workerId: string): Promise<void> {
  await db.prisma.$executeRaw`
    UPDATE ingress_attributes i SET fetch_at = now(), fetch_worker_id = NULL
      FROM configuration_version c
     WHERE i.fetch_worker_id = ${workerId} AND i.fetch_at > now()
       AND c.id = i.configuration_version_id AND c.status = 'fetching'`;
}

/** Gives back a commit whose fetch did not begin. */
export async function releaseFetch(db: Database, { configurationVersionId, attempt }: Fetch): Promise<void> {
  await db.prisma.$executeRaw`
    UPDATE ingress_attributes SET fetch_at = now(), fetch_worker_id = NULL
     WHERE configuration_version_id = ${configurationVersionId} AND fetch_attempts = ${attempt}`;
}

/** The claimed commit, unless another worker has claimed it since. */
export async function findTaken(
  db: Database,
  configurationVersionId: string,
  attempt: number,
): Promise<Pick<Fetch, 'configurationVersionId' | 'workspaceId' | 'attempt'> | undefined> {
  const row = await db.prisma.ingressAttributes.findFirst({
    where: { configurationVersionId, fetchAttempts: attempt, configurationVersion: { status: 'fetching' } },
    select: { configurationVersion: { select: { workspaceId: true } } },
  });
  return row ? { configurationVersionId, workspaceId: row.configurationVersion.workspaceId, attempt } : undefined;
}

/** Takes the archive of a commit; its run begins. `requireTaken` throws where it is not the sender's any more when all of it is there. */
export async function finishFetch(
  db: Database,
  deps: { keyring: Keyring; configurationBytes: number },
  { configurationVersionId }: Pick<Fetch, 'configurationVersionId'>,
  archive: AsyncIterable<Uint8Array>,
  requireTaken: () => Promise<unknown> = async () => undefined,
): Promise<void> {
  const configuration = await findConfiguration(db, configurationVersionId);
  if (configuration?.status !== 'fetching') return;
  async function* whole() {
    yield* archive;
    await requireTaken();
  }
  await upload(db, deps, configuration, whole(), false);
  await hostIsBack(db, configurationVersionId);
}

/** What waits for a host that was away need not wait any longer. */
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
 * Records a failed fetch: it is retried for hours where that may help, else its configuration ends in error. Does nothing
 * if another worker has claimed it since.
 */
export async function failFetch(
  db: Database,
  {
    configurationVersionId: id,
    workspaceId,
    attempt,
  }: Pick<Fetch, 'configurationVersionId' | 'workspaceId' | 'attempt'>,
  reason: string,
  again: boolean,
): Promise<void> {
  // Counted on, as a taking is: what is said of this attempt once more counts no more.
  const [row] = await db.prisma.$queryRaw<{ failures: number; waits: boolean }[]>`
    UPDATE ingress_attributes i SET fetch_attempts = fetch_attempts + 1, fetch_failures = fetch_failures + ${again ? 1 : 0}
      FROM configuration_version c
     WHERE c.id = i.configuration_version_id AND c.id = ${id} AND i.fetch_attempts = ${attempt}
     RETURNING i.fetch_failures AS failures, c.created_at > now() - make_interval(hours => ${patienceHours}) AS waits`;
  if (!row) return;
  if (!again || !row.waits) return refuse(db, { id, workspaceId }, reason, 'fetch failed');
  const pause = pauseSeconds(row.failures - quickTries, longestPauseSeconds);
  await db.prisma.$executeRaw`
    UPDATE ingress_attributes SET fetch_worker_id = NULL, fetch_at = now() + make_interval(secs => ${pause})
     WHERE configuration_version_id = ${id} AND fetch_attempts = ${attempt + 1}`;
}
