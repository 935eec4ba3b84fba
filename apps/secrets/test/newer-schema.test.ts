import { beforeAll, describe, expect, it } from '@jest/globals';
import { withClient } from '@keystead/postgres';
import { createLogger } from '@keystead/server';
import { createService } from '../src/service';
import { startSecrets, testConfig } from './start-secrets';

// What would be lost: an older version writes into tables whose meaning it does not know, without a word.

describe('on a database that a newer version has migrated', () => {
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
    'an older one does not start, and names what it does not know (SECRETS_MIGRATE=%s)',
    async (migrate) => {
      await expect(start({ SECRETS_MIGRATE: migrate })).rejects.toThrow(
        /was migrated by a newer version: 29991231000000_unheard_of is unknown to this one; start the newer version$/,
      );
    },
  );

  it('an older one that runs goes on, and may be started where that is allowed', async () => {
    expect((await secrets.root.write('cubbyhole/x', { a: '1' })).status).toBe(204);
    const service = await start({ SECRETS_ALLOW_NEWER_SCHEMA: 'on' });
    expect((await service.ready()).ready).toBe(true);
    await service.close();
    expect(said.join()).toContain('29991231000000_unheard_of');
  });
});
