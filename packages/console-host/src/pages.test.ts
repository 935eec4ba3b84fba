import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { brotliCompressSync, gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { Pages } from './pages';

const guards = {
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'cross-origin-resource-policy': 'same-origin',
};

describe('the pages of a console', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'keystead-pages-'));
  const pages = new Pages('secrets', folder);
  const server = createServer((req, res) => {
    pages.answer(req, res).catch(() => res.writeHead(500).end());
  });
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(() => {
    server.close();
    rmSync(folder, { recursive: true });
  });

  it('are served as soon as they are built: one for every address', async () => {
    await request(server).get('/ui/').expect(500);
    for (const one of ['ui', 'assets', 'ui/assets']) mkdirSync(path.join(folder, one), { recursive: true });
    writeFileSync(path.join(folder, 'ui/secrets.html'), '<p>é</p>');
    for (const address of ['/ui/', '/ui/leases/x?a=1', '/ui/assets']) {
      const { text, headers } = await request(server).get(address).expect(200);
      expect(text).toBe('<p>é</p>');
      expect(headers).toMatchObject({
        ...guards,
        'cross-origin-opener-policy': 'same-origin',
        'content-type': 'text/html; charset=utf-8',
        'content-length': '9',
        'cache-control': 'no-store',
        'content-security-policy':
          "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
          "form-action 'self'; frame-ancestors 'none'; base-uri 'none'; font-src 'self'; " +
          "require-trusted-types-for 'script'; trusted-types 'none'",
      });
    }
    const head = await request(server).head('/ui/').expect(200);
    expect([head.headers['content-length'], head.text]).toEqual(['9', undefined]);
  });

  it('consist of immutable files, compressed if they were built so, and of no others', async () => {
    writeFileSync(path.join(folder, 'ui/assets/a.js'), 'plain');
    writeFileSync(path.join(folder, 'ui/assets/a.js.gz'), gzipSync('packed'));
    writeFileSync(path.join(folder, 'ui/assets/a.js.br'), brotliCompressSync('packed better'));
    writeFileSync(path.join(folder, 'ui/assets/b.html'), 'page');
    const ask = (address: string, encoding = 'identity') =>
      request(server).get(address).set('Accept-Encoding', encoding);
    const { text, headers } = await ask('/ui/assets/a.js').expect(200);
    expect(text).toBe('plain');
    expect(headers).toMatchObject({
      ...guards,
      'cross-origin-opener-policy': 'same-origin',
      'cache-control': 'public, max-age=31536000, immutable',
      etag: expect.any(String),
    });
    expect((await ask('/ui/assets/a.js', 'gzip')).text).toBe('packed');
    expect((await ask('/ui/assets/a.js', 'gzip, br')).headers['content-encoding']).toBe('br');
    for (const address of ['/ui/assets/', '/ui/assets/b', '/ui/assets/none.js', '/ui/assets/..%2fsecrets.html']) {
      const missing = await ask(address).expect(404);
      expect(missing.headers).toMatchObject({ ...guards, 'cache-control': 'no-cache' });
    }
  });

  it('are read only', async () => {
    expect((await request(server).get('/ui').expect(308)).headers.location).toBe('/ui/');
    expect((await request(server).post('/ui/').expect(405)).headers.allow).toBe('GET, HEAD');
  });

  it('are those of the console by default', async () => {
    const nowhere = new Pages('none').answer({ method: 'GET', url: '/ui/' } as IncomingMessage, {} as ServerResponse);
    const built = path.join('apps', 'console', 'dist', 'ui', 'none.html');
    await expect(nowhere).rejects.toMatchObject({ code: 'ENOENT', path: expect.stringMatching(`${built}$`) });
  });
});
