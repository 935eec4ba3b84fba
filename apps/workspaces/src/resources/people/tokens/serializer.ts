import { credential, hasOne, instant, sometimes, text, toOne } from '@keystead/jsonapi';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import type { Token } from './service';

/** A token. Its value is shown once, in the response to its creation. */
export const tokenSerializer = serializerOf<Token>()({
  type: 'authentication-tokens',
  shape: {
    'created-at': instant,
    'last-used-at': instant.nullable(),
    description: text.nullable(),
    token: credential.nullable(),
    'expired-at': instant.nullable(),
  },
  relations: { 'created-by': hasOne('users'), team: sometimes(hasOne('teams')) },
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
