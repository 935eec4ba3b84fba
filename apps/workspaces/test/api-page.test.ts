import type { AddressInfo } from 'node:net';
import { describe, expect, it, test } from '@jest/globals';
import { findBrowser, visit } from '@keystead/testing';
import request from 'supertest';
import { startWorkspaces } from './start-workspaces';

const seen = findBrowser() === undefined ? test.skip : test;

describe('the page of the API', () => {
  // The page's address differs from the public URL: its requests go to the address that it was loaded from.
  const workspaces = startWorkspaces({ env: { WORKSPACES_PUBLIC_URL: 'https://workspaces.example' } });
  const address = () => `http://127.0.0.1:${(workspaces.server.address() as AddressInfo).port}`;

  it('is the same for all callers, with a token or without', async () => {
    const { headers, text } = await request(workspaces.server).get('/docs').expect(200);
    expect(headers['content-security-policy']).toContain("default-src 'none'; script-src 'self'; style-src 'self'");
    expect(headers['referrer-policy']).toBe('no-referrer');
    expect(headers['x-ratelimit-limit']).toBeUndefined();
    expect(text).toContain('data-document="api/v2/openapi.json"');
    expect(text).not.toContain('id="namespace"');
    const authorization = `Bearer ${workspaces.admin.token}`;
    const again = await request(workspaces.server).get('/docs').set('Authorization', authorization).expect(200);
    expect(again.text).toBe(text);
  });

  seen(
    'lists every operation in a browser, tries them with a pasted token, and keeps the token to itself',
    async () => {
      const token = workspaces.admin.token!;
      await workspaces.organization('shelf');
      const document = (await workspaces.anyone.get('openapi.json').expect(200)).body;
      const operations = Object.values<object>(document.paths).flatMap((item) =>
        Object.keys(item).filter((key) => key !== 'parameters'),
      );
      const { page, requests, troubles, close } = await visit(`${address()}/docs`);
      const saying = (text: string) => page.getByRole('status').filter({ hasText: text }).waitFor();
      try {
        await saying(`${operations.length} operations without a token.`);
        await page.getByLabel('Token').fill(token);
        await page.getByRole('button', { name: 'Show', exact: true }).click();
        await saying(`${operations.length} operations with the pasted token.`);
        await page.locator('.opblock-tag', { hasText: /^organizations$/ }).click();
        const read = page.locator('#operations-organizations-organizations_read');
        await read.locator('.opblock-summary-control').click();
        await read.getByRole('button', { name: 'Try it out' }).click();
        await read.locator('.parameters input[type=text]').first().fill('shelf');
        const [asked] = await Promise.all([
          page.waitForRequest((one) => one.url() === `${address()}/api/v2/organizations/shelf`),
          read.getByRole('button', { name: 'Execute' }).click(),
        ]);
        expect((await asked.allHeaders()).authorization).toBe(`Bearer ${token}`);
        await read.locator('.live-responses-table', { hasText: 'shelf@example.com' }).waitFor();
        expect(await read.locator('.curl-command').textContent()).toContain('Authorization: Bearer <token>');
        expect(await page.content()).not.toContain(token);
        await page.getByRole('button', { name: 'Forget the token' }).click();
        await saying('operations without a token.');
        expect(requests.filter((one) => !one.includes(` ${address()}/`) && !one.includes(' data:'))).toEqual([]);
        expect(requests.filter((one) => one.includes(token))).toEqual([]);
        expect(troubles).toEqual([]);
      } finally {
        await close();
      }
    },
  );
});

describe('without WORKSPACES_API_PAGE', () => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_API_PAGE: 'off' } });

  it('there is no page', async () => {
    await request(workspaces.server).get('/docs').expect(404);
    await request(workspaces.server).get('/docs/x/page.js').expect(404);
  });
});
