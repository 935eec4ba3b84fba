import { invalid } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import type { WorkspaceTarget } from '../../../kernel/access/access';
import {
  type Mask,
  type WorkspaceLevel,
  workspaceDials,
  workspaceGrant,
  workspaceLevelSettings,
} from '../../../kernel/access/capabilities';
import { type Actor, recordChange } from '../../../kernel/audit/audit';
import { type Database, still } from '../../../kernel/database/database';
import { newId } from '../../../kernel/database/ids';
import { lockRow } from '../../../kernel/database/lock-row';
import type { SeenTeam } from '../../people/teams/team';
import { type SentDials, settingsOf, settled } from './settings';

/** A team's access to one workspace; `capabilities` is the mask that its level and settings add up to. */
export interface WorkspaceGrant {
  readonly id: string;
  readonly teamId: string;
  readonly teamName: string;
  readonly team: SeenTeam;
  readonly workspaceId: string;
  readonly workspace: WorkspaceTarget;
  readonly organizationId: string;
  readonly access: WorkspaceLevel;
  readonly capabilities: Mask;
}

/** The settings of a grant in a request. */
export type WorkspaceGrantInput = SentDials<typeof workspaceDials> & { readonly access?: WorkspaceLevel };

const withTarget = {
  team: { select: { id: true, name: true, organizationId: true, visibility: true } },
  workspace: { select: { id: true, projectId: true, organizationId: true } },
} as const;

/** Grants by id; unknown ids are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<WorkspaceGrant[]> {
  const rows = await db.prisma.teamWorkspace.findMany({ where: { id: { in: [...ids] } }, include: withTarget });
  return rows.map(toGrant);
}

/** One grant. */
export async function find(db: Database, id: string): Promise<WorkspaceGrant | undefined> {
  return (await findMany(db, [id]))[0];
}

/** The grants of a workspace, or of a team, oldest first. */
export async function list(
  db: Database,
  where: { workspaceId?: string; teamId?: string },
  page: { offset: number; size: number } | undefined,
): Promise<{ items: WorkspaceGrant[]; total: number }> {
  const rows = await db.prisma.teamWorkspace.findMany({
    where,
    include: withTarget,
    orderBy: [{ createdAt: 'asc' }, { id: 'asc' }],
    skip: page?.offset,
    take: page?.size,
  });
  return { items: rows.map(toGrant), total: await db.prisma.teamWorkspace.count({ where }) };
}

/**
 * Gives a team access. Throws `invalid` if the team already has access, and for settings that its level does not allow.
 */
export async function create(
  db: Database,
  actor: Actor,
  teamId: string,
  workspaceId: string,
  { access = 'read', ...sent }: WorkspaceGrantInput,
): Promise<WorkspaceGrant> {
  const capabilities = workspaceGrant(access, settled(access, workspaceLevelSettings[access], dialsOf(sent)));
  return db.transaction(async (tx) => {
    const existing = await tx.prisma.teamWorkspace.findFirst({ where: { teamId, workspaceId }, select: { id: true } });
    if (existing) throw invalid('team', 'has already been given access to this workspace');
    const { id } = await tx.prisma.teamWorkspace.create({
      data: { id: newId('tws'), teamId, workspaceId, access, capabilities },
    });
    const grant = still(await find(tx, id));
    await recordChange(tx, actor, { ...changeOf(grant, 'create'), after: shown(grant) });
    return grant;
  });
}

/** Changes level or settings; a change to `custom` starts from the capabilities of the previous level. */
export async function update(
  db: Database,
  actor: Actor,
  id: string,
  { access: requestedAccess, ...sent }: WorkspaceGrantInput,
): Promise<WorkspaceGrant> {
  return db.transaction(async (tx) => {
    await lockRow(tx, 'team_workspace', id);
    const before = await find(tx, id);
    if (!before) throw notFound();
    const access = requestedAccess ?? before.access;
    const base = access === 'custom' ? settingsOf(workspaceDials, before.capabilities) : workspaceLevelSettings[access];
    const capabilities = workspaceGrant(access, settled(access, base, dialsOf(sent)));
    await tx.prisma.teamWorkspace.update({ where: { id }, data: { access, capabilities } });
    const after = still(await find(tx, id));
    await recordChange(tx, actor, { ...changeOf(after, 'update'), before: shown(before), after: shown(after) });
    return after;
  });
}

/** Removes a team's access. */
export async function remove(db: Database, actor: Actor, grant: WorkspaceGrant): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.prisma.teamWorkspace.deleteMany({ where: { id: grant.id } });
    await recordChange(tx, actor, { ...changeOf(grant, 'delete'), before: shown(grant) });
  });
}

type WorkspaceGrantRow = Omit<WorkspaceGrant, 'access' | 'organizationId' | 'teamName'> & {
  access: string;
  team: SeenTeam & { name: string };
  workspace: WorkspaceTarget;
};

function toGrant({ team, ...row }: WorkspaceGrantRow): WorkspaceGrant {
  const { organizationId } = row.workspace;
  return { ...row, access: row.access as WorkspaceLevel, organizationId, teamName: team.name, team };
}

// The parsed body also contains relationships; only the permission settings matter here.
function dialsOf(sent: Readonly<Record<string, unknown>>): SentDials<typeof workspaceDials> {
  return Object.fromEntries(Object.keys(workspaceDials).map((name) => [name, sent[name]])) as SentDials<
    typeof workspaceDials
  >;
}

const shown = ({ access, capabilities, teamId, workspaceId }: WorkspaceGrant) => ({
  access,
  teamId,
  workspaceId,
  ...settingsOf(workspaceDials, capabilities),
});

function changeOf({ id, organizationId, teamName }: WorkspaceGrant, verb: string) {
  return { organizationId, action: `team-workspace.${verb}`, target: { type: 'team-workspaces', id, name: teamName } };
}
