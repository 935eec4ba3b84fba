import ipaddr from 'ipaddr.js';

/** Networks whose word about the client's address is believed; made once by `trustedProxies`. */
export type TrustedProxies = readonly [ipaddr.IPv4 | ipaddr.IPv6, number][];

/**
 * Parses addresses and CIDR blocks of trusted proxies.
 *
 * Throws an `Error` that names the entry which is neither.
 */
export function trustedProxies(entries: readonly string[]): TrustedProxies {
  return entries.map((entry) => {
    try {
      if (entry.includes('/')) return ipaddr.parseCIDR(entry);
      const address = ipaddr.parse(entry);
      return [address, address.kind() === 'ipv4' ? 32 : 128];
    } catch {
      throw new Error(`trusted proxy "${entry}" is not an IP address or CIDR block`);
    }
  });
}
