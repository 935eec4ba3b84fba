import { document, hasOne, instant, invalid, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import { actorOf, recordChange } from '../../kernel/audit/audit';
import { endpoints, type LookupBy, type Resource, serializerOf } from '../../kernel/endpoints/endpoint';
import type { Organization } from '../organizations/organizations/organization';
import { organizationPolicy } from '../organizations/organizations/policy';
import * as organizations from '../organizations/organizations/service';

const trails = z.object({ enabled: z.boolean() });
const streaming = z.object({
  enabled: z.boolean(),
  'organization-id': z.string().nullable(),
  'use-default-organization': z.boolean(),
});
const none = { enabled: false, 'organization-id': null, 'use-default-organization': false };
const rights = z.object({
  'can-enable-hcp-audit-log-streaming': z.boolean(),
  'can-set-hcp-audit-log-streaming-organization': z.boolean(),
  'can-use-default-audit-log-streaming-organization': z.boolean(),
});

// The trail is always recorded, and readers fetch it, so no configuration is stored.
const configurationSerializer = serializerOf<Organization>()({
  type: 'audit-configurations',
  shape: {
    'audit-trails': trails,
    'hcp-audit-log-streaming': streaming,
    permissions: rights,
    timestamps: z.object({ 'audit-trails-enabled-at': instant }),
    'updated-at': instant,
  },
  relations: { organization: hasOne('organizations') },
  id: ({ id }) => `audit-${id}`,
  attributes: ({ createdAt }) => ({
    'audit-trails': { enabled: true },
    'hcp-audit-log-streaming': none,
    permissions: {
      'can-enable-hcp-audit-log-streaming': false,
      'can-set-hcp-audit-log-streaming-organization': false,
      'can-use-default-audit-log-streaming-organization': false,
    },
    timestamps: { 'audit-trails-enabled-at': createdAt },
    'updated-at': createdAt,
  }),
  relationships: ({ name }) => ({ organization: toOne('organizations', name) }),
});

const UpdateConfiguration = document('audit-configurations', {
  untyped: true,
  attributes: {
    'audit-trails': trails.partial().nullish(),
    'hcp-audit-log-streaming': z
      .object({
        enabled: z.boolean(),
        'organization-id': z.string().nullish(),
        'use-default-organization': z.boolean().nullish(),
      })
      .partial()
      .nullish(),
  },
});

const path = '/organizations/:organization_name/audit-configuration';
const load = ({ db, env, params }: LookupBy<'organization_name'>) =>
  organizations.findByName(db, env, params.organization_name);
const ofOwners = endpoints(organizationPolicy, configurationSerializer, {
  visible: organizationPolicy['can-traverse'],
});

const show = ofOwners.get(path, {
  summary: 'Show the audit configuration of an organization.',
  requires: 'can-update-api-token',
  load,
  run: async ({ target }) => target,
});

const update = ofOwners.patch(path, {
  summary:
    'Accept the audit configuration without changing it. The audit trail cannot be turned off, and is not sent to the vendor’s cloud.',
  requires: 'can-update-api-token',
  names: (_, { id }) => `audit-${id}`,
  body: UpdateConfiguration,
  load,
  run: async ({ target, body }) => {
    if (body.auditTrails?.enabled === false)
      throw invalid('auditTrails', 'must be enabled: the audit trail cannot be turned off');
    const { enabled, organizationId, useDefaultOrganization } = body.hcpAuditLogStreaming ?? {};
    if (enabled || organizationId || useDefaultOrganization) {
      throw invalid('hcpAuditLogStreaming', 'must be off: log collectors read the audit trail from its endpoint');
    }
    return target;
  },
});

const test = endpoints(organizationPolicy, undefined, { visible: organizationPolicy['can-traverse'] }).raw('POST')(
  `${path}/test`,
  {
    summary: 'Write a test event to the audit trail. The response contains its ID.',
    requires: 'can-update-api-token',
    load,
    answers: {
      200: {
        description: 'The request ID that the event contains.',
        type: 'application/json',
        schema: { type: 'object', required: ['request-id'], properties: { 'request-id': { type: 'string' } } },
      },
    },
    run: async ({ db, target, ...call }) => {
      await recordChange(db, actorOf(call), {
        organizationId: target.id,
        action: 'audit-configuration.test',
        target: { type: 'organizations', id: target.id, name: target.name },
      });
      const headers = { 'content-type': 'application/json; charset=utf-8' };
      return { status: 200, headers, body: JSON.stringify({ 'request-id': call.request.id }) };
    },
  },
);

/** How the audit trail of an organization is delivered. */
export const auditConfigurationResource: Resource = {
  name: 'audit-configurations',
  endpoints: [show, update, test],
};
