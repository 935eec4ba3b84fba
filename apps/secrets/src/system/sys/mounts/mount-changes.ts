import { Refusal } from '@keystead/refusal';
import type { Identity } from '../../../kernel/identity/identity';
import type { Leases } from '../../../kernel/leases/leases';
import type { LiveMount } from '../../../kernel/mounts/mount';
import { inUseByNamespace, type Mounts, type SystemTtls } from '../../../kernel/mounts/mounts';
import type { Namespaces } from '../../../kernel/namespaces/namespaces';
import type { Jobs } from '../../../kernel/storage/jobs';

/** The kernel modules that change mounts. */
export interface MountParts {
  readonly mounts: Mounts;
  readonly namespaces: Namespaces;
  readonly leases: Leases;
  readonly identity: Identity;
  readonly jobs: Jobs;
  /** The default lifetimes of mounts. */
  readonly ttls: SystemTtls;
  /** The version of the service and of every built-in type. */
  readonly version: string;
  /**
   * Upgrades a kv mount to version 2. Throws `invalid` if the mount contains too much, `unavailable` during the
   * upgrade.
   */
  readonly upgrade: (mount: LiveMount) => Promise<void>;
}

/** Throws `invalid` for a mount path below a namespace: its requests would go to the namespace. */
export function refuseBelowNamespace(
  { namespaces }: Pick<MountParts, 'namespaces'>,
  namespaceId: string,
  path: string,
) {
  const first = path.split('/')[0]!;
  const found = namespaces.at(namespaces.find(namespaceId)!, first);
  if (found && found.uuid !== namespaceId) throw inUseByNamespace(first);
}

/** Revokes everything that a mount issued and removes the mount. If revoking fails, the mount stays in use. */
export async function unmount(
  { mounts, leases, identity }: Pick<MountParts, 'mounts' | 'leases' | 'identity'>,
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

/** Ends every lease and token of a mount, and removes its aliases. */
export async function endMount(
  { leases, identity }: Pick<MountParts, 'leases' | 'identity'>,
  mount: LiveMount,
): Promise<void> {
  const { left, failed, failure } = await leases.revokePrefix(mount.namespaceId, mount.path, { waitMs: 60_000 });
  if (left > 0) throw unfinished(left, failed, failure);
  if (mount.kind === 'auth') await identity.logins.forgetMount(mount.uuid);
}

function unfinished(left: number, failed: number, failure: { id: string; reason: string } | undefined): Error {
  const text = failure
    ? `failed to revoke "${failure.id}" (${failed} / ${left}): failed to revoke entry: ${failure.reason}`
    : `${left} leases or tokens are still being revoked: try again later`;
  return new Refusal('invalid', text);
}
