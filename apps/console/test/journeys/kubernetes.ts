import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { button, journey } from '../stage';
import { at } from './installation';
import { api } from './secrets-api';

/** An API server that only creates tokens, and records the requests. */
async function cluster() {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    asked.push(`${request.method} ${request.url} ${request.headers.authorization}`);
    const expirationTimestamp = new Date(Date.now() + 3_600_000).toISOString();
    response.writeHead(201, { 'Content-Type': 'application/json' });
    response.end(JSON.stringify({ status: { token: 'token-of-the-account', expirationTimestamp } }));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, close: () => server.close() };
}

describe('the pages of a kubernetes engine', () => {
  const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });

  journey('configure a cluster, create a role, and get a service account token', async () => {
    const { asked, url, close } = await cluster();
    await api('POST', 'sys/mounts/fleet-tokens', { type: 'kubernetes' });
    const page = await at.signedIn('secrets', '/ui/engines/mount?mount=fleet-tokens/&tab=configuration');
    await page.getByLabel('Kubernetes host').fill(url);
    await page.getByLabel('Service account JWT').fill('maker');
    expect(await at.violations(page)).toEqual([]);
    await button(page, 'Save').click();
    await page.getByText('Saved.').waitFor();
    expect(await page.getByLabel('Service account JWT').inputValue()).toBe('');
    await at.picture(page, 'secrets-kubernetes-configuration');
    await page.getByRole('navigation', { name: 'Parts of fleet-tokens/' }).getByRole('link', { name: 'Roles' }).click();
    await link(page, 'Create role').click();
    await page.getByLabel('Name', { exact: true }).fill('deploy');
    await page.getByLabel('Creates').selectOption('role');
    await page.getByLabel('Role rules').waitFor();
    await page.getByLabel('Creates').selectOption('token');
    await page.getByLabel('Service account name').fill('deployer');
    for (const namespace of ['shop', 'lab']) {
      await page.getByLabel('Allowed Kubernetes namespaces').fill(namespace);
      await page.keyboard.press('Enter');
    }
    expect(await at.violations(page)).toEqual([]);
    await button(page, 'Create role').first().click();
    await page.getByRole('heading', { name: 'deploy', level: 1 }).waitFor();
    await page.getByText('No one has a token of this role now.').waitFor();
    await page.getByLabel('Kubernetes namespace', { exact: true }).fill('lab');
    await button(page, 'Get a service account token').click();
    await page.getByText('kubectl --token "$TOKEN" --namespace lab get pods', { exact: true }).waitFor();
    await button(page, 'Reveal service account token').click();
    await page.getByText('token-of-the-account').waitFor();
    expect(asked).toEqual(['POST /api/v1/namespaces/lab/serviceaccounts/deployer/token Bearer maker']);
    await page.getByRole('region', { name: 'Tokens in use' }).getByRole('row').nth(1).waitFor();
    expect(await at.violations(page)).toEqual([]);
    await at.picture(page, 'secrets-kubernetes-token');
    await page.setViewportSize({ width: 390, height: 900 });
    await at.picture(page, 'secrets-kubernetes-token-390');
    await link(page, 'Settings').click();
    await page.getByLabel('Service account name').waitFor();
    await button(page, 'Save').waitFor();
    close();
  });
});
