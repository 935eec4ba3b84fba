import { serializer, toMany, toOne } from '@keystead/jsonapi';
import type { View } from '../../kernel/endpoint';
import { abilities } from '../../kernel/policy';
import { variableSetPolicy } from './policy';
import type { VariableSet } from './service';

export const variableSetSerializer = serializer<VariableSet, View>({
  type: 'varsets',
  id: (set) => set.id,
  self: (set) => `/api/v2/varsets/${set.id}`,
  attributes: (set, view) => ({
    name: set.name,
    description: set.description,
    global: set.global,
    priority: set.priority,
    'updated-at': set.updatedAt.toISOString(),
    'var-count': set.variableIds.length,
    'workspace-count': set.workspaces.length,
    'project-count': set.projectIds.length,
    permissions: { 'can-update': abilities(variableSetPolicy, view.access, set)['can-update'] },
  }),
  relationships: (set) => ({
    organization: toOne('organizations', set.organizationName),
    parent:
      set.parentProjectId === null
        ? toOne('organizations', set.organizationName)
        : toOne('projects', set.parentProjectId),
    vars: toMany('vars', set.variableIds),
    workspaces: toMany(
      'workspaces',
      set.workspaces.map(({ id }) => id),
    ),
    projects: toMany('projects', set.projectIds),
  }),
});
