import { type BodyShape, document, text, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import type { Policy, Rule } from '../../../kernel/access/policy';
import { actorOf } from '../../../kernel/audit/audit';
import {
  type Call,
  type Endpoint,
  endpoints,
  type Lookup,
  type Resource,
  serializerOf,
} from '../../../kernel/endpoints/endpoint';
import type { Organization } from '../../organizations/organizations/organization';
import { organizationPolicy } from '../../organizations/organizations/policy';
import { retentionType } from '../../organizations/organizations/serializer';
import * as organizations from '../../organizations/organizations/service';
import { workspacePolicy } from '../../workspaces/workspaces/policy';
import type { Workspace } from '../../workspaces/workspaces/workspace';
import * as workspaces from '../../workspaces/workspaces/workspace';
import * as retention from './service';
import { type Kind, type Preview, preview } from './sweep';

/** A policy as shown in responses. With `legacy`, it has the only type that older clients know. */
interface ShownPolicy extends retention.RetentionPolicy {
  readonly legacy?: boolean;
}

const policySerializer = serializerOf<ShownPolicy>()({
  type: ({ days, legacy }) => (legacy ? 'data-retention-policies' : retentionType(days)),
  shape: {
    'delete-older-than-n-days': whole.optional(),
  },
  id: ({ id }) => id,
  attributes: ({ days }) => (days === null ? {} : { 'delete-older-than-n-days': days }),
});

/** The data that a sweep would remove now, by kind. */
interface ShownPreview {
  readonly id: string;
  readonly found: readonly Preview[];
}

const found = z.object({ count: whole, 'first-ids': z.array(text) });
const previewAttributes = { 'state-versions': found, 'configuration-versions': found } satisfies Record<Kind, unknown>;

const previewSerializer = serializerOf<ShownPreview>()({
  type: 'data-retention-previews',
  shape: previewAttributes,
  id: ({ id }) => id,
  attributes: ({ found }) =>
    Object.fromEntries(found.map(({ kind, count, ids }) => [kind, { count, 'first-ids': ids }])) as Record<
      Kind,
      { count: number; 'first-ids': readonly string[] }
    >,
});

const attributes = { 'delete-older-than-n-days': z.int().min(1).max(100_000) };
const DeleteOlder = document('data-retention-policy-delete-olders', {
  attributes,
  otherTypes: ['data-retention-policies'],
});
const DontDelete = document('data-retention-policy-dont-deletes', {
  unserved: { 'delete-older-than-n-days': 'nothing is deleted' },
});

/** The number of days to keep data (null for no limit), and whether the older type was sent. */
interface PolicyInput {
  readonly days: number | null;
  readonly legacy: boolean;
}

const PolicyBody: BodyShape<PolicyInput> = {
  optional: false,
  parse(raw) {
    const type = (raw as { data?: { type?: unknown } } | undefined)?.data?.type;
    if (type === 'data-retention-policy-dont-deletes') {
      return { ...DontDelete.parse(raw, { aliases: false }), value: { days: null, legacy: false } };
    }
    const { value, ...parsed } = DeleteOlder.parse(raw, { aliases: false });
    return { ...parsed, value: { days: value.deleteOlderThanNDays, legacy: type === 'data-retention-policies' } };
  },
  jsonSchema: () => DeleteOlder.jsonSchema(),
};

const { get, post, patch, remove } = endpoints({} as Policy<never>, policySerializer, { organizationsOf: () => [] });

const previews = endpoints({} as Policy<never>, previewSerializer, { organizationsOf: () => [] });

interface PolicyOwner<Target> {
  readonly path: string;
  readonly of: string;
  readonly spec?: string;
  readonly load?: (lookup: Lookup<string>) => Promise<Target | undefined>;
  readonly holder: (target: Target) => retention.RetentionTarget;
  readonly organizationsOf: (target: Target) => readonly string[];
  readonly visible?: Rule<Target>;
  readonly mayChange?: Rule<Target>;
  readonly siteAdmin?: boolean;
}

/** The four endpoints of one level that can have a policy. */
function policyAt<Target>(owner: PolicyOwner<Target>): Endpoint[] {
  const { path, of, spec, load, holder, visible, mayChange, siteAdmin } = owner;
  // Permissions depend on the policy's owner, not on the policy.
  const organizationsOf = (target: Target) => owner.organizationsOf(target).filter((id) => id !== undefined);
  const common = { spec, edition: 'self-hosted', load, organizationsOf, visible, siteAdmin } as const;
  type TargetCall<Body> = Call<string, Body, Target>;
  const set = async ({ db, target, body, ...call }: TargetCall<PolicyInput>): Promise<ShownPolicy> => ({
    ...(await retention.replace(db, actorOf(call), holder(target), body.days)),
    legacy: body.legacy,
  });
  return [
    get(path, {
      ...common,
      summary: `Show the data retention policy that applies to ${of}: its own or an inherited one.`,
      run: ({ db, target }: TargetCall<undefined>) => retention.findEffective(db, holder(target)),
    }),
    previews.get(`${path}/preview`, {
      ...common,
      summary: `Preview what the current policies would delete from ${of} now. Only for callers who may change the policy.`,
      requires: mayChange,
      run: async ({ db, env, target }: TargetCall<undefined>) => {
        const { workspaceId, organizationId } = holder(target);
        const found = await preview(db, { workspaceId, organizationId }, env.now());
        return { id: workspaceId ?? organizationId ?? 'installation', found };
      },
    }),
    post(path, {
      ...common,
      summary: `Set the data retention policy of ${of}.`,
      status: 200,
      requires: mayChange,
      body: PolicyBody,
      run: set,
    }),
    patch(path, {
      ...common,
      summary: `Set the data retention policy of ${of} (older form).`,
      requires: mayChange,
      body: PolicyBody,
      names: async ({ db }: Lookup<string>, target: Target) => (await retention.findEffective(db, holder(target)))?.id,
      run: set,
    }),
    remove(path, {
      ...common,
      summary: `Delete the data retention policy of ${of}. The inherited policy applies again.`,
      requires: mayChange,
      run: ({ db, target, ...call }: TargetCall<undefined>) => retention.remove(db, actorOf(call), holder(target)),
    }),
  ];
}

const param = ({ params }: Lookup<string>, name: string) => (params as Record<string, string>)[name]!;

const onOrganization = policyAt<Organization>({
  path: '/organizations/:organization_name/relationships/data-retention-policy',
  of: 'an organization',
  spec: 'Organizations',
  load: (lookup) => organizations.findByName(lookup.db, lookup.env, param(lookup, 'organization_name')),
  holder: ({ id }) => ({ workspaceId: null, organizationId: id, auditedIn: id }),
  organizationsOf: ({ id }) => [id],
  visible: organizationPolicy['can-traverse'],
  mayChange: organizationPolicy['can-update'],
});

const onWorkspace = policyAt<Workspace>({
  path: '/workspaces/:workspace_id/relationships/data-retention-policy',
  of: 'a workspace',
  load: (lookup) => workspaces.find(lookup.db, param(lookup, 'workspace_id')),
  holder: ({ id, organizationId }) => ({ workspaceId: id, organizationId: null, auditedIn: organizationId }),
  organizationsOf: ({ organizationId }) => [organizationId],
  visible: workspacePolicy['can-read-settings'],
  mayChange: workspacePolicy['can-update'],
});

const onInstallation = policyAt<undefined>({
  path: '/admin/data-retention-policy',
  of: 'the installation',
  holder: () => retention.installation,
  organizationsOf: () => [],
  siteAdmin: true,
});

/** Data retention policies: of workspaces, organizations and the installation. Self-hosted edition only. */
export const retentionResource: Resource = {
  name: 'data-retention',
  endpoints: [...onOrganization, ...onWorkspace, ...onInstallation],
};
