import path from 'node:path';
import { applyMigrations, ensureDatabase, refusePoolOfTransactions, requireMigrated } from '@keystead/postgres';
import type { Logger } from '@keystead/server';

/** Where the service's migrations are, seen from the compiled and from the source file alike. */
export const migrationsDir = path.join(__dirname, '..', '..', '..', 'prisma', 'workspaces', 'migrations');

/**
 * Brings the tables to this version, or makes sure that they are. Throws `SchemaIsNewer` if they are those of a newer one,
 * unless that is allowed, and an error that says what to do behind a pool in transaction mode.
 */
export async function prepareSchema(
  {
    databaseUrl: url,
    migrate,
    allowNewerSchema: allowNewer,
  }: { readonly databaseUrl: string; readonly migrate: boolean; readonly allowNewerSchema: boolean },
  log: Logger,
): Promise<void> {
  const options = { url, dir: migrationsDir, allowNewer, log: (line: string) => log.info(line) };
  if (migrate) await ensureDatabase(url);
  await refusePoolOfTransactions(url);
  const unknown = migrate ? (await applyMigrations(options)).unknown : await requireMigrated(options);
  if (unknown.length > 0) log.warn({ migrations: unknown }, 'the database was migrated by a newer version');
}
