import { describe, expect } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { button, journey, soon } from '../stage';
import { at } from './installation';

const farthest = 150;

/** Presses Tab until an element has the focus; fails if Tab never reaches it. */
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
/** Searches the palette for a name, and opens the first result. */
async function find(page: Page, text: string, heading: string): Promise<void> {
  await page.keyboard.press('Control+k');
  await page.locator('.palette input:focus').waitFor();
  await page.keyboard.type(text);
  await page
    .getByRole('option', { name: new RegExp(text) })
    .first()
    .waitFor();
  await soon(async () => {
    const first = page.locator('.palette [cmdk-item][data-selected="true"]');
    expect(await first.textContent()).toContain(text);
  });
  await page.keyboard.press('Enter');
  await page.getByRole('heading', { name: heading, exact: true, level: 1 }).waitFor();
}

/**
 * Opens a dialog by a button and closes it, by Escape and by its own button. Afterwards the button has the focus again,
 * visibly.
 */
async function openAndLeave(page: Page, name: string): Promise<void> {
  const opener = button(page, name).first();
  for (const leave of [() => page.keyboard.press('Escape'), () => press(page, 'Cancel')]) {
    await press(page, name);
    await page.getByRole('dialog').waitFor();
    expect(await page.evaluate(() => document.querySelector('dialog')?.contains(document.activeElement))).toBe(true);
    await leave();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await soon(async () => expect(await opener.evaluate((element) => element === document.activeElement)).toBe(true));
    await isSeen(page);
  }
}

/** The focused element, or the frame around it, is visibly marked. */
async function isSeen(page: Page): Promise<void> {
  const seen = await page.evaluate(() => {
    const focused = document.activeElement!;
    return [focused, focused.closest('.editor')].some((element) => {
      if (element === null) return false;
      const { outlineStyle, outlineWidth } = getComputedStyle(element);
      return outlineStyle !== 'none' && outlineWidth !== '0px';
    });
  });
  expect(seen).toBe(true);
}

/** From now on a use of the pointer fails the journey. */
const withoutPointer = (page: Page) =>
  page.evaluate(() => {
    for (const event of ['mousedown', 'pointerdown', 'touchstart'])
      addEventListener(event, () => console.error('a pointer was used'), true);
  });

async function write(page: Page, label: string, text: string): Promise<void> {
  await reach(page, page.getByLabel(label, { exact: true }).last());
  await page.keyboard.type(text);
}

describe('a person without a pointing device', () => {
  const inSecrets = async (place: string): Promise<Page> => {
    const { installation } = at;
    const page = await at.open(`${installation.secretsUrl}${place}`);
    await write(page, 'Token', installation.firstRun().secrets.root_token);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /^Account of/ }).waitFor();
    return page;
  };

  journey('signs in to the secrets console, opens a page by two keys, and signs out', async () => {
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

  journey('shares a secret once', async () => {
    const page = await inSecrets('/ui/secrets?at=typed/door');
    await press(page, 'Share once');
    await press(page, 'Create link');
    await page.getByRole('dialog').locator('code').first().waitFor();
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
  });

  journey('asks why a policy denies a request', async () => {
    const page = await inSecrets('/ui/policies');
    await press(page, 'Create policy');
    await write(page, 'Name', 'typist');
    await press(page, 'Continue');
    await reach(page, page.getByLabel('Rules'));
    await page.keyboard.type('path "typed/*" { capabilities = ["deny"] }');
    await press(page, 'Create policy');
    await page.getByText('Saved.').waitFor();
  });

  journey('signs in to the workspaces console, and creates an organization', async () => {
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

  journey('creates a workspace, and locks it with a reason', async () => {
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

  journey('finds the policies, and creates, edits and deletes one', async () => {
    const page = await inSecrets('/ui/');
    await withoutPointer(page);
    await find(page, 'Policies', 'Policies');
    await openAndLeave(page, 'Create policy');
    await press(page, 'Create policy');
    await write(page, 'Name', 'pilot');
    await press(page, 'Continue');
    await page.getByRole('heading', { name: 'pilot', level: 1 }).waitFor();
    await reach(page, page.getByLabel('Rules'));
    await page.keyboard.press('Control+a');
    await page.keyboard.type('path "deck/*" { capabilities = ["read"] }');
    await press(page, 'Create policy');
    await page.getByText('Saved.').waitFor();
    await find(page, 'Tokens', 'Tokens');
    await find(page, 'pilot', 'pilot');
    await reach(page, page.getByLabel('Rules'));
    await isSeen(page);
    await page.keyboard.press('Control+End');
    await page.keyboard.type('\npath "hold/*" { capabilities = ["list"] }');
    await press(page, 'Save the policy');
    await page.getByText('Saved.').waitFor();
    await openAndLeave(page, 'Delete');
    await press(page, 'Delete');
    await write(page, 'Type pilot to confirm', 'pilot');
    await press(page, 'Delete policy');
    await page.getByRole('heading', { name: 'Policies', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'pilot' }).waitFor({ state: 'detached' });
    // The button no longer exists, so the next Tab starts in the page, not at the top of the window.
    await soon(async () => expect(await page.evaluate(() => document.activeElement?.id)).toBe('main'));
  });

  journey('finds an organization, and creates, edits and deletes a workspace', async () => {
    const { username, password } = at.installation.firstRun().workspaces;
    const page = await at.open(`${at.installation.workspacesUrl}/ui/`);
    await withoutPointer(page);
    await write(page, 'Username', username);
    await write(page, 'Password', password);
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: /^Account of/ }).waitFor();
    await find(page, 'typists', 'typists');
    await openAndLeave(page, 'Create workspace');
    await press(page, 'Create workspace');
    await write(page, 'Name', 'lamp');
    await press(page, 'Create workspace');
    await page.getByRole('heading', { name: 'lamp', level: 1 }).waitFor();
    await find(page, 'desk', 'desk');
    await find(page, 'lamp', 'lamp');
    await press(page, 'Settings', 'link');
    await write(page, 'Description', 'of brass');
    await press(page, 'Save settings');
    await page.locator('main header').getByText('of brass').waitFor();
    await openAndLeave(page, 'Delete lamp');
    await press(page, 'Delete lamp');
    await write(page, 'Type lamp to confirm', 'lamp');
    await press(page, 'Delete lamp');
    await page.getByRole('heading', { name: 'typists', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'desk' }).first().waitFor();
    await page
      .getByRole('list', { name: 'Workspaces' })
      .getByRole('link', { name: 'lamp' })
      .waitFor({ state: 'detached' });
  });
});
