import { beforeAll, describe, expect } from '@jest/globals';
import { findBrowser } from '@keystead/testing';
import type { Page } from 'playwright-core';
import { journey, signOut, soon } from '../stage';
import { at, forgetProofs } from './installation';

const password = 'correct-horse-battery';
const button = 'Sign in with One sign-in';

// One sign-in for the installation: the secrets service is the OpenID provider of the workspace service.
describe('an installation with one sign-in', () => {
  const secrets = async (method: string, path: string, body?: object) => {
    const headers = { 'X-Service-Token': at.installation.firstRun().secrets.root_token };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${at.installation.secretsUrl}/v1/${path}`, { method, headers, ...sent });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${path}: ${answer.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  let clientId = '';
  if (findBrowser() !== undefined) {
    beforeAll(async () => {
      const { secretsUrl, workspacesUrl } = at.installation;
      const policy = 'path "identity/oidc/provider/+/authorize" { capabilities = ["read", "update"] }';
      await secrets('POST', 'sys/policies/acl/one-sign-in', { policy });
      await secrets('POST', 'sys/auth/people', { type: 'userpass', config: { listing_visibility: 'unauth' } });
      await secrets('POST', 'auth/people/users/ada', { password, token_policies: 'one-sign-in' });
      const template = '{"preferred_username": {{identity.entity.aliases.ACCESSOR.name}}}';
      const { accessor } = (await secrets('GET', 'sys/auth')).data['people/'];
      await secrets('POST', 'identity/oidc/scope/profile', { template: template.replace('ACCESSOR', accessor) });
      const client = { redirect_uris: `${workspacesUrl}/ui/sign-in/callback`, assignments: 'allow_all' };
      await secrets('POST', 'identity/oidc/client/workspaces', client);
      const { client_id, client_secret } = (await secrets('GET', 'identity/oidc/client/workspaces')).data;
      clientId = client_id;
      const provider = { allowed_client_ids: client_id, scopes_supported: 'profile' };
      await secrets('POST', 'identity/oidc/provider/company', provider);
      const attributes = {
        name: 'One sign-in',
        issuer: `${secretsUrl}/v1/identity/oidc/provider/company`,
        'client-id': client_id,
        'client-secret': client_secret,
        scopes: ['openid', 'profile'],
      };
      const made = await fetch(`${workspacesUrl}/api/v2/admin/sign-in-providers`, {
        method: 'POST',
        headers: {
          Authorization: `Bearer ${at.installation.firstRun().workspaces.token}`,
          'Content-Type': 'application/vnd.api+json',
        },
        body: JSON.stringify({ data: { type: 'sign-in-providers', attributes } }),
      });
      expect([made.status, await made.text()]).toEqual([201, expect.any(String)]);
    }, 60_000);
  }

  const prove = async (page: Page) => {
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
    const ways = page.getByLabel('Sign in with');
    if ((await ways.count()) > 0) await ways.selectOption({ label: 'Username and password at people/' });
    await page.getByLabel('Username').fill('ada');
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  };

  journey('signs a person in to the workspaces console through the secrets service, and asks once', async () => {
    const { secretsUrl, workspacesUrl } = at.installation;
    const page = await at.open(`${workspacesUrl}/ui/`);
    await page.getByRole('button', { name: button }).click();
    await page.waitForURL((url) => url.origin === secretsUrl);
    await soon(() => expect(new URL(page.url()).pathname).toBe('/ui/identity/oidc/provider/company/authorize'));
    expect(await at.violations(page)).toEqual([]);
    await prove(page);
    await page.waitForURL((url) => url.origin === workspacesUrl && url.pathname === '/ui/');
    await signOut(page);
    await page.getByRole('button', { name: button }).click();
    // A person who is already signed in at the provider is redirected at once.
    await page.waitForURL((url) => url.origin === workspacesUrl && url.pathname === '/ui/');
    await page.getByRole('button', { name: /^Account of/ }).waitFor();
    const { name } = await page.evaluate(async () => {
      const answer = await fetch('/ui/session', { headers: { 'X-Keystead-Console': '1' } });
      return answer.json() as Promise<{ name: string }>;
    });
    expect(name).toBe('ada');
  });

  journey('redirects only to an address of the application, and only if the person agrees', async () => {
    const { secretsUrl, workspacesUrl } = at.installation;
    const address = (parameters: Record<string, string>) =>
      `${secretsUrl}/ui/identity/oidc/provider/company/authorize?${new URLSearchParams({
        client_id: clientId,
        response_type: 'code',
        scope: 'openid',
        state: '1',
        redirect_uri: `${workspacesUrl}/ui/sign-in/callback`,
        ...parameters,
      })}`;
    const page = await at.open(address({ redirect_uri: 'https://evil.example/' }));
    await prove(page);
    await page.getByRole('heading', { name: 'You cannot be signed in there' }).waitFor();
    await page.getByText('redirect_uri is not allowed for the client').waitFor();
    await soon(() => expect(new URL(page.url()).origin).toBe(secretsUrl));
    expect(await at.violations(page)).toEqual([]);
    await page.goto(address({ prompt: 'consent', response_type: 'token' }));
    const arrives = () => page.waitForRequest((one) => one.url().startsWith(`${workspacesUrl}/ui/sign-in/callback?`));
    const refused = arrives();
    await page.getByRole('button', { name: 'Continue' }).click();
    // A refusal is sent to the application, with its state and with the issuer.
    expect(Object.fromEntries(new URL((await refused).url()).searchParams)).toMatchObject({
      error: 'unsupported_response_type',
      state: '1',
      iss: `${secretsUrl}/v1/identity/oidc/provider/company`,
    });
    await page.waitForURL((url) => url.origin === workspacesUrl);
    // A person who is asked to sign in again does so, and is redirected.
    await page.goto(address({ prompt: 'login' }));
    const allowed = arrives();
    await prove(page);
    expect(new URL((await allowed).url()).searchParams.get('code')).toEqual(expect.any(String));
  });

  journey(
    'asks for a sign-in once for each request that requires a recent one, even on a slow connection',
    async () => {
      const { secretsUrl, workspacesUrl } = at.installation;
      const address = (parameters: Record<string, string>) =>
        `${secretsUrl}/ui/identity/oidc/provider/company/authorize?${new URLSearchParams({
          client_id: clientId,
          response_type: 'code',
          scope: 'openid',
          state: '1',
          redirect_uri: `${workspacesUrl}/ui/sign-in/callback`,
          ...parameters,
        })}`;
      const page = await at.open(`${secretsUrl}/ui/`);
      let signedIn = 0;
      page.on('request', (one) => {
        if (one.method() === 'POST' && one.url() === `${secretsUrl}/ui/session`) signedIn++;
      });
      // When the code is requested, the sign-in is older than a second.
      await page.route('**/v1/identity/oidc/provider/company/authorize', async (route) => {
        await new Promise((resolve) => setTimeout(resolve, 2500));
        await route.continue();
      });
      const arrives = async (parameters: Record<string, string>) => {
        const arrived = page.waitForRequest((one) => one.url().startsWith(`${workspacesUrl}/ui/sign-in/callback?`));
        const before = signedIn;
        await page.goto(address(parameters));
        await prove(page);
        expect(new URL((await arrived).url()).searchParams.get('code')).toEqual(expect.any(String));
        await page.waitForURL((url) => url.origin === workspacesUrl);
        return signedIn - before;
      };
      // The person is not signed in, signed in too long ago, or must sign in again because of one of the two parameters.
      const requests: Record<string, string>[] = [
        { max_age: '1' },
        { max_age: '1' },
        { max_age: '0' },
        { max_age: '0', prompt: 'login' },
      ];
      for (const asked of requests) {
        expect([asked, await arrives(asked)]).toEqual([asked, 1]);
      }
      await page.unroute('**/v1/identity/oidc/provider/company/authorize');
      const through = page.waitForRequest((one) => one.url().startsWith(`${workspacesUrl}/ui/sign-in/callback?`));
      await page.goto(address({ max_age: '600' }));
      await through;
      expect(signedIn).toBe(4);
    },
  );

  journey('confirms the identity for the workspaces console through the secrets service', async () => {
    const { secretsUrl, workspacesUrl } = at.installation;
    const page = await at.open(`${workspacesUrl}/ui/account`);
    await page.getByRole('button', { name: button }).click();
    await page.waitForURL((url) => url.origin === secretsUrl);
    await prove(page);
    await page.waitForURL(`${workspacesUrl}/ui/account`);
    await forgetProofs('workspaces');
    await page.getByLabel('Description').fill('kept');
    await page.getByRole('button', { name: 'Create token' }).first().click();
    const asked = page.getByRole('dialog', { name: 'Confirm it is you' });
    await asked.getByRole('button', { name: 'Confirm' }).click();
    await page.waitForURL((url) => url.origin === secretsUrl);
    await prove(page);
    await page.waitForURL(`${workspacesUrl}/ui/account`);
    await page.getByLabel('Description').fill('kept');
    await page.getByRole('button', { name: 'Create token' }).first().click();
    await page.getByText('New token: copy it now').waitFor();
  });
});
