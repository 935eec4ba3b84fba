import { createHash, timingSafeEqual } from 'node:crypto';
import ipaddr from 'ipaddr.js';

/** Proxies whose headers about a client are trusted; built once by `trustedProxies`. */
export interface TrustedProxies {
  readonly networks: readonly [ipaddr.IPv4 | ipaddr.IPv6, number][];
  /** Digests of the secrets, one of which a proxy must send. If empty, the address of the proxy is sufficient. */
  readonly secrets: readonly Buffer[];
}

/**
 * Parses addresses and CIDR blocks of trusted proxies. A proxy must send one of `secrets`, if there are any. Throws an
 * `Error` that names a bad entry.
 */
export function trustedProxies(entries: readonly string[], secrets: readonly string[] = []): TrustedProxies {
  return { networks: entries.map(networkOf), secrets: secrets.map(digestOf) };
}

function networkOf(entry: string): TrustedProxies['networks'][number] {
  try {
    if (entry.includes('/')) return ipaddr.parseCIDR(entry);
    const address = ipaddr.parse(entry);
    return [address, address.kind() === 'ipv4' ? 32 : 128];
  } catch {
    throw new Error(`trusted proxy "${entry}" is not an IP address or CIDR block`);
  }
}

/** Whether a peer sent a correct proxy secret; false if no secret is configured. Takes constant time. */
export function provesProxy({ secrets }: TrustedProxies, sent: string | undefined): boolean {
  if (secrets.length === 0) return true;
  const digest = digestOf(sent ?? '');
  return secrets.filter((secret) => timingSafeEqual(secret, digest)).length > 0;
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
