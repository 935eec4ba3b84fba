import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { StoredLogin } from '../../sdk/backend';
import type { BackgroundCall } from '../../sdk/call';
import { anyCase, secretString, string } from '../../sdk/fields';
import { Globs } from '../../sdk/globs';
import { path } from '../../sdk/path';
import { type Login, login } from '../../sdk/reply';
import { loginParams, withinCidrs } from '../../sdk/token-params';
import { type ClaimedAccount, readToken } from './account';
import type { Cluster } from './cluster';
import { config, type KubernetesConfig } from './config';
import { findRole, type KubernetesRole } from './role';
import { namespaceSelector } from './selector';

/** Login with the token of a service account. Decision 0115. */
export const loginPath = (cluster: Cluster) =>
  path('login', {
    summary: 'Log in with the token of a service account.',
    auth: 'none',
    write: {
      summary: 'Have the cluster review the token, check the role’s constraints, and issue a token.',
      input: z.object({
        role: anyCase(string()).optional().describe('Name of the role.'),
        jwt: secretString().optional().describe('JWT of the service account.'),
      }),
      judges: 'unguessable',
      async run({ input, storage, caller, nowMs }) {
        const { jwt } = input;
        if (!input.role) throw new Refusal('invalid', 'missing role');
        if (!jwt) throw new Refusal('invalid', 'missing jwt');
        const name = input.role.toLowerCase();
        const role = await findRole(storage, name);
        if (!role) throw new Refusal('invalid', `invalid role name ${JSON.stringify(input.role)}`);
        if (!withinCidrs(caller.address, role.token_bound_cidrs)) throw denied();
        const found = await config.find(storage);
        if (!found) throw new Refusal('invalid', 'could not load backend configuration');
        const account = await readToken(jwt, found, nowMs);
        const bySelector = checkBounds(role, account);
        const reviewed = await cluster.review(found, jwt, role.audience ? [role.audience] : account.audiences);
        // The claims of the token are unverified until the cluster confirms them.
        const same = (['namespace', 'name', 'uid'] as const).every((part) => reviewed[part] === account[part]);
        if (!same) throw denied();
        if (bySelector) await checkSelector(cluster, found, role, account.namespace);
        const metadata = {
          service_account_uid: account.uid,
          service_account_name: account.name,
          service_account_namespace: account.namespace,
          service_account_secret_name: account.secretName,
        };
        const { uid, namespace, name: accountName } = account;
        return login({
          ...loginParams(role, found),
          alias: {
            name: role.alias_name_source === 'serviceaccount_name' ? `${namespace}/${accountName}` : uid,
            metadata,
          },
          displayName: `${namespace}-${accountName}`,
          metadata: { ...metadata, role: name },
          internal: { role: name },
        });
      },
    },
  });

/** The login under the current role. Throws if the role was deleted. */
export async function renewLogin({ internal }: StoredLogin, { storage }: BackgroundCall): Promise<Partial<Login>> {
  const name = String(internal.role);
  const role = await findRole(storage, name);
  if (!role) throw new Refusal('invalid', `role ${name} does not exist during renewal`);
  return loginParams(role, await config.find(storage));
}

/**
 * Whether the namespace labels must be checked, too. Throws `denied` with the message that clients expect.
 */
function checkBounds(role: KubernetesRole, { name, namespace, audiences }: ClaimedAccount): boolean {
  const compare = new Globs();
  const fits = (globs: readonly string[], text: string) => globs.some((glob) => compare.fits(glob, text));
  if (role.audience && !audiences.includes(role.audience)) {
    throw new Refusal('denied', 'invalid audience (aud) claim: audience claim does not match any expected audience');
  }
  if (!fits(role.bound_service_account_names, name)) throw new Refusal('denied', 'service account name not authorized');
  if (fits(role.bound_service_account_namespaces, namespace)) return false;
  if (role.bound_service_account_namespace_selector !== '') return true;
  throw new Refusal('denied', 'namespace not authorized');
}

/**
 * Checks the namespace labels of an account against the role. Call it only with accounts that the cluster has verified.
 */
async function checkSelector(
  cluster: Cluster,
  found: KubernetesConfig,
  { bound_service_account_namespace_selector: selector }: KubernetesRole,
  namespace: string,
): Promise<void> {
  const labels = await cluster.labelsOf(found, namespace);
  if (!namespaceSelector(selector)(labels)) throw new Refusal('denied', 'namespace not authorized');
}

const denied = (): Refusal => new Refusal('denied', 'permission denied');
