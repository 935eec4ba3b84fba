import { Prisma } from '../../../generated/prisma/client';
import type { Access } from '../../../kernel/access/access';
import { seesSecretTeams } from './policy';

/** SQL for "the caller sees this team" over rows named `t`: repeats the rule `seesTeam`. */
export function visibleTeams(access: Access, organizationId: string): Prisma.Sql {
  if (!access.isMember(organizationId)) return Prisma.sql`FALSE`;
  if (seesSecretTeams(access, organizationId)) return Prisma.sql`TRUE`;
  return Prisma.sql`(t.visibility = 'organization' OR t.id = ANY(${access.teamIds(organizationId)}))`;
}
