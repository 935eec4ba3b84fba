import { credential, hasOne, instant, serializer, sometimes, text, toOne } from '@keystead/jsonapi';
import type { View } from '../../../kernel/endpoints/endpoint';
import type { Token } from './service';

const tokenAttributes = {
  'created-at': instant,
  'last-used-at': instant.nullable(),
  description: text.nullable(),
  token: credential.nullable(),
  'expired-at': instant.nullable(),
};

const tokenRelations = { 'created-by': hasOne('users'), team: sometimes(hasOne('teams')) };

/** A credential; its text is shown once, by the answer to its creation. */
export const tokenSerializer = serializer<Token, View, typeof tokenAttributes, typeof tokenRelations>({
  type: 'authentication-tokens',
  shape: tokenAttributes,
  relations: tokenRelations,
  id: (token) => token.id,
  self: (token) => `/api/v2/authentication-tokens/${token.id}`,
  attributes: (token) => ({
    'created-at': token.createdAt.toISOString(),
    'last-used-at': token.lastUsedAt?.toISOString() ?? null,
    description: token.description,
    token: token.secret ?? null,
    'expired-at': token.expiresAt?.toISOString() ?? null,
  }),
  relationships: (token) => ({
    'created-by': toOne('users', token.createdById),
    ...(token.kind === 'team' ? { team: toOne('teams', token.teamId) } : {}),
  }),
});
