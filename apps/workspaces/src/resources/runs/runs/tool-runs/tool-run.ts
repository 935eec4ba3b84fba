import type { Keyring } from '@keystead/keyring';
import { Prisma, type ToolRun as Row } from '../../../../generated/prisma/client';
import type { WorkspaceTarget } from '../../../../kernel/access/access';
import type { Database } from '../../../../kernel/database/database';
import { rowMapper } from '../../../../kernel/database/rows';
import type { PhaseStatus } from '../statuses';

/** Kinds of tool runs that change no state: tests of a module, and queries. */
export type ToolRunKind = 'test' | 'query';

/** The settings of a run of the tool, apart from its configuration. */
export interface ToolRunSettings {
  /** The test files to run; if empty, all test files. */
  readonly filters?: readonly string[];
  readonly testDirectory?: string | null;
  readonly verbose?: boolean;
  readonly parallelism?: number | null;
  /** For a query: whether the tool also generates configuration for the resources that it finds. */
  readonly generateConfig?: boolean;
}

/** The summary of tests. */
export interface TestResults {
  readonly status: 'pending' | 'skip' | 'pass' | 'fail' | 'error';
  readonly passed: number;
  readonly failed: number;
  readonly errored: number;
  readonly skipped: number;
}

interface ToolRunRow extends Omit<Row, 'kind' | 'settings' | 'results' | 'variables'> {
  readonly kind: ToolRunKind;
  readonly settings: ToolRunSettings;
  readonly results: TestResults | null;
  readonly status: Exclude<PhaseStatus, 'unreachable'>;
  readonly timestamps: Readonly<Record<string, string>>;
  readonly logSize: bigint;
  readonly errorMessage: string | null;
  readonly projectId: string | null;
}

/** A test of a module, or a query of a workspace. */
export interface ToolRun extends Omit<ToolRunRow, 'projectId'> {
  /** The workspace of a query. */
  readonly workspace: WorkspaceTarget | undefined;
}

/** The owner of a run of the tool. */
export type ToolRunOwner = { readonly moduleId: string } | { readonly workspaceId: string };

const mapped = rowMapper<ToolRunRow>(['log_size']);

function toolRunOf(found: Record<string, unknown>): ToolRun {
  const { projectId, ...run } = mapped(found);
  const { workspaceId: id, organizationId } = run;
  return { ...run, workspace: id === null || projectId === null ? undefined : { id, projectId, organizationId } };
}

const select = Prisma.sql`
  SELECT t.id, t.kind, t.organization_id, t.module_id, t.workspace_id, t.configuration_version_id, t.module_version_id,
         t.settings, t.infra_version, t.source, t.results, t.created_by_type, t.created_by_id, t.canceled_by_type,
         t.canceled_by_id, t.canceled_at, t.created_at, t.finished_at,
         f.status, f.timestamps, f.log_size::text, f.error_message, w.project_id
    FROM tool_run t JOIN run_phase f ON f.id = t.id
    JOIN organization o ON o.id = t.organization_id AND o.removed_at IS NULL
    LEFT JOIN workspace w ON w.id = t.workspace_id`;

/** Runs of the tool by id, in no particular order; unknown ids are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<ToolRun[]> {
  const rows = await db.prisma.$queryRaw<Record<string, unknown>[]>`${select} WHERE t.id = ANY(${[...ids]})`;
  return rows.map(toolRunOf);
}

/** The run of the tool with an id, if it is of this kind. */
export async function find(db: Database, kind: ToolRunKind, id: string): Promise<ToolRun | undefined> {
  const [found] = await findMany(db, [id]);
  return found?.kind === kind ? found : undefined;
}

/** SQL: whether the tool run `t` belongs to this owner. */
export const belongsTo = (owner: ToolRunOwner): Prisma.Sql =>
  'moduleId' in owner ? Prisma.sql`t.module_id = ${owner.moduleId}` : Prisma.sql`t.workspace_id = ${owner.workspaceId}`;

/** A page of the tool runs of a module or a workspace, newest first. */
export async function list(
  db: Database,
  owner: ToolRunOwner,
  page: { readonly offset: number; readonly size: number },
): Promise<{ items: ToolRun[]; total: number }> {
  const rows = await db.prisma.$queryRaw<Record<string, unknown>[]>`
    ${select} WHERE ${belongsTo(owner)} ORDER BY t.created_at DESC, t.id DESC LIMIT ${page.size} OFFSET ${page.offset}`;
  return { items: rows.map(toolRunOf), total: await db.prisma.toolRun.count({ where: owner }) };
}

/** The cell in which the variables of a tool run are sealed. */
const cell = (id: string) => ({ table: 'tool_run', row: id, column: 'variables' });

/** Seals the variables of a new tool run. */
export const sealVariables = (keyring: Keyring, id: string, variables: readonly object[]) =>
  variables.length === 0 ? null : new Uint8Array(keyring.seal(Buffer.from(JSON.stringify(variables)), cell(id)));

/** Opens the sealed variables of a tool run. */
export function openVariables<T>(keyring: Keyring, id: string, sealed: Uint8Array | null): T[] {
  return sealed === null ? [] : (JSON.parse(keyring.open(sealed, cell(id)).toString('utf8')) as T[]);
}
