import { createHash, randomBytes } from 'node:crypto';
import { describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { button, journey, soon } from '../stage';
import { at, forgetProofs } from './installation';

const tool = 'http://localhost:10003';

describe('a page that other programs open', () => {
  const verifier = randomBytes(48).toString('base64url');
  const login = () => {
    const asked = new URLSearchParams({
      client_id: 'keystead-cli',
      redirect_uri: `${tool}/login`,
      response_type: 'code',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
      state: '12345678901234567890',
    });
    return `${at.installation.workspacesUrl}/app/oauth2/auth?${asked}`;
  };
  const signIn = async (page: Page) => {
    const { username, password } = at.installation.firstRun().workspaces;
    await page.getByLabel('Username').fill(username);
    await page.getByLabel('Password').fill(password);
    await button(page, 'Sign in').click();
  };

  journey('is the login of the tool, which asks for consent and sends the code to the waiting tool', async () => {
    const page = await at.open(login(), { leadsTo: tool });
    await signIn(page);
    await page.getByRole('heading', { name: 'Authorize Terraform login' }).waitFor();
    expect(await at.violations(page)).toEqual([]);
    await at.picture(page, 'workspaces-authorize');
    await forgetProofs('workspaces');
    await button(page, 'Allow').click();
    await page.getByRole('heading', { name: 'Confirm it is you' }).waitFor();
    await page.getByRole('dialog').getByLabel('Password').fill(at.installation.firstRun().workspaces.password);
    await button(page, 'Confirm').click();
    await page.waitForURL(`${tool}/login?**`);
    const back = new URL(page.url()).searchParams;
    expect(back.get('state')).toBe('12345678901234567890');
    const answer = await fetch(`${at.installation.workspacesUrl}/oauth2/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'authorization_code',
        client_id: 'keystead-cli',
        redirect_uri: `${tool}/login`,
        code: back.get('code') ?? '',
        code_verifier: verifier,
      }),
    });
    const { access_token } = (await answer.json()) as { access_token: string };
    const details = await fetch(`${at.installation.workspacesUrl}/api/v2/account/details`, {
      headers: { Authorization: `Bearer ${access_token}` },
    });
    expect(details.status).toBe(200);
  });

  journey('lets the person refuse, and redirects only to this machine', async () => {
    const page = await at.open(login(), { leadsTo: tool });
    await signIn(page);
    await button(page, 'Refuse').click();
    await page.waitForURL(`${tool}/login?error=access_denied&state=12345678901234567890`);
    const forged = Buffer.from(`client_id=keystead-cli&code_challenge=x&redirect_uri=https://evil.example/`);
    await page.goto(`${at.installation.workspacesUrl}/ui/authorize?asked=${forged.toString('base64url')}`);
    await page.getByRole('alert').getByText('login does not lead to this address').waitFor();
    await soon(async () => expect(await page.getByRole('button', { name: 'Refuse' }).count()).toBe(0));
  });

  journey('is the page that creates API tokens, for clients without a login', async () => {
    const page = await at.open(`${at.installation.workspacesUrl}/app/settings/tokens?source=login`);
    await signIn(page);
    await page.getByRole('heading', { name: 'API tokens' }).waitFor();
    await page.getByLabel('Description').fill('editor');
    await button(page, 'Create token').first().click();
    await page.getByRole('button', { name: 'Reveal New token' }).click();
    expect((await page.getByRole('alert').locator('pre').textContent())?.length).toBeGreaterThan(20);
  });
});
