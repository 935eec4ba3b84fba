import { actorOf } from '../../../kernel/audit/audit';
import { endpoints, includable, type Lookup, type Resource } from '../../../kernel/endpoints/endpoint';
import { organizationPolicy } from './policy';
import { CreateOrganization, UpdateOrganization } from './schema';
import { cachedOrganizations, organizationSerializer } from './serializer';
import * as organizations from './service';

const visible = organizationPolicy['can-traverse'];
const { get, list, post, patch, put, remove } = endpoints(organizationPolicy, organizationSerializer, { visible });

const spec = 'Organizations';
const path = '/organizations/:organization_name';
const load = ({ db, env, params }: Lookup<typeof path>) => organizations.findByName(db, env, params.organization_name);

const index = list('/organizations', {
  summary: 'List the organizations that the caller belongs to.',
  spec,
  paging: 'optional',
  query: {
    q: 'Part of the name or email address. Takes precedence over the filters by name and by email address.',
    'q[name]': 'Part of the name.',
    'q[email]': 'Part of the e-mail address.',
  },
  include: ['entitlement_set', 'subscription'],
  run: ({ db, env, principal, query, page }) => {
    const search = { any: query.get('q'), name: query.get('q[name]'), email: query.get('q[email]') };
    return organizations.list(db, env, principal, search, page);
  },
});

const show = get(path, {
  summary: 'Show an organization.',
  spec,
  include: ['entitlement_set', 'subscription', 'default-project', 'default_project'],
  loadsEarly: true,
  cached: cachedOrganizations,
  load,
  run: async ({ target }) => target,
});

const create = post('/organizations', {
  summary: 'Create an organization; the caller becomes its owner.',
  spec,
  tokens: ['user'],
  alwaysIncludes: ['entitlement_set'],
  body: CreateOrganization,
  run: ({ db, env, body, settings, principal, ...call }) =>
    organizations.create(db, env, { principal, settings, actor: actorOf({ principal, ...call }) }, body),
});

const update = [patch, put].map((change) =>
  change(path, {
    summary: 'Update an organization; omitted fields keep their values.',
    spec,
    requires: 'can-update',
    include: ['entitlement_set', 'subscription', 'default-project', 'default_project'],
    body: UpdateOrganization,
    load,
    run: ({ db, env, target, body, principal, ...call }) =>
      organizations.update(db, env, { principal, actor: actorOf({ principal, ...call }) }, target, body),
  }),
);

const destroy = remove(path, {
  summary: 'Delete an organization and everything in it.',
  stepUp: true,
  spec,
  requires: 'can-destroy',
  load,
  run: ({ db, target, ...call }) => organizations.remove(db, actorOf(call), target),
});

/** Organizations. */
export const organizationResource: Resource = {
  name: 'organizations',
  endpoints: [index, show, create, ...update, destroy],
  includable: {
    organizations: includable({
      serializer: organizationSerializer,
      load: (db, names, env) => organizations.findMany(db, env, names),
      visible,
      organizationsOf: ({ id }) => [id],
    }),
  },
};
