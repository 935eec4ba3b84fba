import { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { BadClientCertificate, clientCertificates } from '@keystead/server';
import { trustedProxies } from '@keystead/settings';
import { testCertificate } from '@keystead/testing';

const der = new X509Certificate(testCertificate.cert).raw;
const escaped = encodeURIComponent(testCertificate.cert);
const binary = `:${der.toString('base64')}:`;
const proxies = trustedProxies(['10.0.0.0/8']);
const certificateHeader = 'client-cert';

function from(remoteAddress: string, headersDistinct: Record<string, string[]>): IncomingMessage {
  return { socket: { remoteAddress }, headersDistinct } as unknown as IncomingMessage;
}

describe('the certificates of a client behind a proxy', () => {
  const rules = { trustedProxies: proxies, certificateHeader };

  it.each<[string, Record<string, string[]>, Buffer[]]>([
    ['none, if there is no header', {}, []],
    ['none, if the header is empty', { 'client-cert': [''] }, []],
    ['PEM with percent signs', { 'client-cert': [escaped] }, [der]],
    ['several, as nginx may send them', { 'client-cert': [escaped + escaped] }, [der, der]],
    ['those in the form of RFC 9440', { 'client-cert': [binary] }, [der]],
    [
      'and its chain',
      { 'client-cert': [binary], 'client-cert-chain': [`${binary}, ${binary}`, binary] },
      Array(4).fill(der),
    ],
    ['none of another header', { 'x-client-cert': [escaped] }, []],
  ])('%s', (_what, headers, expected) => {
    expect(clientCertificates(from('10.1.2.3', headers), rules)).toEqual(expected);
  });

  it.each<[string, Record<string, string[]>]>([
    ['no PEM', { 'client-cert': ['x'] }],
    ['PEM that is cut off', { 'client-cert': [escaped.slice(0, 200)] }],
    ['PEM and more', { 'client-cert': [`${escaped}x`] }],
    ['two, joined by a comma', { 'client-cert': [`${escaped},${escaped}`] }],
    ['two, joined by a comma and a line', { 'client-cert': [`${escaped},%0A${escaped}`] }],
    ['something before PEM', { 'client-cert': [`x%0A${escaped}`] }],
    ['only a percent sign', { 'client-cert': ['%'] }],
    ['PEM that holds no certificate', { 'client-cert': [escaped.replace(/MII.{20}/, 'AAAA')] }],
    ['eleven', { 'client-cert': [escaped.repeat(11)] }],
    ['two headers, of which the client may have sent one', { 'client-cert': [escaped, escaped] }],
    ['invalid base64', { 'client-cert': [':?:'] }],
    ['an incomplete certificate', { 'client-cert': [`:${der.subarray(0, 100).toString('base64')}:`] }],
    ['a certificate followed by other bytes', { 'client-cert': [`:${Buffer.concat([der, der]).toString('base64')}:`] }],
    ['an invalid chain', { 'client-cert': [binary], 'client-cert-chain': ['x'] }],
    ['a chain that is too long', { 'client-cert': [binary], 'client-cert-chain': Array(10).fill(binary) }],
  ])('refuses %s', (_what, headers) => {
    expect(() => clientCertificates(from('10.1.2.3', headers), rules)).toThrow(BadClientCertificate);
  });

  it('are not taken from others', () => {
    for (const text of [escaped, binary, 'x']) {
      const headers = { 'client-cert': [text] };
      expect(clientCertificates(from('192.0.2.1', headers), rules)).toEqual([]);
      expect(clientCertificates(from('10.1.2.3', headers), { trustedProxies: proxies })).toEqual([]);
      expect(
        clientCertificates(from('10.1.2.3', headers), { trustedProxies: trustedProxies([]), certificateHeader }),
      ).toEqual([]);
    }
  });
});
