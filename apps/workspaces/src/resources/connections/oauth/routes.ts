import type { SentReference } from '@keystead/jsonapi';
import { actorOf } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { endpoints, includable, type Resource } from '../../../kernel/endpoints/endpoint';
import * as organizations from '../../organizations/organizations/service';
import * as clients from './clients';
import type { OauthClient } from './oauth-client';
import { oauthPolicy } from './policy';
import { CreateClient, inputOf, Projects, UpdateClient, UpdateToken } from './schema';
import { clientSerializer, tokenSerializer } from './serializers';
import * as tokens from './tokens';

const shared = { visible: oauthPolicy['can-read'] };
const ofClients = endpoints(oauthPolicy, clientSerializer, shared);
const ofTokens = endpoints(oauthPolicy, tokenSerializer, shared);
const include = ['oauth_tokens', 'projects', 'organization', 'agent_pool'] as const;

type OrganizationEnv = Parameters<typeof organizations.findByName>[1];
const loadOrganization = (call: { db: Database; env: OrganizationEnv; params: { organization_name: string } }) =>
  organizations.findByName(call.db, call.env, call.params.organization_name);
const loadClient = ({ db, params }: { db: Database; params: { oauth_client_id: string } }) =>
  clients.find(db, params.oauth_client_id);
const loadToken = ({ db, params }: { db: Database; params: { oauth_token_id: string } }) =>
  tokens.find(db, params.oauth_token_id);

const list = ofClients.list('/organizations/:organization_name/oauth-clients', {
  summary: 'List the VCS connections of an organization.',
  paging: 'optional',
  requires: 'can-read',
  include,
  load: loadOrganization,
  run: ({ db, target, page }) => clients.list(db, target.organizationId, page),
});

const create = ofClients.post('/organizations/:organization_name/oauth-clients', {
  summary: 'Make a VCS connection. The provider is not contacted.',
  requires: 'can-update',
  include,
  body: CreateClient,
  load: loadOrganization,
  run: ({ db, env, target, body, ...call }) =>
    clients.create(db, env.keyring, actorOf(call), target.organizationId, inputOf(body)),
});

const show = ofClients.get('/oauth-clients/:oauth_client_id', {
  summary: 'Show a VCS connection.',
  include,
  load: loadClient,
  run: async ({ target }) => target,
});

const update = ofClients.patch('/oauth-clients/:oauth_client_id', {
  summary: 'Change a VCS connection; a new token text replaces the one it has.',
  requires: 'can-update',
  include,
  body: UpdateClient,
  load: loadClient,
  run: ({ db, env, target, body, ...call }) => clients.update(db, env.keyring, actorOf(call), target.id, inputOf(body)),
});

const destroy = ofClients.remove('/oauth-clients/:oauth_client_id', {
  summary: 'Remove a VCS connection with its tokens.',
  requires: 'can-update',
  load: loadClient,
  run: ({ db, target, ...call }) => clients.remove(db, actorOf(call), target),
});

const projectsPath = '/oauth-clients/:oauth_client_id/relationships/projects';
const idsOf = (body: readonly SentReference[]) => body.map(({ id }) => id ?? '');
const addProjects = ofClients.command('POST')(projectsPath, {
  summary: 'Let projects use a VCS connection that is not for the whole organization.',
  requires: 'can-update',
  body: Projects,
  load: loadClient,
  run: ({ db, target, body, ...call }) => clients.changeProjects(db, actorOf(call), target, 'add', idsOf(body)),
});
const removeProjects = ofClients.command('DELETE')(projectsPath, {
  summary: 'Take a VCS connection away from projects.',
  requires: 'can-update',
  body: Projects,
  load: loadClient,
  run: ({ db, target, body, ...call }) => clients.changeProjects(db, actorOf(call), target, 'remove', idsOf(body)),
});

const listTokens = ofTokens.list('/organizations/:organization_name/oauth-tokens', {
  summary: 'List the VCS tokens of an organization, without their text.',
  paging: 'optional',
  requires: 'can-read',
  load: loadOrganization,
  run: ({ db, target, page }) => tokens.list(db, { organizationId: target.organizationId }, page),
});

const listOfClient = ofTokens.list('/oauth-clients/:oauth_client_id/oauth-tokens', {
  summary: 'List the tokens of a VCS connection.',
  paging: 'optional',
  load: loadClient,
  run: ({ db, target, page }) => tokens.list(db, { oauthClientId: target.id }, page),
});

const showToken = ofTokens.get('/oauth-tokens/:oauth_token_id', {
  summary: 'Show a VCS token, without its text.',
  load: loadToken,
  run: async ({ target }) => target,
});

const updateToken = ofTokens.patch('/oauth-tokens/:oauth_token_id', {
  summary: 'Set or remove the SSH key used beside a VCS token.',
  requires: 'can-update',
  body: UpdateToken,
  load: loadToken,
  run: ({ db, env, target, body, ...call }) => tokens.setSshKey(db, env.keyring, actorOf(call), target, body.sshKey),
});

const removeToken = ofTokens.remove('/oauth-tokens/:oauth_token_id', {
  summary: 'Remove a VCS token.',
  requires: 'can-update',
  load: loadToken,
  run: ({ db, target, ...call }) => tokens.remove(db, actorOf(call), target),
});

/** Connections to version-control providers, and their tokens. */
export const oauthResource: Resource = {
  name: 'oauth',
  endpoints: [
    list,
    create,
    show,
    update,
    destroy,
    addProjects,
    removeProjects,
    listTokens,
    listOfClient,
    showToken,
    updateToken,
    removeToken,
  ],
  includable: {
    'oauth-clients': includable<OauthClient>({
      serializer: clientSerializer,
      load: clients.findMany,
      visible: oauthPolicy['can-read'],
      organizationsOf: (client) => [client.organizationId],
    }),
    'oauth-tokens': includable<tokens.OauthToken>({
      serializer: tokenSerializer,
      load: tokens.findMany,
      visible: oauthPolicy['can-read'],
      organizationsOf: (token) => [token.organizationId],
    }),
  },
};
