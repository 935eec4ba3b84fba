import { invalid, type SentReference } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import type { Access } from '../../kernel/access';
import { type Actor, recordChange } from '../../kernel/audit';
import type { Database } from '../../kernel/database';
import type { Edition } from '../../kernel/edition';
import type { SiteSettings } from '../../kernel/environment';
import { newId } from '../../kernel/ids';
import type { Organization } from '../organizations/organization';
import { requireWorkspace } from './find';
import { editTogether, insertTogether, settingsOf } from './hot-write';
import { defaultVersion, requireVersion } from './infra-version';
import type { NewWorkspace, WorkspaceChanges } from './schema';
import { initialSettings, type Settings, settingsAfter } from './settings';
import type { WorkspaceStamp } from './stamp';
import { attachTags, bindTags } from './tags';
import { type ExecutionMode, inheritedMode, type Workspace } from './workspace';

/** Who changes something, and what their rules look at. */
export interface Caller {
  readonly actor: Actor;
  readonly access: Access;
  readonly edition: Edition;
  readonly settings: SiteSettings;
}

export { find, findByName, findMany, requireWorkspace } from './find';

async function requirePool(db: Database, organizationId: string, workspaceId: string, poolId: string): Promise<void> {
  const pool = await db.prisma.agentPool.findFirst({
    where: { id: poolId, organizationId },
    select: { organizationScoped: true, allowed: { where: { workspaceId }, select: { workspaceId: true } } },
  });
  if (pool === null) {
    throw invalid('agentPoolId', 'was not found');
  }
  if (!pool.organizationScoped && pool.allowed.length === 0) {
    throw invalid('agentPoolId', 'Agent pool workspace does not have access to use this agent pool');
  }
}

async function requireConnection(db: Database, organizationId: string, tokenId: string): Promise<void> {
  const found = await db.prisma.oauthToken.findFirst({
    where: { id: tokenId, oauthClient: { organizationId } },
    select: { id: true },
  });
  if (found === null) {
    throw invalid(['vcsRepo', 'oauthTokenId'], 'was not found');
  }
}

/** Checks what only the database knows of new settings. */
async function requireKnown(
  db: Database,
  organizationId: string,
  workspaceId: string,
  before: Settings,
  after: Settings,
): Promise<void> {
  if (after.agentPoolId !== null && after.agentPoolId !== before.agentPoolId) {
    await requirePool(db, organizationId, workspaceId, after.agentPoolId);
  }
  if (after.oauthTokenId !== null && after.oauthTokenId !== before.oauthTokenId) {
    await requireConnection(db, organizationId, after.oauthTokenId);
  }
}

interface Place {
  readonly projectId: string;
  readonly mode: ExecutionMode | null;
}

const readProject = {
  name: 'workspace_project',
  text: 'SELECT id AS key, organization_id, execution_mode FROM project WHERE id = ANY($1)',
  quick: true,
};

interface ProjectRow {
  [column: string]: unknown;
  key: string;
  organization_id: string;
  execution_mode: ExecutionMode | null;
}

/** The project a workspace goes to: the one named, which the caller may fill, or the default one. */
async function placeOf(
  db: Database,
  access: Access,
  organization: Organization,
  asked: string | null | undefined,
): Promise<Place> {
  const id = asked === null || asked === undefined || asked === '' ? organization.defaultProjectId : asked;
  const project = await db.readOne<ProjectRow>(readProject, id ?? '');
  const target = { id: id ?? '', organizationId: organization.id };
  if (project?.organization_id !== organization.id || !access.seesProject(target)) {
    throw asked ? invalid('project', 'was not found') : new Refusal('missing', '');
  }
  if (!access.hasProject(target, 'workspaces:create')) {
    throw new Refusal('missing', '');
  }
  return { projectId: project.key, mode: project.execution_mode };
}

function hasCeiling(settings: SiteSettings, { workspaceLimit }: Organization): boolean {
  return workspaceLimit !== null || settings.limitWorkspacesPerOrganization;
}

async function requireRoom(db: Database, settings: SiteSettings, organization: Organization): Promise<void> {
  if (!hasCeiling(settings, organization)) {
    return;
  }
  const most = organization.workspaceLimit ?? settings.defaultWorkspacesPerOrganizationCeiling;
  // The row that counts is the lock: of two that would both be the last, one waits.
  await db.prisma.$queryRaw`
    SELECT 1 FROM organization_tally WHERE organization_id = ${organization.id} FOR UPDATE`;
  const tally = await db.prisma.organizationTally.findUnique({ where: { organizationId: organization.id } });
  if ((tally?.workspaces ?? 0) >= most) {
    throw new Refusal('invalid', `this organization may have at most ${most} workspaces`);
  }
}

/**
 * Creates a workspace. Throws `missing` where the caller may not fill the project, `invalid` for taken names, broken
 * rules and unknown references.
 * Spec: Workspaces
 */
export async function create(
  db: Database,
  caller: Caller,
  organization: Organization,
  body: NewWorkspace,
): Promise<Workspace> {
  const { access, settings, edition } = caller;
  const [place, version] = await Promise.all([
    placeOf(db, access, organization, body.project),
    body.infraVersion ? requireVersion(db, body.infraVersion) : defaultVersion(db),
  ]);
  const initial = initialSettings(body.name, version, settings.defaultRemoteStateAccess);
  const inherited = place.mode ?? (organization.defaultExecutionMode as ExecutionMode);
  const after = settingsAfter(initial, body, { inherited, edition, isNew: true });
  const id = newId('ws');
  await requireKnown(db, organization.id, id, initial, after);
  const isPlain = body.tags === undefined && body.tagBindings === undefined && !hasCeiling(settings, organization);
  if (isPlain && !db.inTransaction) {
    return insertTogether(db, {
      actor: caller.actor,
      id,
      organizationId: organization.id,
      projectId: place.projectId,
      source: 'tfe-api',
      sourceName: body.sourceName || null,
      sourceUrl: body.sourceUrl || null,
      settings: after,
    });
  }
  return db.transaction(async (tx) => {
    await requireRoom(tx, settings, organization);
    await tx.prisma.workspace.create({
      data: {
        ...after,
        id,
        organizationId: organization.id,
        projectId: place.projectId,
        source: 'tfe-api',
        sourceName: body.sourceName || null,
        sourceUrl: body.sourceUrl || null,
      },
    });
    await tagNew(tx, organization.id, id, body.tags, body.tagBindings);
    await recordChange(tx, caller.actor, {
      organizationId: organization.id,
      action: 'workspace.create',
      target: { type: 'workspaces', id, name: after.name },
      after: { ...after },
    });
    return requireWorkspace(tx, id);
  });
}

async function tagNew(
  db: Database,
  organizationId: string,
  workspaceId: string,
  tags: SentReference[] | undefined,
  bindings: SentReference[] | undefined,
): Promise<void> {
  if (tags !== undefined && tags.length > 0) {
    await attachTags(db, organizationId, workspaceId, tags);
  }
  if (bindings !== undefined && bindings.length > 0) {
    await bindTags(db, { workspaceId }, bindings);
  }
}

function editedSettings(current: Workspace, changes: WorkspaceChanges, edition: Edition, version?: string): Settings {
  const before = settingsOf(current);
  const after = settingsAfter(before, changes, { inherited: inheritedMode(current).mode, edition, isNew: false });
  return { ...after, infraVersion: version ?? before.infraVersion };
}

/** Where an update moves the workspace; undefined when it stays. Both projects have to allow it. */
async function moveOf(
  db: Database,
  access: Access,
  workspace: Pick<Workspace, 'id' | 'projectId' | 'organizationId'>,
  asked: string | null | undefined,
): Promise<string | undefined> {
  if (!asked || asked === workspace.projectId) {
    return undefined;
  }
  const { organizationId } = workspace;
  const target = { id: asked, organizationId };
  const project = await db.prisma.project.findFirst({ where: { id: asked, organizationId }, select: { id: true } });
  if (project === null || !access.seesProject(target)) {
    throw invalid('project', 'was not found');
  }
  const mayLeave = access.hasProject({ id: workspace.projectId, organizationId }, 'workspaces:move');
  if (!mayLeave || !access.hasProject(target, 'workspaces:move')) {
    throw new Refusal('denied', `Workspace(s) not found, or you are not authorized to move them: ${workspace.id}`);
  }
  return asked;
}

/** Needs an update nothing but the workspace as it is: no other row is looked at, and no name can be taken. */
function isPlainEdit(workspace: WorkspaceStamp, changes: WorkspaceChanges): boolean {
  const { name, project, tags, tagBindings, vcsRepo, agentPoolId, agentPool } = changes;
  const stays = name === undefined || name === workspace.name;
  const needsMore = [tags, tagBindings, vcsRepo, agentPoolId, agentPool].some((part) => part !== undefined);
  return stays && !needsMore && (!project || project === workspace.projectId);
}

/**
 * Changes what is named and keeps the rest. Throws `invalid` for taken names, broken rules and unknown references,
 * `denied` for a move the caller may not make, `precondition` when it is no longer at the revision required.
 * Spec: Workspaces
 */
export async function update(
  db: Database,
  caller: Caller,
  workspace: WorkspaceStamp,
  changes: WorkspaceChanges,
  ifMatch?: bigint,
): Promise<Workspace> {
  if (isPlainEdit(workspace, changes) && !db.inTransaction) {
    const wanted = changes.infraVersion ? await requireVersion(db, changes.infraVersion) : undefined;
    return editTogether(db, {
      stamp: workspace,
      actor: caller.actor,
      ifMatch,
      apply: (current) => editedSettings(current, changes, caller.edition, wanted),
    });
  }
  const projectId = await moveOf(db, caller.access, workspace, changes.project);
  const version = changes.infraVersion ? await requireVersion(db, changes.infraVersion) : undefined;
  return db.transaction(async (tx) => {
    await tx.prisma.$queryRaw`SELECT id FROM workspace WHERE id = ${workspace.id} FOR UPDATE`;
    const current = await requireWorkspace(tx, workspace.id);
    if (ifMatch !== undefined && current.revision !== ifMatch) {
      throw new Refusal('precondition', 'the resource has changed since it was read');
    }
    const before = settingsOf(current);
    const after = editedSettings(current, changes, caller.edition, version);
    await requireKnown(tx, current.organizationId, current.id, before, after);
    await tagNew(tx, current.organizationId, current.id, changes.tags, changes.tagBindings);
    const moves = projectId !== undefined;
    if (!moves && JSON.stringify(before) === JSON.stringify(after)) {
      return changes.tags === undefined && changes.tagBindings === undefined
        ? current
        : requireWorkspace(tx, current.id);
    }
    await tx.prisma.workspace.update({
      where: { id: current.id },
      data: { ...after, ...(moves ? { projectId } : {}), updatedAt: new Date() },
    });
    await recordChange(tx, caller.actor, {
      organizationId: current.organizationId,
      action: 'workspace.update',
      target: { type: 'workspaces', id: current.id, name: after.name },
      before: { ...before, projectId: current.projectId },
      after: { ...after, projectId: projectId ?? current.projectId },
    });
    return requireWorkspace(tx, current.id);
  });
}

async function erase(db: Database, actor: Actor, workspace: Workspace, action: string): Promise<void> {
  const { count } = await db.prisma.workspace.deleteMany({ where: { id: workspace.id } });
  if (count === 0) {
    throw new Refusal('missing', '');
  }
  await recordChange(db, actor, {
    organizationId: workspace.organizationId,
    action,
    target: { type: 'workspaces', id: workspace.id, name: workspace.name },
    before: { name: workspace.name, projectId: workspace.projectId, resourceCount: workspace.resourceCount },
  });
}

/**
 * Deletes a workspace whatever it manages. Throws `denied` when it manages resources and the organization leaves that
 * to its owners.
 */
export async function remove(db: Database, caller: Caller, workspace: Workspace): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.prisma.$queryRaw`SELECT id FROM workspace WHERE id = ${workspace.id} FOR UPDATE`;
    const current = await requireWorkspace(tx, workspace.id);
    if (current.resourceCount > 0 && !caller.access.mayForceDelete(current.organizationId)) {
      throw new Refusal(
        'denied',
        'This workspace still manages resources, and its organization lets only owners delete such workspaces',
      );
    }
    await erase(tx, caller.actor, current, 'workspace.delete');
  });
}

/** Deletes a workspace only when nothing would be lost. Throws `conflict` while it is locked or manages resources. */
export async function safeRemove(db: Database, caller: Caller, workspace: Workspace): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.prisma.$queryRaw`SELECT id FROM workspace WHERE id = ${workspace.id} FOR UPDATE`;
    const current = await requireWorkspace(tx, workspace.id);
    if (current.lockedAt !== null) {
      throw new Refusal(
        'conflict',
        'Workspace is currently locked. Workspace must be unlocked before it can be safely deleted',
      );
    }
    const waiting = {
      workspaceId: current.id,
      OR: [{ status: 'pending' }, { id: current.currentStateVersionId ?? '', resourcesProcessed: false }],
    };
    if ((await tx.prisma.stateVersion.count({ where: waiting })) > 0) {
      throw new Refusal(
        'conflict',
        'Latest workspace state is being processed to discover resources, please try again later',
      );
    }
    if (current.resourceCount > 0) {
      throw new Refusal('conflict', 'Workspace cannot be safely deleted because it is still managing resources');
    }
    await erase(tx, caller.actor, current, 'workspace.safe-delete');
  });
}
