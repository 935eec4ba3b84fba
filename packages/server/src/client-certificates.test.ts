import { X509Certificate } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import https from 'node:https';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { trustedProxies } from '@keystead/settings';
import { testCertificate } from '../../testing/src/certificate';
import { createApp } from './app';
import { BadClientCertificate, clientCertificates } from './client-certificates';
import { createServer } from './create-server';

const proxies = trustedProxies(['10.0.0.0/8']);
const { raw } = new X509Certificate(testCertificate.cert);
const pem = testCertificate.cert.trim();
const binary = `:${raw.toString('base64')}:`;

/** A request from a peer, with a header for each line. */
function requestFrom(remoteAddress: string, lines: readonly [string, string][]): IncomingMessage {
  const headersDistinct: Record<string, string[]> = {};
  for (const [name, value] of lines) headersDistinct[name] = [...(headersDistinct[name] ?? []), value];
  return { socket: { remoteAddress }, headersDistinct } as unknown as IncomingMessage;
}
const rules = { trustedProxies: proxies, certificateHeader: 'client-cert' };
const shownBy = (...lines: [string, string][]) => clientCertificates(requestFrom('10.0.0.1', lines), rules);

describe('the certificates in the header of a trusted proxy', () => {
  it.each<[string, [string, string][], number]>([
    ['no header', [], 0],
    ['an empty header', [['client-cert', '']], 0],
    ['another header', [['x-cert', binary]], 0],
    ['PEM', [['client-cert', encodeURIComponent(pem)]], 1],
    ['PEM with a line at its end', [['client-cert', encodeURIComponent(`\n${pem}\n`)]], 1],
    ['two in PEM', [['client-cert', encodeURIComponent(`${pem}\n${pem}`)]], 2],
    ['ten in PEM', [['client-cert', encodeURIComponent(Array(10).fill(pem).join('\n'))]], 10],
    ['the form of RFC 9440', [['client-cert', binary]], 1],
    ['that form between spaces', [['client-cert', `${binary} `]], 1],
    [
      'that form with a chain',
      [
        ['client-cert', binary],
        ['client-cert-chain', `${binary}, ${binary}`],
      ],
      3,
    ],
    [
      'a chain in several headers',
      [
        ['client-cert', binary],
        ['client-cert-chain', binary],
        ['client-cert-chain', binary],
      ],
      3,
    ],
    [
      'a chain of nine',
      [
        ['client-cert', binary],
        ['client-cert-chain', Array(9).fill(binary).join()],
      ],
      10,
    ],
    // The PEM also contains the chain.
    [
      'PEM and a chain',
      [
        ['client-cert', encodeURIComponent(pem)],
        ['client-cert-chain', 'x'],
      ],
      1,
    ],
  ])('are all read, with %s', (_what, lines, count) => {
    expect(shownBy(...lines)).toEqual(Array(count).fill(raw));
  });

  it.each<[string, [string, string][], string]>([
    [
      'sent twice',
      [
        ['client-cert', binary],
        ['client-cert', binary],
      ],
      'client-cert was sent more than once',
    ],
    ['no PEM', [['client-cert', 'x']], 'client-cert is not a certificate (PEM, URL-encoded)'],
    ['not decoded', [['client-cert', '%zz']], 'client-cert is not a certificate (PEM, URL-encoded)'],
    [
      'eleven',
      [['client-cert', encodeURIComponent(Array(11).fill(pem).join('\n'))]],
      'client-cert is not a certificate (PEM, URL-encoded)',
    ],
    [
      'something before PEM',
      [['client-cert', encodeURIComponent(`x,${pem}`)]],
      'client-cert is not a certificate (PEM, URL-encoded)',
    ],
    [
      'something after PEM',
      [['client-cert', encodeURIComponent(`${pem}x`)]],
      'client-cert is not a certificate (PEM, URL-encoded)',
    ],
    [
      'something between PEM blocks',
      [['client-cert', encodeURIComponent(`${pem},${pem}`)]],
      'client-cert is not a certificate (PEM, URL-encoded)',
    ],
    [
      'a line before PEM',
      [['client-cert', encodeURIComponent(`x\n${pem}`)]],
      'client-cert is not a certificate (PEM, URL-encoded)',
    ],
    [
      'a line between PEM blocks',
      [['client-cert', encodeURIComponent(`${pem}\nx\n${pem}`)]],
      'client-cert is not a certificate (PEM, URL-encoded)',
    ],
    [
      'an empty PEM block',
      [['client-cert', encodeURIComponent(pem.replace(/\nMII[\s\S]*?\n-/, '\n-'))]],
      'client-cert is not a certificate (PEM, URL-encoded)',
    ],
    ['open', [['client-cert', binary.slice(0, -1)]], 'client-cert is not a certificate in the form of RFC 9440'],
    ['followed by more', [['client-cert', `${binary}x`]], 'client-cert is not a certificate in the form of RFC 9440'],
    ['in other letters', [['client-cert', ':a-b_:']], 'client-cert is not a certificate in the form of RFC 9440'],
    [
      'PEM in that form',
      [['client-cert', `:${Buffer.from(pem).toString('base64')}:`]],
      'client-cert is not a certificate in the form of RFC 9440',
    ],
    [
      'with a wrong length',
      [['client-cert', `:${Buffer.concat([raw, raw]).toString('base64')}:`]],
      'client-cert is not a certificate in the form of RFC 9440',
    ],
    [
      'with a bad chain',
      [
        ['client-cert', binary],
        ['client-cert-chain', 'x'],
      ],
      'client-cert-chain is not a certificate in the form of RFC 9440',
    ],
    [
      'with a chain of ten',
      [
        ['client-cert', binary],
        ['client-cert-chain', Array(10).fill(binary).join()],
      ],
      'client-cert-chain has too many certificates',
    ],
  ])('are refused if one is %s', (_what, lines, message) => {
    expect(() => shownBy(...lines)).toThrow(new BadClientCertificate(message));
  });

  it('are ignored if no header is configured, or if another peer sends them', () => {
    const lines: [string, string][] = [['client-cert', binary]];
    expect(clientCertificates(requestFrom('10.0.0.1', lines), { trustedProxies: proxies })).toEqual([]);
    expect(clientCertificates(requestFrom('192.0.2.1', lines), rules)).toEqual([]);
    expect(
      clientCertificates(requestFrom('10.0.0.1', lines), { ...rules, trustedProxies: trustedProxies([]) }),
    ).toEqual([]);
  });
});

describe('the certificates of a connection', () => {
  it.each([
    ['is known', true, testCertificate, [[raw], [raw]]],
    ['is none', true, {}, [[], []]],
    ['is not asked for', false, testCertificate, [[], []]],
  ])('are those that the client sent, at every read: it %s', async (_what, header, certificates, expected) => {
    const looks: (readonly Buffer[])[] = [];
    const app = createApp();
    app.use((req, res) => {
      for (let look = 0; look < 2; look++) looks.push(clientCertificates(req, { trustedProxies: trustedProxies([]) }));
      res.end('seen');
    });
    const server = createServer(app, { tls: { ...testCertificate, clientCertificates: header } });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    const answer = new Promise<string | undefined>((resolve, reject) => {
      const options = { port, host: '127.0.0.1', ca: testCertificate.cert, agent: false as const, ...certificates };
      https.get(options, (res) => res.resume().on('end', () => resolve(res.statusMessage))).on('error', reject);
    });
    expect(await answer).toBe('OK');
    expect(looks).toEqual(expected);
    server.close();
    server.closeAllConnections();
  });
});
