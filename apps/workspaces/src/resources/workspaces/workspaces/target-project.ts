import { invalid } from '@keystead/jsonapi';
import { notFound, Refusal } from '@keystead/refusal';
import type { Access } from '../../../kernel/access/access';
import type { Database, KeyedRead, KeyedRow } from '../../../kernel/database/database';
import type { Organization, PlanEnvironment } from '../../organizations/organizations/organization';
import { findByName as findOrganization } from '../../organizations/organizations/service';
import { type Catalogue, catalogue } from './infra-version';
import type { ExecutionMode, Workspace } from './workspace';

/** The project of a new workspace, and the mode that it passes on. */
export interface TargetProject {
  readonly projectId: string;
  readonly mode: ExecutionMode | null;
}

const readProject = {
  name: 'workspace_project',
  text: 'SELECT id AS key, organization_id, execution_mode FROM project WHERE id = ANY($1)',
  quick: true,
};

interface ProjectRow {
  [column: string]: unknown;
  key: string;
  organization_id: string;
  execution_mode: ExecutionMode | null;
}

const readDefault: KeyedRead = {
  name: 'workspace_default_project',
  text: `SELECT lower(o.name) AS key, p.id, p.organization_id, p.execution_mode FROM organization o
    JOIN project p ON p.id = o.default_project_id WHERE lower(o.name) = ANY($1) AND o.removed_at IS NULL`,
  quick: true,
};

interface DefaultRow extends KeyedRow {
  id: string;
  organization_id: string;
  execution_mode: ExecutionMode | null;
}

/** The data to create a new workspace from; all of it can be read before the caller is authenticated. */
export interface WorkspaceBase {
  readonly organizationId: string;
  readonly epoch: string | undefined;
  readonly revision: bigint;
  readonly organization: Organization;
  /** The default project. */
  readonly home: (TargetProject & { readonly organizationId: string }) | undefined;
  readonly versions: Catalogue;
}

/** The base in the organization with the name; undefined if there is none. */
export async function findBase(db: Database, env: PlanEnvironment, name: string): Promise<WorkspaceBase | undefined> {
  const [organization, row, versions] = await Promise.all([
    findOrganization(db, env, name),
    db.readOne<DefaultRow>(readDefault, name.toLowerCase()),
    catalogue(db),
  ]);
  if (organization === undefined) return undefined;
  const home = row && { projectId: row.id, organizationId: row.organization_id, mode: row.execution_mode };
  const { id: organizationId, epoch, revision } = organization;
  return { organizationId, epoch, revision, organization, home, versions };
}

/**
 * The project of a new workspace: the project in the request, otherwise the default project. Throws `invalid` for a
 * requested project that the caller does not see, `missing` if the caller may not create workspaces in it.
 */
export async function targetProjectOf(
  db: Database,
  access: Access,
  { organization, home }: WorkspaceBase,
  requestedId: string | null | undefined,
): Promise<TargetProject> {
  const id =
    requestedId === null || requestedId === undefined || requestedId === ''
      ? organization.defaultProjectId
      : requestedId;
  const project = home?.projectId === id ? home : await findProject(db, id ?? '');
  const target = { id: id ?? '', organizationId: organization.id };
  if (project?.organizationId !== organization.id || !access.seesProject(target)) {
    throw requestedId ? invalid('project', 'was not found') : notFound();
  }
  if (!access.hasProject(target, 'workspaces:create')) throw notFound();
  return { projectId: project.projectId, mode: project.mode };
}

async function findProject(db: Database, id: string): Promise<WorkspaceBase['home']> {
  const row = await db.readOne<ProjectRow>(readProject, id);
  return row && { projectId: row.key, organizationId: row.organization_id, mode: row.execution_mode };
}

/**
 * The project to which an update moves the workspace; undefined if it is not moved. Throws `invalid` for an unknown
 * project, and `denied` unless the caller may move workspaces of both projects.
 */
export async function moveOf(
  db: Database,
  access: Access,
  workspace: Pick<Workspace, 'id' | 'projectId' | 'organizationId'>,
  requestedId: string | null | undefined,
): Promise<string | undefined> {
  if (requestedId === undefined || requestedId === '' || requestedId === workspace.projectId) return undefined;
  if (requestedId === null) throw invalid('project', 'must be a project: every workspace belongs to one');
  const { organizationId } = workspace;
  const target = { id: requestedId, organizationId };
  const project = await db.prisma.project.findFirst({
    where: { id: requestedId, organizationId },
    select: { id: true },
  });
  if (project === null || !access.seesProject(target)) throw invalid('project', 'was not found');
  const mayLeave = access.hasProject({ id: workspace.projectId, organizationId }, 'workspaces:move');
  if (!mayLeave || !access.hasProject(target, 'workspaces:move')) {
    throw new Refusal('denied', `Workspace(s) not found, or you are not authorized to move them: ${workspace.id}`);
  }
  return requestedId;
}
