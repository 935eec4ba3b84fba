import {
  choice,
  flag,
  hasOne,
  instant,
  linksTo,
  related,
  serializer,
  sometimes,
  text,
  toOne,
  whole,
} from '@keystead/jsonapi';
import { abilities, permissions } from '../../../kernel/access/policy';
import type { Cached, View } from '../../../kernel/endpoints/endpoint';
import type { Organization } from './organization';
import { organizationPolicy } from './policy';

const path = ({ name }: Organization): string => `/api/v2/organizations/${name}`;

/** The types under which a retention policy is shown. */
export const retentionTypes = ['data-retention-policy-dont-deletes', 'data-retention-policy-delete-olders'] as const;

/** Whether what is old is deleted, as a type. */
export function retentionType(days: number | null): (typeof retentionTypes)[number] {
  return days === null ? 'data-retention-policy-dont-deletes' : 'data-retention-policy-delete-olders';
}

function planAttributes(org: Organization, { edition }: View) {
  if (edition === 'self-hosted') {
    return {
      'plan-expired': false,
      'plan-expires-at': null,
      'plan-is-trial': false,
      'plan-is-enterprise': true,
      'plan-identifier': 'enterprise',
      'trial-expires-at': null,
    };
  }
  const { planEndsAt, featureSet } = org;
  return {
    'plan-expired': planEndsAt !== null && planEndsAt.getTime() <= Date.now(),
    'plan-expires-at': planEndsAt,
    'plan-is-trial': featureSet === 'trial',
    'plan-is-enterprise': false,
    'plan-identifier': featureSet,
    'trial-expires-at': featureSet === 'trial' ? planEndsAt : null,
  };
}

const organizationAttributes = {
  name: text,
  email: text,
  'external-id': text,
  'created-at': instant,
  'session-timeout': whole.nullable(),
  'session-remember': whole.nullable(),
  'collaborator-auth-policy': text,
  'plan-expired': flag,
  'plan-expires-at': instant.nullable(),
  'plan-is-trial': flag,
  'plan-is-enterprise': flag,
  'plan-identifier': text,
  'trial-expires-at': instant.nullable(),
  'cost-estimation-enabled': flag,
  'send-passing-statuses-for-untriggered-speculative-plans': flag,
  'aggregated-commit-status-enabled': flag,
  'speculative-plan-management-enabled': flag,
  'allow-force-delete-workspaces': flag,
  'user-tokens-enabled': flag,
  'fair-run-queuing-enabled': flag,
  'saml-enabled': flag,
  'owners-team-saml-role-id': text.nullable(),
  'two-factor-conformant': flag.optional(),
  'assessments-enforced': flag.optional(),
  'default-execution-mode': choice(['remote', 'local', 'agent']),
  'remaining-testable-count': whole,
  permissions: permissions(organizationPolicy),
};

const organizationRelations = {
  'default-agent-pool': hasOne('agent-pools'),
  'default-project': hasOne('projects'),
  'oauth-tokens': linksTo(),
  'authentication-token': linksTo(),
  'entitlement-set': hasOne('entitlement-sets'),
  subscription: hasOne('subscriptions'),
  'module-producers': sometimes(linksTo()),
  'data-retention-policy': sometimes(hasOne(...retentionTypes)),
};

/** Spec: Organization (type `organizations`; id is the organization name) */
export const organizationSerializer = serializer<
  Organization,
  View,
  typeof organizationAttributes,
  typeof organizationRelations
>({
  type: 'organizations',
  shape: organizationAttributes,
  relations: organizationRelations,
  id: ({ name }) => name,
  self: path,
  aliases: { 'permissions.can-update-polengine': 'permissions.can-update-sentinel' },
  attributes: (org, view) => ({
    name: org.name,
    email: org.email,
    'external-id': org.id,
    'created-at': org.createdAt,
    'session-timeout': org.sessionTimeout,
    'session-remember': org.sessionRemember,
    'collaborator-auth-policy': org.collaboratorAuthPolicy,
    ...planAttributes(org, view),
    'cost-estimation-enabled': org.costEstimationEnabled && view.settings.costEstimationEnabled,
    'send-passing-statuses-for-untriggered-speculative-plans': org.sendPassingStatuses,
    'aggregated-commit-status-enabled': org.aggregatedCommitStatusEnabled,
    'speculative-plan-management-enabled': org.speculativePlanManagement,
    'allow-force-delete-workspaces': org.allowForceDeleteWorkspaces,
    'user-tokens-enabled': org.userTokensEnabled,
    'fair-run-queuing-enabled': view.settings.fairRunQueuingEnabled,
    'saml-enabled': false,
    'owners-team-saml-role-id': org.ownersTeamSamlRoleId,
    ...(view.edition === 'hosted'
      ? {
          'two-factor-conformant': org.twoFactorConformant,
          'assessments-enforced': org.assessmentsEnforced,
        }
      : {}),
    'default-execution-mode': org.defaultExecutionMode,
    'remaining-testable-count': 5,
    permissions: abilities(organizationPolicy, view.access, org),
  }),
  relationships: (org, view) => ({
    'default-agent-pool': toOne('agent-pools', org.defaultAgentPoolId),
    'default-project': toOne('projects', org.defaultProjectId),
    'oauth-tokens': related(`${path(org)}/oauth-tokens`),
    'authentication-token': related(`${path(org)}/authentication-token`),
    'entitlement-set': toOne('entitlement-sets', org.id, `${path(org)}/entitlement-set`),
    subscription:
      view.edition === 'hosted'
        ? toOne('subscriptions', org.subscriptionId, `${path(org)}/subscription`)
        : toOne('subscriptions', null),
    ...(view.edition === 'self-hosted'
      ? {
          'module-producers': related(`${path(org)}/relationships/module-producers`),
          'data-retention-policy': {
            data: org.retentionId === null ? null : { id: org.retentionId, type: retentionType(org.retentionDays) },
            links: { related: `${path(org)}/relationships/data-retention-policy` },
          },
        }
      : {}),
  }),
});

/** How organizations are shown from cached text. */
export const cachedOrganizations: Cached<Organization, Organization> = {
  key(org, { access, settings }) {
    const may = Object.values(organizationPolicy).map((rule) => (rule(access, org) ? '1' : '0'));
    const expired = org.planEndsAt !== null && org.planEndsAt.getTime() <= Date.now();
    const { fairRunQueuingEnabled, costEstimationEnabled } = settings;
    const around = `${fairRunQueuingEnabled} ${costEstimationEnabled} ${expired} ${org.twoFactorConformant}`;
    return `${org.id} ${org.revision} ${around} ${may.join('')}`;
  },
  load: async (_db, organizations) => organizations,
  idOf: ({ id }) => id,
};
