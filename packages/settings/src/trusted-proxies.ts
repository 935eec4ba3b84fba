import { createHash, timingSafeEqual } from 'node:crypto';
import ipaddr from 'ipaddr.js';

/** Proxies whose word about a client is believed; made once by `trustedProxies`. */
export interface TrustedProxies {
  readonly networks: readonly [ipaddr.IPv4 | ipaddr.IPv6, number][];
  /** Digests of the secrets of which a proxy sends one; without any, its address is enough. */
  readonly secrets: readonly Buffer[];
}

/**
 * Parses addresses and CIDR blocks of trusted proxies. `secrets`: what they may prove themselves by.
 *
 * Throws an `Error` that names the entry which is neither.
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

/**
 * Whether what a peer sent as the secret of a proxy is good enough; nothing is, if none is set. Takes the same time for
 * all.
 */
export function provesProxy({ secrets }: TrustedProxies, sent: string | undefined): boolean {
  if (secrets.length === 0) return true;
  const digest = digestOf(sent ?? '');
  return secrets.filter((secret) => timingSafeEqual(secret, digest)).length > 0;
}

const digestOf = (text: string): Buffer => createHash('sha256').update(text).digest();
