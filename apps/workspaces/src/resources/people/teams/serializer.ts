import { hasMany, hasOne, linksTo, related, toMany, toOne } from '@keystead/jsonapi';
import { serializerOf } from '../../../kernel/endpoints/endpoint';
import { teamAttributes } from './attributes';
import type { Team } from './team';

const { shape, show } = teamAttributes;

export const teamSerializer = serializerOf<Team>()({
  type: 'teams',
  shape,
  relations: {
    organization: hasOne('organizations'),
    users: hasMany('users'),
    'organization-memberships': hasMany('organization-memberships'),
    'authentication-token': linksTo(),
  },
  id: (team) => team.id,
  self: (team) => `/api/v2/teams/${team.id}`,
  attributes: show,
  relationships: (team) => ({
    organization: toOne('organizations', team.organizationName),
    users: toMany('users', team.userIds),
    'organization-memberships': toMany('organization-memberships', team.membershipIds),
    'authentication-token': related(`/api/v2/teams/${team.id}/authentication-token`),
  }),
});
