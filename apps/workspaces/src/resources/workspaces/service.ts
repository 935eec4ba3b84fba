import { invalid, type SentReference } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import type { Access } from '../../kernel/access';
import { type Actor, recordChange } from '../../kernel/audit';
import type { Database } from '../../kernel/database';
import type { Edition } from '../../kernel/edition';
import type { SiteSettings } from '../../kernel/environment';
import { newId } from '../../kernel/ids';
import type { Organization } from '../organizations/organization';
import { defaultVersion, requireVersion } from './infra-version';
import type { NewWorkspace, WorkspaceChanges } from './schema';
import { initialSettings, type Settings, settingsAfter } from './settings';
import { attachTags, bindTags } from './tags';
import { type ExecutionMode, effectiveMode, readById, readByName, type Workspace, workspaceOf } from './workspace';

/** Who changes something, and what their rules look at. */
export interface Caller {
  readonly actor: Actor;
  readonly access: Access;
  readonly edition: Edition;
  readonly settings: SiteSettings;
}

/** The workspace with a `ws-…` id. */
export async function find(db: Database, id: string): Promise<Workspace | undefined> {
  const row = await db.readOne(readById, id);
  return row && workspaceOf(row);
}

/** The workspace with a name in an organization. */
export async function findByName(db: Database, organization: string, name: string): Promise<Workspace | undefined> {
  if (organization.includes('/') || name.includes('/')) {
    return undefined;
  }
  const row = await db.readOne(readByName, `${organization}/${name}`);
  return row && workspaceOf(row);
}

/** Workspaces by id, in no order; unknown ones are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<Workspace[]> {
  const found = await Promise.all(ids.map((id) => find(db, id)));
  return found.filter((workspace) => workspace !== undefined);
}

/** A workspace that has to be there. Throws `missing`. */
export async function requireWorkspace(db: Database, id: string): Promise<Workspace> {
  const found = await find(db, id);
  if (found === undefined) {
    throw new Refusal('missing', '');
  }
  return found;
}

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

/** The project a workspace goes to: the one named, which the caller may fill, or the default one. */
async function placeOf(
  db: Database,
  access: Access,
  organization: Organization,
  asked: string | null | undefined,
): Promise<Place> {
  const id = asked === null || asked === undefined || asked === '' ? organization.defaultProjectId : asked;
  const project = await db.prisma.project.findFirst({ where: { id: id ?? '', organizationId: organization.id } });
  const target = { id: id ?? '', organizationId: organization.id };
  if (project === null || !access.seesProject(target)) {
    throw asked ? invalid('project', 'was not found') : new Refusal('missing', '');
  }
  if (!access.hasProject(target, 'workspaces:create')) {
    throw new Refusal('missing', '');
  }
  return { projectId: project.id, mode: project.executionMode as ExecutionMode | null };
}

async function requireRoom(db: Database, settings: SiteSettings, organization: Organization): Promise<void> {
  const most = organization.workspaceLimit ?? settings.defaultWorkspacesPerOrganizationCeiling;
  if (organization.workspaceLimit === null && !settings.limitWorkspacesPerOrganization) {
    return;
  }
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
  const place = await placeOf(db, access, organization, body.project);
  const version = body.infraVersion ? await requireVersion(db, body.infraVersion) : await defaultVersion(db);
  const initial = initialSettings(body.name, version, settings.defaultRemoteStateAccess);
  const inherited = place.mode ?? (organization.defaultExecutionMode as ExecutionMode);
  const after = settingsAfter(initial, body, { inherited, edition, isNew: true });
  const id = newId('ws');
  await requireKnown(db, organization.id, id, initial, after);
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

const settingKeys = Object.keys(initialSettings('', '', false)) as (keyof Settings)[];

function settingsOf(workspace: Workspace): Settings {
  return Object.fromEntries(settingKeys.map((key) => [key, workspace[key]])) as unknown as Settings;
}

/** What holds for a workspace without a value of its own. */
function inheritedMode(workspace: Workspace): ExecutionMode {
  return effectiveMode({ ...workspace, executionMode: null }).mode;
}

/** Where an update moves the workspace; undefined when it stays. Both projects have to allow it. */
async function moveOf(
  db: Database,
  access: Access,
  workspace: Workspace,
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

/**
 * Changes what is named and keeps the rest. Throws `invalid` for taken names, broken rules and unknown references,
 * `denied` for a move the caller may not make, `precondition` when it is no longer at the revision required.
 * Spec: Workspaces
 */
export async function update(
  db: Database,
  caller: Caller,
  workspace: Workspace,
  changes: WorkspaceChanges,
  ifMatch?: bigint,
): Promise<Workspace> {
  const projectId = await moveOf(db, caller.access, workspace, changes.project);
  const version = changes.infraVersion ? await requireVersion(db, changes.infraVersion) : undefined;
  return db.transaction(async (tx) => {
    await tx.prisma.$queryRaw`SELECT id FROM workspace WHERE id = ${workspace.id} FOR UPDATE`;
    const current = await requireWorkspace(tx, workspace.id);
    if (ifMatch !== undefined && current.revision !== ifMatch) {
      throw new Refusal('precondition', 'the resource has changed since it was read');
    }
    const before = settingsOf(current);
    const around = { inherited: inheritedMode(current), edition: caller.edition, isNew: false };
    const after = settingsAfter(before, changes, around);
    after.infraVersion = version ?? before.infraVersion;
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
    if (current.resourceCount > 0) {
      throw new Refusal('conflict', 'Workspace cannot be safely deleted because it is still managing resources');
    }
    await erase(tx, caller.actor, current, 'workspace.safe-delete');
  });
}
