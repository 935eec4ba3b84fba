import { flag, hasMany, hasOne, instant, serializer, text, toMany, toOne, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import { abilities } from '../../../kernel/access/policy';
import type { View } from '../../../kernel/endpoints/endpoint';
import { variableSetPolicy } from './policy';
import type { VariableSet } from './service';

/** Whoever changes the assignments has to see them whole; to others a workspace or project is there where they see it itself. */
function assigned(set: VariableSet, { access }: View) {
  if (variableSetPolicy['can-update'](access, set)) return set;
  const { organizationId } = set;
  return {
    workspaces: set.workspaces.filter((workspace) => access.has(workspace, 'runs:read')),
    projectIds: set.projectIds.filter((id) => access.seesProject({ id, organizationId })),
  };
}

const variableSetAttributes = {
  name: text,
  description: text,
  global: flag,
  priority: flag,
  'updated-at': instant,
  'var-count': whole,
  'workspace-count': whole,
  'project-count': whole,
  permissions: z.object({
    'can-update': flag,
  }),
};

const variableSetRelations = {
  organization: hasOne('organizations'),
  parent: hasOne('organizations', 'projects'),
  vars: hasMany('vars'),
  workspaces: hasMany('workspaces'),
  projects: hasMany('projects'),
  stacks: hasMany('stacks'),
};

export const variableSetSerializer = serializer<
  VariableSet,
  View,
  typeof variableSetAttributes,
  typeof variableSetRelations
>({
  type: 'varsets',
  shape: variableSetAttributes,
  relations: variableSetRelations,
  id: (set) => set.id,
  self: (set) => `/api/v2/varsets/${set.id}`,
  attributes: (set, view) => ({
    name: set.name,
    description: set.description,
    global: set.global,
    priority: set.priority,
    'updated-at': set.updatedAt.toISOString(),
    'var-count': set.variableIds.length,
    'workspace-count': assigned(set, view).workspaces.length,
    'project-count': assigned(set, view).projectIds.length,
    permissions: { 'can-update': abilities(variableSetPolicy, view.access, set)['can-update'] },
  }),
  relationships: (set, view) => ({
    organization: toOne('organizations', set.organizationName),
    parent:
      set.parentProjectId === null
        ? toOne('organizations', set.organizationName)
        : toOne('projects', set.parentProjectId),
    vars: toMany('vars', set.variableIds),
    workspaces: toMany(
      'workspaces',
      assigned(set, view).workspaces.map(({ id }) => id),
    ),
    projects: toMany('projects', assigned(set, view).projectIds),
    // There are none, and clients of the hosted edition ask for them.
    stacks: toMany('stacks', []),
  }),
});
