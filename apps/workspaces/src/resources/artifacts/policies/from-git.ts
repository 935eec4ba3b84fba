import type { VcsRepository } from '../../../generated/prisma/client';
import { recordChange, system } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import type { Environment } from '../../../kernel/endpoints/environment';
import type { HostCommit } from '../../connections/git-hosts/git-host';
import { askForRepository, isHash, requireConnection } from '../../connections/repositories/follow';
import type { Reached } from '../../connections/repositories/repository';
import type { FetchedCommit, Publishing } from '../../runs/vcs/fetched-commit';
import { awaitCommits } from '../../runs/vcs/module-fetches';
import { concerns } from '../../runs/vcs/triggers';
import { findSets, type PolicySet, type SetSource, setChange } from './policy-set';
import { failVersion, findVersions, pruneVersions, stampVersion, takeArchive } from './set-version';

/** A repository in a request about a set. */
interface SentRepository {
  readonly identifier?: string | null;
  readonly oauthTokenId?: string | null;
  readonly vcshostAppInstallationId?: string | null;
  readonly branch?: string | null;
  readonly ingressSubmodules?: boolean | null;
}

/**
 * Looks up, at the host, the repository that a policy set will follow. Omitted settings keep their values. Null means
 * that the set stops following a repository, undefined that nothing changes. Throws `invalid`. Call it outside any
 * transaction.
 */
export async function askForSource(
  asking: { readonly db: Database; readonly env: Environment },
  organizationId: string,
  sent: SentRepository | null | undefined,
  before?: PolicySet,
): Promise<SetSource | null | undefined> {
  if (!sent) return sent;
  const connected = before && before.oauthTokenId !== null ? before : undefined;
  const named = sent.oauthTokenId || sent.vcshostAppInstallationId;
  const connection = named || !connected ? sent : connectionOf(connected);
  const { tokenId } = await requireConnection(asking.db, connection, async (id) => id === organizationId || undefined);
  const identifier = sent.identifier ?? connected?.vcsIdentifier ?? '';
  const branch =
    sent.branch === undefined || sent.branch === null ? (connected?.vcsBranch ?? null) : sent.branch || null;
  return {
    oauthTokenId: tokenId,
    vcsIdentifier: identifier,
    vcsBranch: branch,
    vcsIngressSubmodules: sent.ingressSubmodules ?? connected?.vcsIngressSubmodules ?? false,
    found: await askForRepository(asking, { organizationId, tokenId, identifier }, branch),
  };
}

const connectionOf = ({ oauthTokenId, isInstallation }: PolicySet) =>
  isInstallation ? { vcshostAppInstallationId: oauthTokenId } : { oauthTokenId };

/** Only patterns decide whether a commit concerns a set. */
const byPatterns = { fileTriggersEnabled: true, triggerPrefixes: [], workingDirectory: null, varFiles: [] };

/**
 * Creates versions for the current commits of the branches that policy sets follow. Any number of callers may report
 * the same commits.
 */
export async function followPolicySets(db: Database, { row, host, api }: Reached): Promise<void> {
  const { oauthTokenId, identifier } = row;
  const sets = await db.prisma.policySet.findMany({
    where: { oauthTokenId, vcsIdentifier: identifier },
    select: { id: true, vcsBranch: true, policyUpdatePatterns: true, seenCommit: true, vcsError: true },
  });
  const heads = new Map<string, HostCommit | undefined>();
  for (const { id, vcsBranch, policyUpdatePatterns: patterns, seenCommit, vcsError } of sets) {
    const branch = vcsBranch ?? row.defaultBranch ?? '';
    if (branch === '') continue;
    if (!heads.has(branch)) heads.set(branch, await host.findHead(api, identifier, branch));
    const head = heads.get(branch);
    const problem = head
      ? null
      : `the branch ${branch} does not exist in the repository: the policy set keeps its current version`;
    if (problem !== vcsError)
      await db.prisma.policySet.updateMany({ where: { id, vcsBranch }, data: { vcsError: problem } });
    if (!head || !isHash(head.sha) || head.sha === seenCommit) continue;
    if (patterns.length > 0 && seenCommit !== null) {
      const changed = await host.listChanges(api, identifier, seenCommit, head.sha);
      if (!(await concerns({ ...byPatterns, triggerPatterns: patterns }, changed))) {
        await db.prisma.policySet.updateMany({ where: { id, vcsBranch, seenCommit }, data: { seenCommit: head.sha } });
        continue;
      }
    }
    await addVersion(db, row, { id, vcsBranch, branch }, head);
  }
}

/** Creates a version for the current commit of a new set's branch; returns the set with it. */
export async function addFirstVersion(tx: Database, set: PolicySet, { found }: SetSource): Promise<PolicySet> {
  const { id, vcsBranch, repository } = set;
  if (!repository || vcsBranch === null || !found.head || !isHash(found.head.sha)) return set;
  await addVersion(tx, repository, { id, vcsBranch, branch: vcsBranch }, found.head);
  return still((await findSets(tx, [id]))[0]);
}

interface SeenBranch {
  readonly id: string;
  readonly vcsBranch: string | null;
  readonly branch: string;
}

/**
 * Adds a version for a commit, unless the newest version has this commit, or the set now follows another repository or
 * branch.
 */
async function addVersion(
  db: Database,
  row: VcsRepository,
  { id: policySetId, vcsBranch, branch }: SeenBranch,
  { sha: commitSha, url: commitUrl }: HostCommit,
): Promise<void> {
  await db.transaction(async (tx) => {
    await lockRow(tx, 'policy_set', policySetId);
    const [set] = await findSets(tx, [policySetId]);
    const isFollowed = set?.oauthTokenId === row.oauthTokenId && set.vcsIdentifier === row.identifier;
    if (!set || !isFollowed || set.vcsBranch !== vcsBranch || set.seenCommit === commitSha) return;
    await pruneVersions(tx, set);
    const id = newId('polsetver');
    const { policiesPath, vcsIngressSubmodules: submodules } = set;
    const { identifier: vcsIdentifier, serviceProvider } = row;
    const source = { commitSha, commitUrl, vcsIdentifier, serviceProvider, policiesPath };
    await tx.prisma.policySetVersion.create({ data: { id, policySetId, status: 'ingressing', ...source } });
    await stampVersion(tx, id, 'ingressing-at');
    const commit = { policySetVersionId: id, commitSha, ref: `refs/heads/${branch}`, submodules };
    await awaitCommits(tx, { id: row.id, cloneUrl: row.cloneUrl ?? '' }, [commit]);
    await tx.prisma.policySet.update({ where: { id: policySetId }, data: { seenCommit: commitSha } });
    await recordChange(tx, system, { ...setChange(set, 'version-create'), after: { version: id, commit: commitSha } });
  });
}

/** Makes a set use a fetched commit after all of it was read, or records why it does not. */
export async function publishSetVersion(
  deps: Publishing,
  id: string,
  { problem, archive }: FetchedCommit,
): Promise<void> {
  const { db, configurationBytes } = deps;
  if (problem !== undefined) return failVersion(db, id, problem);
  const [version] = await findVersions(db, [id]);
  const bytes = version && (await archive());
  if (version && bytes)
    await takeArchive(db, deps, system, version, bytes, { bytes: configurationBytes, entries: 20_000 });
}
