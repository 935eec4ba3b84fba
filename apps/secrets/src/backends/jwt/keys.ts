import type { KeyObject } from 'node:crypto';
import {
  discoveryOf,
  foreignIssuer,
  importPublicKey,
  KeySets,
  type KeySource,
  type SignatureHeader,
} from '@keystead/auth';
import { Refusal } from '@keystead/refusal';
import { LRUCache } from 'lru-cache';
import { outsideCall } from '../../sdk/outside-call';
import type { Verifier } from './config';

/** The keys of a configuration: fetched from their issuer, or part of the configuration itself. */
export class IssuerKeys {
  private readonly sets: KeySets;
  private readonly imported = new LRUCache<string, KeyObject>({ max: 500 });

  constructor(clock: { now(): number }) {
    this.sets = new KeySets('the issuer', (url, ca) => outsideCall('the issuer', url, { ca }), clock);
  }

  /** Clears the cache, so that the next login fetches the keys again. */
  forget(): void {
    this.sets.forget();
  }

  /** The public keys that may have signed. Throws `upstream` if they are unavailable. */
  async of(config: Verifier, header: SignatureHeader): Promise<readonly KeyObject[]> {
    const source = sourceOf(config);
    return source ? this.sets.keys(source, header) : config.jwt_validation_pubkeys.map((pem) => this.import(pem));
  }

  /** The issuer that tokens must name; undefined if neither configuration nor discovery names one. */
  async issuer(config: Verifier): Promise<string | undefined> {
    const source = sourceOf(config);
    if (config.bound_issuer || source?.kind !== 'discovery') return config.bound_issuer || undefined;
    const issuer = await this.sets.issuer(source);
    // Checked at every login, because the content at that address may have changed.
    const refusal = foreignIssuer(config.oidc_discovery_url, issuer);
    if (refusal) throw new Refusal('upstream', refusal);
    return issuer;
  }

  /** The provider's discovery document, checked to name the expected issuer. Throws `upstream`. */
  async document(config: Verifier): Promise<Readonly<Record<string, unknown>>> {
    const source = sourceOf(config);
    if (source?.kind !== 'discovery') throw new Refusal('invalid', 'OIDC login is not configured for this mount');
    const refusal = foreignIssuer(config.oidc_discovery_url, await this.sets.issuer(source));
    if (refusal) throw new Refusal('upstream', refusal);
    return this.sets.document(source);
  }

  /** Fetches everything once. Throws `invalid` with the name of the failing field. */
  async check(config: Verifier): Promise<void> {
    const source = sourceOf(config);
    if (!source) return;
    const field = source.kind === 'discovery' ? 'oidc_discovery_url' : 'jwks_url';
    const found = await this.sets.check(source).catch((error) => {
      throw error instanceof Refusal ? new Refusal('invalid', `error checking ${field}: ${error.message}`) : error;
    });
    const refusal = source.kind === 'discovery' && foreignIssuer(config.oidc_discovery_url, found.issuer);
    if (refusal) throw new Refusal('invalid', `error checking ${field}: ${refusal}`);
    // A provider may create its first key with its first token; a key-set address must have keys.
    if (found.usableKeys === 0 && source.kind === 'key-set') {
      throw new Refusal('invalid', `error checking ${field}: it has no key that can verify signatures`);
    }
  }

  private import(pem: string): KeyObject {
    let key = this.imported.get(pem);
    if (!key) {
      key = importPublicKey(pem);
      this.imported.set(pem, key);
    }
    return key;
  }
}

function sourceOf(config: Verifier): KeySource | undefined {
  const { generation } = config;
  if (config.oidc_discovery_url) {
    return { ...discoveryOf(config.oidc_discovery_url, config.oidc_discovery_ca_pem || undefined), generation };
  }
  if (config.jwks_url)
    return { kind: 'key-set', url: config.jwks_url, ca: config.jwks_ca_pem || undefined, generation };
  return undefined;
}
