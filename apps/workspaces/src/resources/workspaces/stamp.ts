import type { WorkspaceTarget } from '../../kernel/access';
import type { Database } from '../../kernel/database';
import type { Cached, View } from '../../kernel/endpoint';
import { findMany } from './service';
import type { Workspace } from './workspace';

/** What rules look at, and the revisions of everything that a workspace's text shows. */
export interface WorkspaceStamp extends WorkspaceTarget {
  readonly name: string;
  readonly revision: string | bigint;
  readonly organizationRevision: string | bigint;
  readonly projectRevision: string | bigint;
}

interface StampRow {
  [column: string]: unknown;
  key: string;
  id: string;
  name: string;
  organization_id: string;
  project_id: string;
  revision: string;
  organization_revision: string;
  project_revision: string;
}

const columns = `w.id, w.name, w.organization_id, w.project_id, w.revision, o.revision AS organization_revision,
       p.revision AS project_revision`;
const tables = `FROM workspace w
  JOIN organization o ON o.id = w.organization_id AND o.removed_at IS NULL
  JOIN project p ON p.id = w.project_id`;

const readById = {
  name: 'workspace_stamp_by_id',
  text: `SELECT ${columns}, w.id AS key ${tables} WHERE w.id = ANY($1)`,
};

const readByName = {
  name: 'workspace_stamp_by_name',
  text: `SELECT ${columns}, k.key
    FROM unnest($1::text[]) AS k(key)
    JOIN organization o ON lower(o.name) = lower(split_part(k.key, '/', 1)) AND o.removed_at IS NULL
    JOIN workspace w ON w.organization_id = o.id AND w.name = split_part(k.key, '/', 2)
    JOIN project p ON p.id = w.project_id`,
};

// Pages of whole organizations in their usual order; requests of one moment share the statement.
const readPage = {
  name: 'workspace_stamps_of_page',
  text: `SELECT k.key, coalesce(t.workspaces, 0) AS total,
         (SELECT coalesce(json_agg(json_build_array(w.id, w.name, w.project_id, w.revision::text, p.revision::text,
                                                    o.revision::text) ORDER BY chosen.place), '[]')
            FROM (SELECT c.id, row_number() OVER () AS place FROM
                    (SELECT w.id FROM workspace w WHERE w.organization_id = split_part(k.key, ' ', 1)
                      ORDER BY w.name COLLATE "C", w.id
                      LIMIT split_part(k.key, ' ', 2)::int OFFSET split_part(k.key, ' ', 3)::int) c) chosen
            JOIN workspace w ON w.id = chosen.id
            JOIN project p ON p.id = w.project_id
            JOIN organization o ON o.id = w.organization_id) AS stamps
    FROM unnest($1::text[]) AS k(key)
    LEFT JOIN organization_tally t ON t.organization_id = split_part(k.key, ' ', 1)`,
};

interface PageRow {
  [column: string]: unknown;
  key: string;
  total: number;
  stamps: [id: string, name: string, projectId: string, revision: string, project: string, organization: string][];
}

function stampOf(row: StampRow | undefined): WorkspaceStamp | undefined {
  return (
    row && {
      id: row.id,
      name: row.name,
      organizationId: row.organization_id,
      projectId: row.project_id,
      revision: row.revision,
      organizationRevision: row.organization_revision,
      projectRevision: row.project_revision,
    }
  );
}

/** The stamp of the workspace with a `ws-…` id. */
export async function findStamp(db: Database, id: string): Promise<WorkspaceStamp | undefined> {
  return stampOf(await db.readOne<StampRow>(readById, id));
}

/** The stamp of the workspace with a name in an organization. */
export async function findStampByName(db: Database, organization: string, name: string) {
  const isName = !organization.includes('/') && !name.includes('/');
  return isName ? stampOf(await db.readOne<StampRow>(readByName, `${organization}/${name}`)) : undefined;
}

/** A page of all workspaces of an organization, by name. */
export async function findStampPage(
  db: Database,
  organizationId: string,
  page: { size: number; offset: number },
): Promise<{ items: WorkspaceStamp[]; total: number }> {
  const row = (await db.readOne<PageRow>(readPage, `${organizationId} ${page.size} ${page.offset}`))!;
  const items = row.stamps.map(([id, name, projectId, revision, projectRevision, organizationRevision]) => ({
    id,
    name,
    organizationId,
    projectId,
    revision,
    projectRevision,
    organizationRevision,
  }));
  return { items, total: row.total };
}

/** How workspaces are shown from cached text. */
export const cachedWorkspaces: Cached<WorkspaceStamp, Workspace> = {
  key(stamp, { access }: View) {
    const { id, revision, organizationRevision, projectRevision, organizationId } = stamp;
    const may = `${access.workspaceMask(stamp)}${access.mayForceDelete(organizationId) ? '+' : ''}`;
    return `${id} ${revision} ${organizationRevision} ${projectRevision} ${may}`;
  },
  load: (db, stamps) =>
    findMany(
      db,
      stamps.map(({ id }) => id),
    ),
  idOf: ({ id }) => id,
};
