import { badParameter, cursorAt, type Page } from '@keystead/jsonapi';
import type { Prisma } from '../../../generated/prisma/client';
import type { WorkspaceTarget } from '../../../kernel/access/access';
import type { Database, KeyedRow } from '../../../kernel/database/database';
import { rowMapper } from '../../../kernel/database/rows';

const whole = {
  workspace: { select: { projectId: true, organizationId: true, organization: { select: { removedAt: true } } } },
  outputs: { select: { id: true }, orderBy: { name: 'asc' } },
} as const;

type StateVersionRow = Prisma.StateVersionGetPayload<{ include: typeof whole }>;

/** A state version with the workspace whose rules protect it. */
export interface StateVersion extends Omit<StateVersionRow, 'workspace' | 'outputs'> {
  readonly organizationId: string;
  readonly workspace: WorkspaceTarget;
  readonly outputIds: readonly string[];
}

function stateVersionOf({ workspace, outputs, ...row }: StateVersionRow): StateVersion {
  const { projectId, organizationId } = workspace;
  return {
    ...row,
    organizationId,
    workspace: { id: row.workspaceId, projectId, organizationId },
    outputIds: outputs.map(({ id }) => id),
  };
}

const select = `
SELECT s.*, w.project_id, w.organization_id,
       ARRAY(SELECT t.id FROM state_output t WHERE t.state_version_id = s.id ORDER BY t.name) AS output_ids`;
const from = `
  FROM workspace w JOIN organization o ON o.id = w.organization_id AND o.removed_at IS NULL
  JOIN state_version s ON s.`;

/** One statement for a version with everything that answers show, to avoid several round trips. */
const readById = {
  name: 'state_version_by_id',
  text: `${select}, s.id AS key ${from}workspace_id = w.id WHERE s.id = ANY($1)`,
};
const readCurrent = {
  name: 'state_version_current',
  text: `${select}, w.id AS key ${from}id = w.current_state_version_id WHERE w.id = ANY($1)`,
};

type KeyedVersion = Omit<StateVersion, 'workspace'> & { projectId: string };
const mapped = rowMapper<KeyedVersion>(['serial', 'size']);

function versionOf(row: KeyedRow): StateVersion {
  const { projectId, ...read } = mapped(row);
  return { ...read, workspace: { id: read.workspaceId, projectId, organizationId: read.organizationId } };
}

/** Makes a version from the row that was just added to a workspace. */
export function addedVersion(
  row: Record<string, unknown>,
  { projectId, organizationId }: WorkspaceTarget,
): StateVersion {
  return versionOf({
    ...row,
    key: row.id as string,
    project_id: projectId,
    organization_id: organizationId,
    output_ids: [],
  });
}

/** State versions by id, in no particular order; unknown ids are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<StateVersion[]> {
  const found = await Promise.all(ids.map((id) => find(db, id)));
  return found.filter((version) => version !== undefined);
}

/** The state version with an `sv-…` id. */
export async function find(db: Database, id: string): Promise<StateVersion | undefined> {
  const row = await db.readOne(readById, id);
  return row && versionOf(row);
}

/** The current state version of a workspace. */
export async function findCurrent(db: Database, workspaceId: string): Promise<StateVersion | undefined> {
  const row = await db.readOne(readCurrent, workspaceId);
  return row && versionOf(row);
}

/** The key of a state version in pages that begin after an item. */
export const stateVersionKey = ({ createdAt }: Pick<StateVersion, 'createdAt'>): string => createdAt.toISOString();

/** A page that begins after a version, or with the newest version. */
async function listBehind(
  db: Database,
  where: { workspaceId: string; status?: string },
  after: string,
  size: number,
): Promise<{ items: StateVersion[]; more: boolean }> {
  const place = await cursorAt(after, async (id) => {
    const found = await db.prisma.stateVersion.findFirst({ where: { ...where, id }, select: { createdAt: true } });
    return found ? stateVersionKey(found) : undefined;
  });
  const at = place && new Date(place.key);
  if (at && Number.isNaN(at.getTime())) throw badParameter('page[after]', 'page[after] names no item of this list');
  const behind = at && { createdAt: { lte: at }, OR: [{ createdAt: { lt: at } }, { id: { lt: place!.id } }] };
  const rows = await db.prisma.stateVersion.findMany({
    where: { ...where, ...behind },
    include: whole,
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: size + 1,
  });
  return { items: rows.slice(0, size).map(stateVersionOf), more: rows.length > size };
}

/** A page of a workspace's state versions, newest first. */
export async function list(
  db: Database,
  workspaceId: string,
  status: string | undefined,
  page: Page,
): Promise<{ items: StateVersion[]; total?: number; more?: boolean }> {
  const where = { workspaceId, ...(status ? { status } : {}) };
  if (page.after !== undefined) return listBehind(db, where, page.after, page.size);
  const rows = await db.prisma.stateVersion.findMany({
    where,
    include: whole,
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    skip: page.offset,
    take: page.size,
  });
  return { items: rows.map(stateVersionOf), total: await db.prisma.stateVersion.count({ where }) };
}
