import { rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { readBatches, readHeader, writeArchive } from '../backup/archive';
import { isBucket, openBucket } from '../backup/bucket';
import { drill } from '../backup/drill';
import { folderShelf, forgetOld, inPrivateFolder, isFolder, newName, type Shelf, withBackups } from '../backup/folder';
import { findSealKey, fingerprintOf, SealCheck } from '../backup/seal';
import { connected, describe, findDatabase, restore, type ServiceName, snapshot } from '../backup/service-database';
import { estimateRows, listMigrations } from '../backup/tables';
import type { CommandSpec } from '../command';
import type { Context } from '../context';
import { Problem } from '../problem';

interface Installation {
  databaseUrl?: string;
  data?: string;
  sealKeyFile?: string;
  keep?: string;
}

const keysApart = 'The seal key is never in the file: keep a copy of it elsewhere, or the file is worth nothing.';

/** `backup …`: one file per service, its values sealed as they are in the database; keys are kept apart. */
export const backupCommands: readonly CommandSpec[] = [
  {
    name: 'backup create',
    help: 'Save all rows as of one moment, while the service runs.',
    args: {
      '<service>': 'secrets or workspaces',
      '<file>':
        'must not exist yet; or a folder, here or s3://bucket/folder, where it gets a name; - for standard output',
    },
    flags: {
      '--database-url <url>': 'its database (SECRETS_DATABASE_URL, WORKSPACES_DATABASE_URL, or these with _FILE)',
      '--data <folder>': 'folder of a running npm start, when it uses the embedded database',
      '--seal-key-file <file>': 'notes which key opens the backup (SECRETS_SEAL_KEY_FILE, WORKSPACES_SEAL_KEY_FILE)',
      '--keep <number>':
        'in a folder or bucket: so many of the service, the new one too; older ones are removed once it is whole',
    },
    examples: ['backup create secrets secrets.backup', 'backup create secrets s3://backups/keystead -keep=14'],
    more: keysApart,
    async run(context, options: Installation, name: string, place: string) {
      const { output, env, progress } = context;
      const service = serviceName(name);
      const keep = numberToKeep(options.keep, place);
      if (isBucket(place)) {
        const bucket = await openBucket(place, env);
        await inPrivateFolder(async (staging) => {
          const file = join(staging, newName(service));
          const saved = await save(context, options, service, file);
          const sending = progress('sending', 'bytes', statSync(file).size);
          await bucket.put(basename(file), file, (bytes) => sending.at(bytes)).finally(() => sending.end());
          show(output, { ...saved, file: basename(file) });
        });
        if (keep !== undefined) await forget(output, bucket, service, keep);
        return;
      }
      const saved = await save(context, options, service, isFolder(place) ? join(place, newName(service)) : place);
      if (place === '-') output.note(`saved: ${saved.rows} rows of ${service}`);
      else show(output, saved);
      if (keep !== undefined) await forget(output, folderShelf(place), service, keep);
    },
  },
  {
    name: 'backup verify',
    help: 'Read a backup to its end; with the seal key also open its keyring and some of its values.',
    args: { '<file>': 'the backup; or a folder, here or s3://bucket/folder: then the newest of each service' },
    flags: { '--seal-key-file <file>': 'key of the service (SECRETS_SEAL_KEY_FILE, WORKSPACES_SEAL_KEY_FILE)' },
    examples: ['backup verify secrets.backup -seal-key-file=secrets.key'],
    async run({ output, env, progress }, options: Installation, place: string) {
      await withBackups(place, env, async (file) => {
        const header = await readHeader(file);
        const sealKey = findSealKey(header.service.toUpperCase(), options.sealKeyFile, env);
        const check = sealKey && new SealCheck(header, sealKey);
        let rows = 0;
        const reading = progress('reading', 'bytes', statSync(file).size);
        for await (const batch of readBatches(file, (bytes) => reading.at(bytes))) {
          rows += batch.rows.length;
          check?.see(batch);
        }
        reading.end();
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
    },
  },
  {
    name: 'backup drill',
    help: 'Bring a backup back into a database of its own, read all of it again, open some values, and take it away.',
    args: { '<file>': 'the backup; or a folder, here or s3://bucket/folder: then the newest of each service' },
    flags: {
      '--database-url <url>':
        'any database of the server to use (SECRETS_DATABASE_URL, WORKSPACES_DATABASE_URL, or these with _FILE)',
      '--data <folder>': 'folder of a running npm start, when it uses the embedded database',
      '--seal-key-file <file>': 'key of the service (SECRETS_SEAL_KEY_FILE, WORKSPACES_SEAL_KEY_FILE)',
    },
    examples: ['backup drill /backups', 'backup drill secrets.backup -seal-key-file=secrets.key'],
    more: 'The database is made on the server, so its user must be allowed to; it needs as much room as the restored service.',
    async run({ output, env, progress }, options: Installation, place: string) {
      const results: Awaited<ReturnType<typeof drill>>[] = [];
      await withBackups(place, env, async (file) => {
        const { service } = await readHeader(file);
        const sealKey = findSealKey(service.toUpperCase(), options.sealKeyFile, env);
        const loading = progress('loading', 'bytes', statSync(file).size);
        const server = await findDatabase(service, options, env);
        const watch = { loaded: (bytes: number) => loading.at(bytes) };
        const done = await drill(file, server, sealKey, watch).finally(() => loading.end());
        results.push({ ...done, file: basename(file) });
      });
      const rows = results.map((one) => [
        one.service,
        one.madeAt,
        one.rows,
        one.opened ?? '-',
        one.objects,
        one.seconds,
      ]);
      output.rows(results, ['service', 'made at', 'rows', 'values opened', 'objects elsewhere', 'seconds'], rows);
      if (results.some(({ opened }) => opened === null)) output.note('no seal key was named, so no value was opened');
    },
  },
  {
    name: 'backup restore',
    help: 'Bring a backup back into an empty database, and up to this version.',
    args: { '<file>': 'the backup, here or s3://bucket/folder/name.backup' },
    flags: {
      '--database-url <url>': 'the empty database (SECRETS_DATABASE_URL, WORKSPACES_DATABASE_URL, or these with _FILE)',
    },
    examples: ['backup restore secrets.backup -database-url=postgresql:///secrets'],
    async run({ output, env, progress }, options: Installation, place: string) {
      if (isFolder(place) || (isBucket(place) && !/\.backup(\?|$)/.test(place))) {
        throw new Problem(`${place} is a folder: name the one backup to restore`);
      }
      await withBackups(place, env, async (file) => {
        const { service } = await readHeader(file);
        const url = await findDatabase(service, options, env);
        const size = statSync(file).size;
        const [checking, loading] = [progress('checking', 'bytes', size), progress('loading', 'bytes', size)];
        const { madeAt } = await restore(file, url, {
          checked: (bytes) => checking.at(bytes),
          loaded: (bytes) => loading.at(bytes),
        }).finally(() => loading.end());
        output.note(`restored ${service} as of ${madeAt}`);
      });
      output.note('tokens and leases ended since then are back as well: end again what must not live');
    },
  },
];

interface Saved {
  readonly file: string;
  readonly service: ServiceName;
  readonly rows: number;
  readonly counts: Readonly<Record<string, number>>;
}

const show = (output: Context['output'], { file, service, rows, counts }: Saved): void =>
  output.show({ file, service, rows, counts }, { file, service, rows });

async function forget(output: Context['output'], shelf: Shelf, service: ServiceName, keep: number): Promise<void> {
  for (const old of await forgetOld(shelf, service, keep)) output.note(`removed: ${old}`);
}

/** Saves all rows as of one moment; nothing is left of a file that is not whole. */
async function save(
  { output, env, progress }: Context,
  options: Installation,
  service: ServiceName,
  file: string,
): Promise<Saved> {
  const url = await findDatabase(service, options, env);
  const sealKey = findSealKey(service.toUpperCase(), options.sealKeyFile, env);
  if (!sealKey) output.note('no seal key was named, so the backup will not say which one opens it');
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
    const estimated = await estimateRows(client);
    const saving = progress('saving', 'rows', estimated);
    let saved = 0;
    const written = writeArchive(file, header, snapshot(client, header), (rows) => {
      saved += rows;
      // The database only remembers about how many there are.
      saving.at(saved);
    });
    return written
      .finally(() => saving.end())
      .catch((error: NodeJS.ErrnoException) => {
        if (error.code === 'EEXIST') throw new Problem(`${file} exists already`);
        if (file !== '-') rmSync(file, { force: true });
        throw error;
      });
  });
  const rows = Object.values(counts).reduce((sum, count) => sum + count, 0);
  return { file, service, rows, counts };
}

function numberToKeep(text: string | undefined, place: string): number | undefined {
  if (text === undefined) return undefined;
  if (!isFolder(place) && !isBucket(place)) throw new Problem('--keep is for a folder or a bucket');
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new Problem('--keep must be a number from 1 to 99999');
  return Number(text);
}

function serviceName(name: string): ServiceName {
  if (name !== 'secrets' && name !== 'workspaces') throw new Problem(`${name} is no service: secrets or workspaces`);
  return name;
}
