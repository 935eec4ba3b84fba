import { type Claims, checkTimes, verifySignature } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { StoredLogin } from '../../sdk/backend';
import type { BackgroundCall } from '../../sdk/call';
import { anyCase, secretString, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { type Login, login } from '../../sdk/reply';
import { withinCidrs } from '../../sdk/token-params';
import { renewBrowserLogin } from './browser-login';
import { checkParties, leewaysOf } from './claims';
import { algorithmsOf, findVerifier, type Verifier } from './config';
import { parseClaims } from './exact-numbers';
import type { IssuerKeys } from './keys';
import { identityOf, withErrorPrefix } from './login-identity';
import type { OidcProvider } from './provider';
import { findRole, type JwtRole } from './role';

const LoginInput = z.object({
  role: anyCase(string()).optional().describe('Name of the role. Default: default_role of the configuration.'),
  jwt: secretString().optional().describe('The signed JWT.'),
});

/** Login with a signed token. Decision 0041. */
export const loginPath = (keys: IssuerKeys) =>
  path('login', {
    summary: 'Log in with a signed JWT.',
    auth: 'none',
    write: {
      summary: 'Verify the JWT, check the role’s constraints, and issue a token.',
      input: LoginInput,
      judges: 'unguessable',
      async run({ input, storage, caller, nowMs, mount }) {
        const verifier = await findVerifier(storage);
        if (!verifier) throw new Refusal('invalid', 'could not load configuration');
        const roleName = (input.role || verifier.default_role).toLowerCase();
        if (!roleName) throw new Refusal('invalid', 'missing role');
        if (!input.jwt) throw new Refusal('invalid', 'missing token');
        const role = await findRole(storage, roleName);
        if (!role) throw new Refusal('invalid', `role ${JSON.stringify(roleName)} could not be found`);
        if (role.role_type === 'oidc') {
          throw new Refusal('invalid', 'role with oidc role_type is not allowed: start the login at oidc/auth_url');
        }
        if (!withinCidrs(caller.address, role.token_bound_cidrs)) throw new Refusal('denied', 'permission denied');
        const claims = await withErrorPrefix('error validating token', () =>
          verified(keys, verifier, role, input.jwt!, nowMs),
        );
        return login(await identityOf(claims, role, roleName, verifier, mount));
      },
    },
  });

/** Computes the login again. Throws if the role no longer exists, or the provider has disabled the user. */
export const renewLogin =
  (provider: OidcProvider) =>
  async (stored: StoredLogin, call: BackgroundCall): Promise<Partial<Login>> => {
    const name = String(stored.internal.role);
    const role = await findRole(call.storage, name);
    if (!role) throw new Refusal('invalid', `role ${name} does not exist during renewal`);
    return renewBrowserLogin(provider, stored, role, call);
  };

async function verified(
  keys: IssuerKeys,
  verifier: Verifier,
  role: JwtRole,
  jwt: string,
  nowMs: number,
): Promise<Claims> {
  const claims = await verifySignature(jwt, {
    algorithms: algorithmsOf(verifier),
    keys: (header) => keys.of(verifier, header),
    parse: parseClaims,
  });
  checkTimes(claims, leewaysOf(role), nowMs);
  checkParties(claims, role, await keys.issuer(verifier));
  return claims;
}
