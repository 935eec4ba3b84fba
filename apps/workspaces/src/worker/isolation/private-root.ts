import {
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  realpathSync,
  renameSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import type { Owner } from '../files/archive';

/** Where a job's folder is inside a private root. */
export const folderInside = '/workspace';

/** Where the tool's binary is inside a private root. */
export const toolInside = '/run/tool';

/**
 * The files of the machine that programs need: programs, libraries, certificates, name resolution. No other files are
 * visible.
 */
const shown: readonly string[] = [
  ...['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/nix/store'],
  ...['/etc/ssl/certs', '/etc/ssl/openssl.cnf', '/etc/pki/tls/certs', '/etc/pki/ca-trust', '/etc/ca-certificates'],
  ...['/etc/resolv.conf', '/etc/hosts', '/etc/nsswitch.conf', '/etc/gai.conf', '/etc/localtime', '/etc/services'],
  ...['/etc/protocols', '/etc/alternatives', '/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d'],
];

/**
 * A shell script that creates a private root, inside new mount and process namespaces, and runs a command in it. Its
 * arguments are the root and the list of mounts, both created by `layRoot`, and the command.
 *
 * Only the job's folder can be written; everything else is read-only. The old root is unmounted, not only hidden. The
 * command's root differs from the root of its mount namespace, so that the kernel refuses to create a user namespace
 * for it (user_namespaces(7), EPERM).
 */
export const privateRootScript = `
root=$1 mounts=$2
shift 2
mount --all --fstab "$mounts"
cd "$root"
pivot_root . old
cd /
umount -l old
exec chroot /inside "$@"
`;

/** The parts of a private root. */
interface RootParts {
  /** An empty folder in which it is created. */
  readonly mountPoint: string;
  /** The job's folder. */
  readonly folder: string;
  /** The binary of the tool; empty if there is none. */
  readonly tool: string;
  /** The job's user, who is added to the list of users in the root. */
  readonly owner: Owner | undefined;
  /** Further paths to show. */
  readonly show: readonly string[];
}

/**
 * Prepares the mounts of a job's root, once for all of its commands. Each command mounts them in its own namespaces. If
 * a program had to be started for each mount, an empty plan would take a second longer. Returns the list of the mounts.
 */
export function layRoot({ mountPoint, folder, tool, owner, show }: RootParts): string {
  const list = `${mountPoint}.mounts`;
  if (existsSync(list)) return list;
  const root = path.join(mountPoint, 'inside');
  const at = (name: string) => path.join(root, name);
  const lines: string[] = [];
  const flags = keptFlags();
  const mount = (source: string, target: string, options: string, type = 'none') =>
    lines.push(`${escaped(source)} ${escaped(target)} ${type} ${options} 0 0\n`);
  const bind = (source: string, target: string, options: string) => mount(source, target, options + flags(source));
  mkdirSync(path.join(mountPoint, 'old'));
  for (const name of ['proc', 'dev', 'dev/shm', 'tmp', 'etc', toolInside, folderInside])
    mkdirSync(at(name), { recursive: true });
  bind(mountPoint, mountPoint, 'bind,ro,nosuid,nodev');
  // A separate mount, so that the root of the command is not that of its namespace.
  bind(root, root, 'bind,ro,nosuid,nodev');
  for (const name of [...shown, ...show]) {
    const found = statSync(name, { throwIfNoEntry: false });
    if (!found) continue;
    mkdirSync(at(path.dirname(name)), { recursive: true });
    if (found.isDirectory() && lstatSync(name).isSymbolicLink()) {
      symlinkSync(readlinkSync(name), at(name));
      continue;
    }
    if (found.isDirectory()) mkdirSync(at(name), { recursive: true });
    else writeFileSync(at(name), '');
    bind(realpathSync(name), at(name), 'rbind,ro,nosuid,nodev');
  }
  if (tool !== '') {
    const name = at(path.join(toolInside, path.basename(tool)));
    writeFileSync(name, '');
    bind(realpathSync(tool), name, 'bind,ro,nosuid,nodev');
  }
  const { uid, gid } = owner ?? { uid: 0, gid: 0 };
  writeFileSync(at('etc/passwd'), `root:x:0:0::/:/bin/sh\nrun:x:${uid}:${gid}::${folderInside}/home:/bin/sh\n`);
  writeFileSync(at('etc/group'), `root:x:0:\nrun:x:${gid}:\n`);
  for (const device of ['null', 'zero', 'full', 'random', 'urandom']) {
    writeFileSync(at(`dev/${device}`), '');
    mount(`/dev/${device}`, at(`dev/${device}`), 'bind');
  }
  for (const [name, to] of Object.entries(deviceLinks)) symlinkSync(to, at(`dev/${name}`));
  mount('tmpfs', at('dev/shm'), 'mode=1777,nosuid,nodev,size=64m', 'tmpfs');
  bind(folder, at(folderInside), 'bind,nosuid,nodev');
  bind(path.join(folder, 'tmp'), at('tmp'), 'bind,nosuid,nodev');
  mount('proc', at('proc'), 'nosuid,nodev,noexec', 'proc');
  for (const name of readdirSync(root)) symlinkSync(`inside/${name}`, path.join(mountPoint, name));
  // Readable for any uid of the worker; written last, so that it is complete if it exists.
  writeFileSync(`${list}.new`, lines.join(''), { mode: 0o644 });
  renameSync(`${list}.new`, list);
  return list;
}

const deviceLinks = {
  fd: '/proc/self/fd',
  stdin: '/proc/self/fd/0',
  stdout: '/proc/self/fd/1',
  stderr: '/proc/self/fd/2',
};

/** A path in the format of mount lists. */
const escaped = (text: string): string =>
  text.replace(/[\s\\#]/g, (one) => `\\${one.charCodeAt(0).toString(8).padStart(3, '0')}`);

/**
 * Flags that a mount must keep when it is mounted at another place, because only root outside of the namespaces may
 * drop them.
 */
function keptFlags(): (source: string) => string {
  const mounts = readFileSync('/proc/self/mountinfo', 'utf8')
    .split('\n')
    .map((line) => line.split(' '))
    .map(([, , , , point = '', options = '']) => ({
      point: point.replace(/\\(\d{3})/g, (_, digits: string) => String.fromCharCode(Number.parseInt(digits, 8))),
      options: options.split(','),
    }));
  return (source) => {
    const above = mounts.filter(({ point }) => isBelow(source, point));
    const nearest = above.reduce((a, b) => (b.point.length >= a.point.length ? b : a), { point: '', options: [''] });
    return nearest.options.includes('noexec') ? ',noexec' : '';
  };
}

const isBelow = (at: string, above: string): boolean => above === '/' || at === above || at.startsWith(`${above}/`);

/** Paths for which a private root has its own content. */
const ownPlaces = ['/proc', '/dev', '/tmp', toolInside, folderInside];
/** Paths that the private root creates itself. They cannot be made visible, but paths below them can. */
const folders = ['/', '/etc'];

/** Why a path cannot be shown in a private root, as text that follows the path; undefined if it can be shown. */
export function cannotBeShown(at: string): string | undefined {
  if (!path.isAbsolute(at)) return 'is not an absolute path';
  if (folders.includes(path.resolve(at)))
    return 'cannot be made visible to runs as a whole: name the paths that runs need';
  if (path.resolve(at) !== at) return `is written as ${path.resolve(at)}`;
  const conflict = ownPlaces.find((place) => at === place || at.startsWith(`${place}/`) || place.startsWith(`${at}/`));
  if (conflict) return `cannot be made visible to runs: they have their own ${conflict}`;
  return existsSync(at) ? undefined : 'is not there';
}
