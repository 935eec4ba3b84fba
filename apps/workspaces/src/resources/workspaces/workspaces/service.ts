import type { SentReference } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import type { Database } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow, requireRevision } from '../../../kernel/database/lock-row';
import type { SiteSettings } from '../../../kernel/endpoints/environment';
import type { HostRepository } from '../../connections/git-hosts/git-host';
import { checkRepository } from '../../connections/repositories/check';
import { keepRepository } from '../../connections/repositories/repository';
import type { Organization } from '../../organizations/organizations/organization';
import { requireAllowed } from '../projects/allowed';
import { type Bound, bindTags } from '../projects/tag-bindings';
import { type WorkspaceSettings, workspaceAttributes } from './attributes';
import { repinWaiting, requireVersion } from './infra-version';
import { initialSettings, type NewWorkspace, settingsAfter, type WorkspaceChanges } from './settings';
import { type WorkspaceStamp, workspaceAt } from './stamp';
import { attachTags } from './tags';
import { moveOf, targetProjectOf, type WorkspaceBase } from './target-project';
import { type ExecutionMode, inheritedMode, requireWorkspace, type Workspace, type WorkspaceCaller } from './workspace';
import { creating, editing, type NewRow, writeEdit } from './writes';

function hasCeiling(settings: SiteSettings, { workspaceLimit }: Organization): boolean {
  return workspaceLimit !== null || settings.limitWorkspacesPerOrganization;
}

async function requireRoom(db: Database, settings: SiteSettings, organization: Organization): Promise<void> {
  if (!hasCeiling(settings, organization)) return;
  const most = organization.workspaceLimit ?? settings.defaultWorkspacesPerOrganizationCeiling;
  // The counting row is also the lock. If two requests want the last place, one of them waits.
  await db.prisma.$queryRaw`
    SELECT 1 FROM organization_tally WHERE organization_id = ${organization.id} FOR UPDATE`;
  const tally = await db.prisma.organizationTally.findUnique({ where: { organizationId: organization.id } });
  if ((tally?.workspaces ?? 0) >= most) {
    throw new Refusal('invalid', `this organization can have at most ${most} workspaces`);
  }
}

/**
 * Creates a workspace. Throws `missing` if the caller may not create workspaces in the project, `invalid` for taken
 * names, broken rules and unknown references. Spec: Workspaces
 */
export async function create(
  db: Database,
  caller: WorkspaceCaller,
  base: WorkspaceBase,
  body: NewWorkspace,
  link?: RepositoryLink,
): Promise<Workspace> {
  const { settings } = caller;
  const { organization } = base;
  const { id, target, after } = await settleNew(db, caller, base, body);
  const isPlain =
    link === undefined &&
    body.tags === undefined &&
    body.tagBindings === undefined &&
    !hasCeiling(settings, organization);
  const row: NewRow = {
    actor: caller.actor,
    id,
    organizationId: organization.id,
    projectId: target.projectId,
    source: 'tfe-api',
    sourceName: body.sourceName || null,
    sourceUrl: body.sourceUrl || null,
    settings: after,
  };
  if (isPlain) return db.write(creating, row);
  return db.transaction(async (tx) => {
    await requireRoom(tx, settings, organization);
    await keepLink(tx, caller, link, after);
    await tx.write(creating, row);
    const bound = { organizationId: organization.id, projectId: target.projectId, workspaceId: id };
    await tag(tx, bound, body.tags, body.tagBindings);
    return requireWorkspace(tx, id);
  });
}

/**
 * Looks up, at the host, the repository that a new workspace will follow; undefined if the workspace follows no
 * repository, or if the service does not call hosts. Throws like `create`. Call it outside any transaction.
 */
export async function checkNew(
  db: Database,
  caller: WorkspaceCaller,
  base: WorkspaceBase,
  body: NewWorkspace,
): Promise<RepositoryLink | undefined> {
  if (!body.vcsRepo) return undefined;
  const { initial, after } = await settleNew(db, caller, base, body);
  return checkLink(db, caller, base.organization.id, initial, after);
}

/** The project and the settings of a new workspace. */
async function settleNew(db: Database, caller: WorkspaceCaller, base: WorkspaceBase, body: NewWorkspace) {
  const { access, settings, edition } = caller;
  const { organization, versions } = base;
  const target = await targetProjectOf(db, access, base, body.project);
  const scope = { organizationId: organization.id, loaded: versions };
  const version = body.infraVersion ? await requireVersion(db, body.infraVersion, scope) : versions.newest;
  const initial = initialSettings(body.name, version, settings.defaultRemoteStateAccess);
  const inherited = target.mode ?? (organization.defaultExecutionMode as ExecutionMode);
  const after = settingsAfter(initial, body, { inherited, edition });
  const id = newId('ws');
  await requireAllowed(db, { organizationId: organization.id, projectId: target.projectId, id }, initial, after);
  return { id, target, initial, after };
}

/** Adds the tags to the existing tags, and replaces the existing bindings by those in the request. */
async function tag(
  db: Database,
  bound: Bound & { readonly workspaceId: string },
  tags: SentReference[] | undefined,
  bindings: SentReference[] | undefined,
): Promise<void> {
  if (tags !== undefined && tags.length > 0) {
    await attachTags(db, bound.organizationId, bound.workspaceId, tags);
  }
  if (bindings !== undefined) {
    await bindTags(db, bound, bindings, 'replace');
  }
}

function editedSettings(
  current: Workspace,
  before: WorkspaceSettings,
  changes: WorkspaceChanges,
  { edition }: WorkspaceCaller,
  version?: string,
): WorkspaceSettings {
  const inherited = inheritedMode(current).mode;
  const after = settingsAfter(before, changes, { inherited, edition });
  return { ...after, infraVersion: version ?? before.infraVersion };
}

/** Whether an update needs only the workspace itself: no other row, and no check of names. */
function isPlainEdit(workspace: WorkspaceStamp, changes: WorkspaceChanges): boolean {
  const { name, project, tags, tagBindings, vcsRepo, agentPoolId, agentPool } = changes;
  const stays = name === undefined || name === workspace.name;
  const needsMore = [tags, tagBindings, vcsRepo, agentPoolId, agentPool].some((part) => part !== undefined);
  return stays && !needsMore && (project === undefined || project === workspace.projectId);
}

/**
 * Changes the settings in a request and keeps the rest. Throws `invalid` for taken names, broken rules and unknown
 * references, `denied` for a move that the caller may not make, and `precondition` if the workspace is no longer at the
 * required revision. Spec: Workspaces
 */
export async function update(
  db: Database,
  caller: WorkspaceCaller,
  workspace: WorkspaceStamp,
  changes: WorkspaceChanges,
  ifMatch?: bigint,
): Promise<Workspace> {
  const requestedVersion = changes.infraVersion || undefined;
  const isRepinned =
    requestedVersion !== undefined && requestedVersion !== (await workspaceAt(db, workspace)).infraVersion;
  // The current value is always accepted, even if the version no longer exists, because clients send all fields.
  if (isRepinned) await requireVersion(db, requestedVersion, workspace);
  if (isPlainEdit(workspace, changes) && !isRepinned && !db.inTransaction) {
    return writeEdit(db, workspace, {
      actor: caller.actor,
      ifMatch,
      apply: (current, before) => editedSettings(current, before, changes, caller, requestedVersion),
    });
  }
  const projectId = await moveOf(db, caller.access, workspace, changes.project);
  const link = changes.vcsRepo ? await checkNewLink(db, caller, workspace, changes, projectId) : undefined;
  return db.transaction(async (tx) => {
    await lockRow(tx, 'workspace', workspace.id);
    const current = await requireWorkspace(tx, workspace.id);
    requireRevision(current, ifMatch);
    const before = workspaceAttributes.stored(current);
    const after = editedSettings(current, before, changes, caller, requestedVersion);
    const goal = { ...current, projectId: projectId ?? current.projectId };
    await requireAllowed(tx, goal, projectId === undefined ? before : 'moved', after);
    await keepLink(tx, caller, link, after);
    await tx.write(editing, {
      db: tx,
      current,
      actor: caller.actor,
      ifMatch: undefined,
      apply: () => after,
      projectId,
    });
    await repinWaiting(tx, current.id, { before: before.infraVersion, after: after.infraVersion });
    await tag(tx, { ...goal, workspaceId: current.id }, changes.tags, changes.tagBindings);
    return requireWorkspace(tx, current.id);
  });
}

/** Checks a new link to a repository. Call it without the workspace lock, because a Git host may be slow. */
async function checkNewLink(
  db: Database,
  caller: WorkspaceCaller,
  { id }: WorkspaceStamp,
  changes: WorkspaceChanges,
  movesTo: string | undefined,
) {
  const current = await requireWorkspace(db, id);
  const before = workspaceAttributes.stored(current);
  const after = editedSettings(current, before, changes, caller);
  const goal = { ...current, projectId: movesTo ?? current.projectId };
  await requireAllowed(db, goal, movesTo === undefined ? before : 'moved', after);
  return checkLink(db, caller, current.organizationId, current, after);
}

/** The repository that a workspace will be connected to, as its host describes it. */
export interface RepositoryLink {
  readonly tokenId: string;
  readonly identifier: string;
  readonly found: HostRepository | undefined;
}

type Linked = Pick<WorkspaceSettings, 'oauthTokenId' | 'vcsIdentifier' | 'vcsBranch'>;

const isSame = (a: Linked, b: Linked): boolean =>
  a.oauthTokenId === b.oauthTokenId && a.vcsIdentifier === b.vcsIdentifier && a.vcsBranch === b.vcsBranch;

/**
 * Asks the host for the repository in new settings; undefined if the repository does not change, or no host is called.
 * Throws `invalid`. Call it outside any transaction.
 */
async function checkLink(
  db: Database,
  { vcs }: WorkspaceCaller,
  organizationId: string,
  before: Linked,
  after: Linked,
): Promise<RepositoryLink | undefined> {
  const { oauthTokenId: tokenId, vcsIdentifier: identifier, vcsBranch: branch } = after;
  if (!vcs.reach || tokenId === null || identifier === null || isSame(before, after)) return undefined;
  const deps = { db, keyring: vcs.keyring, reach: vcs.reach };
  return { tokenId, identifier, found: await checkRepository(deps, { organizationId, tokenId, identifier, branch }) };
}

/**
 * Records a repository that the host described, if the settings still name it. Call it when the settings are written.
 */
async function keepLink(
  tx: Database,
  { vcs }: WorkspaceCaller,
  link: RepositoryLink | undefined,
  after: Linked,
): Promise<void> {
  if (link && link.tokenId === after.oauthTokenId && link.identifier === after.vcsIdentifier) {
    await keepRepository(tx, vcs.keyring, link, link.found);
  }
}
