import { serializer, toMany, toOne } from '@keystead/jsonapi';
import type { View } from '../../kernel/endpoint';
import type { OauthClient } from './clients';
import { type Provider, providers } from './providers';
import type { OauthToken } from './tokens';

/** A connection; secret, private key and token text are never shown. */
export const clientSerializer = serializer<OauthClient, View>({
  type: 'oauth-clients',
  id: (client) => client.id,
  self: (client) => `/api/v2/oauth-clients/${client.id}`,
  attributes: (client, view) => ({
    name: client.name,
    'created-at': client.createdAt.toISOString(),
    'service-provider': client.serviceProvider,
    'service-provider-display-name': providers[client.serviceProvider as Provider],
    'http-url': client.httpUrl,
    'api-url': client.apiUrl,
    'callback-url': `${view.publicUrl}/auth/${client.id}/callback`,
    'connect-path': `/auth/${client.id}?organization_id=${client.organizationId}`,
    key: client.key,
    secret: null,
    'rsa-public-key': client.rsaPublicKey,
    'organization-scoped': client.organizationScoped,
  }),
  relationships: (client) => ({
    organization: toOne('organizations', client.organizationName),
    projects: toMany('projects', client.projectIds),
    'oauth-tokens': toMany('oauth-tokens', client.tokenIds, `/api/v2/oauth-clients/${client.id}/oauth-tokens`),
    'agent-pool': toOne('agent-pools', client.agentPoolId),
  }),
});

export const tokenSerializer = serializer<OauthToken, View>({
  type: 'oauth-tokens',
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
