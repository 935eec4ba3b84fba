import { chmodSync, cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { applyMigrations, type EmbeddedServer, ensureDatabase, startEmbedded, withClient } from '@keystead/postgres';
import { quickFolder } from './quick-folder';

/** A PostgreSQL with a standby that follows it. */
export interface Replicated {
  readonly primary: EmbeddedServer;
  readonly standby: EmbeddedServer;
  /** Pauses or resumes replay on the standby; it still receives. */
  pause(paused: boolean): Promise<void>;
  /** Makes the standby a primary. */
  promote(): Promise<void>;
  close(): Promise<void>;
}

const settings = { fsync: 'off', max_connections: '60', shared_buffers: '32MB' };

/** Starts both, with a migrated database of the service; takes a few seconds. */
export async function startReplicated(service: 'secrets' | 'workspaces'): Promise<Replicated> {
  const box = mkdtempSync(path.join(quickFolder(), 'keystead-replicated-'));
  const [first, second] = [path.join(box, 'primary'), path.join(box, 'standby')];
  const before = await startEmbedded({ dataDir: first, settings });
  await ensureDatabase(before.url(service));
  const dir = path.resolve(__dirname, `../../../prisma/${service}/migrations`);
  await applyMigrations({ url: before.url(service), dir });
  await before.stop();
  cpSync(first, second, { recursive: true });
  // Node 24 gives folders that it copies the usual rights.
  chmodSync(second, 0o700);
  writeFileSync(path.join(second, 'standby.signal'), '');
  const primary = await startEmbedded({ dataDir: first, settings });
  const { username, password, hostname, port } = new URL(primary.url('postgres'));
  const primary_conninfo = `host=${hostname} port=${port} user=${username} password=${password}`;
  const standby = await startEmbedded({ dataDir: second, settings: { ...settings, primary_conninfo } });
  const onStandby = (statement: string) =>
    withClient(standby.url('postgres'), async (client) => {
      await client.query(statement);
    });
  return {
    primary,
    standby,
    pause: (paused) => onStandby(paused ? 'SELECT pg_wal_replay_pause()' : 'SELECT pg_wal_replay_resume()'),
    promote: () => onStandby('SELECT pg_promote()'),
    async close() {
      for (const server of [standby, primary]) await server.stop({ immediate: true }).catch(() => {});
      rmSync(box, { recursive: true, force: true });
    },
  };
}
