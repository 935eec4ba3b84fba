import { X509Certificate } from 'node:crypto';
import { importPublicKey, jwtAlgorithms } from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import { leavesInTheClear } from '../../sdk/clear-text';
import { newGeneration } from '../../sdk/collection';
import { bool, notKept } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { parses, refuse } from '../../sdk/refuse';
import { data, empty, missing } from '../../sdk/reply';
import { config, configFields, type JwtConfig } from './config';
import type { IssuerKeys } from './keys';

/** Whose tokens are accepted. Decision 0041. */
export const configPath = (keys: IssuerKeys) =>
  path('config', {
    summary: 'The trusted issuer, and how its JWTs are verified.',
    stored: ({ storage }) => config.find(storage),
    read: {
      summary: 'Read the configuration. The client secret is not shown.',
      output: configFields.output.omit({ oidc_client_secret: true }),
      async run({ storage }) {
        const stored = await config.find(storage);
        if (!stored) return missing;
        const { oidc_client_secret: _never, ...publicFields } = { ...configFields.defaults, ...stored };
        return data(publicFields);
      },
    },
    write: {
      summary: 'Configure the method. Replaces the whole configuration. The keys are fetched once as a test.',
      update: 'replace',
      defaults: { ...configFields.defaults, skip_jwks_validation: false },
      input: configFields.input.extend({
        skip_jwks_validation: notKept(bool()).describe('Store the configuration even if its keys cannot be fetched.'),
      }),
      async run({ input, fields, stored, storage, warn }) {
        const { skip_jwks_validation: unchecked, ...settings } = input;
        const nextConfig = { ...settings, default_role: settings.default_role.toLowerCase() };
        // The only field that keeps its value when omitted, as existing clients expect.
        if (fields.namespace_in_state == null) {
          nextConfig.namespace_in_state = (stored as JwtConfig | undefined)?.namespace_in_state ?? true;
        }
        checkConfig(nextConfig);
        checkBrowserLogin(nextConfig);
        for (const field of ['oidc_discovery_url', 'jwks_url'] as const) {
          if (leavesInTheClear(nextConfig[field]))
            warn(`${field} is not https: anyone on the network path can forge keys and therefore logins`);
        }
        const generation = newGeneration();
        await keys.check({ ...nextConfig, generation }).catch((error) => {
          if (!unchecked || !(error instanceof Refusal)) throw error;
          warn(error.message);
        });
        config.put(storage, nextConfig, generation);
        return empty;
      },
    },
    delete: {
      summary: 'Delete the configuration. Logins fail from then on; existing tokens stay valid.',
      run({ storage }) {
        config.delete(storage);
        return empty;
      },
    },
  });

function checkConfig(nextConfig: JwtConfig): void {
  const sources = [nextConfig.oidc_discovery_url, nextConfig.jwks_url, nextConfig.jwt_validation_pubkeys.join('')];
  if (sources.filter((source) => source !== '').length !== 1) {
    refuse("exactly one of 'jwt_validation_pubkeys', 'jwks_url' or 'oidc_discovery_url' must be set");
  }
  for (const [ca, url] of [
    ['oidc_discovery_ca_pem', 'oidc_discovery_url'],
    ['jwks_ca_pem', 'jwks_url'],
  ] as const) {
    if (nextConfig[url] && !isWebAddress(nextConfig[url])) refuse(`${url} must be an http or https address`);
    if (nextConfig[ca] && !nextConfig[url]) refuse(`${ca} has no effect without ${url}`);
    if (nextConfig[ca] && !parses(() => new X509Certificate(nextConfig[ca])))
      refuse(`${ca} is not an x509 PEM certificate`);
  }
  nextConfig.jwt_validation_pubkeys.forEach((pem, at) => {
    if (!parses(() => importPublicKey(pem))) {
      refuse(`error parsing public key: number ${at + 1} of jwt_validation_pubkeys is not a public key in PEM`);
    }
  });
  const unknown = nextConfig.jwt_supported_algs.find((name) => !(jwtAlgorithms as readonly string[]).includes(name));
  if (unknown !== undefined) {
    refuse(`unsupported signing algorithm ${JSON.stringify(unknown)}; supported are ${jwtAlgorithms.join(', ')}`);
  }
}

/** Refuses settings that browser sign-in cannot use. */
function checkBrowserLogin(nextConfig: JwtConfig): void {
  const {
    oidc_client_id: id,
    oidc_client_secret: secret,
    oidc_response_types: types,
    provider_config: ways,
  } = nextConfig;
  if ((id === '') !== (secret === '')) {
    refuse("both 'oidc_client_id' and 'oidc_client_secret' must be set for OIDC");
  }
  if (id !== '' && nextConfig.oidc_discovery_url === '') refuse("'oidc_discovery_url' must be set for OIDC");
  if (nextConfig.oidc_discovery_url.includes('.well-known/openid-configuration')) {
    refuse("'oidc_discovery_url' contains '.well-known' component");
  }
  const other = types.find((type) => type !== 'code');
  if (other === 'id_token') {
    // These would put a token into a URL or form of the browser. The code flow with PKCE has replaced them.
    refuse("oidc_response_types must be 'code': the implicit flow with 'id_token' is not supported");
  }
  if (other !== undefined) refuse(`invalid response_types ${JSON.stringify(types)}: 'code' is allowed`);
  if (Object.keys(ways).length > 0) {
    const provider = typeof ways.provider === 'string' ? ` ${JSON.stringify(ways.provider)}` : '';
    refuse(`invalid provider_config: provider${provider} is not built in; leave provider_config out`);
  }
}

function isWebAddress(url: string): boolean {
  if (!URL.canParse(url)) return false;
  const { protocol, username, password } = new URL(url);
  return (protocol === 'http:' || protocol === 'https:') && username === '' && password === '';
}
