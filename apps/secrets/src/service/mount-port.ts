import { Refusal } from '@keystead/refusal';
import type { Identity } from '../kernel/identity/identity';
import type { Leases } from '../kernel/leases/leases';
import type { LiveMount } from '../kernel/mounts/mount';
import type { Mounts, SystemTtls } from '../kernel/mounts/mounts';
import type { Namespaces } from '../kernel/namespaces/namespaces';
import type { Jobs } from '../kernel/storage/jobs';
import type { StorageKernel } from '../kernel/storage/storage';
import type { Errand } from '../sdk/call';
import type { MountPort, MountRecord } from '../system/sys/mounts';
import type { MoveFacts, RemountPort } from '../system/sys/remount';
import { kvUpgrade } from './kv-upgrade';

interface Parts {
  readonly mounts: Mounts;
  readonly namespaces: Namespaces;
  readonly leases: Leases;
  readonly identity: Identity;
  readonly jobs: Jobs;
  readonly storage: StorageKernel;
  readonly errand: <T>(mount: LiveMount, run: (errand: Errand) => Promise<T>) => Promise<T>;
  readonly ttls: SystemTtls;
}

interface Move {
  readonly uuid: string;
  readonly source: string;
  readonly target: string;
}

const move = 'mount-move';

/** Administration of mounts. What a mount gave out ends before the mount does. */
export function mountPort(parts: Parts): MountPort & RemountPort {
  const { mounts, namespaces, leases, identity, jobs, ttls } = parts;
  // Its paths would be read as paths inside the namespace.
  const refuseBelowNamespace = (namespaceId: string, path: string) => {
    const found = namespaces.at(namespaces.find(namespaceId)!, path.split('/')[0]!);
    if (found && found.uuid !== namespaceId) {
      throw new Refusal('invalid', `path is already in use by the namespace ${path.split('/')[0]!}/`);
    }
  };
  jobs.define<Move>(move, async (state) => {
    await mounts.refresh();
    const mount = mounts.find(state.uuid);
    if (mount && mount.path !== state.target) {
      await endMount(parts, mount);
      await mounts.move(mounts.find(state.uuid)!, state.target);
    }
    return { state, advanced: 1, finished: true };
  });
  const upgrade = kvUpgrade(parts);
  return {
    ttls,
    upgrade: (mount) => upgrade(mount as LiveMount),
    list: (namespaceId, kind) => mounts.list(namespaceId, kind),
    seek: (namespaceId, path) => mounts.seek(namespaceId, path),
    conflict: (namespaceId, path) => mounts.conflict(namespaceId, path),
    async create(namespaceId, spec) {
      refuseBelowNamespace(namespaceId, spec.path);
      return mounts.create(namespaceId, spec);
    },
    tune: (mount, change) => mounts.tune(mount as LiveMount, change),
    unmount: (mount) => unmount({ mounts, leases, identity }, mount as LiveMount),
    async move(mount: MountRecord, target: string) {
      refuseBelowNamespace(mount.namespaceId, target);
      await mounts.taint(mount as LiveMount);
      const { id } = await jobs.startHere(move, JSON.stringify([mount.namespaceId, mount.path, target]), {
        uuid: mount.uuid,
        source: mount.path,
        target,
      });
      return id;
    },
    async find(namespaceId, id): Promise<MoveFacts | undefined> {
      const found = await jobs.find(id);
      // Those of earlier releases do not say whose they were.
      if (found?.kind !== move || !found.key.startsWith('[')) return undefined;
      const [owner, source, target] = JSON.parse(found.key) as [string, string, string];
      if (owner !== namespaceId) return undefined;
      return { source, target, status: found.running ? 'in-progress' : 'success' };
    },
  };
}

/** Ends what a mount gave out and removes it; where that fails the mount stays in use. */
export async function unmount(
  { mounts, leases, identity }: Pick<Parts, 'mounts' | 'leases' | 'identity'>,
  mount: LiveMount,
): Promise<void> {
  await mounts.taint(mount);
  try {
    await endMount({ leases, identity }, mount);
  } catch (error) {
    await mounts.clean(mount);
    throw error;
  }
  await mounts.remove(mount);
}

/** Ends every lease and token of a mount, and forgets the aliases that stand on it. */
async function endMount({ leases, identity }: Pick<Parts, 'leases' | 'identity'>, mount: LiveMount): Promise<void> {
  const { left, failed, failure } = await leases.revokePrefix(mount.namespaceId, mount.path, { waitMs: 60_000 });
  if (left > 0) throw unfinished(left, failed, failure);
  if (mount.kind === 'auth') await identity.logins.forgetMount(mount.uuid);
}

function unfinished(left: number, failed: number, failure: { id: string; reason: string } | undefined): Error {
  const text = failure
    ? `failed to revoke "${failure.id}" (${failed} / ${left}): failed to revoke entry: ${failure.reason}`
    : `${left} leases are still being revoked`;
  return new Refusal('invalid', text);
}
