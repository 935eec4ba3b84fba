import { hasMany, hasOne, instant, serializer, text, toMany, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import type { View } from '../../../kernel/endpoints/endpoint';
import { seesTeam } from '../teams/policy';
import type { Membership } from './service';

const membershipAttributes = {
  status: z.enum(['invited', 'active']),
  email: text,
  'created-at': instant,
};

const membershipRelations = { user: hasOne('users'), organization: hasOne('organizations'), teams: hasMany('teams') };

export const membershipSerializer = serializer<
  Membership,
  View,
  typeof membershipAttributes,
  typeof membershipRelations
>({
  type: 'organization-memberships',
  shape: membershipAttributes,
  relations: membershipRelations,
  id: (membership) => membership.id,
  self: (membership) => `/api/v2/organization-memberships/${membership.id}`,
  attributes: (membership) => ({
    status: membership.status,
    email: membership.email,
    'created-at': membership.createdAt.toISOString(),
  }),
  relationships: (membership, { access }) => ({
    user: toOne('users', membership.userId),
    organization: toOne('organizations', membership.organizationName),
    teams: toMany(
      'teams',
      membership.teams.filter((team) => seesTeam(access, team)).map(({ id }) => id),
    ),
  }),
});
