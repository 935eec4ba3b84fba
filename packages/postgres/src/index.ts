export { type Batching, BatchScheduler, gather } from './batch';
export { Bell } from './bell';
export { type Binaries, binariesIn, findBinaries } from './binaries';
export { withByteArrays } from './byte-arrays';
export { isConnectionLoss } from './connection-loss';
export {
  addressOf,
  DatabaseUnreachable,
  databaseName,
  ensureDatabase,
  onDatabase,
  serverVersion,
  withClient,
} from './database';
export { DATABASE_TIME, DatabaseClock, type DatabaseClockOptions } from './database-clock';
export { type EmbeddedOptions, type EmbeddedServer, findEmbedded, startEmbedded } from './embedded';
export { type LargeValue, readLargeValue } from './large-value';
export {
  applyMigrations,
  applyMigrationsWithin,
  MigrationFailed,
  type MigrationOptions,
  pendingMigrations,
  requireMigrated,
  runsInTransaction,
  SchemaIsNewer,
} from './migrations';
export { ensureOwnDatabase } from './own-database';
export { createPool, type PoolOptions } from './pool';
export { isPooledByTransaction, refusePoolOfTransactions } from './pooling';
export { type Impatience, Silence, type Wait, type Waiter } from './silence';
export { socketFolders } from './socket-folder';
export { isStalePlan, withFreshPlan } from './stale-plan';
export { isReadOnlyServer, REPLAY_LAG, ReplayLag } from './standby';
export { DatabaseWatch, type WatchOptions } from './watch';
