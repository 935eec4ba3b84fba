import { type JwtAlgorithm, jwtAlgorithms } from '@keystead/auth';
import { z } from 'zod';
import { single } from '../../sdk/collection';
import { bool, commaList, string } from '../../sdk/fields';

export const JwtConfig = z.object({
  oidc_discovery_url: string().describe('Issuer whose discovery document names its keys, without /.well-known.'),
  oidc_discovery_ca_pem: string().describe(
    'Certificates to trust for oidc_discovery_url; empty trusts the usual ones.',
  ),
  jwks_url: string().describe('Address of a key set.'),
  jwks_ca_pem: string().describe('Certificates to trust for jwks_url; empty trusts the usual ones.'),
  jwt_validation_pubkeys: commaList().describe('Public keys (PEM) that sign the tokens.'),
  bound_issuer: string().describe(
    'What iss must be; with oidc_discovery_url its issuer, unless another is named here.',
  ),
  default_role: string().describe('Role of logins that name none.'),
  jwt_supported_algs: commaList().describe('Signature algorithms to accept; empty accepts all that have a public key.'),
  namespace_in_state: bool().describe('Kept for clients that set it; a login with a signed token has no state.'),
});
/** How tokens are verified, as stored. */
export type JwtConfig = z.output<typeof JwtConfig>;
/** The configuration of the mount. */
export const config = single('config', JwtConfig);

/** The algorithms a configuration accepts. */
export function algorithmsOf({ jwt_supported_algs }: JwtConfig): readonly JwtAlgorithm[] {
  return jwt_supported_algs.length > 0 ? (jwt_supported_algs as JwtAlgorithm[]) : jwtAlgorithms;
}
