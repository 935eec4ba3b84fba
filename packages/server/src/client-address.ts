import type { IncomingMessage } from 'node:http';
import type { TrustedProxies } from '@keystead/settings';
import ipaddr from 'ipaddr.js';

type Address = ipaddr.IPv4 | ipaddr.IPv6;

/**
 * The address a request came from: the TCP peer, unless that peer is a trusted proxy.
 *
 * Behind trusted proxies it is the last entry of `X-Forwarded-For` that is not itself one of them; an entry that is no
 * address ends the search, because everything before it may be invented. IPv4-mapped IPv6 is shown as IPv4.
 */
export function clientAddress(req: IncomingMessage, trusted: TrustedProxies): string {
  const peer = req.socket.remoteAddress ?? '';
  if (trusted.length === 0) return unmapped(peer);
  let client = parse(peer);
  if (client === undefined) return peer;
  const forwarded = req.headers['x-forwarded-for'];
  const hops = (typeof forwarded === 'string' ? forwarded : (forwarded ?? []).join(',')).split(',');
  while (hops.length > 0 && isTrusted(client, trusted)) {
    const before = parse((hops.pop() as string).trim());
    if (before === undefined) break;
    client = before;
  }
  return client.toString();
}

/** Whether a request comes from a trusted proxy itself. */
export function isFromProxy(req: IncomingMessage, trusted: TrustedProxies): boolean {
  const peer = trusted.length === 0 ? undefined : parse(req.socket.remoteAddress ?? '');
  return peer !== undefined && isTrusted(peer, trusted);
}

function isTrusted(address: Address, trusted: TrustedProxies): boolean {
  return trusted.some(([network, bits]) => network.kind() === address.kind() && address.match(network as never, bits));
}

function parse(text: string): Address | undefined {
  const bare = text.startsWith('[')
    ? text.slice(1, text.indexOf(']'))
    : /^\d+(\.\d+){3}:\d+$/.test(text)
      ? text.slice(0, text.indexOf(':'))
      : text;
  return ipaddr.isValid(bare) ? ipaddr.process(bare) : undefined;
}

function unmapped(address: string): string {
  return address.startsWith('::ffff:') && address.includes('.') ? address.slice(7) : address;
}
