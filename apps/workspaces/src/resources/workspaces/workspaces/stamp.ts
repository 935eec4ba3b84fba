import type { WorkspaceTarget } from '../../../kernel/access/access';
import type { Database, KeyedRead, PackedRow } from '../../../kernel/database/database';
import type { Cached, View } from '../../../kernel/endpoints/endpoint';
import { findMany, requireWorkspace, type Workspace, workspacesById } from './workspace';

/** The data for permission rules, and the revisions of everything that the answer about a workspace shows. */
export interface WorkspaceStamp extends WorkspaceTarget {
  /** The name; absent in pages of lists. */
  readonly name?: string;
  readonly revision: string | bigint;
  readonly organizationRevision: string | bigint;
  readonly projectRevision: string | bigint;
  /** The access epoch of the organization, if the stamp was not read in a list. */
  readonly epoch?: string;
  /** The sort key of the list, on pages that begin after an item. */
  readonly cursorKey?: string;
}

type StampRow = PackedRow<
  [
    id: string,
    name: string,
    organizationId: string,
    projectId: string,
    revision: string,
    organizationRevision: string,
    projectRevision: string,
    epoch: string,
  ]
>;

const packedColumns = (
  key: string,
): string => `json_agg(json_build_array(${key}, w.id, w.name, w.organization_id, w.project_id,
         w.revision::text, o.revision::text, p.revision::text, e.epoch::text))::text AS packed`;

const readById: KeyedRead = {
  name: 'workspace_stamp_by_id',
  text: `SELECT ${packedColumns('w.id')}
    FROM ${workspacesById} w
    JOIN organization o ON o.id = w.organization_id AND o.removed_at IS NULL
    JOIN project p ON p.id = w.project_id
    JOIN access_epoch e ON e.organization_id = w.organization_id`,
  quick: true,
  packed: true,
};

const readByName: KeyedRead = {
  name: 'workspace_stamp_by_name',
  text: `SELECT ${packedColumns('k.key')}
    FROM unnest($1::text[]) AS k(key)
    JOIN organization o ON lower(o.name) = lower(split_part(k.key, '/', 1)) AND o.removed_at IS NULL
    JOIN workspace w ON w.organization_id = o.id AND w.name = split_part(k.key, '/', 2)
    JOIN project p ON p.id = w.project_id
    JOIN access_epoch e ON e.organization_id = w.organization_id`,
  quick: true,
  packed: true,
};

// The number of workspaces of an organization, and a number that changes when a workspace is added, removed or renamed.
const readTally = {
  name: 'workspace_tally',
  text: 'SELECT organization_id AS key, workspaces, revision FROM organization_tally WHERE organization_id = ANY($1)',
  quick: true,
};

interface TallyRow {
  [column: string]: unknown;
  key: string;
  workspaces: number;
  revision: string;
}

/**
 * The position of a page in an order that is read from the end nearer to the page, because an index scan passes every
 * earlier row, which takes 0.2 µs per row. Without a total, the order is read from the start.
 */
export function fromNearerEnd({ size, offset }: { size: number; offset: number }, total = Infinity) {
  const end = Math.min(offset + size, total);
  if (offset * 2 <= total) return { backwards: false, take: size, skip: offset };
  return { backwards: true, take: Math.max(end - offset, 0), skip: total - end };
}

// The ids on pages of whole organizations in their usual order. The limit of 100 tells the planner how few they are.
const readPageFrom = (end: 'start' | 'end') => ({
  name: `workspace_ids_of_page_from_${end}`,
  text: `SELECT k.key, ARRAY(
           SELECT c.id FROM (
             SELECT w.id FROM workspace w WHERE w.organization_id = split_part(k.key, ' ', 1)
              ORDER BY w.name COLLATE "C" ${end === 'end' ? 'DESC' : ''}, w.id ${end === 'end' ? 'DESC' : ''}
              LIMIT split_part(k.key, ' ', 2)::int OFFSET split_part(k.key, ' ', 3)::int) c LIMIT 100) AS ids
    FROM unnest($1::text[]) AS k(key)`,
});
const readPage = readPageFrom('start');
const readPageBackwards = readPageFrom('end');

interface PageRow {
  [column: string]: unknown;
  key: string;
  ids: readonly string[];
}

// The statement returns one row for a whole page, because rows cost more than their bytes.
const readStamps = {
  name: 'workspace_stamps_of_ids',
  text: `SELECT k.key, min(o.revision) AS organization_revision,
         string_agg(w.id || ' ' || w.project_id || ' ' || w.revision || ' ' || p.revision, ',' ORDER BY u.n) AS stamps
    FROM unnest($1::text[]) AS k(key)
    CROSS JOIN LATERAL (SELECT x.id, x.n FROM unnest(string_to_array(k.key, ',')) WITH ORDINALITY x(id, n) LIMIT 100) u
    JOIN workspace w ON w.id = u.id
    JOIN project p ON p.id = w.project_id
    JOIN organization o ON o.id = w.organization_id
   GROUP BY k.key`,
};

interface StampsRow {
  [column: string]: unknown;
  key: string;
  organization_revision: string;
  stamps: string;
}

function stampOf(row: StampRow | undefined): WorkspaceStamp | undefined {
  if (row === undefined) return undefined;
  const [, id, name, organizationId, projectId, revision, organizationRevision, projectRevision, epoch] = row.columns;
  return { id, name, organizationId, projectId, revision, organizationRevision, projectRevision, epoch };
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

/** The stamps of some workspaces of one organization, in the order of the ids; missing workspaces are left out. */
async function findStamps(db: Database, organizationId: string, ids: readonly string[]): Promise<WorkspaceStamp[]> {
  const row = ids.length === 0 ? undefined : await db.readOne<StampsRow>(readStamps, ids.join(','));
  if (row === undefined) return [];
  const { key, stamps, organization_revision: organizationRevision } = row;
  // Return the same array as long as nothing has changed, because the array is the cache key of the whole page.
  return db.remembered(`workspace-stamps ${key}`, `${organizationRevision} ${stamps}`, async () =>
    stamps.split(',').map((text) => {
      const [id, projectId, revision, projectRevision] = text.split(' ') as [string, string, string, string];
      return { id, organizationId, projectId, revision, projectRevision, organizationRevision };
    }),
  );
}

/** The number of workspaces of an organization. */
export async function countAll(db: Database, organizationId: string): Promise<number> {
  return (await db.readOne<TallyRow>(readTally, organizationId))?.workspaces ?? 0;
}

/**
 * A page of all workspaces of an organization, by name. The list of workspaces on a page is cached until a workspace is
 * added, removed or renamed; their data is always read.
 */
export async function findStampPage(
  db: Database,
  organizationId: string,
  page: { size: number; offset: number },
): Promise<{ items: WorkspaceStamp[]; total: number }> {
  const tally = await db.readOne<TallyRow>(readTally, organizationId);
  const total = tally?.workspaces ?? 0;
  const key = `${organizationId} ${page.size} ${page.offset}`;
  const ids = await db.remembered(`workspace-page ${key}`, tally?.revision ?? '', async () => {
    const { backwards, take, skip } = fromNearerEnd(page, total);
    const row = await db.readOne<PageRow>(
      backwards ? readPageBackwards : readPage,
      `${organizationId} ${take} ${skip}`,
    );
    const ids = row?.ids ?? [];
    return backwards ? [...ids].reverse() : ids;
  });
  return { items: await findStamps(db, organizationId, ids), total };
}

// All workspaces that some teams see, in the usual order: by grants on the workspaces and on their projects.
const readGranted = {
  name: 'workspace_ids_granted',
  text: `SELECT w.id FROM workspace w
    WHERE w.organization_id = $1
      AND (w.id IN (SELECT workspace_id FROM team_workspace WHERE team_id = ANY($2))
        OR w.project_id IN (SELECT project_id FROM team_project WHERE team_id = ANY($2)))
    ORDER BY w.name COLLATE "C", w.id`,
};

/**
 * A page of the workspaces that some teams see, by name. The list is cached until a grant changes, or a workspace is
 * added, removed, moved or renamed.
 */
export async function findGrantedPage(
  db: Database,
  organization: { id: string; epoch: string },
  teamIds: readonly string[],
  page: { size: number; offset: number },
): Promise<{ items: WorkspaceStamp[]; total: number }> {
  const tally = await db.readOne<TallyRow>(readTally, organization.id);
  const key = `workspaces-granted ${organization.id} ${teamIds.join(',')}`;
  const ids = await db.remembered(key, `${tally?.revision ?? ''} ${organization.epoch}`, async () => {
    const rows = await db.rows<{ id: string }>({ ...readGranted, values: [organization.id, teamIds] });
    return rows.map(({ id }) => id);
  });
  const items = await findStamps(db, organization.id, ids.slice(page.offset, page.offset + page.size));
  return { items, total: ids.length };
}

// Workspaces of an organization by a part of their name: the workspaces on the page, and the total number.
const readSearch = {
  name: 'workspace_ids_of_search',
  text: `SELECT k.key, f.total, f.ids
    FROM unnest($1::text[]) AS k(key)
    CROSS JOIN LATERAL (SELECT k.key::json AS parts) j
    CROSS JOIN LATERAL (
      SELECT count(*)::int AS total,
             (array_agg(w.id ORDER BY w.name COLLATE "C", w.id))[(j.parts->>3)::int + 1 : (j.parts->>3)::int + (j.parts->>2)::int]
               AS ids
        FROM workspace w WHERE w.organization_id = j.parts->>0 AND w.name ILIKE j.parts->>1) f`,
};

interface SearchRow {
  [column: string]: unknown;
  key: string;
  total: number;
  ids: readonly string[] | null;
}

/**
 * A page of an organization's workspaces whose name matches a pattern of `ILIKE`, by name. The result is cached until a
 * workspace is added, removed or renamed.
 */
export async function findStampsMatching(
  db: Database,
  organizationId: string,
  pattern: string,
  page: { size: number; offset: number },
): Promise<{ items: WorkspaceStamp[]; total: number }> {
  const tally = await db.readOne<TallyRow>(readTally, organizationId);
  const key = JSON.stringify([organizationId, pattern, page.size, page.offset]);
  const found = await db.remembered(`workspace-search ${key}`, tally?.revision ?? '', async () => {
    return (await db.readOne<SearchRow>(readSearch, key))!;
  });
  return { items: await findStamps(db, organizationId, found.ids ?? []), total: found.total };
}

type Revisions = Pick<WorkspaceStamp, 'revision' | 'organizationRevision' | 'projectRevision'>;

const revisionsOf = ({ revision, organizationRevision, projectRevision }: Revisions): string =>
  `${revision} ${organizationRevision} ${projectRevision}`;

/**
 * The workspace of a stamp, or a newer revision of the workspace. It is cached as long as no revision changes. Throws
 * `missing`.
 */
export function workspaceAt(db: Database, stamp: WorkspaceStamp): Promise<Workspace> {
  return db.remembered(`workspace ${stamp.id}`, revisionsOf(stamp), () => requireWorkspace(db, stamp.id));
}

/** Caches a workspace that was just written. */
export function rememberWorkspace(db: Database, workspace: Workspace): void {
  void db.remembered(`workspace ${workspace.id}`, revisionsOf(workspace), async () => workspace);
}

/** The workspace that this node has last seen. */
export function lastSeen(db: Database, id: string): Workspace | undefined {
  return db.newest<Workspace>(`workspace ${id}`);
}

/** How workspaces are shown from cached text. */
export const cachedWorkspaces: Cached<WorkspaceStamp | Workspace, Workspace> = {
  version: (stamp) => `${stamp.id} ${revisionsOf(stamp)}`,
  // The text depends on the capabilities and on the result of `mayForceDelete`. A project may override that result for
  // everyone except owners.
  rights: (stamp, { access }: View) => {
    const { organizationId } = stamp;
    const isOwner = access.isOwner(organizationId) ? '*' : '';
    return `${access.workspaceMask(stamp)}${isOwner}${access.mayForceDelete(organizationId) ? '+' : ''}`;
  },
  whole: (stamp) => ('createdAt' in stamp ? stamp : undefined),
  load: (db, stamps) =>
    findMany(
      db,
      stamps.map(({ id }) => id),
    ),
  idOf: ({ id }) => id,
};
