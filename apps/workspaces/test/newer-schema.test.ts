import { beforeAll, describe, expect, it } from '@jest/globals';
import { withClient } from '@keystead/postgres';
import { createLogger } from '@keystead/server';
import { addColumns } from '@keystead/testing';
import { readConfig } from '../src/config';
import { createService } from '../src/service';
import { startWorker } from '../src/worker';
import { readWorkerConfig } from '../src/worker/config';
import type { WorkerDeps } from '../src/worker/deps';
import { resource, startWorkspaces } from './start-workspaces';

// If this failed, an older version would silently write to newer tables.

describe('on a database that a newer version has migrated', () => {
  const workspaces = startWorkspaces();
  const log = createLogger({ name: 'older', level: 'silent' });
  beforeAll(() =>
    withClient(workspaces.databaseUrl, (client) =>
      client.query(`INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
                    VALUES (gen_random_uuid(), 'x', '29991231000000_unheard_of', now())`),
    ),
  );

  const environment = (more: Record<string, string>) => ({
    WORKSPACES_DATABASE_URL: workspaces.databaseUrl,
    WORKSPACES_DATABASE_CONNECTIONS: '6',
    WORKSPACES_SEAL_KEY: '07'.repeat(32),
    WORKSPACES_PUBLIC_URL: 'https://workspaces.test',
    ...more,
  });
  const start = (more: Record<string, string>) => createService(readConfig(environment(more)), { log });
  const newer =
    /was migrated by a newer version: 29991231000000_unheard_of is unknown to this one; start the newer version$/;

  it.each(['on', 'off'])(
    'an older service does not start, and names the unknown migration (WORKSPACES_MIGRATE=%s)',
    async (on) => {
      await expect(start({ WORKSPACES_MIGRATE: on })).rejects.toThrow(newer);
    },
  );

  it('an older worker does not start', async () => {
    const config = readWorkerConfig(environment({}));
    await expect(startWorker(config, {} as WorkerDeps, log)).rejects.toThrow(newer);
  });

  it('an older service that runs continues, and may be started if that is allowed', async () => {
    await workspaces.organization('acme');
    const service = await start({ WORKSPACES_ALLOW_NEWER_SCHEMA: 'on' });
    expect(await service.ready()).toEqual({ ready: true, reasons: [] });
    await service.close();
  });

  it('a running service answers as before while columns are added to its tables', async () => {
    const { admin } = workspaces;
    await workspaces.organization('upgraded');
    const at = 'organizations/upgraded/workspaces';
    const ids: string[] = [];
    const round = async (n: number): Promise<number[]> => {
      const made = await Promise.all(
        Array.from({ length: 8 }, (_, i) => admin.post(at, resource('workspaces', { name: `web-${n}-${i}` }))),
      );
      ids.push(...made.map(({ body }) => body.data?.id));
      const [first] = ids;
      const asked = await Promise.all([
        ...ids.map((id) => admin.get(`workspaces/${id}`)),
        ...ids.map((id) => admin.patch(`workspaces/${id}`, resource('workspaces', { description: `${n}` }))),
        ...[at, `${at}?search[name]=web`, `${at}/web-${n}-1`, 'organizations/upgraded', 'account/details'].map((path) =>
          admin.get(path),
        ),
        admin
          .post(`workspaces/${first}/actions/lock`, {})
          .then(({ status }) => admin.post(`workspaces/${first}/actions/unlock`, {}).then(() => ({ status }))),
      ]);
      return [...made, ...asked].map(({ status }) => status).filter((status) => status >= 300);
    };
    expect(await round(0)).toEqual([]);
    await withClient(workspaces.databaseUrl, addColumns);
    expect(await round(1)).toEqual([]);
    await withClient(workspaces.databaseUrl, addColumns);
    expect(await round(2)).toEqual([]);
  });
});
