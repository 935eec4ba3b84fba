import { describe, expect } from '@jest/globals';
import { journey, signOut, soon } from '../stage';
import { at, forgetProofs } from './installation';

describe('a passkey', () => {
  journey(
    'is added with the lock of the device, signs in without a password, proves who sits there, and is removed',
    async () => {
      // Browsers know no passkeys of an address without a name.
      const { username, password } = at.installation.firstRun().workspaces;
      const origin = at.installation.workspacesUrl.replace('127.0.0.1', 'localhost');
      const page = await at.open(`${origin}/ui/account`, { visits: [origin] });
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
      await button('Remove').waitFor();
      const { credentials } = await cdp.send('WebAuthn.getCredentials', { authenticatorId });
      expect(credentials).toMatchObject([{ rpId: 'localhost', isResidentCredential: true }]);
      await forgetProofs('workspaces');
      await button('Remove').click();
      await button('Remove passkey').click();
      await page.getByRole('heading', { name: 'Confirm it is you' }).waitFor();
      await page.getByRole('combobox', { name: 'Confirm with' }).selectOption('passkey');
      await button('Confirm').click();
      await soon(async () => expect(await section.getByText('this laptop').count()).toBe(0));
      await signOut(page);
      await button('Sign in with a passkey').click();
      await page.getByText('not known here').waitFor();
    },
  );
});
