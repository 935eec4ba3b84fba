import { mkdtempSync, readdirSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { isS3Address } from '@keystead/addresses';
import type { Context } from '../context';
import { asProblem } from '../failure';
import { Problem } from '../problem';
import type { Progress } from '../progress';
import { openBucket } from './bucket';
import type { ServiceName } from './service-database';

const named = /^(secrets|workspaces)-\d{8}T\d{9}Z\.backup$/;

/** Whether the path is a folder, in which the program chooses the names of backups. */
export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** The name of a new backup: its service and the time. */
export function newName(service: ServiceName, now = new Date()): string {
  return `${service}-${now.toISOString().replace(/[-:.]/g, '')}.backup`;
}

/** The backups of a service among file names, newest first; other files are ignored. */
function backupsAmong(names: readonly string[], service: ServiceName): string[] {
  const ownFiles = names.filter((name) => named.exec(name)?.[1] === service);
  return ownFiles.sort().reverse();
}

/** A place where the program names backups: a local folder or one in a bucket. */
export interface Shelf {
  names(): Promise<string[]>;
  remove(name: string): Promise<void>;
}

/** A folder of this machine. */
export const folderShelf = (folder: string): Shelf => ({
  names: async () => readdirSync(folder),
  remove: async (name) => rmSync(join(folder, name)),
});

/** Removes all backups of a service except the newest `keep`. Returns the names of the removed backups. */
export async function forgetOld(shelf: Shelf, service: ServiceName, keep: number): Promise<string[]> {
  const old = backupsAmong(await shelf.names(), service).slice(keep);
  for (const name of old) await shelf.remove(name);
  return old;
}

/** Works with a new private folder that is removed afterwards. */
export async function inPrivateFolder<T>(work: (folder: string) => Promise<T>): Promise<T> {
  const folder = mkdtempSync(join(tmpdir(), 'keystead-backup-'));
  try {
    return await work(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/**
 * Works with backups as local files: the file itself, or the newest backup of each service in a folder or bucket, one
 * after the other. Objects of a bucket are downloaded temporarily. Throws `Problem` if there is no backup.
 */
export async function withBackups(
  place: string,
  { env, progress }: Pick<Context, 'env' | 'progress'>,
  work: (file: string) => Promise<void>,
): Promise<void> {
  if (!isS3Address(place)) {
    if (!isFolder(place)) return work(place);
    for (const name of newestAmong(place, readdirSync(place))) await about(name, () => work(join(place, name)));
    return;
  }
  const [address = '', query = ''] = place.split('?');
  const one = address.endsWith('.backup') ? basename(address) : undefined;
  const folder = one === undefined ? place : `${address.slice(0, -one.length)}${query && `?${query}`}`;
  const bucket = await openBucket(folder, env);
  for (const name of one === undefined ? newestAmong(place, await bucket.names()) : [one]) {
    await inPrivateFolder(async (staging) => {
      let line: Progress | undefined;
      const received = (bytes: number, total: number | undefined) => {
        line ??= progress(`fetching ${name}`, 'bytes', total);
        line.at(bytes);
      };
      await bucket.get(name, join(staging, name), received).finally(() => line?.end());
      await about(name, () => work(join(staging, name)));
    });
  }
}

/** Adds the name of the backup to the message of a failure, because there may be several backups. */
async function about(name: string, work: () => Promise<void>): Promise<void> {
  try {
    await work();
  } catch (thrown) {
    const { message, exitCode } = asProblem(thrown);
    throw message.includes(name) ? thrown : new Problem(`${name}: ${message}`, exitCode);
  }
}

function newestAmong(place: string, names: readonly string[]): string[] {
  const found = (['secrets', 'workspaces'] as const).flatMap((service) => backupsAmong(names, service).slice(0, 1));
  if (found.length === 0) throw new Problem(`${place} contains no backup named by backup create`);
  return found;
}
