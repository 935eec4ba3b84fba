import { credential, flag, hasMany, hasOne, instant, text, toMany, toOne } from '@keystead/jsonapi';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import type { Leaving } from './agreement';
import { type AppManifest, manifestPageUrl } from './app-manifests';
import { clientAttributes } from './attributes';
import type { OauthClient } from './oauth-client';
import { oauthPolicy } from './policy';
import type { OauthToken } from './tokens';

const { shape, show } = clientAttributes;

/** A connection; its secret, private key and token text are never shown. */
export const clientSerializer = serializerOf<OauthClient>()({
  type: 'oauth-clients',
  shape,
  relations: {
    organization: hasOne('organizations'),
    projects: hasMany('projects'),
    'oauth-tokens': hasMany('oauth-tokens'),
    'agent-pool': hasOne('agent-pools'),
  },
  id: (client) => client.id,
  self: (client) => `/api/v2/oauth-clients/${client.id}`,
  attributes: show,
  relationships: (client, { access }) => ({
    organization: toOne('organizations', client.organizationName),
    // A caller who may change the list must see all of it.
    projects: toMany(
      'projects',
      oauthPolicy['can-update'](access, client)
        ? client.projectIds
        : client.projectIds.filter((id) => access.seesProject({ id, organizationId: client.organizationId })),
    ),
    'oauth-tokens': toMany('oauth-tokens', client.tokenIds, `/api/v2/oauth-clients/${client.id}/oauth-tokens`),
    'agent-pool': toOne('agent-pools', client.agentPoolId),
  }),
});

export const tokenSerializer = serializerOf<OauthToken>()({
  type: 'oauth-tokens',
  shape: {
    uid: text.nullable(),
    'created-at': instant,
    'service-provider-user': text.nullable(),
    'has-ssh-key': flag,
  },
  relations: { 'oauth-client': hasOne('oauth-clients') },
  id: (token) => token.id,
  self: (token) => `/api/v2/oauth-tokens/${token.id}`,
  attributes: (token) => ({
    uid: null,
    'created-at': token.createdAt.toISOString(),
    'service-provider-user': token.serviceProviderUser,
    'has-ssh-key': token.hasSshKey,
  }),
  relationships: (token) => ({
    'oauth-client': toOne('oauth-clients', token.oauthClientId, `/api/v2/oauth-clients/${token.oauthClientId}`),
  }),
});

/** A pending creation of an app. */
export const manifestSerializer = serializerOf<AppManifest>()({
  type: 'github-app-manifests',
  shape: { 'page-url': credential, 'expired-at': instant },
  id: ({ id }) => id,
  attributes: ({ id, expiresAt }, { publicUrl }) => ({
    'page-url': manifestPageUrl(publicUrl, id),
    'expired-at': expiresAt.toISOString(),
  }),
});

/** A pending consent at a host. */
export const leavingSerializer = serializerOf<Leaving>()({
  type: 'oauth-authorizations',
  shape: { 'authorize-url': credential, 'expired-at': instant },
  id: () => 'shown-once',
  attributes: ({ url, expiresAt }) => ({ 'authorize-url': url, 'expired-at': expiresAt.toISOString() }),
});
