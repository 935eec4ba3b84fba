import { readFileSync } from 'node:fs';
import { describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { button, journey, soon } from '../stage';
import { at } from './installation';
import { api } from './secrets-api';

const base64 = (text: string) => Buffer.from(text).toString('base64');

describe('the pages of a transit engine', () => {
  const tab = (page: Page, name: string) => page.getByRole('tab', { name, exact: true });
  const result = (page: Page, name: RegExp) => page.getByRole('status', { name }).locator('pre');

  journey(
    'encrypt strings, bytes and files with a new key, decrypt them, rotate the key, rewrap, and delete it',
    async () => {
      await api('POST', 'sys/mounts/cipher', { type: 'transit' });
      const page = await at.signedIn('secrets', '/ui/engines/mount?mount=cipher/');
      await page.getByText('Create a key first').waitFor();
      await button(page, 'Create key').first().click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Name').fill('orders');
      await dialog.getByLabel('Type').selectOption('rsa-2048');
      // The dialog does not offer options that the key type does not support.
      expect(await dialog.getByLabel('Derived').count()).toBe(0);
      await dialog.getByLabel('Type').selectOption('aes256-gcm96');
      await dialog.getByLabel('Derived').waitFor();
      expect(await at.violations(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Create key' }).click();
      await page.getByRole('heading', { name: 'orders', level: 1 }).waitFor();
      await page.getByLabel('Plaintext').fill('grüße an alle');
      await button(page, 'Encrypt').click();
      const ciphertext = (await result(page, /^Ciphertext/).textContent())!;
      expect((await api('POST', 'cipher/decrypt/orders', { ciphertext })).data.plaintext).toBe(base64('grüße an alle'));
      await tab(page, 'Decrypt').click();
      await soon(async () => expect(await page.getByLabel('Ciphertext').inputValue()).toBe(ciphertext));
      await button(page, 'Decrypt').click();
      await button(page, 'Reveal plaintext').click();
      await result(page, /^Plaintext/)
        .getByText('grüße an alle')
        .waitFor();
      expect(await at.violations(page)).toEqual([]);
      // The error message is next to its field.
      await page.getByLabel('Ciphertext').fill('vault:v1:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA');
      await button(page, 'Decrypt').click();
      await page.getByText('Another key made it').waitFor();
      expect(await page.getByLabel('Ciphertext').getAttribute('aria-invalid')).toBe('true');
      await tab(page, 'Encrypt').click();
      await page.getByLabel('Base64').check();
      await page.getByLabel('Plaintext').fill('no base64!');
      await button(page, 'Encrypt').click();
      await page.getByText('This is not base64.').waitFor();
      await page.getByLabel('Plaintext').fill('AAH/');
      await button(page, 'Encrypt').click();
      const bytes = (await result(page, /^Ciphertext/).textContent())!;
      expect((await api('POST', 'cipher/decrypt/orders', { ciphertext: bytes })).data.plaintext).toBe('AAH/');
      const file = { name: 'photo.bin', mimeType: 'application/octet-stream', buffer: Buffer.from([255, 0, 254]) };
      await page.getByLabel('Use a file').setInputFiles(file);
      await page.getByText('3 bytes').waitFor();
      await button(page, 'Encrypt').click();
      await soon(async () => expect(await result(page, /^Ciphertext/).textContent()).not.toBe(bytes));
      await tab(page, 'Decrypt').click();
      await button(page, 'Decrypt').click();
      const download = page.waitForEvent('download');
      await button(page, 'Download').click();
      expect([...readFileSync(await (await download).path())]).toEqual([255, 0, 254]);
      await button(page, 'Rotate').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate' }).click();
      await page.getByRole('table', { name: 'Versions' }).getByRole('row').nth(2).waitFor();
      await tab(page, 'Rewrap').click();
      await page.getByLabel('Ciphertext').fill(ciphertext);
      await button(page, 'Rewrap').click();
      await soon(async () => expect(await result(page, /version 2/).textContent()).toMatch(/^vault:v2:/));
      await page.locator('button[title^="Deletion is not allowed for this key"]').waitFor();
      await button(page, 'Edit').click();
      await dialog.getByLabel('Minimum decryption version').selectOption('2');
      await dialog.getByLabel('Auto-rotation').selectOption({ label: 'Every 90 days' });
      await dialog.getByLabel('Allow deletion').check();
      await dialog.getByRole('button', { name: 'Save' }).click();
      await page.getByText('every 90 days').waitFor();
      await page.getByRole('row').filter({ hasText: 'not accepted' }).waitFor();
      expect((await api('GET', 'cipher/keys/orders')).data).toMatchObject({
        min_decryption_version: 2,
        deletion_allowed: true,
        auto_rotate_period: 90 * 86_400,
      });
      await at.picture(page, 'secrets-transit-key');
      await page.getByRole('link', { name: 'cipher', exact: true }).click();
      const row = page.getByRole('table', { name: 'Keys' }).getByRole('row').nth(1);
      await row.getByText('every 90 days').waitFor();
      expect(await at.violations(page)).toEqual([]);
      await row.getByRole('link', { name: 'orders' }).click();
      await button(page, 'Delete').click();
      await dialog.getByLabel('Type orders to confirm').fill('orders');
      await dialog.getByRole('button', { name: 'Delete key' }).click();
      await page.getByText('Create a key first').waitFor();
    },
  );

  journey('sign and verify with key pairs, and create HMACs', async () => {
    await api('POST', 'sys/mounts/seals', { type: 'transit' });
    await api('POST', 'seals/keys/releases', { type: 'ed25519' });
    await api('POST', 'seals/keys/tokens', { type: 'ecdsa-p256' });
    const page = await at.signedIn('secrets', '/ui/engines/mount?mount=seals/&tab=keys&name=releases');
    await page.getByLabel('Message').fill('version 7');
    await button(page, 'Sign').click();
    const signature = (await result(page, /^Signature/).textContent())!;
    const proof = { input: base64('version 7'), signature };
    expect((await api('POST', 'seals/verify/releases', proof)).data.valid).toBe(true);
    await tab(page, 'Verify').click();
    await button(page, 'Verify').click();
    await page.getByText('Valid: this key made the signature').waitFor();
    expect(await at.violations(page)).toEqual([]);
    await page.getByLabel('Message').fill('version 8');
    await soon(async () => expect(await page.getByText('Valid: this key').count()).toBe(0));
    await button(page, 'Verify').click();
    await page.getByText('Not valid').waitFor();
    await tab(page, 'HMAC').click();
    await button(page, 'Create HMAC').first().click();
    const hmac = (await result(page, /^HMAC/).textContent())!;
    expect(hmac).toBe((await api('POST', 'seals/hmac/releases', { input: base64('version 8') })).data.hmac);
    await page.goto(`${at.installation.secretsUrl}/ui/engines/mount?mount=seals/&tab=keys&name=tokens`);
    await page.getByLabel('Message').fill('header.payload');
    await page.getByLabel('Signature format').selectOption('jws');
    await button(page, 'Sign').click();
    const jws = { input: base64('header.payload'), marshaling_algorithm: 'jws' };
    const made = (await result(page, /^Signature/).textContent())!;
    expect((await api('POST', 'seals/verify/tokens', { ...jws, signature: made })).data.valid).toBe(true);
    const { data } = await api('GET', 'seals/keys/tokens');
    const download = page.waitForEvent('download');
    await button(page, 'Download public key 1').click();
    expect(readFileSync(await (await download).path(), 'utf8')).toBe(data.keys['1'].public_key);
  });

  journey('ask for the context of a derived key, and name the rule that denies a use', async () => {
    await api('POST', 'sys/mounts/locks', { type: 'transit' });
    await api('POST', 'locks/keys/rooms', { derived: true, convergent_encryption: true });
    await api('POST', 'sys/policies/acl/porter', {
      policy:
        'path "locks/keys/rooms" { capabilities = ["read"] }\npath "locks/encrypt/rooms" { capabilities = ["update"] }',
    });
    const { auth } = await api('POST', 'auth/token/create', { policies: ['porter'] });
    const page = await at.open(`${at.installation.secretsUrl}/ui/engines/mount?mount=locks/&tab=keys&name=rooms`);
    await page.getByLabel('Token', { exact: true }).fill(auth.client_token);
    await button(page, 'Sign in').click();
    await page.getByLabel('Plaintext').fill('west wing');
    await page.getByLabel('Context').fill('floor 3');
    await button(page, 'Encrypt').click();
    const first = (await result(page, /^Ciphertext/).textContent())!;
    const body = { ciphertext: first, context: base64('floor 3') };
    expect((await api('POST', 'locks/decrypt/rooms', body)).data.plaintext).toBe(base64('west wing'));
    await tab(page, 'Decrypt').click();
    await page.locator('button[title^="Needs update on locks/decrypt/rooms"]').waitFor();
    await page.locator('button[title^="Needs update on locks/keys/rooms/rotate"]').waitFor();
  });
});
