import { attributesOf, choice, flag, instant, text, whole } from '@keystead/jsonapi';
import { z } from 'zod';
import { everyRight, hasRight, type OrganizationRight, organizationRights } from '../../../kernel/access/capabilities';
import { abilities, permissions } from '../../../kernel/access/policy';
import type { View } from '../../../kernel/endpoints/endpoint';
import { teamPolicy } from './policy';
import type { Team } from './team';

const { setting, toggle, ruled, shown, table } = attributesOf<Team, View>();

const name = z
  .string()
  .min(1)
  .max(90)
  .regex(/^[A-Za-z0-9_ -]+$/, 'may only contain letters, numbers, spaces, dashes and underscores')
  .regex(/^\S(.*\S)?$/, 'may not start or end with a space');

const right = z.boolean().nullish();
const rights = z.object(
  Object.fromEntries(organizationRights.map((key) => [key, right])) as Record<OrganizationRight, typeof right>,
);

/** The group that fills a team; null for a team without a group, and if no directory may manage groups. */
const groupOf = ({ scimGroup }: Team, { settings }: View) => (settings.scimEnabled ? scimGroup : null);

/**
 * The attributes of a team, one row each. Request bodies, responses, columns and the API description are derived from
 * this table.
 */
export const teamAttributes = table({
  name: setting('name', { type: text, takes: name, initial: '', when: 'required' }),
  'users-count': shown(whole, (team) => team.userIds.length),
  visibility: setting('visibility', {
    type: choice(['secret', 'organization']),
    takes: z.enum(['secret', 'organization']),
    initial: 'secret',
  }),
  'sso-team-id': setting('ssoTeamId', {
    type: text.nullable(),
    takes: z.string().max(255).nullable(),
    initial: null,
  }),
  'allow-member-token-management': toggle('allowMemberTokenManagement', true),
  'organization-access': ruled({
    type: z.record(z.string(), flag),
    takes: rights,
    show: (team) => {
      const rights = team.isOwners ? everyRight : team.rights;
      return Object.fromEntries(organizationRights.map((one) => [one, hasRight(rights, one)]));
    },
  }),
  'scim-linked': shown(flag, (team, view) => groupOf(team, view) !== null),
  'scim-group-name': shown(text.nullable(), (team, view) => groupOf(team, view)?.name ?? null),
  'scim-sync-paused': shown(flag, (team, view) => groupOf(team, view)?.paused ?? false),
  'scim-updated-at': shown(instant.nullable(), (team, view) => groupOf(team, view)?.updatedAt ?? null),
  permissions: shown(permissions(teamPolicy), (team, { access }) => abilities(teamPolicy, access, team)),
});
