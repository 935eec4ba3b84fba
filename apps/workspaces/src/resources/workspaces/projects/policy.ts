import type { Access, ProjectTarget } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';

/** The properties of a project that the rules need. */
export interface JudgedProject extends ProjectTarget {
  readonly isDefault: boolean;
}

const mayDelete = (access: Access, project: JudgedProject): boolean => access.hasProject(project, 'project:delete');

/** The permission rules of projects, by the names that the API shows. */
export const projectPolicy = policy<JudgedProject>()({
  'can-read': (access, project) => access.seesProject(project),
  'can-update': (access, project) => access.hasProject(project, 'project:update'),
  'can-destroy': (access, project) => !project.isDefault && mayDelete(access, project),
  'can-create-workspace': (access, project) => access.hasProject(project, 'workspaces:create'),
  'can-move-workspace': (access, project) => access.hasProject(project, 'workspaces:move'),
  'can-read-teams': (access, project) => access.hasProject(project, 'teams:read'),
  'can-manage-teams': (access, project) => access.hasProject(project, 'teams:manage'),
  'can-manage-tags': (access, project) => access.hasProject(project, 'project:update'),
  'can-manage-varsets': (access, project) => access.hasProject(project, 'varsets:write'),
});

/** Whether the caller could delete this project if it were not the default. */
export const mayTryToDelete = mayDelete;

/** Whether the caller may move a workspace, which requires the right to move in both projects. */
export function mayMove(access: Access, from: ProjectTarget, to: ProjectTarget): boolean {
  return access.hasProject(from, 'workspaces:move') && access.hasProject(to, 'workspaces:move');
}
