import { document, one } from '@keystead/jsonapi';
import { z } from 'zod';

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

const shared = {
  'session-timeout': minutes.optional(),
  'session-remember': minutes.optional(),
  'collaborator-auth-policy': z.enum(['password', 'two_factor_mandatory']).optional(),
  'cost-estimation-enabled': z.boolean().optional(),
  'send-passing-statuses-for-untriggered-speculative-plans': z.boolean().optional(),
  'aggregated-commit-status-enabled': z.boolean().optional(),
  'speculative-plan-management-enabled': z.boolean().optional(),
  'owners-team-saml-role-id': z.string().max(255).nullable().optional(),
  'assessments-enforced': z.boolean().optional(),
  'allow-force-delete-workspaces': z.boolean().optional(),
  'user-tokens-enabled': z.boolean().optional(),
  'default-execution-mode': z.enum(['remote', 'local', 'agent']).optional(),
  'default-agent-pool-id': z.string().nullable().optional(),
};

const editions = { 'assessments-enforced': 'hosted' };

const relationships = { 'default-agent-pool': one('agent-pools') };

/** Body of a create. Spec: Organizations */
export const CreateOrganization = document('organizations', {
  editions,
  attributes: { name, email, ...shared },
  relationships,
});

/** Body of an update: what is left out keeps its value. Spec: Organizations */
export const UpdateOrganization = document('organizations', {
  editions,
  attributes: { name: name.optional(), email: email.optional(), ...shared },
  relationships,
});

type ValueOf<S> = S extends { parse(...given: never[]): { value: infer V } } ? V : never;

/** What a create says. */
export type NewOrganization = ValueOf<typeof CreateOrganization>;
/** What an update says. */
export type OrganizationChanges = ValueOf<typeof UpdateOrganization>;
