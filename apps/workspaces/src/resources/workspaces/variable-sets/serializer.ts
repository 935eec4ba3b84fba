import { hasMany, hasOne, toMany, toOne } from '@keystead/jsonapi';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import { assigned, variableSetAttributes } from './attributes';
import type { VariableSet } from './variable-set';

const { shape, show } = variableSetAttributes;

export const variableSetSerializer = serializerOf<VariableSet>()({
  type: 'varsets',
  shape,
  relations: {
    organization: hasOne('organizations'),
    parent: hasOne('organizations', 'projects'),
    vars: hasMany('vars'),
    workspaces: hasMany('workspaces'),
    projects: hasMany('projects'),
    stacks: hasMany('stacks'),
  },
  id: (set) => set.id,
  self: (set) => `/api/v2/varsets/${set.id}`,
  attributes: show,
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
    // This service has no stacks, but clients of the hosted edition ask for them.
    stacks: toMany('stacks', []),
  }),
});
