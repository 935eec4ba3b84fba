import { createPublicKey, type JsonWebKey, type KeyObject } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { keyFits, type SignatureHeader } from './signature';

/** The location of an issuer's keys: a discovery document that refers to them, or the key set itself. */
export interface KeySource {
  readonly kind: 'discovery' | 'key-set';
  readonly url: string;
  /** Certificates (PEM) to trust instead of the usual ones. */
  readonly ca?: string;
  /** Identifies the configuration: documents fetched for another one are not used. */
  readonly generation?: string;
}

/** Where an OpenID issuer publishes its discovery document. */
export function discoveryOf(issuer: string, ca: string | undefined): KeySource {
  return { kind: 'discovery', url: `${trimmed(issuer)}/.well-known/openid-configuration`, ca };
}

/** The error if a discovery document names an issuer other than the one it was fetched for. */
export function foreignIssuer(expected: string, issuer: string | undefined): string | undefined {
  if (issuer !== undefined && trimmed(issuer) === trimmed(expected)) return undefined;
  return `the discovery document names the issuer ${JSON.stringify(issuer)}`;
}

const trimmed = (url: string): string => url.replace(/\/$/, '');

/** Fetches a JSON document. Throws `upstream` if there is no response. */
export type FetchJson = (url: string, ca: string | undefined) => Promise<{ status: number; json: unknown }>;

interface PublishedKey {
  readonly kid: string | undefined;
  readonly alg: string | undefined;
  readonly key: KeyObject;
}

interface KeySet {
  /** Undefined if only keys are published. */
  readonly issuer: string | undefined;
  /** The whole discovery document; empty if only keys are published. */
  readonly document: Readonly<Record<string, unknown>>;
  readonly keys: readonly PublishedKey[];
  readonly fetchedAtMs: number;
}

const freshMs = 60 * 60_000;
/** How long a fetched key set stays in use while the issuer does not answer. */
const staleMs = 24 * 60 * 60_000;
/**
 * How many unknown key ids and bad signatures may cause another fetch within the time limit. If the limit were one, a
 * single forged token could delay the use of a new key for that time.
 */
const mostMisses = 5;
const missesWithinMs = 30_000;
/** While an issuer does not answer, other callers neither retry nor wait. */
const failedForMs = 5_000;
const maxSets = 500;
const maxKeys = 200;

/**
 * A cache of issuers and their published signing keys. Each source has at most one refresh in flight. Keys are cached
 * for an hour, and for a day while the issuer is down.
 */
export class KeySets {
  private readonly cache = new Map<string, KeySet>();
  private readonly underWay = new Map<string, Promise<KeySet>>();
  /** The times of recent fetches of each source that were made because the cached keys did not match. */
  private readonly misses = new Map<string, readonly number[]>();
  private readonly failed = new Map<string, { atMs: number; error: unknown }>();

  /** `who` is the name of the issuer in refusals. */
  constructor(
    private readonly who: string,
    private readonly fetchJson: FetchJson,
    private readonly clock: { now(): number },
  ) {}

  /** Forgets everything that was fetched, but not the limits on repeated fetches. */
  forget(): void {
    this.cache.clear();
    this.failed.clear();
  }

  /** The issuer in tokens of a source; undefined if the source names no issuer. Throws `upstream`. */
  async issuer(source: KeySource): Promise<string | undefined> {
    return (await this.set(source)).issuer;
  }

  /** The discovery document of a source; empty for a bare key set. Throws `upstream`. */
  async document(source: KeySource): Promise<Readonly<Record<string, unknown>>> {
    return (await this.set(source)).document;
  }

  /**
   * The keys that may have made a signature: all suitable keys if the token names no key. Fetches the keys again if the
   * key id is unknown, or if none of the known keys made the signature. Throws `upstream`.
   */
  async keys(source: KeySource, header: SignatureHeader): Promise<readonly KeyObject[]> {
    const set = await this.set(source);
    const found = fitting(set, header);
    const needsRefresh = header.unverified || (found.length === 0 && header.kid !== undefined);
    if (!needsRefresh || !this.mayAskAgain(nameOf(source))) return found;
    return fitting(await this.refresh(source).catch(() => set), header);
  }

  private mayAskAgain(name: string): boolean {
    const nowMs = this.clock.now();
    const lately = (this.misses.get(name) ?? []).filter((atMs) => nowMs - atMs < missesWithinMs);
    if (lately.length >= mostMisses) return false;
    remember(this.misses, name, [...lately, nowMs]);
    return true;
  }

  /** Fetches a source now, even if it is cached. Throws `upstream` if it is not available. */
  async check(source: KeySource): Promise<{ issuer: string | undefined; usableKeys: number }> {
    const { issuer, keys } = await this.refresh(source);
    return { issuer, usableKeys: keys.length };
  }

  private async set(source: KeySource): Promise<KeySet> {
    const name = nameOf(source);
    const cached = this.cache.get(name);
    const nowMs = this.clock.now();
    const age = cached ? nowMs - cached.fetchedAtMs : Number.POSITIVE_INFINITY;
    if (cached && age < freshMs) return cached;
    const failure = this.failed.get(name);
    try {
      if (failure && nowMs - failure.atMs < failedForMs) throw failure.error;
      return await this.refresh(source);
    } catch (error) {
      if (cached && age < staleMs) return cached;
      throw error;
    }
  }

  private refresh(source: KeySource): Promise<KeySet> {
    const name = nameOf(source);
    let pending = this.underWay.get(name);
    if (!pending) {
      pending = this.fetch(source)
        .then(
          (set) => {
            this.failed.delete(name);
            remember(this.cache, name, set);
            return set;
          },
          (error) => {
            remember(this.failed, name, { atMs: this.clock.now(), error });
            throw error;
          },
        )
        .finally(() => this.underWay.delete(name));
      this.underWay.set(name, pending);
    }
    return pending;
  }

  private async fetch({ kind, url, ca }: KeySource): Promise<KeySet> {
    let issuer: string | undefined;
    let keysAt = url;
    let document: Readonly<Record<string, unknown>> = {};
    if (kind === 'discovery') {
      document = (await this.json(url, ca)) as Record<string, unknown>;
      if (typeof document.issuer !== 'string' || typeof document.jwks_uri !== 'string') {
        throw new Refusal('upstream', `${this.who} sent a discovery document without issuer or keys`);
      }
      issuer = document.issuer;
      keysAt = document.jwks_uri;
      // An attacker who can change plaintext traffic could insert their own keys there.
      if (!URL.canParse(keysAt) || (url.startsWith('https:') && !keysAt.startsWith('https:'))) {
        throw new Refusal('upstream', `${this.who} names a URL for its keys that cannot be trusted`);
      }
    }
    const { keys: listed } = (await this.json(keysAt, ca)) as { keys?: unknown };
    if (!Array.isArray(listed)) throw new Refusal('upstream', `${this.who} did not return a key set`);
    const keys = (listed as (JsonWebKey & { kid?: unknown })[]).slice(0, maxKeys).flatMap((jwk) => usable(jwk) ?? []);
    return { issuer, document, keys, fetchedAtMs: this.clock.now() };
  }

  private async json(url: string, ca: string | undefined): Promise<object> {
    const { status, json } = await this.fetchJson(url, ca);
    if (status === 200 && typeof json === 'object' && json !== null) return json;
    const what = status === 200 ? 'something that is not a JSON object' : status;
    throw new Refusal('upstream', `${this.who} answered ${what} to ${new URL(url).pathname}`);
  }
}

/** Reads a public key or certificate in PEM. Throws for everything else, including private keys. */
export function importPublicKey(pem: string): KeyObject {
  // Deriving the public half would work, but would leave a private key in a configuration.
  if (pem.includes('PRIVATE KEY')) throw new Error('a private key was given');
  return createPublicKey(pem);
}

function fitting({ keys }: KeySet, { algorithm, kid }: SignatureHeader): KeyObject[] {
  return keys
    .filter((one) => kid === undefined || one.kid === kid)
    .filter((one) => (one.alg === undefined || one.alg === algorithm) && keyFits(one.key, algorithm))
    .map(({ key }) => key);
}

const keyTypes = new Set(['RSA', 'EC', 'OKP']);
const publicParts = ['kty', 'n', 'e', 'crv', 'x', 'y'] as const;

/** A signature key of a key set; undefined for every other entry. */
function usable(jwk: JsonWebKey & { use?: unknown; key_ops?: unknown; alg?: unknown; kid?: unknown }) {
  if (typeof jwk !== 'object' || jwk === null || !keyTypes.has(String(jwk.kty))) return undefined;
  if (jwk.use !== undefined && jwk.use !== 'sig') return undefined;
  if (Array.isArray(jwk.key_ops) && !jwk.key_ops.includes('verify')) return undefined;
  const parts = Object.fromEntries(publicParts.flatMap((part) => (jwk[part] === undefined ? [] : [[part, jwk[part]]])));
  const text = (value: unknown) => (typeof value === 'string' && value !== '' ? value : undefined);
  try {
    const key = createPublicKey({ key: parts as JsonWebKey, format: 'jwk' });
    return { kid: text(jwk.kid), alg: text(jwk.alg), key } satisfies PublishedKey;
  } catch {
    return undefined;
  }
}

function nameOf({ kind, url, ca, generation }: KeySource): string {
  return JSON.stringify([kind, url, ca ?? '', generation ?? '']);
}

/** Maps keep insertion order: the oldest is first. */
function remember<T>(map: Map<string, T>, name: string, value: T): void {
  map.delete(name);
  map.set(name, value);
  const oldest = map.size > maxSets ? map.keys().next() : undefined;
  if (oldest && !oldest.done) map.delete(oldest.value);
}
