import { invalid, MissingPermission } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import type { Access, ProjectTarget } from '../../../kernel/access/access';
import {
  type Mask,
  maskOf,
  type ProjectLevel,
  projectDials,
  projectGrant,
  projectLevelSettings,
  projectLevelWorkspaceSettings,
  projectWorkspaceDials,
} from '../../../kernel/access/capabilities';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import type { SeenTeam } from '../../people/teams/team';
import { type SentDials, settingsOf, settled } from './settings';

/** A team's access to a project and its workspaces; `capabilities` is the result of level and settings. */
export interface ProjectGrant {
  readonly id: string;
  readonly teamId: string;
  readonly teamName: string;
  readonly team: SeenTeam;
  readonly projectId: string;
  readonly project: ProjectTarget;
  readonly organizationId: string;
  readonly access: ProjectLevel;
  readonly capabilities: Mask;
}

/** The settings of a grant in a request. */
export interface ProjectGrantInput {
  readonly access?: ProjectLevel;
  readonly projectAccess?: SentDials<typeof projectDials> | null;
  readonly workspaceAccess?: SentDials<typeof projectWorkspaceDials> | null;
}

const withTarget = {
  team: { select: { id: true, name: true, organizationId: true, visibility: true } },
  project: { select: { id: true, organizationId: true } },
} as const;

/** Grants by id; unknown ids are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<ProjectGrant[]> {
  const rows = await db.prisma.teamProject.findMany({ where: { id: { in: [...ids] } }, include: withTarget });
  return rows.map(toGrant);
}

/** One grant. */
export async function find(db: Database, id: string): Promise<ProjectGrant | undefined> {
  return (await findMany(db, [id]))[0];
}

/** The grants on a project, oldest first. */
export async function list(
  db: Database,
  projectId: string,
  page: { offset: number; size: number } | undefined,
): Promise<{ items: ProjectGrant[]; total: number }> {
  const rows = await db.prisma.teamProject.findMany({
    where: { projectId },
    include: withTarget,
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    skip: page?.offset,
    take: page?.size,
  });
  return { items: rows.map(toGrant), total: await db.prisma.teamProject.count({ where: { projectId } }) };
}

/**
 * Gives a team access. Throws `invalid` if the team already has access, and for settings that its level does not allow.
 */
export async function create(
  db: Database,
  actor: Actor,
  teamId: string,
  { id: projectId, organizationId }: ProjectTarget,
  holder: Access,
  input: ProjectGrantInput,
): Promise<ProjectGrant> {
  const access = input.access ?? 'read';
  const capabilities = capabilitiesOf(access, undefined, input);
  requireHeld(holder, { id: projectId, organizationId }, capabilities);
  return db.transaction(async (tx) => {
    const existing = await tx.prisma.teamProject.findFirst({ where: { teamId, projectId }, select: { id: true } });
    if (existing) throw invalid('team', 'has already been given access to this project');
    const { id } = await tx.prisma.teamProject.create({
      data: { id: newId('tprj'), teamId, projectId, access, capabilities },
    });
    const grant = still(await find(tx, id));
    await recordChange(tx, actor, { ...changeOf(grant, 'create'), after: shown(grant) });
    return grant;
  });
}

/** Changes level or settings; `custom` starts from the capabilities of the previous level. */
export async function update(
  db: Database,
  actor: Actor,
  id: string,
  holder: Access,
  input: ProjectGrantInput,
): Promise<ProjectGrant> {
  return db.transaction(async (tx) => {
    await lockRow(tx, 'team_project', id);
    const before = await find(tx, id);
    if (!before) throw notFound();
    const access = input.access ?? before.access;
    const capabilities = capabilitiesOf(access, before.capabilities, input);
    requireHeld(holder, before.project, capabilities & ~before.capabilities);
    await tx.prisma.teamProject.update({ where: { id }, data: { access, capabilities } });
    const after = still(await find(tx, id));
    await recordChange(tx, actor, { ...changeOf(after, 'update'), before: shown(before), after: shown(after) });
    return after;
  });
}

/**
 * A caller who manages the teams of a project can grant only permissions that the caller has in the project or may
 * delegate. Throws `missing`.
 */
function requireHeld(holder: Access, project: ProjectTarget, capabilities: Mask): void {
  const delegated = holder.can(project.organizationId, 'delegate-policy-overrides') ? maskOf('policies:override') : 0;
  if (!holder.holdsInProject(project, capabilities & ~delegated)) throw new MissingPermission('can-manage-teams');
}

/** Removes a team's access. */
export async function remove(db: Database, actor: Actor, grant: ProjectGrant): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.prisma.teamProject.deleteMany({ where: { id: grant.id } });
    await recordChange(tx, actor, { ...changeOf(grant, 'delete'), before: shown(grant) });
  });
}

function capabilitiesOf(access: ProjectLevel, before: Mask | undefined, input: ProjectGrantInput): Mask {
  const keeps = access === 'custom' && before !== undefined;
  const project = keeps ? settingsOf(projectDials, before) : projectLevelSettings[access];
  const workspaces = keeps ? settingsOf(projectWorkspaceDials, before) : projectLevelWorkspaceSettings[access];
  return projectGrant(
    access,
    settled(access, project, input.projectAccess ?? {}, ['projectAccess']),
    settled(access, workspaces, input.workspaceAccess ?? {}, ['workspaceAccess']),
  );
}

type ProjectGrantRow = Omit<ProjectGrant, 'access' | 'organizationId' | 'teamName'> & {
  access: string;
  team: SeenTeam & { name: string };
};

function toGrant({ team, ...row }: ProjectGrantRow): ProjectGrant {
  const { organizationId } = row.project;
  return { ...row, access: row.access as ProjectLevel, organizationId, teamName: team.name, team };
}

const shown = ({ access, capabilities, teamId, projectId }: ProjectGrant) => ({
  access,
  teamId,
  projectId,
  projectAccess: settingsOf(projectDials, capabilities),
  workspaceAccess: settingsOf(projectWorkspaceDials, capabilities),
});

function changeOf({ id, organizationId, teamName }: ProjectGrant, verb: string) {
  return { organizationId, action: `team-project.${verb}`, target: { type: 'team-projects', id, name: teamName } };
}
