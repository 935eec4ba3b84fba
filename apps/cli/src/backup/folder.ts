import { readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Problem } from '../problem';
import type { ServiceName } from './service-database';

const named = /^(secrets|workspaces)-\d{8}T\d{9}Z\.backup$/;

/** Whether backups are kept there under names of their own. */
export function isFolder(path: string): boolean {
  return statSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/** A new file in a folder, named for its service and the time. */
export function fileIn(folder: string, service: ServiceName, now = new Date()): string {
  return join(folder, `${service}-${now.toISOString().replace(/[-:.]/g, '')}.backup`);
}

/** The backups of a service in a folder, newest first; other files are not seen. */
function backupsIn(folder: string, service: ServiceName): string[] {
  const names = readdirSync(folder).filter((name) => named.exec(name)?.[1] === service);
  return names
    .sort()
    .reverse()
    .map((name) => join(folder, name));
}

/** Removes all but the newest; answers which. */
export function forgetOld(folder: string, service: ServiceName, keep: number): string[] {
  const old = backupsIn(folder, service).slice(keep);
  for (const file of old) rmSync(file);
  return old;
}

/** The newest backup of each service that has one there. Throws `Problem` where there is none at all. */
export function newestIn(folder: string): string[] {
  const found = (['secrets', 'workspaces'] as const).flatMap((service) => backupsIn(folder, service).slice(0, 1));
  if (found.length === 0) throw new Problem(`${folder} holds no backup that backup create has named`);
  return found;
}
