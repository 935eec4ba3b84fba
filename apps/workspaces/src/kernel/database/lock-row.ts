import { Refusal } from '@keystead/refusal';
import type { Database } from './database';

/** Tables whose rows are locked by id while the service makes a decision that depends on them. */
type LockableTable =
  | 'agent_pool'
  | 'membership'
  | 'notification_configuration'
  | 'oauth_client'
  | 'organization'
  | 'policy_set'
  | 'project'
  | 'registry_module'
  | 'registry_provider'
  | 'run_phase'
  | 'scim_group'
  | 'scim_user'
  | 'sign_in_provider'
  | 'ssh_key'
  | 'state_version'
  | 'team'
  | 'team_project'
  | 'team_workspace'
  | 'tool_run'
  | 'user_account'
  | 'variable'
  | 'variable_set'
  | 'workspace';

/**
 * Locks one row until the transaction ends, after waiting for other holders. Returns false if the row does not exist.
 * Prisma cannot lock rows, so the row is read afterwards.
 */
export async function lockRow(tx: Database, table: LockableTable, id: string): Promise<boolean> {
  return (await lockRows(tx, table, [id])) > 0;
}

/**
 * Locks several rows in a fixed order, so that two callers that lock some of the same rows do not deadlock. Returns the
 * number of rows.
 */
export async function lockRows(tx: Database, table: LockableTable, ids: readonly string[]): Promise<number> {
  const text = `SELECT 1 FROM ${table} WHERE id = ANY($1) ORDER BY id FOR UPDATE`;
  return (await tx.prisma.$queryRawUnsafe<unknown[]>(text, ids)).length;
}

/** The refusal of a change by a caller who has read an older revision. */
export const changedSinceRead = (): Refusal =>
  new Refusal('precondition', 'the resource has changed since it was read');

/**
 * Throws `changedSinceRead` unless `ifMatch` names the current revision. The caller must hold the lock of the row, to
 * prevent changes in between.
 */
export function requireRevision(
  { revision }: { readonly revision?: bigint | string },
  ifMatch: bigint | undefined,
): void {
  if (ifMatch !== undefined && (revision === undefined || BigInt(revision) !== ifMatch)) throw changedSinceRead();
}
