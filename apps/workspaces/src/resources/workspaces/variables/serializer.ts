import { choice, flag, hasOne, instant, serializer, sometimes, text, toOne } from '@keystead/jsonapi';
import type { View } from '../../../kernel/endpoints/endpoint';
import type { Variable } from './service';

const variableAttributes = {
  key: text,
  value: text.nullable(),
  description: text.nullable(),
  category: choice(['terraform', 'env']),
  hcl: flag,
  sensitive: flag,
  'created-at': instant,
  'version-id': text,
};

const variableRelations = { varset: sometimes(hasOne('varsets')), configurable: sometimes(hasOne('workspaces')) };

/** A variable of a workspace or of a variable set; sensitive values are never shown. */
export const variableSerializer = serializer<Variable, View, typeof variableAttributes, typeof variableRelations>({
  type: 'vars',
  shape: variableAttributes,
  relations: variableRelations,
  id: (variable) => variable.id,
  self: ({ id, workspaceId, variableSetId }) =>
    workspaceId === null
      ? `/api/v2/varsets/${variableSetId}/relationships/vars/${id}`
      : `/api/v2/workspaces/${workspaceId}/vars/${id}`,
  attributes: (variable) => ({
    key: variable.key,
    value: variable.sensitive ? null : variable.value,
    description: variable.description,
    category: variable.category,
    hcl: variable.hcl,
    sensitive: variable.sensitive,
    'created-at': variable.createdAt.toISOString(),
    'version-id': variable.versionId,
  }),
  relationships: ({ workspaceId, variableSetId }) =>
    workspaceId === null
      ? { varset: toOne('varsets', variableSetId) }
      : { configurable: toOne('workspaces', workspaceId, `/api/v2/workspaces/${workspaceId}`) },
});
