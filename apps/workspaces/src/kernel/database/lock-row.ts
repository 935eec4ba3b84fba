import type { Database } from './database';

/** Tables whose rows are locked by id while something that depends on them is decided. */
type LockableTable =
  | 'agent_pool'
  | 'notification_configuration'
  | 'oauth_client'
  | 'organization'
  | 'project'
  | 'run_phase'
  | 'scim_group'
  | 'scim_user'
  | 'sign_in_provider'
  | 'ssh_key'
  | 'state_version'
  | 'team'
  | 'team_project'
  | 'team_workspace'
  | 'user_account'
  | 'variable'
  | 'variable_set'
  | 'workspace';

/**
 * Locks one row until the transaction ends, waiting for others who hold it. False where there is no such row. Prisma has no
 * word for it; what is locked is read afterwards.
 */
export async function lockRow(tx: Database, table: LockableTable, id: string): Promise<boolean> {
  const rows = await tx.prisma.$queryRawUnsafe<unknown[]>(`SELECT 1 FROM ${table} WHERE id = $1 FOR UPDATE`, id);
  return rows.length > 0;
}
