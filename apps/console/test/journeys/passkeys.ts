import { describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { journey, signOut, soon } from '../stage';
import { at, forgetProofs } from './installation';

/** Gives a page's browser a device that confirms everything. */
async function withAuthenticator(page: Page) {
  const cdp = await page.context().newCDPSession(page);
  await cdp.send('WebAuthn.enable');
  const { authenticatorId } = await cdp.send('WebAuthn.addVirtualAuthenticator', {
    options: {
      protocol: 'ctap2',
      transport: 'internal',
      hasResidentKey: true,
      hasUserVerification: true,
      isUserVerified: true,
      automaticPresenceSimulation: true,
    },
  });
  return { cdp, authenticatorId };
}

/** Removes the passkey, using it once more, and waits until it is removed. */
async function removeByPasskey(page: Page, service: 'secrets' | 'workspaces'): Promise<void> {
  const button = (name: string) => page.getByRole('button', { name, exact: true });
  await forgetProofs(service);
  await button('Remove').click();
  await button('Remove passkey').click();
  await page.getByRole('heading', { name: 'Confirm it is you' }).waitFor();
  await page.getByRole('combobox', { name: 'Confirm with' }).selectOption('passkey');
  await button('Confirm').click();
  const section = page.getByRole('region', { name: 'Passkeys' });
  await soon(async () => expect(await section.getByText('this laptop').count()).toBe(0));
}

describe('a passkey', () => {
  journey(
    'of the secrets console is registered, signs in without a password, confirms the identity, and is removed',
    async () => {
      const { secretsUrl } = at.installation;
      const api = (path: string, body: object) =>
        fetch(`${secretsUrl}/v1/${path}`, {
          method: 'POST',
          headers: { 'X-Service-Token': at.installation.firstRun().secrets.root_token },
          body: JSON.stringify(body),
        });
      await api('sys/auth/keys', { type: 'userpass', config: { listing_visibility: 'unauth' } });
      await api('auth/keys/users/kim', { password: 'right horse' });
      const origin = secretsUrl.replace('127.0.0.1', 'localhost');
      const page = await at.open(`${origin}/ui/access/second-factor`, { visits: [origin] });
      await withAuthenticator(page);
      const button = (name: string) => page.getByRole('button', { name, exact: true });
      await page.getByLabel('Sign in with').selectOption({ label: 'Username and password at keys/' });
      await page.getByLabel('Username').fill('kim');
      await page.getByLabel('Password').fill('right horse');
      await button('Sign in').click();
      const section = page.getByRole('region', { name: 'Passkeys' });
      await section.getByLabel('Name').fill('this laptop');
      await section.getByLabel('Password').fill('right horse');
      await button('Add passkey').click();
      await section.getByText('this laptop').waitFor();
      expect(await at.violations(page)).toEqual([]);
      await at.picture(page, 'secrets-passkeys');
      await signOut(page);
      await page.getByLabel('Sign in with').selectOption({ label: 'Username and password at keys/' });
      await button('Sign in with a passkey').click();
      await page.getByRole('button', { name: /^Account of/ }).waitFor();
      await page.goto(`${origin}/ui/access/second-factor`);
      await button('Remove').waitFor();
      await removeByPasskey(page, 'secrets');
      await signOut(page);
      await page.getByLabel('Sign in with').selectOption({ label: 'Username and password at keys/' });
      await button('Sign in with a passkey').click();
      await page.getByText('not registered here').waitFor();
    },
  );

  journey(
    'of the workspaces console is added by unlocking the device, signs in without a password, confirms the identity, and is removed',
    async () => {
      // Browsers have no passkeys for IP addresses.
      const { username, password } = at.installation.firstRun().workspaces;
      const origin = at.installation.workspacesUrl.replace('127.0.0.1', 'localhost');
      const page = await at.open(`${origin}/ui/account`, { visits: [origin] });
      const { cdp, authenticatorId } = await withAuthenticator(page);
      const button = (name: string) => page.getByRole('button', { name, exact: true });
      await page.getByLabel('Username').fill(username);
      await page.getByLabel('Password').fill(password);
      await button('Sign in').click();
      await page.getByRole('heading', { name: 'Passkeys' }).waitFor();
      const section = page.getByRole('region', { name: 'Passkeys' });
      await section.getByLabel('Name').fill('this laptop');
      await button('Add passkey').click();
      await section.getByText('this laptop').waitFor();
      expect(await at.violations(page)).toEqual([]);
      await at.picture(page, 'workspaces-passkeys');
      await signOut(page);
      await button('Sign in with a passkey').click();
      await page.getByRole('button', { name: /^Account of/ }).waitFor();
      await page.goto(`${origin}/ui/account`);
      await button('Remove').waitFor();
      const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId });
      expect(credentials).toMatchObject([{ rpId: 'localhost', isResidentCredential: true }]);
      await removeByPasskey(page, 'workspaces');
      await signOut(page);
      await button('Sign in with a passkey').click();
      await page.getByText('not registered here').waitFor();
    },
  );
});
