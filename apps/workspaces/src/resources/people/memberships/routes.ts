import { MissingPermission } from '@keystead/jsonapi';
import { notFound, Refusal } from '@keystead/refusal';
import type { Access } from '../../../kernel/access/access';
import { actorOf } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { endpoints, includable, type Lookup, type Resource } from '../../../kernel/endpoints/endpoint';
import { organizationPolicy } from '../../organizations/organizations/policy';
import * as organizations from '../../organizations/organizations/service';
import { seesTeam, teamPolicy } from '../teams/policy';
import * as teams from '../teams/service';
import type { Team } from '../teams/team';
import { linkUrl } from '../users/links';
import { membershipPolicy, seesMembership } from './policy';
import { listMemberships } from './reads';
import { Invite } from './schema';
import { membershipSerializer } from './serializer';
import * as memberships from './service';

const inOrganization = endpoints(organizationPolicy, membershipSerializer, {
  visible: (access, organization) => access.isMember(organization.organizationId),
});
const inTeam = endpoints(teamPolicy, membershipSerializer, { visible: seesTeam });
const own = endpoints(membershipPolicy, membershipSerializer);
const { get, remove } = endpoints(membershipPolicy, membershipSerializer, { visible: seesMembership });

const inPath = '/organizations/:organization_name/organization-memberships';
const loadOrganization = ({ db, env, params }: Lookup<typeof inPath>) =>
  organizations.findByName(db, env, params.organization_name);
const include = ['user', 'teams', 'organization'] as const;

const list = inOrganization.list(inPath, {
  summary: 'List the members of an organization, including invited ones.',
  query: {
    q: 'Part of a user name or email address.',
    'filter[status]': 'invited or active.',
    'filter[email]': 'Addresses, separated by commas.',
  },
  include,
  load: loadOrganization,
  run: async ({ db, target, query, page }) => {
    const { items, total, counts } = await listMemberships(db, {
      organizationId: target.id,
      q: query.get('q'),
      status: query.get('filter[status]'),
      emails: query.list('filter[email]'),
      page,
    });
    return { items, total, meta: { 'status-counts': counts } };
  },
});

const create = inOrganization.post(inPath, {
  summary:
    'Invite a user by email address. Only this response contains the invitation link. The link of an earlier invitation becomes invalid.',
  requires: 'can-manage-users',
  stepUp: true,
  alwaysIncludes: ['user'],
  include,
  body: Invite,
  load: loadOrganization,
  run: async ({ db, env, access, target, body, ...call }) => {
    const teams = await findTeams(db, access, target.id, body.teams ?? []);
    const { userLimit } = target.entitlements;
    const mayGive = (team: Team) => teamPolicy['can-update-membership'](access, team);
    const inviting = { organizationId: target.id, userLimit, mayGive, keyring: env.keyring, now: env.now() };
    const membership = await memberships.invite(db, actorOf(call), inviting, body.email, teams);
    return { ...membership, inviteUrl: linkUrl(env.publicUrl, membership.inviteSecret ?? '') };
  },
  documentMeta: (membership: memberships.Membership & { inviteUrl?: string }) =>
    membership.inviteSecret === undefined ? undefined : { 'invite-url': membership.inviteUrl },
});

/** The teams to join; the caller must be allowed to add members to all of them. Throws `missing`. */
async function findTeams(db: Database, access: Access, organizationId: string, sent: readonly { id?: string }[]) {
  const ids = [...new Set(sent.map(({ id }) => id ?? ''))];
  const found = (await teams.findMany(db, ids)).filter((team) => team.organizationId === organizationId);
  if (found.length < ids.length || found.some((team) => !seesTeam(access, team))) throw notFound();
  if (found.some((team) => !teamPolicy['can-update-membership'](access, team))) {
    throw new MissingPermission('can-update-membership');
  }
  return found;
}

const listOfTeam = inTeam.list('/teams/:team_id/relationships/organization-memberships', {
  summary: 'List the memberships of the users in a team.',
  include,
  load: ({ db, params }) => teams.find(db, params.team_id),
  run: ({ db, target, page }) => listMemberships(db, { teamId: target.id, page }),
});

const listOwn = own.list('/organization-memberships', {
  summary: "List the caller's own memberships and invitations.",
  tokens: ['user'],
  include,
  run: ({ db, principal, page }) => listMemberships(db, { userId: principal.id, page }),
});

const byId = '/organization-memberships/:membership_id';
const load = ({ db, params }: Lookup<typeof byId>) => memberships.find(db, params.membership_id);

const show = get(byId, { summary: 'Show a membership.', include, load, run: async ({ target }) => target });

const destroy = remove(byId, {
  summary: 'Remove a user from an organization, or withdraw an invitation.',
  requires: 'can-destroy',
  load,
  run: async ({ db, target, principal, ...call }) => {
    if (target.userId === principal.id && target.isOwner) {
      throw new Refusal('denied', 'You cannot remove yourself from an organization you own');
    }
    await memberships.remove(db, actorOf({ principal, ...call }), target);
  },
});

const membershipsIncluded = includable<memberships.Membership>({
  serializer: membershipSerializer,
  load: memberships.findMany,
  visible: seesMembership,
  organizationsOf: (membership) => [membership.organizationId],
});

/** The memberships of an organization. */
export const membershipResource: Resource = {
  name: 'memberships',
  endpoints: [list, create, listOfTeam, listOwn, show, destroy],
  includable: { 'organization-memberships': membershipsIncluded },
};
