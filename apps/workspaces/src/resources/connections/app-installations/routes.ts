import { endpoints, type Lookup, type Resource } from '../../../kernel/endpoints/endpoint';
import * as installations from '../oauth/installations';
import { oauthPolicy } from '../oauth/policy';
import { installationSerializer } from './serializer';

const { get, list } = endpoints(oauthPolicy, installationSerializer, { visible: oauthPolicy['can-read'] });

const whole = /^[1-9]\d{0,15}$/;

const index = list('/github-app/installations', {
  summary: "List the accounts that the GitHub Apps of the caller's organizations are installed on.",
  paging: 'optional',
  query: {
    'filter[name]': 'Name of the account.',
    'filter[installation_id]': 'The id that GitHub gave the installation.',
  },
  run: async ({ db, principal, query, page, accessTo }) => {
    const id = query.get('filter[installation_id]');
    if (id !== undefined && !whole.test(id)) return page ? { items: [], total: 0 } : { items: [] };
    const search = { name: query.get('filter[name]'), installationId: id === undefined ? undefined : BigInt(id) };
    const ids = await installations.organizationsWithApps(db, principal);
    const access = await accessTo(ids);
    const open = ids.filter((organizationId) => oauthPolicy['can-read'](access, { organizationId }));
    return installations.list(db, open, search, page);
  },
});

const byId = '/github-app/installation/:github_app_installation_id';
const show = get(byId, {
  summary: 'Show an account that a GitHub App is installed on.',
  load: ({ db, params }: Lookup<typeof byId>) => installations.find(db, params.github_app_installation_id),
  run: async ({ target }) => target,
});

/** The accounts that GitHub Apps are installed on. */
export const appInstallationsResource: Resource = { name: 'app-installations', endpoints: [index, show] };
