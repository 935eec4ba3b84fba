import type { AddressInfo } from 'node:net';
import { describe, expect, it, test } from '@jest/globals';
import { findBrowser, type Visit, visit } from '@keystead/testing';
import request from 'supertest';
import { startSecrets } from './start-secrets';

const seen = findBrowser() === undefined ? test.skip : test;

describe('the page of the API', () => {
  const secrets = startSecrets();
  const address = () => `http://127.0.0.1:${(secrets.server.address() as AddressInfo).port}`;
  const saying = ({ page }: Visit, text: string) => page.getByRole('status').filter({ hasText: text }).waitFor();
  const submit = async ({ page }: Visit, token: string) => {
    await page.getByLabel('Token').fill(token);
    await page.getByRole('button', { name: 'Show', exact: true }).click();
  };

  it('is served without a token, and contains nothing about callers', async () => {
    const { headers, text } = await request(secrets.server).get('/docs').expect(200);
    expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(headers['referrer-policy']).toBe('no-referrer');
    expect(text).toContain('data-document="v1/sys/internal/specs/openapi"');
    expect(text).toContain('id="namespace"');
    const withToken = await request(secrets.server).get('/docs').set('X-Service-Token', secrets.rootToken);
    expect(withToken.text).toBe(text);
  });

  seen(
    'shows in a browser what anyone may do, then what a pasted token may, and keeps the token to itself',
    async () => {
      await secrets.root.write('sys/mounts/shelf', { type: 'kv' }).expect(204);
      const reader = await secrets.withPolicy('path "shelf/*" { capabilities = ["read", "update", "create"] }');
      await reader.write('shelf/box', { color: 'green' }).expect(204);
      const token = reader.token!;
      const open = await visit(`${address()}/docs`);
      const { page, requests, troubles } = open;
      try {
        await saying(open, 'operations without a token.');
        const free = Number(/\d+/.exec((await page.getByRole('status').textContent()) ?? '')?.[0]);
        expect(await page.getByText('shelf').count()).toBe(0);

        await submit(open, token);
        await saying(open, 'operations with the pasted token.');
        const more = Number(/\d+/.exec((await page.getByRole('status').textContent()) ?? '')?.[0]);
        expect(more).toBeGreaterThan(free);
        expect(await page.getByLabel('Token').inputValue()).toBe('');

        // Listed operations can be tried: the request has the token, the displayed request does not.
        await page.locator('.opblock-tag', { hasText: 'secrets' }).click();
        await page.locator('.opblock-get', { hasText: '/shelf/{path}' }).locator('.opblock-summary-control').click();
        await page.getByRole('button', { name: 'Try it out' }).click();
        await page.locator('.parameters input[type=text]').first().fill('box');
        const [asked] = await Promise.all([
          page.waitForRequest((one) => one.url().includes('/v1/shelf/box')),
          page.getByRole('button', { name: 'Execute' }).click(),
        ]);
        expect((await asked.allHeaders())['x-service-token']).toBe(token);
        await page.locator('.live-responses-table', { hasText: 'green' }).waitFor();
        expect(await page.locator('.curl-command').textContent()).toContain('X-Service-Token: <token>');

        const [html, ...kept] = await page.evaluate<(string | number)[]>(
          `Promise.all([document.documentElement.outerHTML, location.href, document.cookie, localStorage.length,
             sessionStorage.length, caches.keys().then((keys) => keys.length)])`,
        );
        expect(html).not.toContain(token);
        expect(kept).toEqual([`${address()}/docs`, '', 0, 0, 0]);

        await page.getByRole('button', { name: 'Forget the token' }).click();
        await saying(open, `${free} operations without a token.`);
        expect(await page.getByText('shelf').count()).toBe(0);
        expect(requests.filter((one) => !one.includes(` ${address()}/`) && !one.includes(' data:'))).toEqual([]);
        expect(requests.filter((one) => one.includes(token))).toEqual([]);
        expect(troubles).toEqual([]);

        // With a refused token only the message changes.
        await submit(open, 's.anonymous-has-this-token');
        await saying(open, 'The service answered 403: permission denied');
      } finally {
        await open.close();
      }
    },
  );
});

describe('without SECRETS_API_PAGE', () => {
  const secrets = startSecrets({ env: { SECRETS_API_PAGE: 'off' } });

  it('there is no page, and nothing mentions one', async () => {
    const { body } = await request(secrets.server).get('/docs').expect(404);
    expect(body).toEqual({ errors: [] });
    await request(secrets.server).get('/docs/x/page.js').expect(404);
  });
});

describe('before it is initialised', () => {
  const secrets = startSecrets({ bare: true });

  it('a service has the page already', async () => {
    await secrets.anonymous.read('sys/mounts').expect(503);
    await request(secrets.server).get('/docs').expect(200);
  });
});
