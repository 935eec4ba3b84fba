import type { ProjectTarget, WorkspaceTarget } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';

/** The permission rules of grants on workspaces. Administrators of a workspace see and change the grants on it. */
export const workspaceGrantPolicy = policy<WorkspaceTarget>()({
  'can-manage-teams': (access, workspace) => access.has(workspace, 'settings:write'),
});

/** The permission rules of grants on projects. Seeing and managing the teams of a project are separate capabilities. */
export const projectGrantPolicy = policy<ProjectTarget>()({
  'can-read-teams': (access, project) => access.hasProject(project, 'teams:read'),
  'can-manage-teams': (access, project) => access.hasProject(project, 'teams:manage'),
});
