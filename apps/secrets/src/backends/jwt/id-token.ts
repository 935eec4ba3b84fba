import { audiencesOf, type Claims, verifyIdToken, withUserInfo } from '@keystead/auth';
import { refuse } from '../../sdk/refuse';
import { leewaysOf } from './claims';
import { algorithmsOf, type Verifier } from './config';
import { parseClaims } from './exact-numbers';
import type { OidcProvider, ProviderTokens } from './provider';
import type { JwtRole } from './role';

/** The request that an ID token must answer. */
interface ExpectedIdToken {
  /** Undefined if no browser was involved: at a device login or a refresh. */
  readonly nonce: string | undefined;
  readonly maxAgeSeconds: number;
  readonly nowMs: number;
}

/**
 * A provider's data about the user who signed in: the claims of a verified ID token, and the userinfo. Throws `invalid`
 * for a token that is for another client or request, and `upstream` if the provider is unavailable.
 */
export async function claimsOf(
  provider: OidcProvider,
  config: Verifier,
  role: JwtRole,
  { idToken, accessToken }: ProviderTokens,
  expected: ExpectedIdToken,
): Promise<Claims> {
  if (!idToken) refuse('no id_token found in response');
  const claims = await verifyIdToken(idToken, accessToken, {
    algorithms: algorithmsOf(config),
    keys: (header) => provider.keys.of(config, header),
    parse: parseClaims,
    issuer: await provider.keys.issuer(config),
    clientId: config.oidc_client_id,
    leeways: leewaysOf(role),
    ...expected,
  });
  const { bound_audiences: bound, bound_subject: subject } = role;
  if (bound.length > 0 && !audiencesOf(claims).some((audience) => bound.includes(audience))) {
    refuse('invalid audience (aud) claim: it matches no bound audience');
  }
  if (subject && claims.sub !== subject) refuse('sub claim does not match bound subject');
  return withUserInfo(claims, await provider.userInfo(config, accessToken));
}
