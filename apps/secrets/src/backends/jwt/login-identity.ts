import type { Claims } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import type { MountView } from '../../sdk/call';
import type { Login } from '../../sdk/reply';
import { loginParams } from '../../sdk/token-params';
import { checkBoundClaims, groupsOf, metadataOf, userOf } from './claims';
import type { Verifier } from './config';
import type { JwtRole } from './role';

/** Checks the constraints of a role on verified claims, and returns the user. Throws `invalid`. */
export async function identityOf(
  claims: Claims,
  role: JwtRole,
  roleName: string,
  found: Verifier,
  mount?: MountView,
): Promise<Login> {
  const who = await withErrorPrefix('error validating claims', async () => {
    checkBoundClaims(claims, role);
    return { user: userOf(claims, role), groups: groupsOf(claims, role), metadata: metadataOf(claims, role) };
  });
  const place = mount?.path.replace(/^auth\/|\/$/g, '').replaceAll('/', '-') ?? '';
  return {
    ...loginParams(role, found),
    alias: { name: who.user, metadata: who.metadata },
    groupAliases: who.groups,
    displayName: `${place}-${who.user}`,
    metadata: { ...who.metadata, role: roleName },
    internal: { role: roleName },
  };
}

/** Prefixes refusals of a token with the failed step; failures of the issuer are unchanged. */
export async function withErrorPrefix<T>(doing: string, run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    if (!(error instanceof Refusal) || error.kind === 'upstream') throw error;
    throw new Refusal('invalid', `${doing}: ${error.message}`, [], { cause: error });
  }
}
