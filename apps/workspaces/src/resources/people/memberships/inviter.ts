import { accessNow } from '../../../kernel/access/standing';
import { system } from '../../../kernel/audit/audit';
import type { Database } from '../../../kernel/database/database';
import { teamPolicy } from '../teams/policy';
import * as teams from '../teams/service';
import type { OneTimeLink } from '../users/links';

/** May the one who made an invitation still invite, into the teams that it gives? To be asked when it is accepted. */
export async function mayStillInvite(
  db: Database,
  { createdByType: type, createdById: id, teamIds }: OneTimeLink,
  organizationId: string,
): Promise<boolean> {
  // Of an earlier version, or made by the service.
  if (type === null || type === system.type) return true;
  const access = await accessNow(db, { type, id }, organizationId);
  if (access?.can(organizationId, 'manage-membership') !== true) return false;
  const given = await teams.findMany(db, teamIds);
  return given.every((team) => teamPolicy['can-update-membership'](access, team));
}
