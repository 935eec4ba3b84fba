import { Prisma } from '../../generated/prisma/client';
import type { Access } from './access';
import { holds, maskOf } from './capabilities';

/**
 * SQL for "the caller sees this workspace" over rows named `w`, or may read its variables. It mirrors the rules of the
 * access snapshot. Every grant includes `runs:read`.
 */
export function visibleWorkspaces(
  access: Access,
  organizationId: string,
  capability: 'runs:read' | 'variables:read' = 'runs:read',
): Prisma.Sql {
  if (holds(access.workspaceFloor(organizationId), capability)) return Prisma.sql`TRUE`;
  const teams = access.teamIds(organizationId);
  if (teams.length === 0) return Prisma.sql`FALSE`;
  const gives = capability === 'runs:read' ? Prisma.empty : Prisma.sql`AND g.capabilities & ${maskOf(capability)} <> 0`;
  return Prisma.sql`(EXISTS (SELECT 1 FROM team_workspace g
      WHERE g.workspace_id = w.id AND g.team_id = ANY(${teams}) ${gives})
    OR EXISTS (SELECT 1 FROM team_project g
      WHERE g.project_id = w.project_id AND g.team_id = ANY(${teams}) ${gives}))`;
}

/** SQL for "the caller sees this project" over rows named `p`. It mirrors `Access.seesProject`. */
export function visibleProjects(access: Access, organizationId: string): Prisma.Sql {
  if (holds(access.projectFloor(organizationId), 'project:read')) return Prisma.sql`TRUE`;
  const teams = access.teamIds(organizationId);
  if (teams.length === 0) return Prisma.sql`FALSE`;
  return Prisma.sql`(EXISTS (SELECT 1 FROM team_project g WHERE g.project_id = p.id AND g.team_id = ANY(${teams}))
    OR EXISTS (SELECT 1 FROM team_workspace g JOIN workspace v ON v.id = g.workspace_id
                WHERE v.project_id = p.id AND g.team_id = ANY(${teams})))`;
}

/** Like `visibleWorkspaces`, for rows that are reached through other tables. */
export function seenWorkspaces(access: Access, organizationId: string): Prisma.WorkspaceWhereInput {
  if (holds(access.workspaceFloor(organizationId), 'runs:read')) return {};
  const granted = { some: { teamId: { in: [...access.teamIds(organizationId)] } } };
  return { OR: [{ teamAccess: granted }, { project: { teamAccess: granted } }] };
}
