import { Prisma } from '../../../generated/prisma/client';
import type { Access } from '../../../kernel/access/access';
import { holds, maskOf, type ProjectCapability } from '../../../kernel/access/capabilities';
import { visibleProjects } from '../../../kernel/access/visible';
import type { Database } from '../../../kernel/database/database';
import { inOrder } from '../../../kernel/database/in-order';
import type { Project } from './project';
import { findMany } from './service';
import { projectHasBinding } from './tag-filters';

/** The filters and orders of a list of projects. */
export interface ProjectSearch {
  readonly q?: string;
  /** Filters by whole names, ignoring case. Replaces `q`. */
  readonly names?: readonly string[];
  /** Only projects on which the caller has all of these capabilities. */
  readonly capabilities?: readonly ProjectCapability[];
  /** Only projects with all of these key-value tags. */
  readonly tagged?: readonly { readonly key: string; readonly value?: string }[];
  readonly descending?: boolean;
  readonly page?: { readonly offset: number; readonly size: number };
}

/** The projects of an organization that the caller sees, by name. */
export async function listProjects(
  db: Database,
  access: Access,
  organizationId: string,
  search: ProjectSearch,
): Promise<{ items: Project[]; total: number }> {
  const conditions = [
    Prisma.sql`p.organization_id = ${organizationId}`,
    visibleProjects(access, organizationId),
    matching(search),
    ...(search.tagged ?? []).map(({ key, value }) => projectHasBinding(key, value)),
    ...(search.capabilities ?? []).map((capability) => granted(access, organizationId, capability)),
  ];
  const where = Prisma.join(conditions, ' AND ');
  const direction = search.descending ? Prisma.sql`DESC` : Prisma.sql`ASC`;
  const ids = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT p.id FROM project p WHERE ${where} ORDER BY lower(p.name) ${direction}, p.id
    LIMIT ${search.page?.size ?? null} OFFSET ${search.page?.offset ?? 0}`;
  const [count] = await db.prisma.$queryRaw<
    { total: bigint }[]
  >`SELECT count(*) AS total FROM project p WHERE ${where}`;
  return { items: await inOrder(ids, (some) => findMany(db, some)), total: Number(count?.total ?? 0) };
}

function matching({ q, names }: ProjectSearch): Prisma.Sql {
  if (names?.length) return Prisma.sql`lower(p.name) = ANY(${names.map((name) => name.toLowerCase())})`;
  return q === undefined ? Prisma.sql`TRUE` : Prisma.sql`position(${q.toLowerCase()} IN lower(p.name)) > 0`;
}

function granted(access: Access, organizationId: string, capability: ProjectCapability): Prisma.Sql {
  if (holds(access.projectFloor(organizationId), capability)) return Prisma.sql`TRUE`;
  return Prisma.sql`EXISTS (SELECT 1 FROM team_project g WHERE g.project_id = p.id
    AND g.team_id = ANY(${access.teamIds(organizationId)}) AND g.capabilities & ${maskOf(capability)} <> 0)`;
}
