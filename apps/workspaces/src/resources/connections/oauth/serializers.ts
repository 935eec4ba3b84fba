import { credential, flag, hasMany, hasOne, instant, serializer, text, toMany, toOne } from '@keystead/jsonapi';
import type { View } from '../../../kernel/endpoints/endpoint';
import type { Leaving } from './agreement';
import { type AppManifest, manifestPageUrl } from './app-manifests';
import { clientAttributes } from './attributes';
import type { OauthClient } from './oauth-client';
import type { OauthToken } from './tokens';

const { shape, show } = clientAttributes;

const clientRelations = {
  organization: hasOne('organizations'),
  projects: hasMany('projects'),
  'oauth-tokens': hasMany('oauth-tokens'),
  'agent-pool': hasOne('agent-pools'),
};

/** A connection; secret, private key and token text are never shown. */
export const clientSerializer = serializer<OauthClient, View, typeof shape, typeof clientRelations>({
  type: 'oauth-clients',
  shape,
  relations: clientRelations,
  id: (client) => client.id,
  self: (client) => `/api/v2/oauth-clients/${client.id}`,
  attributes: show,
  relationships: (client) => ({
    organization: toOne('organizations', client.organizationName),
    projects: toMany('projects', client.projectIds),
    'oauth-tokens': toMany('oauth-tokens', client.tokenIds, `/api/v2/oauth-clients/${client.id}/oauth-tokens`),
    'agent-pool': toOne('agent-pools', client.agentPoolId),
  }),
});

const tokenAttributes = {
  uid: text.nullable(),
  'created-at': instant,
  'service-provider-user': text.nullable(),
  'has-ssh-key': flag,
};

const tokenRelations = { 'oauth-client': hasOne('oauth-clients') };

export const tokenSerializer = serializer<OauthToken, View, typeof tokenAttributes, typeof tokenRelations>({
  type: 'oauth-tokens',
  shape: tokenAttributes,
  relations: tokenRelations,
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

const manifestAttributes = { 'page-url': credential, 'expired-at': instant };

/** A person on the way to a host that is to make an app. */
export const manifestSerializer = serializer<AppManifest, View, typeof manifestAttributes>({
  type: 'github-app-manifests',
  shape: manifestAttributes,
  id: ({ id }) => id,
  attributes: ({ id, expiresAt }, { publicUrl }) => ({
    'page-url': manifestPageUrl(publicUrl, id),
    'expired-at': expiresAt.toISOString(),
  }),
});

const leavingAttributes = { 'authorize-url': credential, 'expired-at': instant };

/** A person on the way to a host. */
export const leavingSerializer = serializer<Leaving, View, typeof leavingAttributes>({
  type: 'oauth-authorizations',
  shape: leavingAttributes,
  id: () => 'shown-once',
  attributes: ({ url, expiresAt }) => ({ 'authorize-url': url, 'expired-at': expiresAt.toISOString() }),
});
