import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { trustedProxies } from '@keystead/settings';
import { clientAddress } from './client-address';

function from(remoteAddress: string, forwarded?: string | string[]): IncomingMessage {
  return { socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } } as unknown as IncomingMessage;
}

describe('clientAddress', () => {
  const proxies = trustedProxies(['10.0.0.0/8', '192.0.2.7', 'fd00::/8']);

  it.each([
    ['the peer, when nobody is trusted', [], '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['the peer as IPv4 when it is mapped', [], '::ffff:203.0.113.9', undefined, '203.0.113.9'],
    ['the peer, when it is no trusted proxy', proxies, '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['what a trusted proxy saw', proxies, '10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['what a mapped trusted proxy saw', proxies, '::ffff:10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['the last hop nobody vouches for', proxies, '10.1.2.3', '1.1.1.1, 198.51.100.1, 192.0.2.7', '198.51.100.1'],
    ['an address with a port', proxies, '10.1.2.3', '198.51.100.1:4711', '198.51.100.1'],
    ['an IPv6 address in brackets', proxies, 'fd00::1', '[2001:db8::1]:443', '2001:db8::1'],
    ['the proxy, when the entry is nonsense', proxies, '10.1.2.3', '198.51.100.1, evil', '10.1.2.3'],
    ['the proxy, when there is no entry', proxies, '10.1.2.3', undefined, '10.1.2.3'],
  ] as const)('is %s', (_what, trusted, peer, forwarded, expected) => {
    expect(clientAddress(from(peer, forwarded), trusted)).toBe(expected);
  });

  it('names an entry that is no address', () => {
    expect(() => trustedProxies(['10.0.0.0/8', 'proxy.example'])).toThrow('"proxy.example"');
  });
});
