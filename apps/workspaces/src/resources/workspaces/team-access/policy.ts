import type { ProjectTarget, WorkspaceTarget } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';

/** Administrators of a workspace see and change who has access to it. */
export const workspaceGrantPolicy = policy<WorkspaceTarget>()({
  'can-manage-teams': (access, workspace) => access.has(workspace, 'settings:write'),
});

/** Teams of a project are seen and managed under separate capabilities. */
export const projectGrantPolicy = policy<ProjectTarget>()({
  'can-read-teams': (access, project) => access.hasProject(project, 'teams:read'),
  'can-manage-teams': (access, project) => access.hasProject(project, 'teams:manage'),
});
