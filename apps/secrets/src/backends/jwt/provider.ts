import { OpenidProvider } from '@keystead/auth';
import type { Logger } from '@keystead/server';
import { isObject } from '../../sdk/coerce';
import { OutsideCalls } from '../../sdk/outside-call';
import type { Verifier } from './config';
import { parseClaims } from './exact-numbers';
import { IssuerKeys } from './keys';

export { ProviderRefusal, type ProviderTokens } from '@keystead/auth';

/** The OpenID providers of mounts, and their keys. */
export class OidcProvider extends OpenidProvider<Verifier> {
  readonly keys: IssuerKeys;

  constructor(private readonly parts: { clock: { now(): number }; log: Pick<Logger, 'debug'> }) {
    const keys = new IssuerKeys(parts.clock);
    const calls = new OutsideCalls(parts.clock);
    super({
      async call(url, request) {
        const answer = await calls.call('the provider', url, request);
        return isObject(answer.json) ? { ...answer, json: parseClaims(answer.bytes.toString('utf8')) } : answer;
      },
      document: (config) => keys.document(config),
      clientOf: (config) => ({
        issuer: config.oidc_discovery_url,
        ca: config.oidc_discovery_ca_pem || undefined,
        clientId: config.oidc_client_id,
        clientSecret: config.oidc_client_secret,
      }),
    });
    this.keys = keys;
  }

  /** Logs a provider's claims about a user, if the role requests it and the log level allows it; never a token. */
  logClaims(role: string, claims: Readonly<Record<string, unknown>>): void {
    this.parts.log.debug({ role, claims }, 'claims of an OIDC login');
  }
}
