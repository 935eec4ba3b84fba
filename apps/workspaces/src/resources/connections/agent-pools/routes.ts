import {
  document,
  flag,
  hasMany,
  hasOne,
  instant,
  linksTo,
  many,
  related,
  text,
  toMany,
  toOne,
  whole,
} from '@keystead/jsonapi';
import { z } from 'zod';
import type { Access } from '../../../kernel/access/access';
import { seenWorkspaces } from '../../../kernel/access/visible';
import { actorOf } from '../../../kernel/audit/audit';
import { endpoints, includable, type Lookup, type Resource, serializerOf } from '../../../kernel/endpoints/endpoint';
import type { Organization } from '../../organizations/organizations/organization';
import { organizationPolicy } from '../../organizations/organizations/policy';
import * as organizations from '../../organizations/organizations/service';
import { agentTokenEndpoints } from './agent-tokens';
import { agentEndpoints } from './agents';
import { poolPolicy, seesPools } from './policy';
import type { AgentPool } from './service';
import * as pools from './service';

const poolSerializer = serializerOf<AgentPool>()({
  type: 'agent-pools',
  shape: {
    name: text,
    'created-at': instant,
    'organization-scoped': flag,
    'agent-count': whole,
  },
  relations: {
    organization: hasOne('organizations'),
    workspaces: hasMany('workspaces'),
    'allowed-workspaces': hasMany('workspaces'),
    'allowed-projects': hasMany('projects'),
    'excluded-workspaces': hasMany('workspaces'),
    agents: linksTo(),
    'authentication-tokens': linksTo(),
  },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/agent-pools/${id}`,
  attributes: (pool) => ({
    name: pool.name,
    'created-at': pool.createdAt,
    'organization-scoped': pool.organizationScoped,
    'agent-count': pool.agentCount,
  }),
  relationships: (pool, { access }) => {
    const { id, organization, organizationId, workspaceIds, allowedIds, excludedIds } = pool;
    // Callers who may change the lists see all their items. Others see only the items that they may see anyway.
    const isWhole = poolPolicy['can-update'](access, pool);
    const visibleIds = new Set(pool.workspaces.filter((one) => access.has(one, 'runs:read')).map((one) => one.id));
    const shown = (ids: readonly string[]) => (isWhole ? ids : ids.filter((one) => visibleIds.has(one)));
    const projects = pool.projectIds.filter((one) => isWhole || access.seesProject({ id: one, organizationId }));
    return {
      organization: toOne('organizations', organization),
      workspaces: toMany('workspaces', shown(workspaceIds)),
      'allowed-workspaces': toMany('workspaces', shown(allowedIds)),
      'allowed-projects': toMany('projects', projects),
      'excluded-workspaces': toMany('workspaces', shown(excludedIds)),
      agents: related(`/api/v2/agent-pools/${id}/agents`),
      'authentication-tokens': related(`/api/v2/agent-pools/${id}/authentication-tokens`),
    };
  },
});

const name = z
  .string()
  .min(1)
  .max(255)
  .regex(/^[A-Za-z0-9 _-]+$/, 'Name can only include letters, numbers, spaces, dashes and underscores')
  .regex(/^\S(.*\S)?$/, 'may not start or end with a space');
const shared = { 'organization-scoped': z.boolean().optional() };
const relationships = {
  workspaces: many('workspaces'),
  'allowed-workspaces': many('workspaces'),
  'excluded-workspaces': many('workspaces'),
  'allowed-projects': many('projects'),
};
const CreatePool = document('agent-pools', { attributes: { name, ...shared }, relationships });
const UpdatePool = document('agent-pools', { attributes: { name: name.optional(), ...shared }, relationships });

const { get, list, post, patch, remove } = endpoints(poolPolicy, poolSerializer, {
  visible: (access, pool: { organizationId: string }) => poolPolicy['can-read'](access, pool),
});

const collection = '/organizations/:organization_name/agent-pools';
const path = '/agent-pools/:pool_id';
const load = ({ db, params }: Lookup<typeof path>) => pools.find(db, params.pool_id);
const include = ['workspaces'];
const entitled = (access: Access, organization: Organization): boolean =>
  organization.entitlements.agents && access.isMember(organization.id);

const index = list(collection, {
  summary: 'List the agent pools of an organization.',
  query: {
    q: 'Part of the name.',
    'filter[allowed_workspaces][name]': 'Name of a workspace that may use the pool.',
    'filter[allowed_projects][name]': 'Name of a project whose workspaces may use the pool.',
  },
  sort: ['name', 'created-at'],
  include,
  visible: entitled,
  load: ({ db, env, params }) => organizations.findByName(db, env, params.organization_name),
  run: async ({ db, access, target, query, sort, page }) => {
    const search = {
      text: query.get('q'),
      workspace: query.get('filter[allowed_workspaces][name]'),
      project: query.get('filter[allowed_projects][name]'),
    };
    const visible = seesPools(access, target.id) ? undefined : seenWorkspaces(access, target.id);
    return pools.list(db, target.id, { ...search, visible }, sort, page!);
  },
});

const create = post(collection, {
  summary: 'Create an agent pool.',
  requires: organizationPolicy['can-update-agent-pools'],
  body: CreatePool,
  load: ({ db, env, params }) => organizations.findByName(db, env, params.organization_name),
  run: ({ db, target, body, ...call }) => pools.create(db, actorOf(call), target.id, body),
});

const show = get(path, { summary: 'Show an agent pool.', include, load, run: async ({ target }) => target });

const update = patch(path, {
  summary: 'Update an agent pool; omitted fields keep their values.',
  requires: 'can-update',
  include,
  body: UpdatePool,
  load,
  run: ({ db, target, body, ...call }) => pools.update(db, actorOf(call), target, body),
});

const destroy = remove(path, {
  summary: 'Delete an agent pool. Refused while it is in use.',
  requires: 'can-update',
  load,
  run: ({ db, target, ...call }) => pools.remove(db, actorOf(call), target),
});

/** Agent pools. */
export const agentPoolResource: Resource = {
  name: 'agent-pools',
  endpoints: [index, create, show, update, destroy, ...agentTokenEndpoints, ...agentEndpoints],
  includable: {
    'agent-pools': includable({
      serializer: poolSerializer,
      load: (db, ids) => pools.findMany(db, ids),
      visible: (access, pool) => poolPolicy['can-read'](access, pool),
      organizationsOf: ({ organizationId }) => [organizationId],
    }),
  },
};
