import { invalid, type SentReference } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import type { Access } from '../../../kernel/access/access';
import { actorOf } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { endpoints, includable, type Raw, type Resource } from '../../../kernel/endpoints/endpoint';
import type { Environment } from '../../../kernel/endpoints/environment';
import * as organizations from '../../organizations/organizations/service';
import * as agreement from './agreement';
import * as manifests from './app-manifests';
import * as clients from './clients';
import { requireApp } from './installations';
import { manifestPage } from './manifest-page';
import type { OauthClient } from './oauth-client';
import { oauthPolicy } from './policy';
import {
  CreateClient,
  CreateClientOf,
  inputOf,
  NewApp,
  type NewClient,
  NewManifest,
  NewToken,
  Projects,
  UpdateClient,
  UpdateToken,
} from './schema';
import { clientSerializer, leavingSerializer, manifestSerializer, tokenSerializer } from './serializers';
import * as tokens from './tokens';

const shared = { visible: oauthPolicy['can-read'] };
const ofClients = endpoints(oauthPolicy, clientSerializer, shared);
const ofTokens = endpoints(oauthPolicy, tokenSerializer, shared);
const ofManifests = endpoints(oauthPolicy, manifestSerializer, shared);
const ofLeavings = endpoints(oauthPolicy, leavingSerializer, shared);
const ofBrowsers = endpoints(oauthPolicy, undefined, { organizationsOf: () => [] });
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

/** Asks the provider about a new connection: only for a GitHub App, to check its key. Throws `invalid`. */
async function askAboutClient(
  { db, env, access }: { readonly db: Database; readonly env: Environment; readonly access: Access },
  organizationId: string,
  input: NewClient,
): Promise<void> {
  clients.requireMayChoosePool(access, organizationId, input.agentPool);
  if (input.serviceProvider !== 'github_app') return;
  clients.requireAppInput(input);
  const { keyring, vcsReach: reach } = env;
  // Checked before any request, because another organization's pool must not receive one.
  await clients.requirePool(db, organizationId, input.agentPool);
  const place = { ...input, agentPoolId: input.agentPool ?? null };
  if (reach) await requireApp({ db, keyring, reach }, place, env.now());
}

const create = ofClients.post('/organizations/:organization_name/oauth-clients', {
  summary: 'Create a VCS connection. The host is called only for a GitHub App, to check its key.',
  requires: 'can-update',
  include,
  body: CreateClient,
  load: loadOrganization,
  asks: ({ target: { organizationId }, body, ...call }) => askAboutClient(call, organizationId, inputOf(body)),
  run: ({ db, env, target, body, ...call }) =>
    clients.create(db, env.keyring, actorOf(call), target.organizationId, inputOf(body)),
});

const createOf = ofClients.post('/oauth-clients', {
  summary: 'Create a VCS connection of the organization in the request body.',
  include,
  body: CreateClientOf,
  asks: async ({ body: { organization, organizationId, ...body }, ...call }) => {
    const { db, env, accessTo } = call;
    const name = organization ?? organizationId ?? '';
    const owner = (await organizations.find(db, env, name)) ?? (await organizations.findByName(db, env, name));
    const access = owner && (await accessTo([owner.id]));
    const may = owner && access && oauthPolicy['can-update'](access, { organizationId: owner.id });
    if (!may) throw invalid('organization', 'must be an organization whose VCS connections you may manage');
    const input = inputOf(body);
    await askAboutClient({ db, env, access }, owner.id, input);
    return { organizationId: owner.id, input };
  },
  run: ({ db, env, answer, ...call }) => {
    const { organizationId, input } = answer as { organizationId: string; input: NewClient };
    return clients.create(db, env.keyring, actorOf(call), organizationId, input);
  },
});

const show = ofClients.get('/oauth-clients/:oauth_client_id', {
  summary: 'Show a VCS connection.',
  include,
  load: loadClient,
  run: async ({ target }) => target,
});

const update = ofClients.patch('/oauth-clients/:oauth_client_id', {
  summary: 'Change a VCS connection. A new token replaces the current one.',
  requires: 'can-update',
  include,
  body: UpdateClient,
  load: loadClient,
  run: ({ db, env, access, target, body, ...call }) => {
    if (body.agentPool !== target.agentPoolId)
      clients.requireMayChoosePool(access, target.organizationId, body.agentPool);
    return clients.update(db, env.keyring, actorOf(call), target.id, inputOf(body));
  },
});

const destroy = ofClients.remove('/oauth-clients/:oauth_client_id', {
  summary: 'Delete a VCS connection and its tokens.',
  requires: 'can-update',
  load: loadClient,
  run: ({ db, target, ...call }) => clients.remove(db, actorOf(call), target),
});

const projectsPath = '/oauth-clients/:oauth_client_id/relationships/projects';
const idsOf = (body: readonly SentReference[]) => body.map(({ id }) => id ?? '');
const addProjects = ofClients.command('POST')(projectsPath, {
  summary: 'Allow projects to use a VCS connection that is not available to the whole organization.',
  requires: 'can-update',
  body: Projects,
  load: loadClient,
  run: ({ db, target, body, ...call }) => clients.changeProjects(db, actorOf(call), target, 'add', idsOf(body)),
});
const removeProjects = ofClients.command('DELETE')(projectsPath, {
  summary: 'Remove a VCS connection from projects.',
  requires: 'can-update',
  body: Projects,
  load: loadClient,
  run: ({ db, target, body, ...call }) => clients.changeProjects(db, actorOf(call), target, 'remove', idsOf(body)),
});

const clientPath = '/oauth-clients/:oauth_client_id';

/** Connecting in the browser calls the host. Throws `missing` if no host is called. */
function requireReach({ vcsReach }: Environment) {
  if (vcsReach === undefined) throw notFound();
  return vcsReach;
}

const leave = ofLeavings.post(`${clientPath}/authorizations`, {
  summary: 'Start connecting a Git host in the browser. Returns the URL at which a user approves it.',
  requires: 'can-update',
  idempotent: false,
  load: loadClient,
  run: ({ db, env, target, principal }) => {
    requireReach(env);
    return agreement.leave(db, env.keyring, target, principal, env.publicUrl, env.now());
  },
});

const agree = ofTokens.post(`${clientPath}/oauth-tokens`, {
  summary: 'Finish connecting a Git host in the browser: exchange the authorization code for an OAuth token.',
  requires: 'can-update',
  idempotent: false,
  body: NewToken,
  load: loadClient,
  run: ({ db, env, target, body, ...call }) => {
    const deps = { db, keyring: env.keyring, reach: requireReach(env), publicUrl: env.publicUrl };
    const by = { actor: actorOf(call), tokenId: call.principal.tokenId };
    return agreement.agree(deps, by, target as unknown as OauthClient, body, env.now());
  },
});

const manifestPath = '/github-app-manifests/:manifest_id';
const loadManifest = ({ db, params }: { db: Database; params: { manifest_id: string } }) =>
  manifests.find(db, params.manifest_id);

const beginApp = ofManifests.post('/organizations/:organization_name/github-app-manifests', {
  summary: 'Start creating a GitHub App. Returns the URL of a page that leads to the host; open it immediately.',
  requires: 'can-update',
  idempotent: false,
  body: NewManifest,
  load: loadOrganization,
  run: ({ db, env, access, target, principal, body }) => {
    requireReach(env);
    clients.requireMayChoosePool(access, target.organizationId, body.agentPool);
    return manifests.begin(db, target.organizationId, principal, body, env.now());
  },
});

const endApp = ofClients.post(`${manifestPath}/oauth-clients`, {
  summary: 'Finish creating a GitHub App: exchange the code for the app.',
  requires: 'can-update',
  idempotent: false,
  body: NewApp,
  load: loadManifest,
  run: ({ db, env, target, body, ...call }) => {
    const deps = { db, keyring: env.keyring, reach: requireReach(env) };
    const by = { actor: actorOf(call), tokenId: call.principal.tokenId };
    return manifests.convert(deps, by, target as unknown as manifests.AppManifest, body, env.now());
  },
});

const appPage = ofBrowsers.raw('GET')('/github-app/:manifest_id', {
  summary: 'The page on which a user creates a GitHub App at the host. It can be opened for two minutes.',
  answers: { 200: { description: 'A page with a form.' } },
  outside: true,
  auth: 'none',
  run: async ({ db, env, params }) => {
    requireReach(env);
    const page = await manifests.findPage(db, env.keyring, params.manifest_id, env.publicUrl, env.now());
    if (!page) throw notFound();
    return manifestPage(page);
  },
});

const appMade = ofBrowsers.raw('GET')('/github-app/:manifest_id/callback', {
  summary: 'Redirect URL after a host created a GitHub App. Redirects to the console page that started it.',
  answers: { 302: { description: 'The page of the console.' } },
  outside: true,
  auth: 'none',
  query: {
    code: 'The code of the host, which is exchanged for the app.',
    state: 'The state that was sent to the host, unchanged.',
  },
  run: async ({ db, env, params, query }): Promise<Raw> => {
    const id = params.manifest_id;
    const organization = await manifests.organizationOf(db, id);
    if (organization === undefined || !env.hasConsole) throw notFound();
    const sent = new URLSearchParams({ app: id });
    for (const name of ['code', 'state']) sent.set(name, query.get(name) ?? '');
    const Location = `/ui/organizations/${encodeURIComponent(organization)}/version-control#${sent}`;
    return { status: 302, headers: { Location } };
  },
});

/** Redirects a browser to the page of a connection; the part after the `#` is never sent to a server or logged. */
async function leadToClient({ db, env }: { db: Database; env: Environment }, id: string, mark: string): Promise<Raw> {
  const client = await clients.find(db, id);
  if (!client || !env.hasConsole) throw notFound();
  const Location = `/ui/organizations/${encodeURIComponent(client.organizationName)}/version-control/${id}${mark}`;
  return { status: 302, headers: { Location } };
}

const leads = { 302: { description: 'The page of the console.' } };

const connectPage = ofBrowsers.raw('GET')('/auth/:oauth_client_id', {
  summary: 'Redirect to the page on which a user connects a Git host.',
  answers: leads,
  outside: true,
  auth: 'none',
  query: { organization_id: 'The organization of the connection.' },
  run: ({ db, env, params }) => leadToClient({ db, env }, params.oauth_client_id, ''),
});

const comeBack = ofBrowsers.raw('GET')('/auth/:oauth_client_id/callback', {
  summary: 'Redirect URL (callback) of a Git host. Redirects to the console page that started it.',
  answers: leads,
  outside: true,
  auth: 'none',
  query: {
    code: 'The code of the host, which is exchanged for the token.',
    state: 'The state that was sent to the host, unchanged.',
    error: 'The error code of the host, if it refuses.',
  },
  run: ({ db, env, params, query }) => {
    const sent = new URLSearchParams();
    for (const name of ['code', 'state', 'error']) sent.set(name, query.get(name) ?? '');
    return leadToClient({ db, env }, params.oauth_client_id, `#${sent}`);
  },
});

const listTokens = ofTokens.list('/organizations/:organization_name/oauth-tokens', {
  summary: 'List the OAuth tokens of an organization. Their values are not shown.',
  paging: 'optional',
  requires: 'can-read',
  load: loadOrganization,
  run: ({ db, target, page }) => tokens.list(db, { organizationId: target.organizationId }, page),
});

const listOfClient = ofTokens.list('/oauth-clients/:oauth_client_id/oauth-tokens', {
  summary: 'List the OAuth tokens of a VCS connection.',
  paging: 'optional',
  load: loadClient,
  run: ({ db, target, page }) => tokens.list(db, { oauthClientId: target.id }, page),
});

const showToken = ofTokens.get('/oauth-tokens/:oauth_token_id', {
  summary: 'Show an OAuth token. Its value is not shown.',
  load: loadToken,
  run: async ({ target }) => target,
});

const updateToken = ofTokens.patch('/oauth-tokens/:oauth_token_id', {
  summary: 'Set or remove the SSH key of an OAuth token.',
  requires: 'can-update',
  body: UpdateToken,
  load: loadToken,
  run: ({ db, env, target, body, ...call }) => tokens.setSshKey(db, env.keyring, actorOf(call), target, body.sshKey),
});

const removeToken = ofTokens.remove('/oauth-tokens/:oauth_token_id', {
  summary: 'Delete an OAuth token.',
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
    createOf,
    show,
    update,
    destroy,
    addProjects,
    removeProjects,
    listTokens,
    listOfClient,
    leave,
    agree,
    connectPage,
    comeBack,
    beginApp,
    endApp,
    appPage,
    appMade,
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
