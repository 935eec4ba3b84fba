import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { trustedProxies } from '@keystead/settings';
import { testCertificate } from '../../testing/src/certificate';
import { createApp } from './app';
import { clientAddress } from './client-address';
import { clientCertificates } from './client-certificates';
import { createServer } from './create-server';

const secret = 'a-secret-of-the-proxies-and-of-this';
const next = 'the-secret-that-the-proxies-get-next';
const loopback = ['127.0.0.1'];
const proxies = {
  'none are trusted': trustedProxies([]),
  'their address is enough': trustedProxies(loopback),
  'they have a secret': trustedProxies(loopback, [secret]),
  'their secret is being changed': trustedProxies(loopback, [secret, next]),
  'others have a secret': trustedProxies(['192.0.2.1'], [secret]),
};

interface Seen {
  readonly address: string;
  readonly certificates: number;
  readonly headers: string;
}

describe('a peer at the address of a trusted proxy', () => {
  let trusted = proxies['none are trusted'];
  const app = createApp();
  app.use((req, res) => {
    const request: Seen = {
      address: clientAddress(req, trusted),
      certificates: clientCertificates(req, { trustedProxies: trusted, certificateHeader: 'x-client-cert' }).length,
      headers: JSON.stringify([req.headers, req.headersDistinct, req.rawHeaders]).toLowerCase(),
    };
    res.end(JSON.stringify(request));
  });
  const server = createServer(app);
  beforeAll(() => new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => void server.close());

  const ask = (sent: string | string[] | undefined): Promise<Seen> =>
    new Promise((resolve, reject) => {
      const headers = {
        'X-Forwarded-For': '203.0.113.5',
        'X-Client-Cert': encodeURIComponent(testCertificate.cert),
        ...(sent === undefined ? {} : { 'X-Keystead-Proxy-Secret': sent }),
        'X-Last': 'still here',
      };
      const { port } = server.address() as AddressInfo;
      http
        .get({ port, host: '127.0.0.1', headers, agent: false }, (res) => {
          let text = '';
          res.on('data', (piece) => (text += piece)).on('end', () => resolve(JSON.parse(text)));
        })
        .on('error', reject);
    });

  const sends: Record<string, string | string[] | undefined> = {
    nothing: undefined,
    'an empty text': '',
    'the secret': secret,
    'the next secret': next,
    'another text': secret.replace('a', 'b'),
    'more than the secret': `${secret}x`,
    'its beginning': secret.slice(0, -1),
    'the secret after the client’s': ['guess', secret],
    'the secret twice': [secret, secret],
  };
  const believed: Record<keyof typeof proxies, readonly string[]> = {
    'none are trusted': [],
    'their address is enough': Object.keys(sends),
    'they have a secret': ['the secret'],
    'their secret is being changed': ['the secret', 'the next secret'],
    'others have a secret': [],
  };
  const cases = (Object.keys(proxies) as (keyof typeof proxies)[]).flatMap((when) =>
    Object.keys(sends).map((what) => [what, when] as const),
  );

  it.each(cases)('that sends %s is trusted or refused as expected, when %s', async (what, when) => {
    trusted = proxies[when];
    const { address, certificates, headers } = await ask(sends[what]);
    const isBelieved = believed[when].includes(what);
    expect([address, certificates]).toEqual(isBelieved ? ['203.0.113.5', 1] : ['127.0.0.1', 0]);
    // Code that reads headers does not see the secret.
    expect(headers).not.toMatch(/of-the-proxies|that-the-proxies/);
    expect(headers).toContain('still here');
  });
});
