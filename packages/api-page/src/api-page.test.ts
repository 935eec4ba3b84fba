import { request as ask, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { ApiPage } from './api-page';

describe('the API page', () => {
  const page = new ApiPage({
    title: 'A "service" & more',
    document: 'v1/openapi.json',
    server: 'v1',
    header: 'X-Service-Token',
    prefix: '',
  });
  const server = createServer((req, res) => {
    if (page.owns(req.url!)) return void page.answer(req, res);
    res.writeHead(404, { 'X-Other': 'yes' }).end();
  });
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => new Promise((resolve) => server.close(resolve)));
  const get = (path: string) => request(server).get(path);
  const filesOf = async () => {
    const { text } = await get('/docs').expect(200);
    return [...text.matchAll(/(?:src|href)="(docs\/[^"]+)"/g)].map(([, file]) => `/${file}`);
  };

  it('has a policy against foreign and inline scripts, and sends no referrer', async () => {
    const { headers, text } = await get('/docs').expect(200);
    expect(headers).toMatchObject({
      'content-type': 'text/html; charset=utf-8',
      'x-content-type-options': 'nosniff',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-cache',
      'cross-origin-opener-policy': 'same-origin',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(headers['content-security-policy']!.split('; ')).toEqual([
      "default-src 'none'",
      "script-src 'self'",
      "style-src 'self'",
      "img-src 'self' data:",
      "connect-src 'self'",
      "form-action 'none'",
      "frame-ancestors 'none'",
      "base-uri 'none'",
    ]);
    expect(text).toContain('<title>A &quot;service&quot; &amp; more</title>');
    expect(text).not.toMatch(/<style|<script>|\son\w+=|\sstyle=|https?:/);
    expect(text).toContain('data-document="v1/openapi.json" data-server="v1" data-header="X-Service-Token"');
    expect(text).not.toContain('id="namespace"');
  });

  it('has files whose addresses change with their content, so that browsers can cache them', async () => {
    const files = await filesOf();
    expect(files.map((file) => file.split('/').at(-1))).toEqual([
      'swagger-ui.css',
      'page.css',
      'swagger-ui-bundle.js',
      'page.js',
    ]);
    for (const file of files) {
      const plain = await get(file).set('Accept-Encoding', 'identity').buffer(true).responseType('blob').expect(200);
      expect(plain.headers).toMatchObject({
        'cache-control': 'public, max-age=31536000, immutable',
        'x-content-type-options': 'nosniff',
        vary: 'Accept-Encoding',
        'content-type': file.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8',
      });
      expect(plain.headers['content-encoding']).toBeUndefined();
      const packed = await get(file).set('Accept-Encoding', 'br, gzip').expect(200);
      expect(packed.headers['content-encoding']).toBe('gzip');
      expect(Number(packed.headers['content-length'])).toBeLessThan(plain.body.length);
    }
  });

  it.each([
    ['gzip', true],
    ['GZIP ; q=0.5', true],
    ['gzip;q=0', false],
    ['br', false],
    ['gzip-not', false],
  ])('compresses its files for clients that accept %s: %p', async (accepted, packed) => {
    const [file = ''] = await filesOf();
    const { headers } = await request(server).head(file).set('Accept-Encoding', accepted).expect(200);
    expect(headers['content-encoding']).toBe(packed ? 'gzip' : undefined);
  });

  it('sends the same content compressed and plain', async () => {
    const path = (await filesOf()).at(-1)!;
    const { port } = server.address() as AddressInfo;
    const sent = (encoding: string) =>
      new Promise<Buffer>((resolve, reject) => {
        const request = ask({ port, host: '127.0.0.1', path, headers: { 'Accept-Encoding': encoding } }, (answer) => {
          const chunks: Buffer[] = [];
          answer.on('data', (chunk: Buffer) => chunks.push(chunk));
          answer.on('end', () => resolve(Buffer.concat(chunks)));
        });
        request.on('error', reject).end();
      });
    expect(gunzipSync(await sent('gzip'))).toEqual(await sent('identity'));
  });

  it('is sent again only if it has changed', async () => {
    const [file = ''] = await filesOf();
    for (const path of ['/docs', file]) {
      const { headers } = await get(path).expect(200);
      const again = await get(path).set('If-None-Match', headers.etag!).expect(304);
      expect(again.text).toBe('');
      await get(path).set('If-None-Match', 'W/"other"').expect(200);
    }
  });

  it('forbids browsers to cache a file that it serves in place of another version', async () => {
    const [file = ''] = await filesOf();
    const other = file.replace(/docs\/\w+/, 'docs/00000000000000000000');
    const { headers } = await get(other).expect(200);
    expect(headers['cache-control']).toBe('no-cache');
  });

  it.each([
    '/docs/swagger-ui.css',
    '/docs/x/nothing.js',
    '/docs/x/../../package.json',
    '/docs/x/%2e%2e/package.json',
    '/docs/x/page.js/more',
    '/docs/x/constructor',
  ])('serves no other file: %s', async (path) => {
    const { headers } = await get(path).expect(404);
    expect(headers['x-other']).toBeUndefined();
  });

  it('answers only its own paths, and only reads', async () => {
    for (const path of ['/', '/docsx', '/v1/docs', '/doc']) {
      const { headers } = await get(path).expect(404);
      expect(headers['x-other']).toBe('yes');
    }
    await get('/docs?query').expect(200);
    const { headers } = await get('/docs/').expect(308);
    expect(headers.location).toBe('../docs');
    const refused = await request(server).post('/docs').send('x').expect(405);
    expect(refused.headers.allow).toBe('GET, HEAD');
    const head = await request(server).head('/docs').expect(200);
    expect(head.text).toBeUndefined();
    expect(Number(head.headers['content-length'])).toBeGreaterThan(1000);
  });
});
