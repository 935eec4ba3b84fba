import { invalid } from '@keystead/jsonapi';
import { Refusal } from '@keystead/refusal';
import type { Access } from '../../kernel/access';
import type { Database } from '../../kernel/database';
import type { Organization } from '../organizations/organization';
import type { ExecutionMode, Workspace } from './workspace';

/** The project a new workspace goes to, and the mode it hands down. */
export interface Place {
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

/** The project a workspace goes to: the one named, which the caller may fill, or the default one. */
export async function placeOf(
  db: Database,
  access: Access,
  organization: Organization,
  asked: string | null | undefined,
): Promise<Place> {
  const id = asked === null || asked === undefined || asked === '' ? organization.defaultProjectId : asked;
  const project = await db.readOne<ProjectRow>(readProject, id ?? '');
  const target = { id: id ?? '', organizationId: organization.id };
  if (project?.organization_id !== organization.id || !access.seesProject(target)) {
    throw asked ? invalid('project', 'was not found') : new Refusal('missing', '');
  }
  if (!access.hasProject(target, 'workspaces:create')) {
    throw new Refusal('missing', '');
  }
  return { projectId: project.key, mode: project.execution_mode };
}

/** Where an update moves the workspace; undefined when it stays. Both projects have to allow it. */
export async function moveOf(
  db: Database,
  access: Access,
  workspace: Pick<Workspace, 'id' | 'projectId' | 'organizationId'>,
  asked: string | null | undefined,
): Promise<string | undefined> {
  if (!asked || asked === workspace.projectId) {
    return undefined;
  }
  const { organizationId } = workspace;
  const target = { id: asked, organizationId };
  const project = await db.prisma.project.findFirst({ where: { id: asked, organizationId }, select: { id: true } });
  if (project === null || !access.seesProject(target)) {
    throw invalid('project', 'was not found');
  }
  const mayLeave = access.hasProject({ id: workspace.projectId, organizationId }, 'workspaces:move');
  if (!mayLeave || !access.hasProject(target, 'workspaces:move')) {
    throw new Refusal('denied', `Workspace(s) not found, or you are not authorized to move them: ${workspace.id}`);
  }
  return asked;
}
