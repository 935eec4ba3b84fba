import { type Backend, backend } from '../../sdk/backend';
import type { BackgroundCall } from '../../sdk/call';
import type { AccountsClient, ClusterObject } from './accounts-client';
import { configInForce, configPath } from './config';
import { credsPath, removeObjects } from './creds';
import { roleListPath, rolePath } from './role';

/** Tokens of service accounts of a Kubernetes cluster, and accounts on demand. */
export const accounts = (client: AccountsClient): Backend => {
  const remove = async ({ objects }: Readonly<Record<string, unknown>>, { storage }: BackgroundCall) => {
    const createdObjects = objects as readonly ClusterObject[];
    // Tokens of existing accounts expire by themselves.
    if (createdObjects.length > 0) await removeObjects(client, await configInForce(storage), createdObjects);
  };
  return backend({
    type: 'kubernetes-accounts',
    outside: true,
    kind: 'secret',
    summary: 'Issues tokens of Kubernetes service accounts, and creates service accounts on demand.',
    paths: [configPath, roleListPath, rolePath, credsPath(client)],
    secrets: { service_account_token: { revoke: remove } },
    undo: { objects: remove },
  });
};
