import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { trustedProxies } from '@keystead/settings';
import { clientAddress } from './client-address';

function from(remoteAddress: string | undefined, forwarded?: string | string[]): IncomingMessage {
  return { socket: { remoteAddress }, headers: { 'x-forwarded-for': forwarded } } as unknown as IncomingMessage;
}

describe('clientAddress', () => {
  const none = trustedProxies([]);
  const proxies = trustedProxies(['10.0.0.0/8', '192.0.2.7', 'fd00::/8']);

  it.each([
    ['the peer, when no proxy is trusted', none, '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['the peer as IPv4 when it is mapped', none, '::ffff:203.0.113.9', undefined, '203.0.113.9'],
    ['the peer, when it is not a trusted proxy', proxies, '203.0.113.9', '198.51.100.1', '203.0.113.9'],
    ['the address that a trusted proxy saw', proxies, '10.1.2.3', '198.51.100.1', '198.51.100.1'],
    ['the address that a mapped trusted proxy saw', proxies, '::ffff:10.1.2.3', '198.51.100.1', '198.51.100.1'],
    [
      'the last hop outside the trusted proxies',
      proxies,
      '10.1.2.3',
      '1.1.1.1, 198.51.100.1, 192.0.2.7',
      '198.51.100.1',
    ],
    ['an address with a port', proxies, '10.1.2.3', '198.51.100.1:4711', '198.51.100.1'],
    ['an IPv6 address in brackets', proxies, 'fd00::1', '[2001:db8::1]:443', '2001:db8::1'],
    ['the proxy, when the entry is nonsense', proxies, '10.1.2.3', '198.51.100.1, evil', '10.1.2.3'],
    ['the proxy, when there is no entry', proxies, '10.1.2.3', undefined, '10.1.2.3'],
    ['the proxy, when an entry only begins like one', proxies, '10.1.2.3', '198.51.100.1:80x', '10.1.2.3'],
    ['the proxy, when an entry only ends like one', proxies, '10.1.2.3', '1:198.51.100.1:80', '10.1.2.3'],
    ['the first of many proxies', proxies, '10.1.2.3', '10.9.9.9, 192.0.2.7', '10.9.9.9'],
    ['the last of several headers', proxies, '10.1.2.3', ['1.1.1.1', '198.51.100.1'], '198.51.100.1'],
    ['IPv6 unchanged, if it is not mapped', none, '::ffff:1:2', undefined, '::ffff:1:2'],
    ['nothing, when the connection is closed', none, undefined, undefined, ''],
    ['nothing, when the connection of a proxy may be closed', proxies, undefined, '198.51.100.1', ''],
  ] as const)('is %s', (_what, trusted, peer, forwarded, expected) => {
    expect(clientAddress(from(peer, forwarded as string | string[] | undefined), trusted)).toBe(expected);
  });

  it('names an entry that is not an address', () => {
    expect(() => trustedProxies(['10.0.0.0/8', 'proxy.example'])).toThrow('"proxy.example"');
  });
});
