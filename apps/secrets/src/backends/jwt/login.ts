import { type Claims, verifySignature } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { StoredLogin } from '../../sdk/backend';
import type { BackgroundCall } from '../../sdk/call';
import { secretString, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { type Login, login } from '../../sdk/reply';
import { loginParams, withinCidrs } from '../../sdk/token-params';
import { checkBoundClaims, checkParties, checkTimes, groupsOf, metadataOf, userOf } from './claims';
import { algorithmsOf, config, type JwtConfig } from './config';
import type { IssuerKeys } from './keys';
import { findRole, type JwtRole } from './role';

const LoginInput = z.object({
  role: string().optional().describe('Name of the role; else default_role of the configuration.'),
  jwt: secretString().optional().describe('The signed token.'),
});

/** Login with a signed token. Decision 0041. */
export const loginPath = (keys: IssuerKeys) =>
  path('login', {
    summary: 'Log in with a signed token.',
    auth: 'none',
    write: {
      summary: 'Verify the token, check the role’s constraints, and answer a token of this service.',
      input: LoginInput,
      judges: 'unguessable',
      async run({ input, storage, caller, nowMs, mount }) {
        const verifier = await config.find(storage);
        if (!verifier) throw new Refusal('invalid', 'could not load configuration');
        const roleName = (input.role || verifier.default_role).toLowerCase();
        if (!roleName) throw new Refusal('invalid', 'missing role');
        if (!input.jwt) throw new Refusal('invalid', 'missing token');
        const role = await findRole(storage, roleName);
        if (!role) throw new Refusal('invalid', `role ${JSON.stringify(roleName)} could not be found`);
        if (!withinCidrs(caller.address, role.token_bound_cidrs)) throw new Refusal('denied', 'permission denied');
        const claims = await saying('error validating token', () => verified(keys, verifier, role, input.jwt!, nowMs));
        const who = await saying('error validating claims', async () => {
          checkBoundClaims(claims, role);
          return { user: userOf(claims, role), groups: groupsOf(claims, role), metadata: metadataOf(claims, role) };
        });
        return login({
          policies: [],
          ...loginParams(role, caller),
          alias: { name: who.user, metadata: who.metadata },
          groupAliases: who.groups,
          displayName: `${mount.path.replace(/^auth\/|\/$/g, '').replaceAll('/', '-')}-${who.user}`,
          metadata: { ...who.metadata, role: roleName },
          internal: { role: roleName },
        });
      },
    },
  });

/** The login as it would be now. Throws where the role is gone. */
export async function renewLogin({ internal }: StoredLogin, { storage }: BackgroundCall): Promise<Partial<Login>> {
  const name = String(internal.role);
  const role = await findRole(storage, name);
  if (!role) throw new Refusal('invalid', `role ${name} does not exist during renewal`);
  return loginParams(role, undefined);
}

async function verified(
  keys: IssuerKeys,
  verifier: JwtConfig,
  role: JwtRole,
  jwt: string,
  nowMs: number,
): Promise<Claims> {
  const claims = await verifySignature(jwt, {
    algorithms: algorithmsOf(verifier),
    keys: (header) => keys.of(verifier, header),
  });
  checkTimes(claims, role, nowMs);
  checkParties(claims, role, await keys.issuer(verifier));
  return claims;
}

/** Says what was being done when the token was found wanting; an issuer that does not answer stays what it is. */
async function saying<T>(doing: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind === 'upstream') throw error;
    throw new Refusal('invalid', `${doing}: ${error.message}`, [], { cause: error });
  }
}
