import { Refusal } from '@keystead/refusal';
import type { MountPort } from '../backends/sys/mounts';
import type { Identity } from '../kernel/identity/identity';
import type { Leases } from '../kernel/leases/leases';
import type { LiveMount } from '../kernel/mounts/mount';
import type { Mounts, SystemTtls } from '../kernel/mounts/mounts';

interface Parts {
  readonly mounts: Mounts;
  readonly leases: Leases;
  readonly identity: Identity;
  readonly ttls: SystemTtls;
}

/** Administration of mounts. Removing one ends its leases and tokens first, as a job that survives a crash. */
export function mountPort({ mounts, leases, identity, ttls }: Parts): MountPort {
  return {
    ttls,
    list: (namespaceId, kind) => mounts.list(namespaceId, kind),
    at: (namespaceId, path) => mounts.at(namespaceId, path),
    create: (namespaceId, spec) => mounts.create(namespaceId, spec),
    tune: (mount, change) => mounts.tune(mount as LiveMount, change),
    async unmount(record) {
      const mount = record as LiveMount;
      await endMount({ leases, identity }, mount);
      await mounts.remove(mount);
    },
  };
}

/** Ends every lease and token of a mount, and forgets the aliases that stand on it. */
export async function endMount(
  { leases, identity }: Pick<Parts, 'leases' | 'identity'>,
  mount: LiveMount,
): Promise<void> {
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
