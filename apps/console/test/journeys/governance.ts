import { gzipSync } from 'node:zlib';
import { beforeAll, describe, expect } from '@jest/globals';
import { findBrowser } from '@keystead/testing';
import { journey, soon } from '../stage';
import { tarOf } from '../stand-in-tool';
import { at } from './installation';
import { api, type Made, of } from './workspaces-api';

const name = 'guild';
const patient = 240_000;

describe('the governance of an organization', () => {
  if (findBrowser() !== undefined) {
    beforeAll(async () => {
      await api('POST', 'organizations', of('organizations', { name, email: 'guild@example.com' }));
    }, 60_000);
  }

  journey(
    'has no-code modules: enabled with selectable values, and used by a form that creates a workspace',
    async () => {
      const attributes = { name: 'arch', provider: 'stone', 'registry-name': 'private' };
      const module = await api<Made>(
        'POST',
        `organizations/${name}/registry-modules`,
        of('registry-modules', attributes),
      );
      const version = await api<{ data: { links: { upload: string } } }>(
        'POST',
        `registry-modules/${name}/arch/stone/versions`,
        of('registry-module-versions', { version: '2.0.0' }),
      );
      const main = `variable "shape" {
  type        = string
  description = "How it is bent."
}
variable "stones" {
  type    = number
  default = 9
}`;
      const { pathname, search } = new URL(version.data.links.upload);
      const archive = gzipSync(tarOf({ 'main.tf': main }));
      await fetch(at.installation.workspacesUrl + pathname + search, { method: 'PUT', body: new Uint8Array(archive) });
      const page = await at.signedIn('workspaces', `/ui/organizations/${name}/registry/modules/${module.data.id}`);
      const dialog = page.getByRole('dialog');
      await page.getByRole('button', { name: 'Enable no-code provisioning' }).click();
      await dialog.getByRole('button', { name: 'Enable', exact: true }).click();
      await page.getByText('People create workspaces from the newest version with a form.').waitFor();
      await page.getByRole('button', { name: 'Edit no-code settings' }).click();
      await dialog.getByLabel('Values of shape').fill('round, pointed');
      await dialog.getByRole('button', { name: 'Save changes' }).click();
      await dialog.waitFor({ state: 'detached' });
      expect(await at.violations(page)).toEqual([]);
      await page.getByRole('link', { name: 'Provision workspace' }).click();
      await page.getByRole('heading', { name: 'Provision workspace', level: 1 }).waitFor();
      await page.getByLabel('Workspace name').fill('gate');
      await page.getByLabel('shape').selectOption('pointed');
      await page.getByLabel('stones').fill('11');
      expect(await at.violations(page)).toEqual([]);
      await page.setViewportSize({ width: 320, height: 900 });
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      await page.getByRole('button', { name: 'Create workspace' }).first().click();
      await page.getByRole('heading', { name: 'gate', level: 1 }).waitFor();
      const workspace = await api<Made>('GET', `organizations/${name}/workspaces/gate`);
      const { data } = await api<{ data: { attributes: { key: string; value: string } }[] }>(
        'GET',
        `workspaces/${workspace.data.id}/vars`,
      );
      expect(Object.fromEntries(data.map(({ attributes: { key, value } }) => [key, value]))).toEqual({
        shape: 'pointed',
        stones: '11',
      });
      const runs = await api<{ data: unknown[] }>('GET', `workspaces/${workspace.data.id}/runs`);
      expect(runs.data.length).toBe(1);
    },
    patient,
  );

  journey('has change requests, for one workspace or for many, until they are archived', async () => {
    for (const one of ['nave', 'aisle'])
      await api('POST', `organizations/${name}/workspaces`, of('workspaces', { name: one }));
    const page = await at.signedIn('workspaces', `/ui/organizations/${name}/workspaces/nave/change-requests`);
    const dialog = page.getByRole('dialog');
    await page.getByRole('button', { name: 'Create change request' }).first().click();
    await dialog.getByLabel('Subject').fill('Widen the door');
    await dialog.getByLabel('Message').fill('It is too narrow for carts.');
    await dialog.getByRole('button', { name: 'Create change request' }).click();
    const requests = page.getByRole('table', { name: 'Change requests' });
    await requests.getByText('It is too narrow for carts.').waitFor();
    expect(await at.violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Archive Widen the door' }).click();
    await requests.getByText('archived').waitFor();

    await page.goto(`${at.installation.workspacesUrl}/ui/organizations/${name}?q=a`);
    await page.getByRole('checkbox', { name: /nave/ }).check();
    await page.getByRole('checkbox', { name: /aisle/ }).check();
    await page.getByRole('button', { name: 'Request change' }).click();
    await dialog.getByLabel('Subject').fill('Sweep');
    await dialog.getByLabel('Message').fill('Before the feast.');
    await dialog.getByRole('button', { name: 'Request change' }).click();
    await dialog.getByText('2 of 2 done').waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    await page.goto(`${at.installation.workspacesUrl}/ui/organizations/${name}/workspaces/aisle/change-requests`);
    await requests.getByText('Before the feast.').waitFor();
  });

  journey('limits the lifetime of tokens', async () => {
    const person = await api<Made>('GET', 'account/details');
    const attributes = { description: 'the laptop of the governor' };
    await api('POST', `users/${person.data.id}/authentication-tokens`, of('authentication-tokens', attributes));
    const page = await at.signedIn('workspaces', `/ui/organizations/${name}/tokens`);
    await page.getByLabel('Limit the lifetime of tokens').check();
    const users = page.getByLabel('User tokens');
    await users.fill('a while');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('User tokens: write a number with h, d or y').waitFor();
    await users.fill('12h');
    await page.getByText('the laptop of the governor').waitFor();
    await page.getByText(/of your own API tokens lives? longer than that/).waitFor();
    await page.getByRole('textbox', { name: 'Team tokens' }).fill('90d');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Saved.').waitFor();
    expect(await at.violations(page)).toEqual([]);
    await page.reload();
    await soon(async () => expect(await users.inputValue()).toBe('12h'));
    // The following steps create tokens of people without a limit.
    await page.getByLabel('Limit the lifetime of tokens').uncheck();
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Saved.').waitFor();
    const kept = await api<{ data: { attributes: object }[] }>('GET', `organizations/${name}/token-ttl-policies`);
    expect(kept.data.map(({ attributes }) => attributes)).toContainEqual(
      expect.objectContaining({ 'token-type': 'team', 'max-ttl-ms': 90 * 86_400_000 }),
    );
  });

  journey('manages the versions of the policy engines', async () => {
    const page = await at.signedIn('workspaces', '/ui/admin/versions');
    await page.getByLabel('Program').selectOption({ label: 'OPA' });
    await page.waitForURL(/tool=opa/);
    await page.getByRole('button', { name: 'Add version' }).first().click();
    await page.getByLabel('Number').fill('1.4.2');
    await page.getByLabel('Archive', { exact: true }).fill('https://example.com/opa');
    await page.getByLabel('SHA-256 of the archive').fill('ab'.repeat(32));
    await page.getByRole('dialog').getByRole('button', { name: 'Add version' }).click();
    const row = page.getByRole('row').filter({ hasText: '1.4.2' });
    await row.getByText('enabled').waitFor();
    await row.getByRole('button', { name: 'Disable' }).click();
    await row.getByText('disabled').waitFor();
    expect(await at.violations(page)).toEqual([]);
    await page.getByLabel('Program').selectOption({ label: 'Sentinel' });
    await page.getByText('This service does not run Sentinel policies.').waitFor();
    await row.waitFor({ state: 'detached' });
  });

  journey('can be searched in the audit log by name and time range, in the chosen time zone', async () => {
    const { username } = at.installation.firstRun().workspaces;
    const page = await at.signedIn('workspaces', `/ui/organizations/${name}/audit`);
    await page.getByLabel('Who').fill(username.slice(0, 3));
    await page.getByRole('option', { name: username, exact: true }).click();
    await page.getByLabel('When').selectOption({ label: 'Last hour' });
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.waitForURL((url) => url.searchParams.get('actor') === username && url.searchParams.has('since'));
    await page.getByRole('row').filter({ hasText: 'organization.create' }).waitFor();
    expect(await at.violations(page)).toEqual([]);
    await page.getByRole('button', { name: /^Account of/ }).click();
    await page.getByRole('menuitemradio', { name: 'UTC' }).click();
    await page.locator('time[title$="UTC"]').first().waitFor();
    await page.getByLabel('Since (UTC)').waitFor();
    await page.reload();
    await page.locator('time[title$="UTC"]').first().waitFor();
  });
});
