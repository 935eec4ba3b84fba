import { document, references } from '@keystead/jsonapi';
import { z } from 'zod';
import { type OrganizationRight, organizationRights } from '../../../kernel/access/organization-rights';

const name = z
  .string()
  .min(1)
  .max(90)
  .regex(/^[A-Za-z0-9_ -]+$/, 'may only contain letters, numbers, spaces, dashes and underscores')
  .regex(/^\S(.*\S)?$/, 'may not start or end with a space');

const right = z.boolean().nullish();
const organizationAccess = z.object(
  Object.fromEntries(organizationRights.map((key) => [key, right])) as Record<OrganizationRight, typeof right>,
);

const settings = {
  visibility: z.enum(['secret', 'organization']).optional(),
  'sso-team-id': z.string().max(255).nullish(),
  'allow-member-token-management': z.boolean().optional(),
  'organization-access': organizationAccess.optional(),
};

export const CreateTeam = document('teams', { attributes: { name, ...settings } });
export const UpdateTeam = document('teams', { attributes: { name: name.optional(), ...settings } });
export const Users = references('users');
export const Memberships = references('organization-memberships');
