import { attributesOf, choice, flag, instant, text, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import { abilities, permissions } from '../../../kernel/access/policy';
import type { View } from '../../../kernel/endpoints/endpoint';
import type { Organization } from './organization';
import { organizationPolicy } from './policy';

const { setting, toggle, ruled, writeOnly, shown, table } = attributesOf<Organization, View>();

const NAME = /^[A-Za-z0-9_-]+$/;
const LONGEST_NAME = 90;
const YEARS_IN_MINUTES = 52_560_000;

const name = z
  .string()
  .min(1)
  .max(LONGEST_NAME)
  .regex(NAME, 'Name can only include letters, numbers, dashes and underscores');

const email = z
  .string()
  .min(1)
  .max(254)
  .regex(/^[^\s@"<>()[\]\\,;:]+@[^\s@"<>()[\]\\,;:]+\.?[^\s@"<>()[\]\\,;:.]+$/, 'is invalid');

const minutes = z.int().min(1).max(YEARS_IN_MINUTES).nullable();

const isTrial = (org: Organization, { edition }: View) => edition === 'hosted' && org.featureSet === 'trial';
const planEnd = (org: Organization, { edition }: View) => (edition === 'hosted' ? org.planEndsAt : null);

/**
 * The attributes of an organization, one row each. Request bodies, responses, columns and the API description are
 * derived from this table. The rules between them are in `settings.ts`.
 * Spec: Organization (type `organizations`; id is the organization name)
 */
export const organizationAttributes = table({
  name: setting('name', { type: text, takes: name, initial: '', when: 'required' }),
  email: setting('email', { type: text, takes: email, initial: '', when: 'required' }),
  'external-id': shown(text, (org) => org.id),
  'created-at': shown(instant, (org) => org.createdAt),
  // The limit is applied nevertheless: no session lasts longer than two weeks. It is shown as unset, because providers
  // would otherwise plan to unset it.
  'session-timeout': setting('sessionTimeout', { type: whole.nullable(), takes: minutes, initial: null }),
  'session-remember': setting('sessionRemember', { type: whole.nullable(), takes: minutes, initial: null }),
  'collaborator-auth-policy': setting('collaboratorAuthPolicy', {
    type: text,
    takes: z.enum(['password', 'two_factor_mandatory']),
    initial: 'password',
  }),
  'plan-expired': shown(flag, (org, view) => (planEnd(org, view)?.getTime() ?? Number.POSITIVE_INFINITY) <= Date.now()),
  'plan-expires-at': shown(instant.nullable(), planEnd),
  'plan-is-trial': shown(flag, isTrial),
  'plan-is-enterprise': shown(flag, (_, { edition }) => edition === 'self-hosted'),
  'plan-identifier': shown(text, (org, { edition }) => (edition === 'self-hosted' ? 'enterprise' : org.featureSet)),
  'trial-expires-at': shown(instant.nullable(), (org, view) => (isTrial(org, view) ? org.planEndsAt : null)),
  'cost-estimation-enabled': toggle('costEstimationEnabled', false, {
    type: flag,
    show: (org, { settings }) => org.costEstimationEnabled && settings.costEstimationEnabled,
  }),
  'send-passing-statuses-for-untriggered-speculative-plans': ruled({
    type: flag,
    takes: flag,
    show: (org) => org.sendPassingStatuses,
    columns: { sendPassingStatuses: false },
  }),
  'aggregated-commit-status-enabled': toggle('aggregatedCommitStatusEnabled', true),
  'speculative-plan-management-enabled': toggle('speculativePlanManagement', true),
  'allow-force-delete-workspaces': toggle('allowForceDeleteWorkspaces', false),
  'user-tokens-enabled': toggle('userTokensEnabled', true),
  'max-ttl-enabled': toggle('maxTtlEnabled', false),
  'fair-run-queuing-enabled': shown(flag, (_, { settings }) => settings.fairRunQueuingEnabled),
  'saml-enabled': shown(flag, (_, { settings }) => settings.samlEnabled),
  'owners-team-saml-role-id': setting('ownersTeamSamlRoleId', {
    type: text.nullable(),
    takes: z.string().max(255).nullable(),
    initial: null,
  }),
  'two-factor-conformant': shown(flag.optional(), (org) => org.twoFactorConformant, { edition: 'hosted' }),
  'assessments-enforced': toggle('assessmentsEnforced', false, {
    type: flag.optional(),
    show: (org) => org.assessmentsEnforced,
    edition: 'hosted',
  }),
  'default-execution-mode': setting('defaultExecutionMode', {
    type: choice(['remote', 'local', 'agent']),
    takes: z.enum(['remote', 'local', 'agent']),
    initial: 'remote',
  }),
  // Shown as a relationship.
  'default-agent-pool-id': writeOnly(z.string().nullable(), { defaultAgentPoolId: null }),
  'remaining-testable-count': shown(whole, () => 5),
  permissions: shown(permissions(organizationPolicy), (org, { access }) => abilities(organizationPolicy, access, org)),
});

/** The columns of an organization that its users set. */
export type OrganizationSettings = typeof organizationAttributes.initial;
