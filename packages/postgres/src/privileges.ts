import { spawnSync } from 'node:child_process';
import { chownSync, lchownSync, readdirSync, statSync } from 'node:fs';
import { userInfo } from 'node:os';
import path from 'node:path';

/** How to run PostgreSQL here: it refuses to run as root and needs a user with a passwd entry. */
export interface Privileges {
  /** The uid, as this process sees it, that must own the data directory. */
  owner: { uid: number; gid: number };
  wrap(program: string, args: string[]): { command: string; args: string[] };
}

const UNPRIVILEGED = 65534;
const IN_NAMESPACE = ['unshare', `--map-user=${UNPRIVILEGED}`, `--map-group=${UNPRIVILEGED}`];
const AS_UNPRIVILEGED = [
  'setpriv',
  `--reuid=${UNPRIVILEGED}`,
  `--regid=${UNPRIVILEGED}`,
  '--clear-groups',
  '--inh-caps=+dac_override',
  '--ambient-caps=+dac_override',
  '--securebits=+no_setuid_fixup',
];

/**
 * Chooses how to run PostgreSQL: directly for an ordinary user, in a user namespace for root or a uid without a name,
 * and as an unprivileged uid if root may not create namespaces. Throws a one-line error if none works.
 */
export function choosePrivileges(): Privileges {
  const uid = process.getuid?.() ?? 0;
  const gid = process.getgid?.() ?? 0;
  if (uid !== 0 && hasName()) return { owner: { uid, gid }, wrap: (command, args) => ({ command, args }) };
  if (works(IN_NAMESPACE)) return { owner: { uid, gid }, wrap: prefixed(IN_NAMESPACE) };
  if (uid === 0 && works(AS_UNPRIVILEGED))
    return { owner: { uid: UNPRIVILEGED, gid: UNPRIVILEGED }, wrap: prefixed(AS_UNPRIVILEGED) };
  const who = uid === 0 ? 'root' : `uid ${uid}, which has no passwd entry`;
  throw new Error(
    `PostgreSQL cannot run as ${who}, and neither unshare nor setpriv works here: start as an ordinary user or set DATABASE_URL`,
  );
}

/**
 * Gives a file, or a folder and everything below it, to PostgreSQL's user. Does not touch files that already belong to
 * that user.
 */
export function giveTo(owner: Privileges['owner'], folder: string): void {
  const found = statSync(folder);
  if (found.uid === owner.uid) return;
  chownSync(folder, owner.uid, owner.gid);
  if (!found.isDirectory()) return;
  for (const entry of readdirSync(folder, { withFileTypes: true, recursive: true })) {
    lchownSync(path.join(entry.parentPath, entry.name), owner.uid, owner.gid);
  }
}

function hasName(): boolean {
  try {
    return userInfo().username !== '';
  } catch {
    return false;
  }
}

function works([command, ...args]: string[]): boolean {
  return spawnSync(command!, [...args, 'true'], { stdio: 'ignore' }).status === 0;
}

function prefixed([command, ...before]: string[]): Privileges['wrap'] {
  return (program, args) => ({ command: command!, args: [...before, program, ...args] });
}
