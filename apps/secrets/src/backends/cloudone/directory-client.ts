import type { KeyObject } from 'node:crypto';
import { KeySets, type KeySource, type SignatureHeader } from '@keystead/auth';
import { OutsideCalls } from '../../sdk/outside-call';
import type { InForce } from './config';

/** Issuer and signing keys of directory tenants, from their discovery documents. */
export class DirectoryClient {
  private readonly sets: KeySets;

  constructor(clock: { now(): number }) {
    const calls = new OutsideCalls(clock);
    this.sets = new KeySets('the directory', (url) => calls.call('the directory', url), clock);
  }

  /** Clears the cache, so that the next login fetches the documents again. */
  forget(): void {
    this.sets.forget();
  }

  /** The issuer a tenant's tokens name. Throws `upstream` if it is not available. */
  async issuer(config: InForce): Promise<string> {
    return (await this.sets.issuer(sourceOf(config)))!;
  }

  /** The public keys of a key id; the directory names one in every token. */
  async keys(config: InForce, header: SignatureHeader): Promise<readonly KeyObject[]> {
    return header.kid === undefined ? [] : this.sets.keys(sourceOf(config), header);
  }
}

function sourceOf({ hosts, tenantId, generation }: InForce): KeySource {
  const url = `${hosts.authority.replace(/\/$/, '')}/${encodeURIComponent(tenantId)}/.well-known/openid-configuration`;
  return { kind: 'discovery', url, generation };
}
