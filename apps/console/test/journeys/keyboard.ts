import { describe } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { button, journey } from '../stage';
import { at } from './installation';

const farthest = 150;

/** Goes on with Tab until something has the focus; fails where Tab never comes by. */
async function reach(page: Page, what: Locator): Promise<void> {
  await what.waitFor();
  for (let steps = 0; steps < farthest; steps++) {
    if (await what.evaluate((element) => element === document.activeElement)) return;
    await page.keyboard.press('Tab');
  }
  throw new Error(`${farthest} steps with Tab do not lead to ${what}`);
}
async function press(page: Page, name: string, role: 'button' | 'link' = 'button'): Promise<void> {
  await reach(
    page,
    role === 'button' ? button(page, name).first() : page.getByRole('link', { name, exact: true }).last(),
  );
  await page.keyboard.press('Enter');
}
async function write(page: Page, label: string, text: string): Promise<void> {
  await reach(page, page.getByLabel(label, { exact: true }).last());
  await page.keyboard.type(text);
}

describe('who has no pointer', () => {
  const inSecrets = async (place: string): Promise<Page> => {
    const { installation } = at;
    const page = await at.open(`${installation.secretsUrl}${place}`);
    await write(page, 'Token', installation.firstRun().secrets.root_token);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /^Account of/ }).waitFor();
    return page;
  };

  journey('signs in to the secrets, goes to a page by two keys, and signs out', async () => {
    const page = await inSecrets('/ui/');
    await page.getByRole('heading', { level: 1 }).waitFor();
    await page.keyboard.press('g');
    await page.keyboard.press('l');
    await page.getByRole('heading', { name: 'Leases', level: 1 }).waitFor();
    await reach(page, page.getByRole('button', { name: /^Account of/ }));
    await page.keyboard.press('Enter');
    await page.getByRole('menuitem', { name: 'Sign out' }).waitFor();
    await page.keyboard.press('End');
    await page.keyboard.press('Enter');
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  });

  journey('enables an engine, stores a secret, and shows it', async () => {
    const page = await inSecrets('/ui/engines/new');
    await press(page, 'Key/value', 'link');
    await write(page, 'Path', 'typed');
    await press(page, 'Enable engine');
    await press(page, 'Create secret');
    await write(page, 'Path', 'door');
    await write(page, 'Name', 'code');
    await write(page, 'Value', 'open sesame');
    await press(page, 'Create secret');
    await page.getByRole('heading', { name: 'door', exact: true }).waitFor();
    await press(page, 'Reveal code');
    await page.getByText('open sesame').waitFor();
  });

  journey('shares it once', async () => {
    const page = await inSecrets('/ui/secrets?at=typed/door');
    await press(page, 'Share once');
    await press(page, 'Create link');
    await page.getByRole('dialog').locator('code').first().waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  journey('asks why a policy forbids', async () => {
    const page = await inSecrets('/ui/policies');
    await press(page, 'Create policy');
    await write(page, 'Name', 'typist');
    await press(page, 'Continue');
    await reach(page, page.getByLabel('Rules'));
    await page.keyboard.type('path "typed/*" { capabilities = ["deny"] }');
    await press(page, 'Create policy');
    await page.getByText('Saved.').waitFor();
  });

  journey('signs in to the workspaces, and makes an organization', async () => {
    const { username, password } = at.installation.firstRun().workspaces;
    const page = await at.open(`${at.installation.workspacesUrl}/ui/`);
    await write(page, 'Username', username);
    await write(page, 'Password', password);
    await page.keyboard.press('Enter');
    await press(page, 'Create organization');
    await write(page, 'Name', 'typists');
    await write(page, 'Email address', 'ops@example.com');
    await press(page, 'Create organization');
    await page.getByRole('heading', { name: 'typists', level: 1 }).waitFor();
  });

  journey('makes a workspace, and locks it with a reason', async () => {
    const page = await at.signedIn('workspaces', '/ui/organizations/typists');
    await press(page, 'Create workspace');
    await write(page, 'Name', 'desk');
    await press(page, 'Create workspace');
    await page.getByRole('heading', { name: 'desk', level: 1 }).waitFor();
    await press(page, 'Lock');
    await write(page, 'Reason', 'being varnished');
    await press(page.getByRole('dialog').page(), 'Lock');
    await page.getByText('being varnished').waitFor();
  });
});
