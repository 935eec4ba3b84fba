import { Prisma } from '../../../generated/prisma/client';
import type { Access } from '../../../kernel/access/access';
import { holds, maskOf } from '../../../kernel/access/capabilities';
import { visibleProjects, visibleWorkspaces } from '../../../kernel/access/visible';
import type { Database } from '../../../kernel/database/database';
import { inOrder } from '../../../kernel/database/in-order';
import { containing } from '../../../kernel/database/like';
import { findMany as findVariables } from '../variables/service';
import type { Variable } from '../variables/variable';
import { findMany } from './service';
import type { VariableSet } from './variable-set';

/** The filters of a list of variable sets. */
export interface VariableSetSearch {
  /** Part of a name. */
  readonly q?: string;
  /** Only sets that apply to this workspace, directly, through its project, or as global ones. */
  readonly workspace?: { readonly id: string; readonly projectId: string };
  /** Only sets that do not apply to this workspace and can be assigned to it. */
  readonly applicableTo?: { readonly id: string; readonly projectId: string };
  /** Only sets that apply to this project. */
  readonly projectId?: string;
  readonly page?: { readonly offset: number; readonly size: number };
}

/** The variable sets of an organization that the caller sees, by name. */
export async function listVariableSets(
  db: Database,
  access: Access,
  organizationId: string,
  { q, workspace, applicableTo, projectId, page }: VariableSetSearch,
): Promise<{ items: VariableSet[]; total: number }> {
  const conditions = [
    Prisma.sql`s.organization_id = ${organizationId}`,
    visibleSets(access, organizationId),
    q === undefined ? Prisma.sql`TRUE` : Prisma.sql`position(${q.toLowerCase()} IN lower(s.name)) > 0`,
    workspace === undefined ? Prisma.sql`TRUE` : reaching(workspace.projectId, workspace.id),
    applicableTo === undefined
      ? Prisma.sql`TRUE`
      : Prisma.sql`coalesce(s.parent_project_id = ${applicableTo.projectId}, TRUE) AND NOT ${reaching(applicableTo.projectId, applicableTo.id)}`,
    projectId === undefined ? Prisma.sql`TRUE` : reaching(projectId),
  ];
  const where = Prisma.join(conditions, ' AND ');
  const ids = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT s.id FROM variable_set s WHERE ${where} ORDER BY lower(s.name), s.id
    LIMIT ${page?.size ?? null} OFFSET ${page?.offset ?? 0}`;
  const [count] = await db.prisma.$queryRaw<{ total: bigint }[]>`
    SELECT count(*) AS total FROM variable_set s WHERE ${where}`;
  return { items: await inOrder(ids, (some) => findMany(db, some)), total: Number(count?.total ?? 0) };
}

/** The maximum number of variables of workspaces, and of sets, that one search reads. This limits its cost. */
const mostSearched = 100_000;

/** Variables of an organization that the caller may read, by part of their key, in the order of keys. */
export async function searchVariables(
  db: Database,
  access: Access,
  organizationId: string,
  part: string,
  page: { readonly offset: number; readonly size: number } | undefined,
): Promise<{ items: Variable[]; total: number }> {
  const [found] = await db.prisma.$queryRaw<{ ids: string[]; total: bigint }[]>`
    WITH searched AS (
      (SELECT v.id, v.key FROM workspace w JOIN variable v ON v.workspace_id = w.id
        WHERE w.organization_id = ${organizationId} AND ${visibleWorkspaces(access, organizationId, 'variables:read')}
        LIMIT ${mostSearched})
      UNION ALL
      (SELECT v.id, v.key FROM variable_set s JOIN variable v ON v.variable_set_id = s.id
        WHERE s.organization_id = ${organizationId} AND ${visibleSets(access, organizationId)}
        LIMIT ${mostSearched})),
      found AS (SELECT id, lower(key) AS key FROM searched WHERE key ILIKE ${containing(part)})
    SELECT (SELECT count(*) FROM found) AS total,
           ARRAY(SELECT id FROM found ORDER BY key, id LIMIT ${page?.size ?? null} OFFSET ${page?.offset ?? 0}) AS ids`;
  const rows = (found?.ids ?? []).map((id) => ({ id }));
  return { items: await inOrder(rows, (ids) => findVariables(db, ids)), total: Number(found?.total ?? 0) };
}

/** Whether a variable set applies to a workspace. */
export async function reaches(
  db: Database,
  setId: string,
  workspace: { readonly id: string; readonly projectId: string; readonly organizationId: string },
): Promise<boolean> {
  const found = await db.prisma.$queryRaw<unknown[]>`
    SELECT 1 FROM variable_set s WHERE s.id = ${setId} AND s.organization_id = ${workspace.organizationId}
       AND ${reaching(workspace.projectId, workspace.id)}`;
  return found.length > 0;
}

function reaching(projectId: string, workspaceId?: string): Prisma.Sql {
  return Prisma.sql`((s.parent_project_id IS NULL OR (NOT s.global AND s.parent_project_id = ${projectId})) AND (s.global
    OR EXISTS (SELECT 1 FROM variable_set_project x WHERE x.variable_set_id = s.id AND x.project_id = ${projectId})
    OR EXISTS (SELECT 1 FROM variable_set_workspace x
                WHERE x.variable_set_id = s.id AND x.workspace_id = ${workspaceId ?? ''})))`;
}

/** SQL for "the caller sees this set" over rows named `s`: repeats the rule `can-read`. */
export function visibleSets(access: Access, organizationId: string): Prisma.Sql {
  if (access.can(organizationId, 'read-workspaces')) return Prisma.sql`TRUE`;
  if (!access.isMember(organizationId)) return Prisma.sql`FALSE`;
  const teams = access.teamIds(organizationId);
  const reads = maskOf('variables:read');
  const readsOwned = maskOf('varsets:read', 'varsets:write');
  const ofAll = holds(access.projectFloor(organizationId), 'varsets:read') ? Prisma.sql`TRUE` : Prisma.sql`FALSE`;
  const floor = holds(access.workspaceFloor(organizationId), 'variables:read') ? Prisma.sql`TRUE` : Prisma.sql`FALSE`;
  return Prisma.sql`((s.global AND s.parent_project_id IS NULL)
    OR EXISTS (SELECT 1 FROM variable_set_workspace x JOIN workspace w ON w.id = x.workspace_id
        WHERE x.variable_set_id = s.id AND coalesce(s.parent_project_id = w.project_id, TRUE) AND (${floor}
          OR EXISTS (SELECT 1 FROM team_workspace g
              WHERE g.workspace_id = w.id AND g.team_id = ANY(${teams}) AND g.capabilities & ${reads} <> 0)
          OR EXISTS (SELECT 1 FROM team_project g
              WHERE g.project_id = w.project_id AND g.team_id = ANY(${teams}) AND g.capabilities & ${reads} <> 0)))
    OR EXISTS (SELECT 1 FROM variable_set_project x JOIN project p ON p.id = x.project_id
        WHERE x.variable_set_id = s.id AND s.parent_project_id IS NULL
          AND ${visibleProjects(access, organizationId)})
    OR EXISTS (SELECT 1 FROM variable_set_project x JOIN workspace w ON w.project_id = x.project_id
          JOIN team_workspace g ON g.workspace_id = w.id
        WHERE x.variable_set_id = s.id AND x.project_id = s.parent_project_id
          AND g.team_id = ANY(${teams}) AND g.capabilities & ${reads} <> 0)
    OR (${ofAll} AND s.parent_project_id IS NOT NULL)
    OR EXISTS (SELECT 1 FROM team_project g
        WHERE g.project_id = s.parent_project_id AND g.team_id = ANY(${teams}) AND g.capabilities & ${readsOwned} <> 0))`;
}
