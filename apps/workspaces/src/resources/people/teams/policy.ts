import type { Access } from '../../../kernel/access/access';
import { policy } from '../../../kernel/access/policy';
import type { Team } from './team';

type TeamTarget = Pick<
  Team,
  'id' | 'organizationId' | 'isOwners' | 'visibility' | 'rights' | 'grants' | 'allowMemberTokenManagement'
>;

/**
 * Whether the caller sees a team. Secret teams are visible to owners, to their own members, and to callers who manage
 * teams and may see secret teams.
 */
export function seesTeam(access: Access, team: Pick<TeamTarget, 'id' | 'organizationId' | 'visibility'>): boolean {
  if (!access.isMember(team.organizationId)) return false;
  return team.visibility === 'organization' || access.inTeam(team) || seesSecretTeams(access, team.organizationId);
}

/** Whether the caller may see every team, including secret teams. */
export function seesSecretTeams(access: Access, organizationId: string): boolean {
  return access.can(organizationId, 'access-secret-teams') && access.can(organizationId, 'manage-membership');
}

const managesTeam = (access: Access, team: Omit<TeamTarget, 'allowMemberTokenManagement'>): boolean =>
  !team.isOwners && seesTeam(access, team) && access.can(team.organizationId, 'manage-teams');

// A caller who can join a team with more permissions, use its token, or link a group to it, could get these
// permissions.
function isWithin(
  access: Access,
  { organizationId, rights, grants }: Pick<TeamTarget, 'organizationId' | 'rights' | 'grants'>,
): boolean {
  return access.can(organizationId, 'manage-organization-access') || access.holdsAll(organizationId, rights, grants);
}

/**
 * Whether the caller may receive a team's notifications: owners may, and callers who manage the team and have at least
 * its permissions.
 */
export const hearsForTeam = (access: Access, team: Omit<TeamTarget, 'allowMemberTokenManagement'>): boolean =>
  access.isOwner(team.organizationId) || (managesTeam(access, team) && isWithin(access, team));

function managesMembers(access: Access, team: TeamTarget): boolean {
  if (access.isOwner(team.organizationId)) return true;
  if (team.isOwners || !seesTeam(access, team)) return false;
  return access.can(team.organizationId, 'manage-membership') && isWithin(access, team);
}

function managesToken(access: Access, team: TeamTarget): boolean {
  if (!seesTeam(access, team)) return false;
  if (team.isOwners) return access.isOwner(team.organizationId);
  const isMember = access.inTeam(team) && team.allowMemberTokenManagement;
  return isMember || (access.can(team.organizationId, 'manage-teams') && isWithin(access, team));
}

/** The permission rules of teams. The owners team cannot be deleted, and keeps its name, visibility and permissions. */
export const teamPolicy = policy<TeamTarget>()({
  'can-update-membership': managesMembers,
  'can-destroy': managesTeam,
  'can-update-organization-access': (access, team) =>
    !team.isOwners && seesTeam(access, team) && access.can(team.organizationId, 'manage-organization-access'),
  'can-update-api-token': managesToken,
  'can-view-api-token': managesToken,
  'can-update-visibility': managesTeam,
  'can-update-name': managesTeam,
  'can-update-sso-team-id': (access, team) =>
    access.isOwner(team.organizationId) || (managesTeam(access, team) && isWithin(access, team)),
  'can-update-member-token-management': managesTeam,
});
