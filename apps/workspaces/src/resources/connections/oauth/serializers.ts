import { flag, hasMany, hasOne, instant, serializer, text, toMany, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import type { View } from '../../../kernel/endpoints/endpoint';
import type { OauthClient } from './clients';
import { type GitProvider, providers } from './providers';
import type { OauthToken } from './tokens';

const clientAttributes = {
  name: text.nullable(),
  'created-at': instant,
  'service-provider': text,
  'service-provider-display-name': z.enum([
    'GitHub',
    'GitHub Enterprise',
    'GitLab.com',
    'GitLab Community Edition',
    'GitLab Enterprise Edition',
    'Azure DevOps Server',
    'Azure DevOps Services',
    'Bitbucket Cloud',
    'Bitbucket Server',
    'Bitbucket Data Center',
    'Gitea',
    'Forgejo',
  ]),
  'http-url': text,
  'api-url': text,
  'callback-url': text,
  'connect-path': text,
  key: text.nullable(),
  secret: text.nullable(),
  'rsa-public-key': text.nullable(),
  'organization-scoped': flag,
};

const clientRelations = {
  organization: hasOne('organizations'),
  projects: hasMany('projects'),
  'oauth-tokens': hasMany('oauth-tokens'),
  'agent-pool': hasOne('agent-pools'),
};

/** A connection; secret, private key and token text are never shown. */
export const clientSerializer = serializer<OauthClient, View, typeof clientAttributes, typeof clientRelations>({
  type: 'oauth-clients',
  shape: clientAttributes,
  relations: clientRelations,
  id: (client) => client.id,
  self: (client) => `/api/v2/oauth-clients/${client.id}`,
  attributes: (client, view) => ({
    name: client.name,
    'created-at': client.createdAt.toISOString(),
    'service-provider': client.serviceProvider,
    'service-provider-display-name': providers[client.serviceProvider as GitProvider],
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
