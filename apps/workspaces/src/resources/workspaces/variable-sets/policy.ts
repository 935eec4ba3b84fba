import type { Access, WorkspaceTarget } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';
import { projectPolicy } from '../projects/policy';

/** The properties of a variable set that the rules need. */
export interface JudgedSet {
  readonly organizationId: string;
  readonly global: boolean;
  readonly parentProjectId: string | null;
  readonly workspaces: readonly WorkspaceTarget[];
  readonly projectIds: readonly string[];
}

function manages(access: Access, set: JudgedSet): boolean {
  if (access.can(set.organizationId, 'manage-workspaces')) return true;
  const { parentProjectId: id, organizationId } = set;
  return id !== null && projectPolicy['can-manage-varsets'](access, { id, organizationId, isDefault: false });
}

// A caller who may read the variables of a workspace may read the sets that apply to it. Sets owned by a project
// require a grant on the project or on one of its workspaces that allows reading variables. Seeing the project is not
// sufficient.
function reads(access: Access, set: JudgedSet): boolean {
  const { organizationId, parentProjectId } = set;
  if (access.can(organizationId, 'read-workspaces') || manages(access, set)) return true;
  if (set.global && parentProjectId === null) return access.isMember(organizationId);
  const readsOne = set.workspaces.some(
    (workspace) =>
      (parentProjectId === null || workspace.projectId === parentProjectId) && access.has(workspace, 'variables:read'),
  );
  if (readsOne) return true;
  if (parentProjectId === null) return set.projectIds.some((id) => access.seesProject({ id, organizationId }));
  const project = { id: parentProjectId, organizationId };
  if (access.hasProject(project, 'varsets:read')) return true;
  return set.projectIds.includes(parentProjectId) && access.readsVariablesInProject(project);
}

/** The permission rules of variable sets. */
export const variableSetPolicy = policy<JudgedSet>()({ 'can-read': reads, 'can-update': manages });
