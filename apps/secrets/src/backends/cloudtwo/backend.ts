import { type Backend, backend } from '../../sdk/backend';
import type { Storage } from '../../sdk/storage';
import type { CloudTwo } from './cloud';
import { leasePath, leaseTimes } from './config-lease';
import { connection, rootInForce, rootPath } from './config-root';
import { credsPaths } from './creds';
import { deleteUser } from './iam-user';
import { roleListPath, rolePath } from './role';
import { resumeRotation, rotateRootPath } from './rotate-root';

/** Credentials of a cloud provider, made from roles and ended with their leases. Spec: Cloud-provider engine. */
export const cloudtwo = (cloud: CloudTwo): Backend => {
  const endUser = async (internal: Readonly<Record<string, unknown>>, storage: Storage) => {
    const { iam } = cloud.of(connection(await rootInForce(storage)));
    await deleteUser(iam, String(internal.name));
  };
  // Short credentials end by themselves; nothing at the provider can be taken back.
  const endsByItself = { revoke: async () => {} };
  return backend({
    type: 'cloudtwo',
    kind: 'secret',
    summary: 'Generates cloud credentials from roles.',
    paths: [rootPath(cloud), rotateRootPath(cloud), leasePath, roleListPath, rolePath, ...credsPaths(cloud)],
    secrets: {
      iam_user: {
        revoke: (internal, { storage }) => endUser(internal, storage),
        async renew(_internal, { storage }) {
          const { lease, lease_max } = await leaseTimes(storage);
          return { ttlSeconds: lease, maxTtlSeconds: lease_max };
        },
      },
      assumed_role: endsByItself,
      federation_token: endsByItself,
    },
    undo: {
      iam_user: (undo, { storage }) => endUser(undo, storage),
      'root-key': (undo, { storage }) => resumeRotation(cloud, undo, storage),
    },
  });
};
