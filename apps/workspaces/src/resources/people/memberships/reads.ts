import { Prisma } from '../../../generated/prisma/client';
import type { Database } from '../../../kernel/database/database';
import { inOrder } from '../../../kernel/database/in-order';
import { findMany, type Membership } from './service';

/** The filters of a list of memberships. */
export interface MembershipSearch {
  readonly organizationId?: string;
  readonly userId?: string;
  readonly teamId?: string;
  /** Part of a name or an address. */
  readonly q?: string;
  readonly status?: string;
  readonly emails?: readonly string[];
  readonly page?: { readonly offset: number; readonly size: number };
}

/** Memberships in the order of their creation, and the number for each status before the filter `status` is applied. */
export async function listMemberships(
  db: Database,
  search: MembershipSearch,
): Promise<{ items: Membership[]; total: number; counts: { invited: number; active: number; total: number } }> {
  const where = Prisma.join(conditions(search), ' AND ');
  const from = Prisma.sql`FROM membership m JOIN user_account u ON u.id = m.user_id
    JOIN organization o ON o.id = m.organization_id AND o.removed_at IS NULL WHERE ${where}`;
  const status = search.status ?? null;
  const ids = await db.prisma.$queryRaw<{ id: string }[]>`
    SELECT m.id ${from} AND (${status}::text IS NULL OR m.status = ${status})
    ORDER BY m.created_at, m.id LIMIT ${search.page?.size ?? null} OFFSET ${search.page?.offset ?? 0}`;
  const rows = await db.prisma.$queryRaw<{ status: string; count: bigint }[]>`
    SELECT m.status, count(*) AS count ${from} GROUP BY m.status`;
  const count = (status: string) => Number(rows.find((row) => row.status === status)?.count ?? 0);
  const counts = { invited: count('invited'), active: count('active'), total: count('invited') + count('active') };
  return {
    items: await inOrder(ids, (some) => findMany(db, some)),
    total: status === 'invited' || status === 'active' ? counts[status] : status === null ? counts.total : 0,
    counts,
  };
}

function conditions({ organizationId, userId, teamId, q, emails }: MembershipSearch): Prisma.Sql[] {
  const all = [Prisma.sql`TRUE`];
  if (organizationId !== undefined) all.push(Prisma.sql`m.organization_id = ${organizationId}`);
  if (userId !== undefined) all.push(Prisma.sql`m.user_id = ${userId}`);
  if (teamId !== undefined) {
    all.push(Prisma.sql`m.id IN (SELECT membership_id FROM team_member WHERE team_id = ${teamId})`);
  }
  if (q !== undefined) {
    const part = q.toLowerCase();
    all.push(Prisma.sql`(position(${part} IN lower(u.username)) > 0 OR position(${part} IN lower(u.email)) > 0)`);
  }
  if (emails?.length) all.push(Prisma.sql`lower(u.email) = ANY(${emails.map((email) => email.toLowerCase())})`);
  return all;
}
