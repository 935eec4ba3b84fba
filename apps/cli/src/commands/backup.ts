import { rmSync } from 'node:fs';
import type { Command } from 'commander';
import { readBatches, readHeader, writeArchive } from '../backup/archive';
import { findSealKey, fingerprintOf, SealCheck } from '../backup/seal';
import { connected, describe, findDatabase, restore, type ServiceName, snapshot } from '../backup/service-database';
import { listMigrations } from '../backup/tables';
import type { AddCommands } from '../context';
import { Problem } from '../problem';

interface Place {
  databaseUrl?: string;
  data?: string;
  sealKeyFile?: string;
}

/** `backup …`: one file per service, its values sealed as they are in the database; keys are kept apart. */
export const addBackupCommands: AddCommands = (program, context, { env }) => {
  const backup = program
    .command('backup')
    .description('Save a service to a file, check such a file, and bring it back.')
    .addHelpText(
      'after',
      '\nThe seal key is never in the file: keep a copy of it elsewhere, or the file is worth nothing.',
    );

  backup
    .command('create')
    .description('Save all rows as of one moment, while the service runs.')
    .argument('<service>', 'secrets or workspaces')
    .argument('<file>', 'must not exist yet')
    .option('--database-url <url>', 'its database (SECRETS_DATABASE_URL, WORKSPACES_DATABASE_URL)')
    .option('--data <folder>', 'folder of a running npm start, when it uses the embedded database')
    .option(
      '--seal-key-file <file>',
      'notes which key opens the backup (SECRETS_SEAL_KEY_FILE, WORKSPACES_SEAL_KEY_FILE)',
    )
    .action(async (name: string, file: string, options: Place, command: Command) => {
      const { output } = context(command);
      const service = serviceName(name);
      const url = await findDatabase(service, options, env);
      const sealKey = findSealKey(service.toUpperCase(), options.sealKeyFile, env);
      const counts = await connected(url, async (client) => {
        await client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY');
        const header = {
          format: 1 as const,
          service,
          madeAt: new Date().toISOString(),
          migrations: await listMigrations(client),
          ...(await describe(client)),
          ...(sealKey ? { sealKey: fingerprintOf(sealKey) } : {}),
        };
        return writeArchive(file, header, snapshot(client, header)).catch((error: NodeJS.ErrnoException) => {
          if (error.code === 'EEXIST') throw new Problem(`${file} exists already`);
          rmSync(file, { force: true });
          throw error;
        });
      });
      const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
      output.show({ file, service, rows, counts }, { file, service, rows });
      if (!sealKey) output.note('no seal key was named, so the backup does not say which one opens it');
    });

  backup
    .command('verify')
    .description('Read a backup to its end; with the seal key also open its keyring and some of its values.')
    .argument('<file>')
    .option('--seal-key-file <file>', 'key of the service (SECRETS_SEAL_KEY_FILE, WORKSPACES_SEAL_KEY_FILE)')
    .action(async (file: string, options: Place, command: Command) => {
      const { output } = context(command);
      const header = await readHeader(file);
      const sealKey = findSealKey(header.service.toUpperCase(), options.sealKeyFile, env);
      const check = sealKey && new SealCheck(header, sealKey);
      let rows = 0;
      for await (const batch of readBatches(file)) {
        rows += batch.rows.length;
        check?.see(batch);
      }
      const opened = check?.finish();
      const { service, madeAt } = header;
      output.show(
        { service, madeAt, rows, opened, sealKey: header.sealKey },
        {
          service,
          'made at': madeAt,
          rows,
          'seal key': header.sealKey ?? '-',
          'values opened': opened ?? 'none: no seal key',
        },
      );
    });

  backup
    .command('restore')
    .description('Bring a backup back into an empty database, and up to this version.')
    .argument('<file>')
    .option('--database-url <url>', 'the empty database (SECRETS_DATABASE_URL, WORKSPACES_DATABASE_URL)')
    .action(async (file: string, options: Place, command: Command) => {
      const { output } = context(command);
      const { service } = await readHeader(file);
      const { madeAt } = await restore(file, await findDatabase(service, options, env));
      output.note(`restored ${service} as of ${madeAt}`);
      output.note('tokens and leases ended since then are back as well: end again what must not live');
    });
};

function serviceName(name: string): ServiceName {
  if (name !== 'secrets' && name !== 'workspaces') throw new Problem(`${name} is no service: secrets or workspaces`);
  return name;
}
