import { beforeAll, describe, expect, it } from '@jest/globals';
import { withClient } from '@keystead/postgres';
import { createLogger } from '@keystead/server';
import { addColumns } from '@keystead/testing';
import { createService } from '../src/service';
import { startSecrets, testConfig } from './start-secrets';

// If this failed, an older version would write into newer tables without a warning.

describe('on a database migrated by a newer version', () => {
  const secrets = startSecrets();
  const said: string[] = [];
  const log = createLogger({ name: 'older', level: 'warn', destination: { write: (line) => void said.push(line) } });
  const byHand = (text: string) => withClient(secrets.database.url, (client) => client.query(text));
  beforeAll(() =>
    byHand(`INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at)
            VALUES (gen_random_uuid(), 'x', '29991231000000_unheard_of', now())`),
  );

  const start = (env: Record<string, string>) => createService(testConfig(secrets.database.url, env), { log });

  it.each(['on', 'off'])(
    'an older node does not start, and names the unknown migration (SECRETS_MIGRATE=%s)',
    async (migrate) => {
      await expect(start({ SECRETS_MIGRATE: migrate })).rejects.toThrow(
        /was migrated by a newer version: 29991231000000_unheard_of is unknown to this one; start the newer version$/,
      );
    },
  );

  it('an older node keeps running, and may be started if allowed', async () => {
    expect((await secrets.root.write('cubbyhole/x', { a: '1' })).status).toBe(204);
    const service = await start({ SECRETS_ALLOW_NEWER_SCHEMA: 'on' });
    expect((await service.ready()).ready).toBe(true);
    await service.close();
    expect(said.join()).toContain('29991231000000_unheard_of');
  });

  it('a running node answers as before while columns are added to its tables', async () => {
    const { root } = secrets;
    const round = async (n: number): Promise<string[]> => {
      const paths = Array.from({ length: 8 }, (_, i) => `cubbyhole/upgraded-${n}-${i}`);
      const written = await Promise.all(paths.map((path) => root.write(path, { n: `${n}` })));
      const asked = await Promise.all([
        ...paths.map((path) => root.read(path)),
        ...paths.map(() => root.write('auth/token/create', { ttl: '1h', policies: ['default'] })),
        root.list('auth/token/accessors'),
        root.read('sys/mounts'),
        root.write(`sys/policies/acl/upgraded-${n}`, { policy: 'path "a" { capabilities = ["read"] }' }),
        root.write(`sys/namespaces/team-${n}`, {}),
        root.write('identity/entity', { name: `upgraded-${n}` }),
        root.write(`sys/mounts/upgraded-${n}`, { type: 'kv' }),
      ]);
      return [...written, ...asked]
        .filter(({ status }) => status >= 300)
        .map(({ status, text }) => `${status} ${text}`);
    };
    expect(await round(0)).toEqual([]);
    await withClient(secrets.database.url, addColumns);
    expect(await round(1)).toEqual([]);
    await withClient(secrets.database.url, addColumns);
    expect(await round(2)).toEqual([]);
  });
});
