import {
  choice,
  document,
  flag,
  hasMany,
  hasOne,
  instant,
  label,
  many,
  references,
  type SentReference,
  text,
  toMany,
  toOne,
} from '@keystead/jsonapi';
import { z } from 'zod';
import { rangeOf } from '../../../kernel/access/address-ranges';
import { policy } from '../../../kernel/access/policy';
import type { Principal } from '../../../kernel/access/principal';
import { actorOf } from '../../../kernel/audit/audit';
import { endpoints, includable, type LookupBy, type Resource, serializerOf } from '../../../kernel/endpoints/endpoint';
import * as organizations from '../../organizations/organizations/service';
import type { AddressList, AddressRange, Changer } from './address-list';
import * as lists from './address-list';

const listSerializer = serializerOf<AddressList>()({
  type: 'cidr-range-lists',
  shape: { name: text, description: text, 'enforcement-scope': choice(lists.scopes), 'updated-at': instant },
  relations: {
    organization: hasOne('organizations'),
    'agent-pools': hasMany('agent-pools'),
    'cidr-ranges': hasMany('cidr-ranges'),
  },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/cidr-range-lists/${id}`,
  attributes: (list) => ({
    name: list.name,
    description: list.description,
    'enforcement-scope': list.enforcementScope as lists.Scope,
    'updated-at': list.updatedAt,
  }),
  relationships: (list) => ({
    organization: toOne('organizations', list.organization),
    'agent-pools': toMany(
      'agent-pools',
      list.pools.map(({ agentPoolId }) => agentPoolId),
    ),
    'cidr-ranges': toMany(
      'cidr-ranges',
      list.ranges.map(({ id }) => id),
      `/api/v2/cidr-range-lists/${list.id}/relationships/cidr-ranges`,
    ),
  }),
});

const rangeSerializer = serializerOf<AddressRange>()({
  type: 'cidr-ranges',
  shape: { range: text, description: text.nullable(), enabled: flag, 'updated-at': instant },
  relations: { organization: hasOne('organizations'), 'cidr-range-list': hasOne('cidr-range-lists') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/cidr-ranges/${id}`,
  attributes: ({ range, description, enabled, updatedAt }) => ({
    range,
    description,
    enabled,
    'updated-at': updatedAt,
  }),
  relationships: ({ organization, listId }) => ({
    organization: toOne('organizations', organization),
    'cidr-range-list': toOne('cidr-range-lists', listId),
  }),
});

const listPolicy = policy<{ readonly organizationId: string }>()({
  'can-manage': (access, { organizationId }) => access.isOwner(organizationId),
});
const visible = listPolicy['can-manage'];
const ofLists = endpoints(listPolicy, listSerializer, { visible });
const ofRanges = endpoints(listPolicy, rangeSerializer, { visible });

const name = label(255);
const description = z.string().max(1000);
const scope = z.enum(lists.scopes);
const relationships = { 'agent-pools': many('agent-pools') };
const CreateList = document('cidr-range-lists', {
  attributes: { name, description: description.optional(), 'enforcement-scope': scope.optional() },
  relationships,
});
const UpdateList = document('cidr-range-lists', {
  attributes: { name: name.optional(), description: description.optional(), 'enforcement-scope': scope.optional() },
  relationships,
});
const range = z
  .string()
  .refine((range) => rangeOf(range) !== undefined, 'must be a range of addresses such as 192.0.2.0/24')
  .transform((range) => rangeOf(range) ?? range);
const CreateRange = document('cidr-ranges', {
  attributes: { range, description: description.nullish(), enabled: flag },
});
const UpdateRange = document('cidr-ranges', {
  attributes: { range: range.optional(), description: description.nullish(), enabled: flag.optional() },
});

const inOrganization = '/organizations/:organization_name/cidr-range-lists';
const listPath = '/cidr-range-lists/:cidr_range_list_id';
const rangesPath = `${listPath}/relationships/cidr-ranges` as const;
const poolsPath = `${listPath}/relationships/agent-pools` as const;
const rangePath = '/cidr-ranges/:cidr_range_id';
const loadOrganization = ({ db, env, params }: LookupBy<'organization_name'>) =>
  organizations.findByName(db, env, params.organization_name);
const loadList = async ({ db, params }: LookupBy<'cidr_range_list_id'>) =>
  (await lists.findLists(db, [params.cidr_range_list_id]))[0];
const loadRange = async ({ db, params }: LookupBy<'cidr_range_id'>) =>
  (await lists.findRanges(db, [params.cidr_range_id]))[0];

const idsOf = (sent: readonly SentReference[] | undefined) => sent?.map(({ id }) => id ?? '');
/** Only for people and teams. */
const manages = { requires: 'can-manage', tokens: ['user', 'team'] } as const;
const changer = (call: { principal: Principal; request: { id: string; address: string } }): Changer => ({
  actor: actorOf(call),
  principal: call.principal,
});

const index = ofLists.list(inOrganization, {
  summary: 'List the address lists of an organization, oldest first.',
  requires: 'can-manage',
  load: loadOrganization,
  run: ({ db, target, page }) => lists.pageOfLists(db, target.organizationId, page!),
});

const create = ofLists.post(inOrganization, {
  ...manages,
  summary: 'Create an address list. It takes effect when one of its ranges is enabled.',
  body: CreateList,
  load: loadOrganization,
  run: ({ db, target, body: { agentPools, ...body }, ...call }) =>
    lists.createList(db, changer(call), target.organizationId, { ...body, poolIds: idsOf(agentPools) }),
});

const show = ofLists.get(listPath, {
  summary: 'Show an address list.',
  requires: 'can-manage',
  load: loadList,
  run: async ({ target }) => target,
});

const update = ofLists.patch(listPath, {
  ...manages,
  summary: 'Change an address list. A list of agent pools replaces the existing one.',
  body: UpdateList,
  load: loadList,
  run: ({ db, target, body: { agentPools, ...body }, ...call }) =>
    lists.updateList(db, changer(call), target, { ...body, poolIds: idsOf(agentPools) }),
});

const destroy = ofLists.remove(listPath, {
  ...manages,
  summary: 'Delete an address list and its ranges.',
  load: loadList,
  run: ({ db, target, ...call }) => lists.removeList(db, changer(call), target),
});

const pools = (['POST', 'DELETE'] as const).map((method) =>
  ofLists.command(method)(poolsPath, {
    ...manages,
    summary: `${method === 'POST' ? 'Add agent pools to' : 'Remove agent pools from'} an address list.`,
    body: references('agent-pools'),
    load: loadList,
    run: async ({ db, target, body, ...call }) => {
      await lists.changePools(db, changer(call), target, method === 'POST' ? 'add' : 'remove', idsOf(body) ?? []);
    },
  }),
);

const ranges = ofRanges.list(rangesPath, {
  summary: 'List the ranges of an address list, oldest first.',
  requires: 'can-manage',
  load: loadList,
  run: ({ db, target, page }) => lists.pageOfRanges(db, (target as AddressList).id, page!),
});

const createRange = ofRanges.post(rangesPath, {
  ...manages,
  summary: 'Add a range to an address list.',
  body: CreateRange,
  load: loadList,
  run: ({ db, target, body, ...call }) => lists.createRange(db, changer(call), target as AddressList, body),
});

const showRange = ofRanges.get(rangePath, {
  summary: 'Show a range of an address list.',
  requires: 'can-manage',
  load: loadRange,
  run: async ({ target }) => target,
});

const updateRange = ofRanges.patch(rangePath, {
  ...manages,
  summary: 'Change a range of an address list, or enable or disable it.',
  body: UpdateRange,
  load: loadRange,
  run: ({ db, target, body, ...call }) => lists.updateRange(db, changer(call), target, body),
});

const removeRange = ofRanges.remove(rangePath, {
  ...manages,
  summary: 'Remove a range from an address list.',
  load: loadRange,
  run: ({ db, target, ...call }) => lists.removeRange(db, changer(call), target),
});

/** The addresses that an organization may be used from, and that its agents may connect from. */
export const addressListResource: Resource = {
  name: 'cidr-range-lists',
  endpoints: [
    ...[index, create, show, update, destroy, ...pools],
    ...[ranges, createRange, showRange, updateRange, removeRange],
  ],
  includable: {
    'cidr-range-lists': includable<AddressList>({ serializer: listSerializer, load: lists.findLists, visible }),
    'cidr-ranges': includable<AddressRange>({ serializer: rangeSerializer, load: lists.findRanges, visible }),
  },
};
