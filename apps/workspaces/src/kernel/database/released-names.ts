import { invalid } from '@keystead/jsonapi';
import type { Database } from './database';

/** Kinds of names that are unique beyond an organization. */
export type ReservedName = 'organization' | 'user';

/** The account that requests a name, and the resource that will have it. */
export interface NameTaker {
  /** The resource that will have the name, if it already exists. */
  readonly id?: string;
  /** The account that requests it. */
  readonly userId?: string;
  readonly siteAdmin?: boolean;
}

/** Whether a name was released and is reserved. */
export async function isReleased(db: Database, kind: ReservedName, name: string): Promise<boolean> {
  return (await db.prisma.releasedName.count({ where: { kind, name: name.toLowerCase() } })) > 0;
}

/**
 * Frees a released name if it is taken by the resource that had it, by an owner of that resource, or by a site
 * administrator. Call it in the transaction that writes the name, before the write, because otherwise triggers refuse
 * the write. Throws `invalid`, which names the attribute.
 */
export async function reclaimName(
  tx: Database,
  kind: ReservedName,
  attribute: string,
  name: string,
  { id = '', userId = '', siteAdmin = false }: NameTaker,
): Promise<void> {
  const lower = name.toLowerCase();
  await tx.prisma.$executeRaw`
    DELETE FROM released_name r
     WHERE r.kind = ${kind} AND r.name = ${lower} AND (${siteAdmin} OR r.holder_id = ${id} OR ${userId} = ANY(r.owner_ids)
       OR EXISTS (SELECT 1 FROM team t JOIN team_member tm ON tm.team_id = t.id JOIN membership m ON m.id = tm.membership_id
                   WHERE t.organization_id = r.holder_id AND t.is_owners AND m.user_id = ${userId} AND m.status = 'active'))`;
  if (!(await isReleased(tx, kind, lower))) return;
  throw invalid(attribute, `is reserved: another ${kind === 'user' ? 'account' : kind} had this name`);
}
