import type { IncomingMessage } from 'node:http';
import { provesProxy, type TrustedProxies } from '@keystead/settings';
import ipaddr from 'ipaddr.js';
import { proxySecretOf } from './proxy-secret';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * The client address of a request: the TCP peer, unless the peer is a trusted proxy that sent its secret (if a secret
 * is configured).
 *
 * Behind trusted proxies it is the last entry of `X-Forwarded-For` that is not itself a trusted proxy. An entry that is
 * not an address ends the search, because everything before it may be forged. IPv4-mapped IPv6 is shown as IPv4.
 */
export function clientAddress(req: IncomingMessage, trusted: TrustedProxies): string {
  const peer = req.socket.remoteAddress ?? '';
  if (trusted.networks.length === 0) return unmapped(peer);
  let client = parse(peer);
  if (client === undefined) return peer;
  if (!isTrusted(client, trusted) || !isProven(req, trusted)) return client.toString();
  const forwarded = req.headers['x-forwarded-for'];
  const hops = (typeof forwarded === 'string' ? forwarded : (forwarded ?? []).join(',')).split(',');
  while (hops.length > 0 && isTrusted(client, trusted)) {
    const before = parse((hops.pop() as string).trim());
    if (before === undefined) break;
    client = before;
  }
  return client.toString();
}

/** Whether a request comes from the address of a trusted proxy, with or without its secret. */
export function isFromProxyAddress(req: IncomingMessage, trusted: TrustedProxies): boolean {
  const peer = trusted.networks.length === 0 ? undefined : parse(req.socket.remoteAddress ?? '');
  return peer !== undefined && isTrusted(peer, trusted);
}

/** Whether a request has the secret of the trusted proxies, if they have one. */
export const isProven = (req: IncomingMessage, trusted: TrustedProxies): boolean =>
  provesProxy(trusted, proxySecretOf(req));

function isTrusted(address: Address, { networks }: TrustedProxies): boolean {
  return networks.some(([network, bits]) => network.kind() === address.kind() && address.match(network as never, bits));
}

function parse(text: string): Address | undefined {
  const address = text.startsWith('[')
    ? text.slice(1, text.indexOf(']'))
    : /^\d+(\.\d+){3}:\d+$/.test(text)
      ? text.slice(0, text.indexOf(':'))
      : text;
  return ipaddr.isValid(address) ? ipaddr.process(address) : undefined;
}

function unmapped(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}
