import { badParameter, flag, hasOne, text, toOne } from '@keystead/jsonapi';
import { notFound } from '@keystead/refusal';
import { endpoints, type LookupBy, type Resource, serializerOf } from '../../../kernel/endpoints/endpoint';
import * as organizations from '../../organizations/organizations/service';
import type { ListedRepository } from '../git-hosts/git-host';
import * as installations from '../oauth/installations';
import { oauthPolicy } from '../oauth/policy';
import * as tokens from '../oauth/tokens';
import { hasRepository, listFolders, listRepositories } from './browse';

interface OfConnection {
  readonly organizationId: string;
  readonly tokenId: string;
}
type ListedFor = ListedRepository & OfConnection;

const authorized = serializerOf<ListedFor>()({
  type: 'authorized-repos',
  shape: { name: text, 'display-identifier': text },
  relations: { 'oauth-token': hasOne('oauth-tokens') },
  id: ({ identifier }) => identifier,
  attributes: ({ identifier, name }) => ({ name, 'display-identifier': identifier }),
  relationships: ({ tokenId }) => ({ 'oauth-token': toOne('oauth-tokens', tokenId) }),
});
const installed = serializerOf<ListedFor>()({
  type: 'github-app-repos',
  shape: { name: text, identifier: text, 'installation-id': text, private: flag },
  id: ({ identifier }) => identifier,
  attributes: ({ identifier, name, tokenId, isPrivate }) => ({
    name,
    identifier,
    'installation-id': tokenId,
    private: isPrivate,
  }),
});
const checked = serializerOf<{ identifier: string; exists: boolean }>()({
  type: 'vcs-repo-check',
  shape: { exists: flag, identifier: text },
  id: ({ identifier }) => identifier,
  attributes: (one) => one,
});
const folder = serializerOf<{ path: string }>()({
  type: 'vcs-tree',
  shape: {},
  id: ({ path }) => path,
  attributes: () => ({}),
});

const shared = { visible: oauthPolicy['can-read'] };
const ofTokens = endpoints(oauthPolicy, authorized, shared);
const ofInstallations = endpoints(oauthPolicy, installed, shared);
const ofChecks = endpoints(oauthPolicy, checked, shared);
const ofFolders = endpoints(oauthPolicy, folder, shared);
const asksHost = { refuses: [422], requires: 'can-read' } as const;

const authorizedIndex = ofTokens.list('/oauth-tokens/:oauth_token_id/authorized-repos', {
  ...asksHost,
  summary: 'List the repositories that a VCS connection can use. Calls the Git host.',
  uncounted: true,
  query: { organization: 'An account at the host; needed for Azure DevOps.' },
  load: ({ db, params }) => tokens.find(db, params.oauth_token_id),
  run: async ({ db, env, access, target, query, page }) => {
    const of = { organizationId: target.organizationId, tokenId: (target as tokens.OauthToken).id };
    const { items, more } = await listRepositories({ db, env, access, ...of }, query.get('organization') ?? '', page!);
    const pagination = {
      'current-page': page!.number,
      'page-size': page!.size,
      'prev-page': page!.number > 1 ? page!.number - 1 : null,
      'next-page': more ? page!.number + 1 : null,
    };
    return {
      items: items.map((one) => ({ ...one, ...of })),
      meta: { 'next-page': pagination['next-page'], pagination },
    };
  },
});

type InstallationLookup = LookupBy<'github_app_installation_id'>;
const installedIndexes = (
  [
    '/github-app-installations/:github_app_installation_id/repos',
    '/organizations/:organization_name/github-app-installations/:github_app_installation_id/repos',
  ] as const
).map((path) =>
  ofInstallations.list(path, {
    ...asksHost,
    summary: 'List the repositories that an installation of a GitHub App can use. Calls GitHub.',
    load: async ({ db, env, params }: InstallationLookup & { params: { organization_name?: string } }) => {
      const found = await installations.find(db, params.github_app_installation_id);
      const { organization_name: name } = params;
      if (name === undefined) return found;
      const organization = await organizations.findByName(db, env, name);
      return organization?.id === found?.organizationId ? found : undefined;
    },
    run: async ({ db, env, access, target, page }) => {
      const of = { organizationId: target.organizationId, tokenId: (target as installations.AppInstallation).id };
      const { items, total = 0 } = await listRepositories({ db, env, access, ...of }, '', page!);
      return { items: items.map((one) => ({ ...one, ...of })), total };
    },
  }),
);

const inOrganization = {
  oauth_token_id: 'The token of the VCS connection.',
  identifier: 'The repository, as its host names it.',
};
const loadOrganization = async ({ db, env, params }: LookupBy<'organization_name'>) => {
  const found = await organizations.findByName(db, env, params.organization_name);
  return found && { organizationId: found.id };
};

/** The repository in a query, and the organization's connection that is used to browse it. */
async function lookedAt(
  { db, query }: Pick<LookupBy<never>, 'db' | 'query'>,
  organizationId: string,
  installation?: string,
): Promise<{ readonly identifier: string; readonly tokenId: string }> {
  const identifier = query.get('identifier');
  if (!identifier) throw badParameter('identifier', 'identifier must name a repository');
  const tokenId = installation ?? query.get('oauth_token_id');
  if (!tokenId) throw badParameter('oauth_token_id', 'oauth_token_id must name a token of a VCS connection');
  const found = installation ? await installations.find(db, tokenId) : await tokens.find(db, tokenId);
  if (found?.organizationId !== organizationId) throw notFound();
  return { identifier, tokenId };
}

const check = ofChecks.get('/organizations/:organization_name/vcs/repo', {
  ...asksHost,
  summary: 'Check whether a repository exists at the host of a VCS connection.',
  query: inOrganization,
  load: loadOrganization,
  run: async ({ db, env, access, query, target: { organizationId } }) => {
    const { identifier, tokenId } = await lookedAt({ db, query }, organizationId);
    return { identifier, exists: await hasRepository({ db, env, access, organizationId, tokenId }, identifier) };
  },
});

const tree = ofFolders.list('/organizations/:organization_name/vcs/tree', {
  ...asksHost,
  summary: 'List the top-level folders of a repository. Calls the Git host.',
  paging: 'none',
  query: {
    ...inOrganization,
    branch: 'A branch, a tag or a commit; otherwise the default branch.',
    githubAppInstallationId: 'An installation of a GitHub App, instead of a token.',
  },
  load: loadOrganization,
  run: async ({ db, env, access, query, target: { organizationId } }) => {
    const { identifier, tokenId } = await lookedAt({ db, query }, organizationId, query.get('githubAppInstallationId'));
    const paths = await listFolders({ db, env, access, organizationId, tokenId }, identifier, query.get('branch'));
    return { items: paths.map((path) => ({ path })) };
  },
});

/** Repositories at Git hosts that a connection can use, whether or not anything follows them. */
export const repositoryResource: Resource = {
  name: 'repositories',
  endpoints: [authorizedIndex, ...installedIndexes, check, tree],
};
