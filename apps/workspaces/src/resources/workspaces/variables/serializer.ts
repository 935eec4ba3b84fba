import { hasOne, serializer, sometimes, toOne } from '@keystead/jsonapi';
import type { View } from '../../../kernel/endpoints/endpoint';
import { variableAttributes } from './attributes';
import type { Variable } from './variable';

const { shape, show } = variableAttributes;

const variableRelations = { varset: sometimes(hasOne('varsets')), configurable: sometimes(hasOne('workspaces')) };

/** A variable of a workspace or of a variable set; sensitive values are never shown. */
export const variableSerializer = serializer<Variable, View, typeof shape, typeof variableRelations>({
  type: 'vars',
  shape,
  relations: variableRelations,
  id: (variable) => variable.id,
  self: ({ id, workspaceId, variableSetId }) =>
    workspaceId === null
      ? `/api/v2/varsets/${variableSetId}/relationships/vars/${id}`
      : `/api/v2/workspaces/${workspaceId}/vars/${id}`,
  attributes: show,
  relationships: ({ workspaceId, variableSetId }) =>
    workspaceId === null
      ? { varset: toOne('varsets', variableSetId) }
      : { configurable: toOne('workspaces', workspaceId, `/api/v2/workspaces/${workspaceId}`) },
});
