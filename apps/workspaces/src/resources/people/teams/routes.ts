import { actorOf } from '../../../kernel/audit/audit';
import { endpoints, includable, type Resource } from '../../../kernel/endpoints/endpoint';
import { organizationPolicy } from '../../organizations/organizations/policy';
import * as organizations from '../../organizations/organizations/service';
import { addMembers, membershipsOf, membershipsOfUsers, removeMembers } from './members';
import { seesTeam, teamPolicy } from './policy';
import { CreateTeam, Memberships, UpdateTeam, Users } from './schema';
import { teamSerializer } from './serializer';
import * as teams from './service';
import type { Team } from './team';

const inOrganization = endpoints(organizationPolicy, teamSerializer, {
  visible: (access, organization) => access.canTraverse(organization.organizationId),
});
const { get, patch, remove, command } = endpoints(teamPolicy, teamSerializer, { visible: seesTeam });
const include = ['users', 'organization-memberships', 'organization'] as const;

const list = inOrganization.list('/organizations/:organization_name/teams', {
  summary: 'List the teams of an organization that the caller can see, by name.',
  query: { q: 'Part of a name, ignoring case.', 'filter[names]': 'Names, separated by commas.' },
  include,
  load: ({ db, env, params }) => organizations.findByName(db, env, params.organization_name),
  run: ({ db, access, target, query, page }) =>
    teams.list(db, access, target.id, { q: query.get('q'), names: query.list('filter[names]'), page }),
});

const create = inOrganization.post('/organizations/:organization_name/teams', {
  summary: 'Create a team.',
  requires: 'can-create-team',
  body: CreateTeam,
  load: ({ db, env, params }) => organizations.findByName(db, env, params.organization_name),
  run: ({ db, access, target, body, ...call }) => {
    teams.requireMayGive(access, target.id, body);
    return teams.create(db, actorOf(call), target.id, body);
  },
});

const load = ({ db, params }: { db: Parameters<typeof teams.find>[0]; params: { team_id: string } }) =>
  teams.find(db, params.team_id);

const show = get('/teams/:team_id', { summary: 'Show a team.', include, load, run: async ({ target }) => target });

const update = patch('/teams/:team_id', {
  summary: 'Change a team; omitted fields keep their values. Each setting needs its own permission.',
  body: UpdateTeam,
  load,
  run: ({ db, access, target, body, ifMatch, ...call }) =>
    teams.update(db, actorOf(call), access, target.id, body, ifMatch),
});

const destroy = remove('/teams/:team_id', {
  summary: 'Delete a team with its access grants and its tokens.',
  requires: 'can-destroy',
  load,
  run: ({ db, target, ...call }) => teams.remove(db, actorOf(call), target),
});

const members = {
  requires: 'can-update-membership',
  load,
} as const;

const addUsers = command('POST')('/teams/:team_id/relationships/users', {
  ...members,
  summary: 'Add users to a team, by ID or user name.',
  body: Users,
  run: async ({ db, target, body, ...call }) => {
    const ids = body.map(({ id }) => id);
    await addMembers(db, actorOf(call), target, await membershipsOfUsers(db, target.organizationId, ids));
  },
});

const removeUsers = command('DELETE')('/teams/:team_id/relationships/users', {
  ...members,
  summary: 'Remove users from a team, by ID or user name.',
  body: Users,
  run: async ({ db, target, body, ...call }) => {
    const ids = body.map(({ id }) => id);
    await removeMembers(db, actorOf(call), target, await membershipsOfUsers(db, target.organizationId, ids));
  },
});

const addMemberships = command('POST')('/teams/:team_id/relationships/organization-memberships', {
  ...members,
  summary: 'Add organization members, including invited ones, to a team.',
  body: Memberships,
  run: async ({ db, target, body, ...call }) => {
    const ids = body.map(({ id }) => id);
    await addMembers(db, actorOf(call), target, await membershipsOf(db, target.organizationId, ids));
  },
});

const removeMemberships = command('DELETE')('/teams/:team_id/relationships/organization-memberships', {
  ...members,
  summary: 'Remove organization members from a team.',
  body: Memberships,
  run: async ({ db, target, body, ...call }) => {
    const ids = body.map(({ id }) => id);
    await removeMembers(db, actorOf(call), target, await membershipsOf(db, target.organizationId, ids));
  },
});

const teamsIncluded = includable<Team>({
  serializer: teamSerializer,
  load: teams.findMany,
  visible: seesTeam,
  organizationsOf: (team) => [team.organizationId],
});

/** Teams and their members. */
export const teamResource: Resource = {
  name: 'teams',
  endpoints: [list, create, show, update, destroy, addUsers, removeUsers, addMemberships, removeMemberships],
  includable: { teams: teamsIncluded },
};
