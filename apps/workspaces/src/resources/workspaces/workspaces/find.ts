import { notFound } from '@keystead/refusal';
import type { Database } from '../../../kernel/database/database';
import { readById, readByName, type Workspace, workspaceOf } from './workspace';

/** The workspace with a `ws-…` id. */
export async function find(db: Database, id: string): Promise<Workspace | undefined> {
  const row = await db.readOne(readById, id);
  return row && workspaceOf(row);
}

/** The workspace with a name in an organization. */
export async function findByName(db: Database, organization: string, name: string): Promise<Workspace | undefined> {
  if (organization.includes('/') || name.includes('/')) return undefined;
  const row = await db.readOne(readByName, `${organization}/${name}`);
  return row && workspaceOf(row);
}

/** Workspaces by id, in no order; unknown ones are left out. */
export async function findMany(db: Database, ids: readonly string[]): Promise<Workspace[]> {
  const found = await Promise.all(ids.map((id) => find(db, id)));
  return found.filter((workspace) => workspace !== undefined);
}

/** A workspace that has to be there. Throws `missing`. */
export async function requireWorkspace(db: Database, id: string): Promise<Workspace> {
  const found = await find(db, id);
  if (found === undefined) throw notFound();
  return found;
}
