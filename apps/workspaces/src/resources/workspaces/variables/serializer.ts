import { hasMany, hasOne, sometimes, toMany, toOne } from '@keystead/jsonapi';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import { variableAttributes } from './attributes';
import type { Variable } from './variable';

const { shape, show } = variableAttributes;

/** A variable of a workspace or of a variable set; sensitive values are never shown. */
export const variableSerializer = serializerOf<Variable>()({
  type: 'vars',
  shape,
  relations: {
    varset: sometimes(hasOne('varsets')),
    configurable: sometimes(hasOne('workspaces')),
    overwriter: sometimes(hasOne('vars')),
    overwritten: sometimes(hasMany('vars')),
  },
  id: (variable) => variable.id,
  self: ({ id, workspaceId, variableSetId }) =>
    workspaceId === null
      ? `/api/v2/varsets/${variableSetId}/relationships/vars/${id}`
      : `/api/v2/workspaces/${workspaceId}/vars/${id}`,
  attributes: show,
  relationships: ({ workspaceId, variableSetId, precedence }) => ({
    ...(workspaceId === null
      ? { varset: toOne('varsets', variableSetId) }
      : { configurable: toOne('workspaces', workspaceId, `/api/v2/workspaces/${workspaceId}`) }),
    ...(precedence && {
      overwriter: toOne('vars', precedence.overwriter),
      overwritten: toMany('vars', precedence.overwritten),
    }),
  }),
});
