import {
  choice,
  flag,
  hasMany,
  hasOne,
  linksTo,
  related,
  serializer,
  text,
  toMany,
  toOne,
  whole,
} from '@keystead/jsonapi';
import { z } from 'zod';
import { everyRight, hasRight, organizationRights } from '../../../kernel/access/organization-rights';
import { abilities, permissions } from '../../../kernel/access/policy';
import type { View } from '../../../kernel/endpoints/endpoint';
import { teamPolicy } from './policy';
import type { Team } from './team';

const teamAttributes = {
  name: text,
  'users-count': whole,
  visibility: choice(['secret', 'organization']),
  'sso-team-id': text.nullable(),
  'allow-member-token-management': flag,
  'organization-access': z.record(z.string(), flag),
  permissions: permissions(teamPolicy),
};

const teamRelations = {
  organization: hasOne('organizations'),
  users: hasMany('users'),
  'organization-memberships': hasMany('organization-memberships'),
  'authentication-token': linksTo(),
};

export const teamSerializer = serializer<Team, View, typeof teamAttributes, typeof teamRelations>({
  type: 'teams',
  shape: teamAttributes,
  relations: teamRelations,
  id: (team) => team.id,
  self: (team) => `/api/v2/teams/${team.id}`,
  attributes: (team, view) => ({
    name: team.name,
    'users-count': team.userIds.length,
    visibility: team.visibility,
    'sso-team-id': team.ssoTeamId,
    'allow-member-token-management': team.allowMemberTokenManagement,
    'organization-access': organizationAccess(team),
    permissions: abilities(teamPolicy, view.access, team),
  }),
  relationships: (team) => ({
    organization: toOne('organizations', team.organizationName),
    users: toMany('users', team.userIds),
    'organization-memberships': toMany('organization-memberships', team.membershipIds),
    'authentication-token': related(`/api/v2/teams/${team.id}/authentication-token`),
  }),
});

function organizationAccess(team: Team): Record<string, boolean> {
  const rights = team.isOwners ? everyRight : team.rights;
  return Object.fromEntries(organizationRights.map((right) => [right, hasRight(rights, right)]));
}
