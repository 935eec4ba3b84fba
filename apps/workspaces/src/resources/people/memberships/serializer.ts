import { hasMany, hasOne, instant, text, toMany, toOne } from '@keystead/jsonapi';
import { z } from 'zod';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import { seesTeam } from '../teams/policy';
import type { Membership } from './service';

export const membershipSerializer = serializerOf<Membership>()({
  type: 'organization-memberships',
  shape: {
    status: z.enum(['invited', 'active']),
    email: text,
    'created-at': instant,
  },
  relations: { user: hasOne('users'), organization: hasOne('organizations'), teams: hasMany('teams') },
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
