import { type Backend, backend } from '../../sdk/backend';
import type { Storage } from '../../sdk/storage';
import type { CloudTwo } from './cloud';
import { leasePath, leaseTimes } from './config-lease';
import { connection, rootInForce, rootPath } from './config-root';
import { rootCheckPath } from './config-root-check';
import { rootRotationPath } from './config-root-rotation';
import { credsPaths } from './creds';
import { deleteUser, takeBackUser } from './iam-user';
import { roleListPath, rolePath } from './role';
import { rotateWhenDue } from './root-rotation';
import { resumeRotation, rotateRootPath } from './rotate-root';

/** How long the provider may take to propagate a new user. */
const unsettledMs = 5 * 60_000;

/** Credentials of a cloud provider, created from roles and revoked with their leases. Spec: Cloud-provider engine. */
export const cloudtwo = (cloud: CloudTwo): Backend => {
  const clientsOf = async (storage: Storage) => cloud.of(connection(await rootInForce(storage)));
  // Short-lived credentials expire by themselves; they cannot be revoked at the provider.
  const endsByItself = {};
  return backend({
    type: 'cloudtwo',
    outside: true,
    kind: 'secret',
    summary: 'Generates cloud credentials from roles.',
    paths: [
      rootPath(cloud),
      rootCheckPath(cloud),
      rootRotationPath,
      rotateRootPath(cloud),
      leasePath,
      roleListPath,
      rolePath,
      ...credsPaths(cloud),
    ],
    secrets: {
      iam_user: {
        async revoke({ name, at_ms }, { storage, nowMs }) {
          const { iam } = await clientsOf(storage);
          const found = await deleteUser(iam, String(name));
          // A new user is not immediately visible everywhere, so "not found" may mean "not yet".
          if (!found && typeof at_ms === 'number' && nowMs - at_ms < unsettledMs) {
            storage.undoLater('iam_user', { name, at_ms });
          }
        },
        async renew(_internal, { storage }) {
          const { lease, lease_max } = await leaseTimes(storage);
          return { ttlSeconds: lease, maxTtlSeconds: lease_max };
        },
      },
      assumed_role: endsByItself,
      federation_token: endsByItself,
      session_token: endsByItself,
    },
    tick: (call) => rotateWhenDue(cloud, call),
    undo: {
      async iam_user({ name, at_ms }, { storage }) {
        const { iam, aheadMs } = await clientsOf(storage);
        await takeBackUser(iam, String(name), typeof at_ms === 'number' ? at_ms : undefined, () => aheadMs() ?? 0);
      },
      'root-key': (undo, { storage }) => resumeRotation(cloud, undo, storage),
    },
  });
};
