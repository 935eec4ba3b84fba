import { accessNow } from '../../../kernel/access/current-access';
import { system } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { teamPolicy } from '../teams/policy';
import * as teams from '../teams/service';
import type { OneTimeLink } from '../users/links';

/**
 * Whether the inviter may still invite users, and may add users to every team that the membership has now. Other
 * callers may have added teams since then, and the inviter knows the link. Check this when the invitation is accepted,
 * while the membership is locked.
 */
export async function mayStillInvite(
  tx: Database,
  { createdByType: type, createdById: id }: OneTimeLink,
  { organizationId, teams: sentTeams }: { organizationId: string; teams: readonly { id: string }[] },
): Promise<boolean> {
  // The invitation was created by an earlier version, or by the service.
  if (type === null || type === system.type) return true;
  const access = await accessNow(tx, { type, id }, organizationId);
  if (access?.can(organizationId, 'manage-membership') !== true) return false;
  const found = await teams.findMany(
    tx,
    sentTeams.map((team) => team.id),
  );
  return found.every((team) => teamPolicy['can-update-membership'](access, team));
}
