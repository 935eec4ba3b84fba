import type { Database } from '../../../kernel/database/database';
import type { SiteSettings } from '../../../kernel/endpoints/environment';
import type { HostCommit, HostEvent, PullRequest, QueuedMerge, Sender } from '../../connections/git-hosts/git-host';
import type { Reached } from '../../connections/repositories/repository';
import { findMany, type Workspace } from '../../workspaces/workspaces/workspace';
import { type Arrival, ingest } from './ingest';
import { tagsOf, waitingFor } from './triggers';

/** The workspaces that are connected to a repository. */
export async function workspacesOf(db: Database, { row }: Pick<Reached, 'row'>): Promise<readonly Workspace[]> {
  const where = { oauthTokenId: row.oauthTokenId, vcsIdentifier: row.identifier };
  const ids = await db.prisma.workspace.findMany({ where, select: { id: true }, orderBy: { id: 'asc' } });
  return findMany(
    db,
    ids.map(({ id }) => id),
  );
}

/** The branch a workspace follows. */
export const branchOf = (workspace: Workspace, { row }: Pick<Reached, 'row'>): string | null =>
  workspace.vcsBranch ?? row.defaultBranch;

/** Caches responses of a host for a while, because many workspaces may need them. */
function once<T>(find: (key: string) => Promise<T>): (key: string) => Promise<T> {
  const lookups = new Map<string, Promise<T>>();
  return (key) => {
    const answer = lookups.get(key) ?? find(key);
    lookups.set(key, answer);
    return answer;
  };
}

/** Records when a branch or a tag that workspaces have read disappeared, or that it exists again. */
async function noteGone(db: Database, workspaces: readonly Workspace[], ref: string, isGone: boolean): Promise<void> {
  const ids = workspaces.map(({ id }) => id);
  await db.prisma.vcsHead.updateMany({
    where: { ref, workspaceId: { in: ids }, goneSince: isGone ? null : { not: null } },
    data: { goneSince: isGone ? new Date() : null },
  });
}

/** The current state of a branch, for all workspaces that follow it. */
export async function branchMoved(
  db: Database,
  reached: Reached,
  branch: string,
  more: { before: string | null; sender?: Sender; looked?: boolean },
): Promise<void> {
  const { host, api, row } = reached;
  const following = (await workspacesOf(db, reached)).filter(
    (one) => branchOf(one, reached) === branch && one.vcsTagsRegex === null,
  );
  if (following.length === 0) return;
  // Deliveries may be late, repeated and in any order, so only the current position of the branch is used.
  const commit = await host.findHead(api, row.identifier, branch);
  await noteGone(db, following, `branch:${branch}`, commit === undefined);
  if (commit === undefined) return;
  const changes = once((base) => host.listChanges(api, row.identifier, base, commit.sha));
  await ingest(db, reached, following, {
    ref: `branch:${branch}`,
    commit,
    branch,
    changesSince: async (base) => (base === null ? undefined : changes(base)),
    before: more.before,
    sender: more.sender,
    looked: more.looked,
  });
}

async function tagMoved(db: Database, reached: Reached, tag: string, sender: Sender): Promise<void> {
  const { host, api, row } = reached;
  const waiting = await waitingFor(tag, await workspacesOf(db, reached));
  if (waiting.length === 0) return;
  const commit = await host.findTag(api, row.identifier, tag);
  await noteGone(db, waiting, `tag:${tag}`, commit === undefined);
  if (commit === undefined) return;
  await ingestTag(db, reached, waiting, { tag, commit, sender });
}

async function ingestTag(
  db: Database,
  reached: Reached,
  workspaces: readonly Workspace[],
  { tag, commit, sender }: { tag: string; commit: HostCommit; sender?: Sender },
): Promise<void> {
  const changesSince = async () => undefined;
  const arrival = { ref: `tag:${tag}`, commit, branch: null, tag, sender, before: null, changesSince };
  await ingest(db, reached, workspaces, arrival);
}

/**
 * The name under which the tag expression at the first search for tags is stored, next to the tags that a workspace has
 * seen.
 */
const tagsRef = 'tags';

/** Tags of runs that have not ended. */
async function tagsInUse(db: Database, workspaces: readonly Workspace[]): Promise<ReadonlyMap<string, Workspace[]>> {
  const ids = workspaces.map(({ id }) => id);
  const runs = await db.prisma.run.findMany({
    where: { workspaceId: { in: ids }, finishedAt: null, configurationVersionId: { not: null } },
    select: { configurationVersionId: true },
  });
  const found = await db.prisma.ingressAttributes.findMany({
    where: { configurationVersionId: { in: runs.map((run) => run.configurationVersionId!) }, tag: { not: null } },
    select: { tag: true, configurationVersion: { select: { workspaceId: true } } },
  });
  const users = new Map<string, Workspace[]>();
  for (const { tag, configurationVersion } of found) {
    const user = workspaces.filter(({ id }) => id === configurationVersion.workspaceId);
    users.set(tag!, [...(users.get(tag!) ?? []), ...user]);
  }
  return users;
}

/**
 * Handles tags that no webhook reported, and tags that no longer exist. Tags that existed before a workspace followed
 * tags are remembered, and start no run.
 */
export async function lookForTags(db: Database, reached: Reached, workspaces: readonly Workspace[]): Promise<void> {
  const { host, api, row } = reached;
  const waiting = workspaces.filter(({ vcsTagsRegex }) => vcsTagsRegex !== null);
  if (waiting.length === 0) return;
  const tags = [...(await host.listTags(api, row.identifier))];
  for (const [name, users] of await tagsInUse(db, waiting)) {
    // If there are very many tags, not all are listed.
    const isListed = tags.some((tag) => tag.name === name);
    const commit = isListed ? undefined : await host.findTag(api, row.identifier, name);
    if (commit) tags.push({ name, sha: commit.sha });
    await noteGone(db, users, `tag:${name}`, !isListed && commit === undefined);
  }
  const find = once((sha) => host.findCommit(api, row.identifier, sha));
  const ids = waiting.map(({ id }) => id);
  const rows = await db.prisma.vcsHead.findMany({
    where: { workspaceId: { in: ids }, ref: { startsWith: 'tag' } },
  });
  const heads = new Map(rows.map(({ workspaceId, ref, commit }) => [`${workspaceId} ${ref}`, commit]));
  for (const workspace of waiting) {
    const { id: workspaceId, vcsTagsRegex } = workspace;
    const expression = `${row.id} ${vcsTagsRegex}`;
    const headOf = (ref: string) => heads.get(`${workspaceId} ${ref}`);
    const unseen = tags.filter(({ name, sha }) => headOf(`tag:${name}`) !== sha);
    const fresh = await tagsOf(vcsTagsRegex!, unseen);
    if (headOf(tagsRef) === expression) {
      for (const { name, sha } of fresh.reverse()) {
        const commit = await find(sha);
        if (commit) await ingestTag(db, reached, [workspace], { tag: name, commit });
      }
      continue;
    }
    await db.prisma.vcsHead.createMany({
      data: fresh.map(({ name, sha }) => ({ workspaceId, ref: `tag:${name}`, commit: sha })),
      skipDuplicates: true,
    });
    const head = { workspaceId, ref: tagsRef, commit: expression };
    await db.prisma.vcsHead.upsert({
      where: { workspaceId_ref: { workspaceId, ref: tagsRef } },
      create: head,
      update: { commit: expression },
    });
  }
}

/**
 * Whether a passing status is reported for commits that concern no workspace. The organization or the installation sets
 * this.
 */
async function tellsPassing(db: Database, id: string, settings: SiteSettings): Promise<boolean> {
  if (settings.sendPassingStatusesForUntriggeredSpeculativePlans) return true;
  const found = await db.prisma.organization.findUnique({ where: { id }, select: { sendPassingStatuses: true } });
  return found?.sendPassingStatuses === true;
}

/** The current state of a pull request, for all workspaces that plan proposals to their branch. */
export async function pullMoved(
  db: Database,
  reached: Reached,
  pull: PullRequest,
  settings: SiteSettings,
  { sender, looked }: { sender?: Sender; looked?: boolean },
): Promise<void> {
  const { host, api, row } = reached;
  if (!pull.isOpen) return;
  if (pull.fromFork && !settings.allowSpeculativePlansOnPullRequestsFromForks) return;
  await proposed(db, reached, settings, {
    ref: `pull:${pull.number}`,
    branch: pull.headBranch,
    pull,
    sender,
    looked,
    baseBranch: pull.baseBranch,
    find: () => host.findCommit(api, pull.from?.identifier ?? row.identifier, pull.head),
    listChanges: () => host.listProposed(api, row.identifier, pull.number),
  });
}

/** The trial merges of a merge queue, for all workspaces that plan proposals to that branch. */
async function queueMoved(
  db: Database,
  reached: Reached,
  branch: string,
  queued: QueuedMerge,
  { settings, sender }: { settings: SiteSettings; sender?: Sender },
): Promise<void> {
  const { host, api, row } = reached;
  const { baseBranch } = queued;
  await proposed(db, reached, settings, {
    ref: `queue:${branch}`,
    branch,
    queued,
    sender,
    baseBranch,
    find: () => host.findHead(api, row.identifier, branch),
    listChanges: ({ sha }) => host.listChanges(api, row.identifier, baseBranch, sha),
  });
}

/** A commit that is proposed for a branch, before it is looked up. */
interface Proposal extends Omit<Arrival, 'commit' | 'before' | 'changesSince' | 'sendsPassing'> {
  readonly baseBranch: string;
  find(): Promise<HostCommit | undefined>;
  listChanges(commit: HostCommit): Promise<readonly string[] | undefined>;
}

/** Starts plans of a proposal in the workspaces that follow its branch and plan proposals. */
async function proposed(
  db: Database,
  reached: Reached,
  settings: SiteSettings,
  { baseBranch, find, listChanges, ...more }: Proposal,
): Promise<void> {
  const planning = (await workspacesOf(db, reached)).filter(
    (one) => one.speculativeEnabled && branchOf(one, reached) === baseBranch,
  );
  if (planning.length === 0) return;
  const commit = await find();
  if (commit === undefined) return;
  const changes = once(() => listChanges(commit));
  const sendsPassing = await tellsPassing(db, reached.row.organizationId, settings);
  await ingest(db, reached, planning, { ...more, commit, sendsPassing, before: null, changesSince: () => changes('') });
}

/** Processes an event, by the current state at the host. */
export async function applyEvent(
  db: Database,
  reached: Reached,
  event: HostEvent,
  settings: SiteSettings,
): Promise<void> {
  const { host, api, row } = reached;
  if (event.kind === 'push') {
    const queued = host.queuedIn?.(event.branch);
    if (queued) return queueMoved(db, reached, event.branch, queued, { settings, sender: event.sender });
    return branchMoved(db, reached, event.branch, event);
  }
  if (event.kind === 'tag') return tagMoved(db, reached, event.tag, event.sender);
  const pull = await host.findPullRequest(api, row.identifier, event.number);
  if (pull) await pullMoved(db, reached, pull, settings, { sender: event.sender });
}
