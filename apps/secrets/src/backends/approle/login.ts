import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { StoredLogin } from '../../sdk/backend';
import type { BackgroundCall } from '../../sdk/call';
import { secretString } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { type Login, login } from '../../sdk/reply';
import { loginParams, withinCidrs } from '../../sdk/token-params';
import { type AppRole, findByRoleId, roles } from './role';
import { spendSecretId } from './secret-ids';

const LoginInput = z.object({
  role_id: secretString().optional().describe('The role ID.'),
  secret_id: secretString().optional().describe('A secret ID of the role. Not needed if bind_secret_id is false.'),
});

/** Login of machines. */
export const loginPath = path('login', {
  summary: 'Logs a machine in.',
  auth: 'none',
  write: {
    summary: 'Log in with a role ID and a secret ID.',
    input: LoginInput,
    // Generated ids are random. For custom ids, the person who chooses them must make them long enough.
    judges: 'unguessable',
    async run({ input, storage, caller, mount, nowMs }) {
      if (!input.role_id) throw new Refusal('invalid', 'missing role_id');
      const role = await findByRoleId(storage, input.role_id);
      if (!role) throw new Refusal('invalid', 'invalid role or secret ID');
      const outside = (cidrs: readonly string[]) => !withinCidrs(caller.address, cidrs);
      let metadata: Record<string, string> = {};
      let boundCidrs: readonly string[] = [];
      if (role.bind_secret_id) {
        if (!input.secret_id) throw new Refusal('invalid', 'missing secret_id');
        const secretId = await spendSecretId(storage, role, input.secret_id, nowMs, ({ cidrs, tokenCidrs }) => {
          // The token will be bound to this address, so the addresses of the secret id must include it.
          const bounds = role.token_strictly_bind_ip ? [cidrs, tokenCidrs] : [cidrs];
          if ([...bounds, role.secret_id_bound_cidrs, role.token_bound_cidrs].some(outside)) {
            throw new Refusal('denied', 'permission denied');
          }
        });
        if (!secretId) throw new Refusal('invalid', 'invalid role or secret ID');
        metadata = secretId.metadata;
        boundCidrs = secretId.tokenCidrs;
      } else if (outside(role.secret_id_bound_cidrs) || outside(role.token_bound_cidrs)) {
        throw new Refusal('denied', 'permission denied');
      }
      const facts = { ...metadata, role_name: role.name };
      return login({
        ...tokenOf(role, boundCidrs),
        alias: { name: role.roleId, metadata: facts },
        displayName: mount.path.replace(/^auth\/|\/$/g, '').replaceAll('/', '-'),
        metadata: facts,
        internal: { role_name: role.name, ...(boundCidrs.length > 0 && { bound_cidrs: boundCidrs }) },
      });
    },
  },
});

/** Computes the login again with the current role. Throws if the role no longer exists. */
export async function renewLogin({ internal }: StoredLogin, { storage }: BackgroundCall): Promise<Partial<Login>> {
  const role = await roles.find(storage, String(internal.role_name));
  if (!role) throw new Refusal('invalid', `role ${JSON.stringify(internal.role_name)} does not exist during renewal`);
  return tokenOf(role, internal.bound_cidrs as readonly string[] | undefined);
}

/** The token settings of a login. If the secret id lists addresses for its tokens, they replace those of the role. */
const tokenOf = (role: AppRole, boundCidrs: readonly string[] = []) => ({
  ...loginParams(role),
  ...(boundCidrs.length > 0 && { boundCidrs }),
});
