import { badParameter, cursorAt, type Page, type Query } from '@keystead/jsonapi';
import type { Keyring } from '@keystead/keyring';
import { Prisma } from '../../../generated/prisma/client';
import type { Access } from '../../../kernel/access/access';
import { visibleWorkspaces } from '../../../kernel/access/visible';
import type { Database } from '../../../kernel/database/database';
import { containing } from '../../../kernel/database/like';
import { fromRuns, type Run, runOf, selectRuns } from './run';
import { confirmableStatuses, queuedStatuses, statusesOfGroup, waitingStatuses } from './statuses';

/** Query parameters of run lists other than those for paging, for the documentation. */
export const listParameters = {
  'filter[operation]':
    'One or more of plan_only, plan_and_apply, save_plan, refresh_only, destroy and empty_apply, separated by commas. Plan-only runs are listed only if requested.',
  'filter[status]': 'Comma-separated statuses.',
  'filter[status_group]': 'non_final, final or discardable.',
  'filter[source]': 'Comma-separated sources.',
  'filter[timeframe]': 'Only runs created in this year, or within the last 1, 7 or 30 days (P1D, P7D, P30D).',
  'filter[agent_pool_names]': 'Comma-separated names of agent pools.',
  'search[user]': "Part of the name of the run's creator.",
  'search[commit]': 'The start of a commit hash. Runs of uploaded configurations have no commit.',
  'search[basic]': "Part of the id, of the message, or of the name of the run's creator.",
} as const;

/** Additional parameters of the list of an organization. */
export const organizationParameters = {
  ...listParameters,
  'filter[workspace_names]': 'Comma-separated names of workspaces.',
} as const;

const operations: ReadonlyMap<string, Prisma.Sql> = new Map([
  ['plan_only', Prisma.sql`r.plan_only`],
  ['plan_and_apply', Prisma.sql`NOT r.plan_only AND NOT r.save_plan`],
  ['save_plan', Prisma.sql`r.save_plan`],
  ['refresh_only', Prisma.sql`r.refresh_only`],
  ['destroy', Prisma.sql`r.is_destroy`],
  ['empty_apply', Prisma.sql`r.allow_empty_apply`],
]);

const byUser = (text: string): Prisma.Sql => Prisma.sql`EXISTS (
  SELECT 1 FROM user_account u WHERE u.id = r.created_by_id AND (u.username ILIKE ${containing(text)} OR u.email ILIKE ${containing(text)}))`;

function operationFilter(requested: readonly string[]): Prisma.Sql[] {
  if (requested.length === 0) return [Prisma.sql`NOT r.plan_only`];
  const chosen = [...new Set(requested)].map((name) => {
    const condition = operations.get(name);
    if (!condition) throw badParameter('filter[operation]', `Invalid filter parameter: ${name}`);
    return Prisma.sql`(${condition})`;
  });
  return [Prisma.sql`(${Prisma.join(chosen, ' OR ')})`];
}

function timeframe(text: string): Prisma.Sql {
  if (/^\d{4}$/.test(text)) return Prisma.sql`extract(year FROM r.created_at AT TIME ZONE 'UTC') = ${Number(text)}`;
  const days = /^P(\d{1,4})D$/i.exec(text)?.[1];
  if (days === undefined) throw badParameter('filter[timeframe]', `Invalid filter parameter: ${text}`);
  return Prisma.sql`r.created_at > now() - make_interval(days => ${Number(days)})`;
}

function conditions(query: Query, ofOrganization: boolean): Prisma.Sql[] {
  const found = operationFilter(query.list('filter[operation]'));
  const anyOf = (column: Prisma.Sql, values: readonly string[]) => {
    if (values.length > 0) found.push(Prisma.sql`${column} = ANY(${[...values]})`);
  };
  anyOf(Prisma.sql`r.status`, query.list('filter[status]'));
  anyOf(Prisma.sql`r.source`, query.list('filter[source]'));
  if (ofOrganization) anyOf(Prisma.sql`w.name`, query.list('filter[workspace_names]'));
  const group = query.get('filter[status_group]');
  if (group !== undefined) {
    const statuses = statusesOfGroup(group);
    if (!statuses) throw badParameter('filter[status_group]', `Invalid filter parameter: ${group}`);
    if (statuses.in) anyOf(Prisma.sql`r.status`, statuses.in);
    if (statuses.notIn) found.push(Prisma.sql`r.status <> ALL(${[...statuses.notIn]})`);
  }
  const frame = query.get('filter[timeframe]');
  if (frame !== undefined) found.push(timeframe(frame));
  const pools = query.list('filter[agent_pool_names]');
  if (pools.length > 0) {
    found.push(Prisma.sql`EXISTS (SELECT 1 FROM agent_pool g WHERE g.name = ANY(${pools})
      AND g.id = coalesce(w.agent_pool_id, j.agent_pool_id, o.default_agent_pool_id))`);
  }
  const user = query.get('search[user]');
  if (user !== undefined) found.push(byUser(user));
  // A search for a commit finds nothing here.
  if (query.get('search[commit]') !== undefined) found.push(Prisma.sql`FALSE`);
  const basic = query.get('search[basic]');
  if (basic !== undefined) {
    const like = containing(basic);
    found.push(Prisma.sql`(r.id ILIKE ${like} OR r.message ILIKE ${like} OR ${byUser(basic)})`);
  }
  return found;
}

const raw = Prisma.raw;

async function read(
  db: Database,
  keyring: Keyring,
  where: Prisma.Sql,
  order: Prisma.Sql,
  page: { size: number; offset: number },
): Promise<Run[]> {
  const rows = await db.prisma.$queryRaw<Record<string, unknown>[]>`
    ${raw(selectRuns)} ${raw(fromRuns)} WHERE ${where} ORDER BY ${order} LIMIT ${page.size} OFFSET ${page.offset}`;
  return rows.map((row) => runOf(keyring, row));
}

const newestFirst = Prisma.sql`r.number DESC`;

async function count(db: Database, where: Prisma.Sql): Promise<number> {
  const [found] = await db.prisma.$queryRaw<[{ total: number }]>`
    SELECT count(*)::int AS total ${raw(fromRuns)} WHERE ${where}`;
  return found.total;
}

/** The key of a run in pages that begin after an item. */
export const runKey = ({ number }: Pick<Run, 'number'>): string => String(number);

/** A page that begins after a run, or with the newest run. */
async function readBehind(db: Database, keyring: Keyring, where: Prisma.Sql, after: string, size: number) {
  const place = await cursorAt(after, async (id) => {
    const [run] = await db.prisma.$queryRaw<{ number: bigint }[]>`
      SELECT r.number ${raw(fromRuns)} WHERE r.id = ${id} AND ${where}`;
    return run && runKey(run);
  });
  if (place && !/^\d{1,18}$/.test(place.key))
    throw badParameter('page[after]', 'page[after] names no item of this list');
  const behind = place ? Prisma.sql`${where} AND r.number < ${BigInt(place.key)}` : where;
  const found = await read(db, keyring, behind, newestFirst, { size: size + 1, offset: 0 });
  return { items: found.slice(0, size), more: found.length > size };
}

/** A page of a workspace's runs, newest first. */
export async function listOfWorkspace(
  db: Database,
  keyring: Keyring,
  workspaceId: string,
  query: Query,
  page: Page,
): Promise<{ items: Run[]; total?: number; more?: boolean }> {
  const where = Prisma.join([Prisma.sql`r.workspace_id = ${workspaceId}`, ...conditions(query, false)], ' AND ');
  if (page.after !== undefined) return readBehind(db, keyring, where, page.after, page.size);
  return { items: await read(db, keyring, where, newestFirst, page), total: await count(db, where) };
}

/** A page of the runs of an organization in workspaces that the caller sees, newest first, without a total. */
export async function listOfOrganization(
  db: Database,
  keyring: Keyring,
  access: Access,
  organizationId: string,
  query: Query,
  page: Page,
): Promise<{ items: Run[]; more: boolean }> {
  const scope = [Prisma.sql`w.organization_id = ${organizationId}`, visibleWorkspaces(access, organizationId)];
  const where = Prisma.join([...scope, ...conditions(query, true)], ' AND ');
  const { size, offset, after } = page;
  if (after !== undefined) return readBehind(db, keyring, where, after, size);
  const found = await read(db, keyring, where, newestFirst, { size: size + 1, offset });
  return { items: found.slice(0, size), more: found.length > size };
}

/** A page of all runs of the installation, newest first. */
export async function listAll(
  db: Database,
  keyring: Keyring,
  { text, statuses, from, to }: { text?: string; statuses: readonly string[]; from?: Date; to?: Date },
  page: Page,
) {
  const where: Prisma.Sql[] = [Prisma.sql`TRUE`];
  if (statuses.length > 0) where.push(Prisma.sql`r.status = ANY(${[...statuses]})`);
  if (from !== undefined) where.push(Prisma.sql`r.created_at >= ${from}`);
  if (to !== undefined) where.push(Prisma.sql`r.created_at <= ${to}`);
  if (text !== undefined) {
    const like = containing(text);
    where.push(Prisma.sql`(r.id ILIKE ${like} OR w.name ILIKE ${like} OR o.name ILIKE ${like})`);
  }
  const all = Prisma.join(where, ' AND ');
  return { items: await read(db, keyring, all, newestFirst, page), total: await count(db, all) };
}

const queued = (access: Access, organizationId: string): Prisma.Sql => Prisma.sql`w.organization_id = ${organizationId}
  AND ${visibleWorkspaces(access, organizationId)} AND r.finished_at IS NULL AND NOT r.is_assessment AND r.status = ANY(${[...queuedStatuses]})`;

/** A page of the runs of an organization that wait for a worker or have one, in the order of the queue. */
export async function listQueue(db: Database, keyring: Keyring, access: Access, organizationId: string, page: Page) {
  const where = queued(access, organizationId);
  return { items: await read(db, keyring, where, Prisma.sql`r.number`, page), total: await count(db, where) };
}

/** How many runs in workspaces that the caller sees wait for confirmation, wait for their turn, and are running. */
export async function countsOf(
  db: Database,
  access: Access,
  organizationId: string,
): Promise<{ needsConfirmation: number; queued: number; running: number }> {
  const [found] = await db.prisma.$queryRaw<[{ needsConfirmation: number; queued: number; running: number }]>`
    SELECT count(*) FILTER (WHERE r.status = ANY(${[...confirmableStatuses]}) AND NOT r.plan_only)::int AS "needsConfirmation",
           count(*) FILTER (WHERE r.status = ANY(${[...waitingStatuses]}))::int AS queued,
           count(*) FILTER (WHERE r.status IN ('planning', 'applying'))::int AS running
      FROM run r JOIN workspace w ON w.id = r.workspace_id
     WHERE w.organization_id = ${organizationId} AND r.finished_at IS NULL AND NOT r.is_assessment AND ${visibleWorkspaces(access, organizationId)}`;
  return found;
}

/** How many runs of an organization wait, and how many are in progress. */
export async function capacityOf(db: Database, organizationId: string): Promise<{ pending: number; running: number }> {
  const [found] = await db.prisma.$queryRaw<[{ pending: number; running: number }]>`
    SELECT count(*) FILTER (WHERE r.status NOT IN ('planning', 'applying'))::int AS pending,
           count(*) FILTER (WHERE r.status IN ('planning', 'applying'))::int AS running
      FROM run r JOIN workspace w ON w.id = r.workspace_id
     WHERE w.organization_id = ${organizationId} AND r.finished_at IS NULL AND r.status = ANY(${[...queuedStatuses]})`;
  return found;
}
