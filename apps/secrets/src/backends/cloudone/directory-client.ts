import { createPublicKey, type JsonWebKey } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { LRUCache } from 'lru-cache';
import { outsideCall } from './outside-call';

interface Directory {
  issuer: string;
  jwksUri: string;
  /** PEM by key id. */
  keys: ReadonlyMap<string, string>;
  fetchedAtMs: number;
  /** When the keys were last asked for because of an unknown key id. */
  missedAtMs: number;
}

const freshMs = 60 * 60_000;
/** How long what was fetched goes on serving while the directory does not answer. */
const staleMs = 24 * 60 * 60_000;
/** An unknown key id makes us ask again at most this often. */
const missEveryMs = 30_000;

/**
 * Issuer and signing keys of directory tenants, from their discovery documents: one refresh in flight per tenant, kept
 * for an hour, and for a day while the directory is down.
 */
export class DirectoryClient {
  private readonly known = new LRUCache<string, Directory>({ max: 500 });
  private readonly underWay = new Map<string, Promise<Directory>>();

  constructor(private readonly clock: { now(): number }) {}

  /** The issuer a tenant's tokens name. Throws `upstream` when it cannot be learned. */
  async issuer(authority: string, tenantId: string): Promise<string> {
    return (await this.directory(authority, tenantId)).issuer;
  }

  /** The public key (PEM) of a key id; undefined where the tenant has none of that name. */
  async key(authority: string, tenantId: string, kid: string | undefined): Promise<string | undefined> {
    if (kid === undefined) return undefined;
    const directory = await this.directory(authority, tenantId);
    const found = directory.keys.get(kid);
    if (found) return found;
    const nowMs = this.clock.now();
    if (nowMs - Math.max(directory.missedAtMs, directory.fetchedAtMs) < missEveryMs && directory.missedAtMs > 0)
      return undefined;
    directory.missedAtMs = nowMs;
    const again = await this.refresh(authority, tenantId).catch(() => directory);
    again.missedAtMs = nowMs;
    return again.keys.get(kid);
  }

  private async directory(authority: string, tenantId: string): Promise<Directory> {
    const known = this.known.get(`${authority}/${tenantId}`);
    const age = known ? this.clock.now() - known.fetchedAtMs : Number.POSITIVE_INFINITY;
    if (known && age < freshMs) return known;
    try {
      return await this.refresh(authority, tenantId);
    } catch (error) {
      if (known && age < staleMs) return known;
      throw error;
    }
  }

  private refresh(authority: string, tenantId: string): Promise<Directory> {
    const name = `${authority}/${tenantId}`;
    let pending = this.underWay.get(name);
    if (!pending) {
      pending = this.fetch(authority, tenantId)
        .then((directory) => {
          this.known.set(name, directory);
          return directory;
        })
        .finally(() => this.underWay.delete(name));
      this.underWay.set(name, pending);
    }
    return pending;
  }

  private async fetch(authority: string, tenantId: string): Promise<Directory> {
    const at = `${authority.replace(/\/$/, '')}/${encodeURIComponent(tenantId)}/.well-known/openid-configuration`;
    const discovery = (await json('the directory', at)) as { issuer?: unknown; jwks_uri?: unknown };
    if (typeof discovery?.issuer !== 'string' || typeof discovery.jwks_uri !== 'string') {
      throw new Refusal('upstream', 'the directory answered a discovery document without issuer or keys');
    }
    const { keys: listed } = (await json('the directory', discovery.jwks_uri)) as { keys?: unknown };
    const keys = new Map<string, string>();
    for (const key of Array.isArray(listed) ? (listed as (JsonWebKey & { kid?: string })[]) : []) {
      const pem = usable(key);
      if (pem && key.kid) keys.set(key.kid, pem);
    }
    return {
      issuer: discovery.issuer,
      jwksUri: discovery.jwks_uri,
      keys,
      fetchedAtMs: this.clock.now(),
      missedAtMs: 0,
    };
  }
}

/** PEM of an RSA signature key; undefined for everything else in a key set. */
function usable(key: JsonWebKey & { use?: string }): string | undefined {
  if (key.kty !== 'RSA' || (key.use !== undefined && key.use !== 'sig')) return undefined;
  try {
    return createPublicKey({ key: { kty: 'RSA', n: key.n, e: key.e }, format: 'jwk' })
      .export({ type: 'spki', format: 'pem' })
      .toString();
  } catch {
    return undefined;
  }
}

async function json(who: string, url: string): Promise<unknown> {
  const answer = await outsideCall(who, url);
  if (answer.status === 200 && answer.json) return answer.json;
  throw new Refusal('upstream', `${who} answered ${answer.status} to ${new URL(url).pathname}`);
}
