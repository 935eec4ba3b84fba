import { type JwtAlgorithm, jwtAlgorithms } from '@keystead/auth';
import type { z } from 'zod';
import { configuration } from '../../sdk/collection';
import { anyCase, bool, commaList, object, oneOf, secretString, sentTo, string } from '../../sdk/fields';
import { recordFields } from '../../sdk/record-fields';
import type { Storage } from '../../sdk/storage';

const modes = ['', 'query', 'form_post'] as const;

/** The fields for verifying tokens. */
export const configFields = recordFields({
  oidc_discovery_url: [string().describe('Issuer whose discovery document names its keys, without /.well-known.'), ''],
  oidc_discovery_ca_pem: [
    string().describe('Certificates to trust for oidc_discovery_url; empty trusts the usual ones.'),
    '',
  ],
  oidc_client_id: [string().describe('Client id of this service at the provider; for sign-in by browser.'), ''],
  oidc_client_secret: [
    sentTo(secretString(), 'oidc_discovery_url', 'oidc_discovery_ca_pem').describe('Client secret; never shown.'),
    '',
  ],
  oidc_response_mode: [
    oneOf(modes, (mode) => `invalid response_mode: ${JSON.stringify(mode)}`).describe(
      'How the provider sends its answer: query, or form_post.',
    ),
    '',
  ],
  oidc_response_types: [commaList().describe('Response type at the provider: code.'), []],
  provider_config: [object().describe('Provider-specific settings, which are not built: must be empty.'), {}],
  jwks_url: [string().describe('Address of a key set.'), ''],
  jwks_ca_pem: [string().describe('Certificates to trust for jwks_url; empty trusts the usual ones.'), ''],
  jwt_validation_pubkeys: [commaList().describe('Public keys (PEM) that sign the tokens.'), []],
  bound_issuer: [string().describe('Required iss; with oidc_discovery_url by default its issuer.'), ''],
  default_role: [anyCase(string()).describe('Default role.'), ''],
  jwt_supported_algs: [
    commaList().describe('Signature algorithms to accept; empty accepts all that have a public key.'),
    [],
  ],
  namespace_in_state: [
    bool().describe(
      'A namespace parameter of redirect_uri travels in the state, so that one address serves every namespace.',
    ),
    true,
  ],
});
/** How tokens are verified, as stored. */
export type JwtConfig = z.output<typeof configFields.input>;
/** The configuration of the mount. */
export const config = configuration('config', configFields.input);

/** A configuration, and the generation for the issuer cache. */
export type Verifier = JwtConfig & { readonly generation: string };

/** The current configuration; undefined if there is none. */
export async function findVerifier(storage: Storage): Promise<Verifier | undefined> {
  const { value, generation } = await config.inForce(storage);
  return value && { ...value, generation };
}

/** The algorithms a configuration accepts. */
export function algorithmsOf({ jwt_supported_algs }: JwtConfig): readonly JwtAlgorithm[] {
  return jwt_supported_algs.length > 0 ? (jwt_supported_algs as JwtAlgorithm[]) : jwtAlgorithms;
}

/** Whether people can sign in by browser: the provider knows us. */
export function signsInByBrowser({ oidc_client_id, oidc_client_secret }: JwtConfig): boolean {
  return Boolean(oidc_client_id && oidc_client_secret);
}
