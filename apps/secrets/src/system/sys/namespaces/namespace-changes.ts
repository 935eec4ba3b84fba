import { Refusal } from '@keystead/refusal';
import type { Identity } from '../../../kernel/identity/identity';
import type { Leases } from '../../../kernel/leases/leases';
import { mfaNotice } from '../../../kernel/mfa/methods';
import type { Mfa } from '../../../kernel/mfa/mfa';
import type { Mounts, NewMount } from '../../../kernel/mounts/mounts';
import type { Namespaces } from '../../../kernel/namespaces/namespaces';
import type { PolicyStore } from '../../../kernel/policy/store';
import type { Quotas } from '../../../kernel/quotas/quotas';
import type { StorageKernel } from '../../../kernel/storage/storage';
import type { Tx } from '../../../kernel/storage/types';
import { isObject } from '../../../sdk/coerce';
import { merged } from '../../../sdk/merge-fields';
import { unmount } from '../mounts/mount-changes';

interface NamespaceDeps {
  readonly namespaces: Namespaces;
  readonly mounts: Mounts;
  readonly leases: Leases;
  readonly identity: Identity;
  readonly policies: PolicyStore;
  readonly quotas: Quotas;
  readonly mfa: Mfa;
  readonly storage: StorageKernel;
  /** The mounts of every new namespace. */
  readonly builtInMounts: readonly NewMount[];
}

const removal = 'namespace-removal';

/**
 * Changes the namespaces below a namespace. New namespaces get their initial content; removed namespaces are emptied by
 * a job that any node can continue.
 */
export function namespaceChanges(parts: NamespaceDeps) {
  const { namespaces, mounts, storage, builtInMounts } = parts;
  const parentOf = (uuid: string) => namespaces.find(uuid)!;
  const lockable = (uuid: string, path: string) => {
    const found = namespaces.at(parentOf(uuid), path);
    // `root` would be another name for the namespace of the request.
    if (!found || (path !== '' && found.uuid === uuid)) {
      throw new Refusal('invalid', 'requested namespace does not exist');
    }
    if (found.parentUuid === undefined) throw new Refusal('invalid', 'root namespace cannot be locked/unlocked');
    return found;
  };
  // Paths of the mount would then be taken for paths inside the namespace.
  const refuseOverMount = async (tx: Tx, uuid: string, path: string) => {
    const all = path.split('/');
    const segments = all.slice(
      all.findIndex((segment) => segment !== ''),
      all.findLastIndex((segment) => segment !== '') + 1,
    );
    const above = namespaces.at(parentOf(uuid), segments.slice(0, -1).join('/'));
    if (above) await mounts.requireFreeForNamespace(tx, above.uuid, `${segments.at(-1) ?? ''}/`);
  };
  storage.jobs.define<{ uuid: string }>(removal, async (state) => {
    await namespaces.refresh();
    await mounts.refresh();
    const namespace = namespaces.find(state.uuid);
    if (namespace) {
      // Start with the deepest namespaces, so that a namespace never exists without its parent.
      for (const one of [...namespaces.below(namespace).reverse(), namespace]) await empty(parts, one.uuid);
      for (const one of [...namespaces.below(namespace).reverse(), namespace]) await namespaces.remove(one);
    }
    return { state, advanced: 1, finished: true };
  });
  return {
    /** Only the direct children. */
    children: (uuid: string) => namespaces.below(parentOf(uuid)).filter(({ parentUuid }) => parentUuid === uuid),
    /** All namespaces below, nearest first. */
    below: (uuid: string) => namespaces.below(parentOf(uuid)),
    at: (uuid: string, path: string) => visible(namespaces.at(parentOf(uuid), path), uuid),
    /** Creates a namespace with its standard mounts, or replaces the metadata of an existing one. */
    async put(uuid: string, path: string, customMetadata: Record<string, string> | undefined) {
      const there = visible(namespaces.at(parentOf(uuid), path), uuid);
      if (there && !customMetadata) return there;
      const annotated = there && (await namespaces.annotate(there, () => customMetadata!));
      if (annotated) return annotated;
      const created = await namespaces.create(parentOf(uuid), path, customMetadata ?? {}, async (tx, namespaceId) => {
        await refuseOverMount(tx, uuid, path);
        await mounts.createAll(tx, namespaceId, builtInMounts);
      });
      // If another caller has created it in the meantime, this call changes its metadata.
      return (customMetadata && (await namespaces.annotate(created, () => customMetadata))) || created;
    },
    async patch(uuid: string, path: string, change: Record<string, unknown> | null) {
      const there = visible(namespaces.at(parentOf(uuid), path), uuid);
      if (!there) return undefined;
      return namespaces.annotate(there, (now) => checkMetadata(change ? merged(now, change) : {}));
    },
    /**
     * Locks a namespace (the current namespace if the path is empty) with everything below it. Returns the unlock key.
     */
    lock: async (uuid: string, path: string) => namespaces.lock(lockable(uuid, path)),
    /** Unlocks a namespace. Checks the key unless it is undefined. */
    unlock: async (uuid: string, path: string, key: string | undefined) => namespaces.unlock(lockable(uuid, path), key),
    /**
     * From now on refuses requests in the namespace, and removes its content in the background. Returns false if there
     * is no such namespace.
     */
    async remove(uuid: string, path: string) {
      const there = visible(namespaces.at(parentOf(uuid), path), uuid);
      if (!there) return false;
      for (const one of [there, ...namespaces.below(there)]) await namespaces.taint(one);
      await storage.jobs.start(removal, there.uuid, { uuid: there.uuid });
      storage.background.wake('jobs');
      return true;
    },
  };
}

export type NamespaceChanges = ReturnType<typeof namespaceChanges>;

/** Refuses metadata other than pairs of text. */
export function checkMetadata(metadata: Record<string, unknown>): Record<string, string> {
  for (const [name, value] of Object.entries(metadata)) {
    if (typeof value !== 'string' || isObject(value)) {
      throw new Refusal('invalid', `custom_metadata: value of "${name}" must be a string`);
    }
  }
  return metadata as Record<string, string>;
}

/** An empty path names the namespace of the request itself, which is not its own child. */
function visible<N extends { readonly uuid: string }>(found: N | undefined, parent: string): N | undefined {
  return found?.uuid === parent ? undefined : found;
}

async function empty(deps: NamespaceDeps, namespaceId: string): Promise<void> {
  const { mounts, leases, identity, policies, quotas, mfa, storage } = deps;
  await leases.revokePrefix(namespaceId, '', { forced: true, waitMs: 60_000 });
  for (const mount of mounts.list(namespaceId)) await unmount({ mounts, leases, identity }, mount);
  const notices = (['quota', 'policy', 'entity', 'group'] as const).map((topic) => ({ topic, key: '*' }));
  await storage.committer.transaction(
    async (tx) => {
      for (const room of [quotas, mfa, identity, policies]) await room.clear(tx, namespaceId);
    },
    [...notices, mfaNotice],
  );
}
