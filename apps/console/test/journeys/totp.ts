import { describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { button, journey, soon } from '../stage';
import { at } from './installation';
import { api } from './secrets-api';

describe('the pages of a totp engine', () => {
  const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });

  journey('generate a key that is shown once, import it elsewhere by its URL, and accept a code once', async () => {
    await api('POST', 'sys/mounts/clocks', { type: 'totp' });
    const page = await at.signedIn('secrets', '/ui/engines/mount?mount=clocks/');
    await link(page, 'Create key').click();
    await link(page, 'Generate a key').click();
    await page.getByLabel('Name', { exact: true }).fill('ana');
    await page.getByLabel('Issuer').fill('Harbour');
    await page.getByLabel('Account name').fill('ana@example.com');
    await button(page, 'Generate key').click();
    const qrCode = page.getByRole('img', { name: 'QR code of ana' });
    await soon(async () => expect((await qrCode.boundingBox())?.width).toBeGreaterThan(100));
    expect((await qrCode.boundingBox())?.width).toBeLessThan(300);
    await page.getByText('it is not shown again').waitFor();
    await button(page, 'Reveal otpauth URL').click();
    const url = (await page.getByRole('status', { name: 'Key' }).locator('pre').textContent())!;
    expect(url).toMatch(/^otpauth:\/\/totp\/Harbour:ana/);
    expect(await at.violations(page)).toEqual([]);
    await at.picture(page, 'secrets-totp-generated');
    const secret = new URL(url).searchParams.get('secret')!;
    await link(page, 'Open key').click();
    await page.getByRole('heading', { name: 'ana', level: 1 }).waitFor();
    expect(await page.content()).not.toContain(secret);
    expect(
      await page.evaluate(() => JSON.stringify([location.href, { ...localStorage }, { ...sessionStorage }])),
    ).not.toContain(secret);
    await page.goto(`${at.installation.secretsUrl}/ui/engines/mount?mount=clocks/&tab=keys&create=true&part=import`);
    await page.getByLabel('Name', { exact: true }).fill('phone');
    await page.getByLabel('URL').fill(url);
    await button(page, 'Import key').click();
    await page.getByText('The key phone was imported.').waitFor();
    await link(page, 'Open key').click();
    await page.getByText('ana@example.com').waitFor();
    await button(page, 'Show code').click();
    const code = (await page.locator('output').textContent())!;
    expect(code).toMatch(/^\d{6}$/);
    await page.getByText(/Good for \d+ s/).waitFor();
    expect(await at.violations(page)).toEqual([]);
    await at.picture(page, 'secrets-totp-code');
    await page.goto(`${at.installation.secretsUrl}/ui/engines/mount?mount=clocks/&tab=keys&name=ana`);
    const validate = async (typed: string) => {
      await page.getByRole('textbox', { name: 'Code' }).fill(typed);
      await button(page, 'Validate').click();
    };
    await validate('000000' === code ? '111111' : '000000');
    await page.getByText('Not valid').waitFor();
    await validate((await api('GET', 'clocks/code/phone')).data.code);
    await page.getByText('Valid. A code is accepted only once').waitFor();
    await page.setViewportSize({ width: 390, height: 900 });
    await at.picture(page, 'secrets-totp-key-390');
    await button(page, 'Delete').click();
    await page.getByRole('dialog').getByLabel('Type ana to confirm').fill('ana');
    await page.getByRole('dialog').getByRole('button', { name: 'Delete key' }).click();
    const keys = page.getByRole('table', { name: 'Keys' });
    await keys.getByRole('link', { name: 'phone' }).waitFor();
    await soon(async () => expect(await keys.getByRole('link', { name: 'ana', exact: true }).count()).toBe(0));
  });
});
