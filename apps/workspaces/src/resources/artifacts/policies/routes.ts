import { choice, document, hasMany, hasOne, instant, text, toMany, toOne, whole } from '@keystead/jsonapi';
import { notFound, Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { actorOf } from '../../../kernel/audit/audit';
import {
  endpoints,
  includable,
  type Lookup,
  type LookupBy,
  type Resource,
  serializerOf,
} from '../../../kernel/endpoints/endpoint';
import { organizationPolicy } from '../../organizations/organizations/policy';
import * as organizations from '../../organizations/organizations/service';
import { policyKinds } from '../../runs/runs/stages/policies';
import { policyPolicy, readsPolicies } from './policy';
import * as policies from './stored-policy';
import { levels, mostText, policyName, policyQuery, type StoredPolicy } from './stored-policy';

const policySerializer = serializerOf<StoredPolicy>()({
  type: 'policies',
  shape: {
    name: text,
    kind: choice(policyKinds),
    query: text.nullable(),
    description: text,
    'enforcement-level': choice(levels),
    enforce: z.array(z.object({ path: text, mode: choice(levels) })),
    'policy-set-count': whole,
    'updated-at': instant,
  },
  relations: { organization: hasOne('organizations'), 'policy-sets': hasMany('policy-sets') },
  id: ({ id }) => id,
  self: ({ id }) => `/api/v2/policies/${id}`,
  links: ({ id, isUploaded }): Record<string, string> => ({
    upload: `/api/v2/policies/${id}/upload`,
    ...(isUploaded ? { download: `/api/v2/policies/${id}/download` } : {}),
  }),
  attributes: (policy) => ({
    name: policy.name,
    kind: policy.kind,
    query: policy.query,
    description: policy.description,
    'enforcement-level': policy.enforcementLevel,
    // The older form contains the file name of the text.
    enforce: policy.isUploaded
      ? [{ path: `${policy.name}.${policy.kind === 'opa' ? 'rego' : 'sentinel'}`, mode: policy.enforcementLevel }]
      : [],
    'policy-set-count': policy.setIds.length,
    'updated-at': policy.updatedAt,
  }),
  relationships: ({ organization, setIds }) => ({
    organization: toOne('organizations', organization),
    'policy-sets': toMany('policy-sets', setIds),
  }),
});

const level = z.enum(levels);
const shared = {
  query: policyQuery.nullish(),
  description: z.string().max(1000).nullish(),
  'enforcement-level': level.nullish(),
  enforce: z
    .array(z.object({ path: z.string().max(512).nullish(), mode: level }))
    .max(1)
    .nullish(),
};
const CreatePolicy = document('policies', {
  attributes: { name: policyName, kind: z.enum(policyKinds).optional(), ...shared },
});
const UpdatePolicy = document('policies', { attributes: { name: policyName.optional(), ...shared } });

const inOrganization = '/organizations/:organization_name/policies';
const byId = '/policies/:policy_id';

const ofOrganization = endpoints(organizationPolicy, policySerializer, {
  visible: (access, { id }) => access.isMember(id),
  organizationsOf: (item: { id: string; organizationId?: string }) => [item.organizationId ?? item.id],
});
const ofPolicy = endpoints(policyPolicy, policySerializer, { visible: readsPolicies });
const loadOrganization = ({ db, env, params }: Lookup<typeof inOrganization>) =>
  organizations.findByName(db, env, params.organization_name);
const load = async ({ db, params }: LookupBy<'policy_id'>) => (await policies.findPolicies(db, [params.policy_id]))[0];

const index = ofOrganization.list(inOrganization, {
  summary: 'List the policies of an organization by name.',
  query: { 'search[name]': 'A part of the name.', 'filter[kind]': 'opa or sentinel.' },
  load: loadOrganization,
  run: ({ db, target, query, page }) =>
    policies.listPolicies(
      db,
      target.id,
      { name: query.get('search[name]'), kind: query.get('filter[kind]') || undefined },
      page!,
    ),
});

const create = ofOrganization.post(inOrganization, {
  summary: 'Create a policy. Its text is uploaded afterwards.',
  requires: 'can-update-polengine',
  body: CreatePolicy,
  load: loadOrganization,
  run: ({ db, target, body, ...call }) => policies.createPolicy(db, actorOf(call), target.id, body),
});

const show = ofPolicy.get(byId, { summary: 'Show a policy.', load, run: async ({ target }) => target });

const update = ofPolicy.patch(byId, {
  summary: 'Change a policy.',
  requires: 'can-manage',
  body: UpdatePolicy,
  load,
  run: ({ db, target, body, ...call }) => policies.updatePolicy(db, actorOf(call), target, body),
});

const destroy = ofPolicy.remove(byId, {
  summary: 'Delete a policy, and remove it from its sets.',
  requires: 'can-manage',
  load,
  run: ({ db, target, ...call }) => policies.removePolicy(db, actorOf(call), target),
});

async function textIn(stream: AsyncIterable<Uint8Array>): Promise<string> {
  const pieces: Uint8Array[] = [];
  let size = 0;
  for await (const piece of stream) {
    size += piece.length;
    if (size > mostText) throw new Refusal('too-large', `the text of a policy has at most ${mostText} bytes`);
    pieces.push(piece);
  }
  const content = Buffer.concat(pieces);
  const decoded = content.toString('utf8');
  if (!Buffer.from(decoded).equals(content) || decoded.includes('\0')) {
    throw new Refusal('invalid', 'the text of a policy must be UTF-8');
  }
  return decoded;
}

const upload = ofPolicy.raw('PUT')(`${byId}/upload`, {
  summary: 'Upload the text of a policy. It replaces the current text.',
  answers: { 200: { description: 'The text takes effect immediately.' } },
  takes: 'application/octet-stream',
  refuses: [413, 422],
  requires: 'can-manage',
  streams: true,
  load,
  run: async ({ db, target, request, ...call }) => {
    const content = await textIn(request.stream!);
    await policies.uploadText(db, actorOf({ ...call, request }), target as StoredPolicy, content);
    return { status: 200, headers: {}, body: '' };
  },
});

const plain = 'text/plain; charset=utf-8';
const download = ofPolicy.raw('GET')(`${byId}/download`, {
  summary: 'Download the text of a policy.',
  discloses: { action: 'policy.download' },
  answers: { 200: { description: 'The text.', type: 'text/plain', schema: { type: 'string' } } },
  load,
  run: async ({ db, target }) => {
    const body = await policies.textOf(db, (target as StoredPolicy).id);
    if (body === undefined) throw notFound();
    return { status: 200, headers: { 'Content-Type': plain }, body };
  },
});

/** Policies that are evaluated for plans. */
export const policyResource: Resource = {
  name: 'policies',
  endpoints: [index, create, show, update, destroy, upload, download],
  includable: {
    policies: includable<StoredPolicy>({
      serializer: policySerializer,
      load: policies.findPolicies,
      visible: readsPolicies,
      organizationsOf: ({ organizationId }) => [organizationId],
    }),
  },
};
