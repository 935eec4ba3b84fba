import { existsSync } from 'node:fs';
import path from 'node:path';

/** Where a job's folder is inside a root of its own. */
export const folderInside = '/workspace';

/** Where the tool's binary is inside a root of its own. */
export const toolInside = '/run/tool';

/** What programs need of the machine: programs, libraries, certificates, name resolution. No other file is there. */
const shown: readonly string[] = [
  ...['/usr', '/bin', '/sbin', '/lib', '/lib32', '/lib64', '/nix/store'],
  ...['/etc/ssl/certs', '/etc/ssl/openssl.cnf', '/etc/pki/tls/certs', '/etc/pki/ca-trust', '/etc/ca-certificates'],
  ...['/etc/resolv.conf', '/etc/hosts', '/etc/nsswitch.conf', '/etc/gai.conf', '/etc/localtime', '/etc/services'],
  ...['/etc/protocols', '/etc/alternatives', '/etc/ld.so.cache', '/etc/ld.so.conf', '/etc/ld.so.conf.d'],
];

/**
 * Shell text that makes a root of its own, inside new mount and process namespaces, and goes on with the rest of its
 * arguments there: root's mount point, the job's folder, the binary, uid and gid of the job, paths to show, `--`, command.
 *
 * What is shown is read-only; only the job's folder can be written. The old root is gone, not hidden. The command's root
 * is not that of its mount namespace, so that the kernel makes it no user namespace (user_namespaces(7), EPERM).
 */
export const privateRootScript = `
root=$1 folder=$2 tool=$3 uid=$4 gid=$5
shift 5
mount -t tmpfs -o mode=755,nosuid,nodev,size=1m tmpfs "$root"
mkdir "$root/inside"
mount --bind "$root/inside" "$root/inside"
cd "$root/inside"
mkdir -p proc dev tmp etc ".${toolInside}" ".${folderInside}"
show() {
  [ -e "$1" ] || return 0
  mkdir -p ".$(dirname "$1")"
  if [ -d "$1" ]; then
    if [ -L "$1" ]; then ln -s "$(readlink "$1")" ".$1"; return 0; fi
    mkdir -p ".$1"
  else
    : > ".$1"
  fi
  mount --rbind "$(readlink -f "$1")" ".$1"
  mount -o remount,bind,ro,nosuid,nodev ".$1"
}
while [ "$1" != -- ]; do show "$1"; shift; done
shift
if [ -n "$tool" ]; then
  name=".${toolInside}/$(basename "$tool")"
  : > "$name"
  mount --bind "$tool" "$name"
  mount -o remount,bind,ro,nosuid,nodev "$name"
fi
printf 'root:x:0:0::/:/bin/sh\\nrun:x:%s:%s::${folderInside}/home:/bin/sh\\n' "$uid" "$gid" > etc/passwd
printf 'root:x:0:\\nrun:x:%s:\\n' "$gid" > etc/group
for device in null zero full random urandom; do : > "dev/$device"; mount --bind "/dev/$device" "dev/$device"; done
ln -s /proc/self/fd dev/fd
ln -s /proc/self/fd/0 dev/stdin
ln -s /proc/self/fd/1 dev/stdout
ln -s /proc/self/fd/2 dev/stderr
mkdir dev/shm
mount -t tmpfs -o mode=1777,nosuid,nodev,size=64m tmpfs dev/shm
mount --bind "$folder" ".${folderInside}"
mount -o remount,bind,nosuid,nodev ".${folderInside}"
mount --bind "$folder/tmp" tmp
mount -o remount,bind,nosuid,nodev tmp
mount -t proc -o nosuid,nodev,noexec proc proc
for name in *; do ln -s "inside/$name" "$root/$name"; done
cd "$root"
mkdir old
pivot_root . old
cd /
umount -l old
rmdir old
mount -o remount,bind,ro,nosuid,nodev /inside
mount -o remount,bind,ro,nosuid,nodev /
exec chroot /inside "$@"
`;

/** Places that a root of its own has for itself. */
const ownPlaces = ['/proc', '/dev', '/tmp', toolInside, folderInside];
/** What it makes by itself; what lies in them can be shown, they cannot. */
const made = ['/', '/etc'];

/** Why a path cannot be shown in a root of its own, to be read after the path; undefined where it can. */
export function cannotBeShown(at: string): string | undefined {
  if (!path.isAbsolute(at)) return 'is no absolute path';
  if (made.includes(path.resolve(at))) return 'cannot be shown as a whole: name what runs need of it';
  if (path.resolve(at) !== at) return `is written as ${path.resolve(at)}`;
  const taken = ownPlaces.find((place) => at === place || at.startsWith(`${place}/`) || place.startsWith(`${at}/`));
  if (taken) return `cannot be shown: runs have a ${taken} of their own`;
  return existsSync(at) ? undefined : 'is not there';
}

/** Paths shown in a root of its own, those of the operator included. */
export function pathsShown(more: readonly string[]): readonly string[] {
  return [...shown, ...more];
}
