import { Refusal } from '@keystead/refusal';
import type { Identity } from '../kernel/identity/identity';
import type { Leases } from '../kernel/leases/leases';
import type { Mounts } from '../kernel/mounts/mounts';
import type { Namespaces } from '../kernel/namespaces/namespaces';
import type { StorageKernel } from '../kernel/storage/storage';
import { merged } from '../sdk/merged';
import type { NamespacePort } from '../system/sys/namespaces';
import { checkMetadata } from '../system/sys/namespaces';
import { standingMounts } from './first-mounts';
import { unmount } from './mount-port';

interface Parts {
  readonly namespaces: Namespaces;
  readonly mounts: Mounts;
  readonly leases: Leases;
  readonly identity: Identity;
  readonly storage: StorageKernel;
}

const removal = 'namespace-removal';

/** Namespaces with what each begins with, and their removal as a job that any node goes on with. */
export function namespacePort(parts: Parts): NamespacePort {
  const { namespaces, mounts, storage } = parts;
  const parentOf = (uuid: string) => namespaces.find(uuid)!;
  const lockable = (uuid: string, path: string) => {
    const found = namespaces.at(parentOf(uuid), path);
    // `root` names the namespace of the request as well, and would be another spelling of it.
    if (!found || (path !== '' && found.uuid === uuid)) {
      throw new Refusal('invalid', 'requested namespace does not exist');
    }
    if (found.parentUuid === undefined) throw new Refusal('invalid', 'root namespace cannot be locked/unlocked');
    return found;
  };
  // Paths of the mount would be read as paths inside the namespace from then on.
  const refuseOverMount = (uuid: string, path: string) => {
    const all = path.split('/');
    const segments = all.slice(
      all.findIndex((segment) => segment !== ''),
      all.findLastIndex((segment) => segment !== '') + 1,
    );
    const above = namespaces.at(parentOf(uuid), segments.slice(0, -1).join('/'));
    const taken = above && mounts.conflict(above.uuid, `${segments.at(-1) ?? ''}/`);
    if (taken) throw new Refusal('invalid', `new namespace conflicts with existing mount: ${taken.path}`);
  };
  storage.jobs.define<{ uuid: string }>(removal, async (state) => {
    await namespaces.refresh();
    await mounts.refresh();
    const namespace = namespaces.find(state.uuid);
    if (namespace) {
      // The deepest first, so that nothing is ever without what it stands on.
      for (const one of [...namespaces.below(namespace).reverse(), namespace]) await empty(parts, one.uuid);
      for (const one of [...namespaces.below(namespace).reverse(), namespace]) await namespaces.remove(one);
    }
    return { state, advanced: 1, finished: true };
  });
  return {
    children: (uuid) => namespaces.below(parentOf(uuid)).filter(({ parentUuid }) => parentUuid === uuid),
    below: (uuid) => namespaces.below(parentOf(uuid)),
    at: (uuid, path) => visible(namespaces.at(parentOf(uuid), path), uuid),
    async put(uuid, path, customMetadata) {
      const there = visible(namespaces.at(parentOf(uuid), path), uuid);
      if (there && !customMetadata) return there;
      const annotated = there && (await namespaces.annotate(there, () => customMetadata!));
      if (annotated) return annotated;
      const made = await namespaces.create(parentOf(uuid), path, customMetadata ?? {}, async (tx, made) => {
        refuseOverMount(uuid, path);
        await mounts.createAll(tx, made, standingMounts());
      });
      // Somebody else may have made it: then this call changes what it says.
      return (customMetadata && (await namespaces.annotate(made, () => customMetadata))) || made;
    },
    async patch(uuid, path, change) {
      const there = visible(namespaces.at(parentOf(uuid), path), uuid);
      if (!there) return undefined;
      return namespaces.annotate(there, (now) => checkMetadata(merged(now, change)));
    },
    lock: async (uuid, path) => namespaces.lock(lockable(uuid, path)),
    unlock: async (uuid, path, key) => namespaces.unlock(lockable(uuid, path), key),
    async remove(uuid, path) {
      const there = visible(namespaces.at(parentOf(uuid), path), uuid);
      if (!there) return false;
      for (const one of [there, ...namespaces.below(there)]) await namespaces.taint(one);
      await storage.jobs.start(removal, there.uuid, { uuid: there.uuid });
      storage.background.wake('jobs');
      return true;
    },
  };
}

/** An empty path names the namespace of the request itself, which is not its own child. */
function visible<N extends { readonly uuid: string }>(found: N | undefined, parent: string): N | undefined {
  return found?.uuid === parent ? undefined : found;
}

async function empty({ mounts, leases, identity, storage }: Parts, namespaceId: string): Promise<void> {
  await leases.revokePrefix(namespaceId, '', { forced: true, waitMs: 60_000 });
  for (const mount of mounts.list(namespaceId)) await unmount({ mounts, leases, identity }, mount);
  await storage.committer.transaction(
    async (tx) => {
      await tx.query('DELETE FROM quota WHERE owner_id = $1', [namespaceId]);
      for (const table of ['quota', 'mfa_enforcement', 'mfa_method', 'group_alias', '"group"', 'entity', 'policy']) {
        await tx.query(`DELETE FROM ${table} WHERE namespace_id = $1`, [namespaceId]);
      }
    },
    [
      { topic: 'quota', key: '*' },
      { topic: 'policy', key: '*' },
      { topic: 'entity', key: '*' },
      { topic: 'group', key: '*' },
    ],
  );
}
