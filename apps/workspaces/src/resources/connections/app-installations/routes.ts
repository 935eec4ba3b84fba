import type { Query } from '@keystead/jsonapi';
import { type Call, endpoints, type Lookup, type Resource } from '../../../kernel/endpoints/endpoint';
import * as organizations from '../../organizations/organizations/service';
import * as installations from '../oauth/installations';
import { oauthPolicy } from '../oauth/policy';
import { installationSerializer } from './serializer';

const { get, list } = endpoints(oauthPolicy, installationSerializer, { visible: oauthPolicy['can-read'] });

const whole = /^[1-9]\d{0,15}$/;

const filters = {
  'filter[name]': 'Name of the account.',
  'filter[installation_id]': 'The id that GitHub gave the installation.',
};

/** The accounts that the filters select; undefined if no account can match. */
function searchOf(query: Query) {
  const id = query.get('filter[installation_id]');
  if (id !== undefined && !whole.test(id)) return undefined;
  return { name: query.get('filter[name]'), installationId: id === undefined ? undefined : BigInt(id) };
}

const own = {
  summary: 'List the installations of the GitHub Apps of the caller’s organizations.',
  paging: 'optional',
  query: filters,
  run: async ({ db, principal, query, page, accessTo }: Call<string, undefined, undefined>) => {
    const search = searchOf(query);
    if (search === undefined) return page ? { items: [], total: 0 } : { items: [] };
    const ids = await installations.organizationsWithApps(db, principal);
    const access = await accessTo(ids);
    const open = ids.filter((organizationId) => oauthPolicy['can-read'](access, { organizationId }));
    return installations.list(db, open, search, page);
  },
} as const;
const index = ['/github-app/installations', '/github-app-installations'].map((path) => list(path, own));

const ofOrganization = list('/organizations/:organization_name/github-app-installations', {
  summary: 'List the installations of the GitHub Apps of an organization.',
  query: filters,
  requires: 'can-read',
  load: ({ db, env, params }) => organizations.findByName(db, env, params.organization_name),
  run: async ({ db, target, query, page }) => {
    const search = searchOf(query);
    return search ? installations.list(db, [target.organizationId], search, page) : { items: [], total: 0 };
  },
});

const byId = '/github-app/installation/:github_app_installation_id';
const show = get(byId, {
  summary: 'Show an installation of a GitHub App.',
  load: ({ db, params }: Lookup<typeof byId>) => installations.find(db, params.github_app_installation_id),
  run: async ({ target }) => target,
});

/** The accounts that GitHub Apps are installed on. */
export const appInstallationsResource: Resource = {
  name: 'app-installations',
  endpoints: [...index, ofOrganization, show],
};
