import { type JwtAlgorithm, jwtAlgorithms } from '@keystead/auth';
import type { z } from 'zod';
import { configuration } from '../../sdk/collection';
import { anyCase, bool, commaList, object, oneOf, secretString, sentTo, string } from '../../sdk/fields';
import { recordFields } from '../../sdk/record-fields';
import type { Storage } from '../../sdk/storage';

const modes = ['', 'query', 'form_post'] as const;

/** The fields for verifying tokens. */
export const configFields = recordFields({
  oidc_discovery_url: [
    string().describe(
      'Issuer URL of an OIDC provider, without /.well-known. Its discovery document names the signing keys.',
    ),
    '',
  ],
  oidc_discovery_ca_pem: [
    string().describe('CA certificates (PEM) to trust for oidc_discovery_url. Empty: the system’s CAs.'),
    '',
  ],
  oidc_client_id: [string().describe('Client ID of this service at the provider, for sign-in with a browser.'), ''],
  oidc_client_secret: [
    sentTo(secretString(), 'oidc_discovery_url', 'oidc_discovery_ca_pem').describe(
      'Client secret at the provider; never shown.',
    ),
    '',
  ],
  oidc_response_mode: [
    oneOf(modes, (mode) => `invalid response_mode: ${JSON.stringify(mode)}`).describe(
      'How the provider sends its response: query, or form_post.',
    ),
    '',
  ],
  oidc_response_types: [commaList().describe('Response type; only code is supported.'), []],
  provider_config: [object().describe('Provider-specific settings are not supported: must be empty.'), {}],
  jwks_url: [string().describe('URL of a JWKS with the signing keys.'), ''],
  jwks_ca_pem: [string().describe('CA certificates (PEM) to trust for jwks_url. Empty: the system’s CAs.'), ''],
  jwt_validation_pubkeys: [commaList().describe('Public keys (PEM) that verify the JWTs.'), []],
  bound_issuer: [
    string().describe('Required iss claim. Default with oidc_discovery_url: the issuer of the discovery document.'),
    '',
  ],
  default_role: [anyCase(string()).describe('Role for logins that name none.'), ''],
  jwt_supported_algs: [commaList().describe('Allowed signature algorithms. Empty: all with public keys.'), []],
  namespace_in_state: [
    bool().describe(
      'Put the namespace parameter of the redirect URI into the state, so that one redirect URI works for all namespaces.',
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

/** Whether users can sign in with a browser: this service has a client id at the provider. */
export function signsInByBrowser({ oidc_client_id, oidc_client_secret }: JwtConfig): boolean {
  return Boolean(oidc_client_id && oidc_client_secret);
}
