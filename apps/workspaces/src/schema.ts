import path from 'node:path';
import { applyMigrations, ensureDatabase, refusePoolOfTransactions, requireMigrated } from '@keystead/postgres';
import type { Logger } from '@keystead/server';

/** The folder of the service's migrations, as seen from both the compiled and the source file. */
export const migrationsDir = path.join(__dirname, '..', '..', '..', 'prisma', 'workspaces', 'migrations');

/**
 * Migrates the tables to this version, or checks that they have it. Throws `SchemaIsNewer` if they have a newer
 * version, unless that is allowed, and an error that says what to do behind a pool in transaction mode.
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
