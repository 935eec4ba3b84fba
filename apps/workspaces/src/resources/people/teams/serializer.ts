import { hasMany, hasOne, linksTo, related, serializer, toMany, toOne } from '@keystead/jsonapi';
import type { View } from '../../../kernel/endpoints/endpoint';
import { teamAttributes } from './attributes';
import type { Team } from './team';

const { shape, show } = teamAttributes;

const teamRelations = {
  organization: hasOne('organizations'),
  users: hasMany('users'),
  'organization-memberships': hasMany('organization-memberships'),
  'authentication-token': linksTo(),
};

export const teamSerializer = serializer<Team, View, typeof shape, typeof teamRelations>({
  type: 'teams',
  shape,
  relations: teamRelations,
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
