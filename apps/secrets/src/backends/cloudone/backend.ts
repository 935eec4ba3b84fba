import { Refusal } from '@keystead/refusal';
import { type Backend, backend } from '../../sdk/backend';
import { loginParams } from '../../sdk/token-params';
import { defaultCloud } from './clouds';
import { config, configPath } from './config';
import { type CloudOneParts, loginPath } from './login';
import { findRole, roleListPath, rolePath } from './role';

/** Login with identities of a cloud directory. Spec: Cloud-identity auth method. */
export const cloudone = (parts: CloudOneParts): Backend =>
  backend({
    type: 'cloudone',
    outside: true,
    kind: 'auth',
    summary: 'Logs in users and machines with a token of their cloud directory.',
    paths: [configPath(parts.defaults), roleListPath, rolePath, loginPath(parts)],
    async renewLogin(stored, { storage }) {
      const name = String(stored.internal.role);
      const role = await findRole(storage, name);
      if (!role) throw new Refusal('invalid', `failed to renew entry: role ${name} does not exist during renewal`);
      return loginParams(role, (await config.inForce(storage)).generation);
    },
  });

/**
 * The same method under the name that existing clients use. If no environment is stored, no environment is shown,
 * because these clients would treat a shown one as a change. In this case the public cloud or the cloud in the process
 * environment is used.
 */
export function azure(parts: CloudOneParts): Backend {
  const environment = parts.defaults.environment || defaultCloud;
  return cloudone({ ...parts, defaults: { ...parts.defaults, environment } });
}
