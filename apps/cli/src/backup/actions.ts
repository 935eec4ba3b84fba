import { rmSync, statSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isS3Address } from '@keystead/addresses';
import type { Context } from '../context';
import { Problem } from '../problem';
import type { Progress } from '../progress';
import { checkArchive, type Header, type Proof, readBatches, readHeader, writeArchive } from './archive';
import { openBucket } from './bucket';
import { drill } from './drill';
import { folderShelf, forgetOld, inPrivateFolder, isFolder, newName, type Shelf, withBackups } from './folder';
import { findSealKey, fingerprintOf, SealCheck } from './seal';
import {
  type BytesDone,
  connected,
  describe,
  findDatabase,
  keyInDataFolder,
  restore,
  type ServiceName,
  snapshot,
  type Where,
  withNewDatabase,
} from './service-database';
import { estimateRows, listMigrations } from './tables';

/** The options of the commands, apart from the place of a backup. */
export interface Installation extends Where {
  sealKeyFile?: string;
  allowUnauthenticated?: boolean;
  keep?: string;
}

/** Saves a consistent snapshot of all rows of a service. */
export async function create(context: Context, options: Installation, name: string, place: string): Promise<void> {
  const { output, env, progress } = context;
  const service = serviceName(name);
  const keep = numberToKeep(options.keep, place);
  if (isS3Address(place)) {
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
}

/** Reads backups to their end, and opens some values if the seal key is known. */
export async function verify({ output, env, progress }: Context, options: Installation, place: string): Promise<void> {
  await withBackups(place, { env, progress }, async (file) => {
    const header = await readHeader(file);
    const proof = proofOf(header, options, env);
    const { sealKey } = proof;
    const check = sealKey && new SealCheck(header, sealKey);
    let rows = 0;
    const reading = progress('reading', 'bytes', statSync(file).size);
    try {
      for await (const batch of readBatches(file, proof, (bytes) => reading.at(bytes))) {
        rows += batch.rows.length;
        check?.see(batch);
      }
    } finally {
      reading.end();
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
        'values opened': opened
          ? opened
          : opened === 0
            ? '0: the keyring opens, and there are none'
            : 'none: no seal key',
      },
    );
    warnUnproven(output, proof);
  });
}

/** Restores backups into separate databases, reads all of them again, and drops them. */
export async function tryOut({ output, env, progress }: Context, options: Installation, place: string): Promise<void> {
  const results: Awaited<ReturnType<typeof drill>>[] = [];
  const tell = () => {
    const rows = results.map((one) => [one.service, one.madeAt, one.rows, one.opened ?? '-', one.objects, one.seconds]);
    output.rows(results, ['service', 'made at', 'rows', 'values opened', 'in an object store', 'seconds'], rows);
    if (results.some(({ opened }) => opened === null)) warnUnproven(output, {});
  };
  try {
    await withBackups(place, { env, progress }, async (file) => {
      const { service } = await readHeader(file);
      const proof = proofOf(await readHeader(file), options, env);
      const server = await findDatabase(service, options, env);
      const result = await inStages(progress, file, (stages) => drill(file, server, proof, stages));
      results.push({ ...result, file: basename(file) });
    });
  } catch (error) {
    // Report what was restored before the failure.
    if (results.length > 0) tell();
    throw error;
  }
  tell();
}

/** Restores a backup into an empty database, and migrates it to this version. */
export async function restoreFrom(
  { output, env, progress }: Context,
  options: Installation,
  place: string,
): Promise<void> {
  if (isFolder(place) || (isS3Address(place) && !/\.backup(\?|$)/.test(place))) {
    throw new Problem(`${place} is a folder: name the one backup to restore`);
  }
  await withBackups(place, { env, progress }, async (file) => {
    const header = await readHeader(file);
    const { service, madeAt } = header;
    const proof = proofOf(header, options, env);
    await inStages(progress, file, async ({ checked, loaded }) => {
      await checkArchive(file, proof, checked);
      await withNewDatabase(service, options, env, (url) => restore(file, header, url, proof, loaded));
    });
    warnUnproven(output, proof);
    output.note(`restored ${service} as of ${madeAt}`);
  });
  output.note('tokens and leases revoked since then are valid again: revoke them if they must not be');
}

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

/** Saves a consistent snapshot of all rows; an incomplete file is removed. */
async function save(
  { output, env, progress }: Context,
  options: Installation,
  service: ServiceName,
  file: string,
): Promise<Saved> {
  const url = await findDatabase(service, options, env);
  const sealKey = sealKeyOf(service, options, env);
  if (!sealKey)
    output.note('no seal key was given: the backup will not name its key, and nothing will prove that it is unchanged');
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
    const writing = writeArchive(file, header, sealKey, snapshot(client, header), (rows) => {
      saved += rows;
      // The database only has an estimate of the number of rows.
      saving.at(saved);
    });
    return writing
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
  if (!isFolder(place) && !isS3Address(place)) throw new Problem('--keep is for a folder or a bucket');
  if (!/^[1-9]\d{0,4}$/.test(text)) throw new Problem('--keep must be a number from 1 to 99999');
  return Number(text);
}

/** Shows the progress of a backup, stage by stage. */
interface Stages {
  readonly checked: BytesDone;
  readonly loaded: BytesDone;
  readonly readAgain: (rows: number, total: number) => void;
}

/** Shows each stage of a backup with its own rate. */
async function inStages<T>(
  progress: Context['progress'],
  file: string,
  work: (stages: Stages) => Promise<T>,
): Promise<T> {
  const { size } = statSync(file);
  let current: { what: string; line: Progress } | undefined;
  const at = (what: string, unit: string, done: number, total: number) => {
    if (current?.what !== what) {
      current?.line.end();
      current = { what, line: progress(what, unit, total) };
    }
    current.line.at(done);
  };
  try {
    return await work({
      checked: (bytes) => at('checking', 'bytes', bytes, size),
      loaded: (bytes) => at('loading', 'bytes', bytes, size),
      readAgain: (rows, total) => at('reading again', 'rows', rows, total),
    });
  } finally {
    current?.line.end();
  }
}

/** How to authenticate a backup. Throws `Problem` if the given seal key is not the key of the backup. */
function proofOf(header: Header, options: Installation, env: NodeJS.ProcessEnv): Proof {
  const sealKey = sealKeyOf(header.service, options, env);
  if (sealKey && header.sealKey !== undefined && fingerprintOf(sealKey) !== header.sealKey)
    throw new Problem('this seal key does not decrypt the backup', 2);
  return { sealKey, allowUnauthenticated: options.allowUnauthenticated };
}

/** Lists what cannot be verified without the key. */
function warnUnproven(output: Context['output'], { sealKey, allowUnauthenticated }: Proof): void {
  if (!sealKey)
    output.note(
      'NOT PROVEN: no seal key was given, so anyone who can write the file may have changed it; give --seal-key-file',
    );
  else if (allowUnauthenticated)
    output.note('a backup made without the seal key was accepted: nothing proves that it is unchanged');
}

/** The key in the flags, otherwise the one that `npm start` stores next to its database. */
function sealKeyOf(service: ServiceName, options: Installation, env: NodeJS.ProcessEnv): Buffer | undefined {
  const storedKey = options.sealKeyFile ? undefined : keyInDataFolder(service, options, env);
  const named = options.data && storedKey ? undefined : findSealKey(service.toUpperCase(), options.sealKeyFile, env);
  return named ?? (storedKey ? findSealKey(service.toUpperCase(), storedKey, env) : undefined);
}

function serviceName(name: string): ServiceName {
  if (name !== 'secrets' && name !== 'workspaces') throw new Problem(`${name} is not a service: secrets or workspaces`);
  return name;
}
