import { createHmac } from 'node:crypto';
import { beforeAll, describe, expect } from '@jest/globals';
import { findBrowser } from '@keystead/testing';
import { journey, soon } from '../stage';
import './connections';
import { at } from './installation';

const hostile = `"'><img src=x onerror="window.harmed=1">`;

interface Answer {
  readonly data: { readonly id: string; readonly attributes: Record<string, string> };
  readonly meta?: Record<string, string>;
}

/** Calls the API as the first administrator. */
async function call(method: string, path: string, body?: object): Promise<Answer> {
  const { token } = at.installation.firstRun().workspaces;
  const response = await fetch(`${at.installation.workspacesUrl}/api/v2/${path}`, {
    method,
    headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/vnd.api+json' },
    ...(body === undefined ? {} : { body: JSON.stringify({ data: body }) }),
  });
  if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${await response.text()}`);
  return response.status === 204 ? ({} as Answer) : ((await response.json()) as Answer);
}

describe('the pages of an organization', () => {
  if (findBrowser() !== undefined) {
    beforeAll(async () => {
      await call('POST', 'organizations', {
        type: 'organizations',
        attributes: { name: 'net', email: 'net@example.com' },
      });
      const made = async (path: string, type: string, attributes: object) =>
        (await call('POST', `organizations/net/${path}`, { type, attributes })).data.id;
      await made('teams', 'teams', { name: 'operators' });
      await made('projects', 'projects', { name: 'billing', description: hostile });
    }, 60_000);
  }

  journey(
    'create a team, give it rights and a token that is shown once, and delete it after its name is typed',
    async () => {
      const page = await at.signedIn('workspaces', '/ui/organizations/net/teams');
      await page.getByRole('button', { name: 'Create team' }).first().click();
      // The error message is shown once, next to its field, and the field has the focus.
      await page.getByLabel('Name', { exact: true }).fill('operators');
      await page.getByRole('dialog').getByRole('button', { name: 'Create team' }).click();
      await page.locator('dialog [aria-invalid="true"]:focus').waitFor();
      expect(await page.getByRole('dialog').getByRole('alert').count()).toBe(0);
      await page.getByLabel('Name', { exact: true }).fill('deployers');
      await page.getByRole('dialog').getByRole('button', { name: 'Create team' }).click();
      await page.getByRole('heading', { name: 'deployers', level: 1 }).waitFor();
      await page.getByLabel('Create, change and delete all projects').check();
      await page.getByText('comes with manage-projects').first().waitFor();
      await page.getByRole('button', { name: 'Save access' }).click();
      await page.getByText('Saved.').waitFor();
      await page.getByLabel('Description').fill('pipeline');
      await page.getByRole('button', { name: 'Create token' }).first().click();
      await page.getByRole('button', { name: 'Reveal New token' }).click();
      const token = (await page.getByRole('alert').locator('pre').textContent()) ?? '';
      const whoami = await fetch(`${at.installation.workspacesUrl}/api/v2/organizations/net/projects`, {
        headers: { Authorization: `Bearer ${token}` },
      });
      expect(whoami.status).toBe(200);
      await page.getByRole('button', { name: 'I have it' }).click();
      await soon(async () => expect(await page.content()).not.toContain(token));
      await page.getByRole('button', { name: 'Delete deployers' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Type deployers to confirm').fill('deployers');
      await dialog.getByRole('button', { name: 'Delete deployers' }).click();
      await page.getByRole('heading', { name: 'Teams', level: 1 }).waitFor();
      await page.getByRole('link', { name: 'deployers' }).waitFor({ state: 'detached' });
    },
  );

  journey('invite a person, who sees why they may change nothing here', async () => {
    const page = await at.signedIn('workspaces', '/ui/organizations/net/members');
    await page.getByRole('button', { name: 'Invite person' }).click();
    await page.getByLabel('Email address').fill('ana@example.com');
    await page.getByLabel('operators').check();
    await page.getByRole('dialog').getByRole('button', { name: 'Invite person' }).click();
    await page.getByRole('button', { name: 'Reveal Invitation of ana@example.com' }).click();
    const link = (await page.getByRole('alert').locator('pre').textContent()) ?? '';
    const hers = await at.open(link);
    await hers.getByRole('heading', { name: 'Join net' }).waitFor();
    expect(hers.url()).toBe(`${at.installation.workspacesUrl}/ui/one-time-link`);
    expect(await at.violations(hers)).toEqual([]);
    await at.picture(hers, 'workspaces-one-time-link');
    await hers.getByLabel('Username').fill('ana');
    await hers.getByLabel('Password').fill('short');
    await hers.getByLabel('The same again').fill('short');
    await hers.getByRole('button', { name: 'Join', exact: true }).click();
    await hers.getByRole('alert').waitFor();
    await hers.getByLabel('Password').fill('a long enough password');
    await hers.getByLabel('The same again').fill('a long enough password');
    await hers.getByRole('button', { name: 'Join', exact: true }).click();
    await hers.getByText('You can sign in as ana.').waitFor();
    const late = await at.open(link);
    await late.getByText('This link was already used or has expired.').waitFor();
    await hers.goto(`${at.installation.workspacesUrl}/ui/organizations/net/teams`);
    await hers.getByLabel('Username').fill('ana');
    await hers.getByLabel('Password').fill('a long enough password');
    await hers.getByRole('button', { name: 'Sign in', exact: true }).click();
    const button = hers.getByRole('button', { name: 'Create team' });
    await hers.locator('button[title^="Needs can-create-team"]').waitFor();
    await soon(async () => expect(await button.getAttribute('aria-disabled')).toBe('true'));
    await button.click({ force: true });
    expect(await hers.getByRole('dialog').count()).toBe(0);
    // Her navigation has no page that would refuse her.
    const pages = await hers
      .getByRole('navigation', { name: 'Pages' })
      .getByRole('link')
      .evaluateAll((links) => links.map((link) => link.getAttribute('href')!));
    const refusals: string[] = [];
    for (const one of pages) {
      await hers.goto(at.installation.workspacesUrl + one);
      await hers.locator('main h1').waitFor();
      await hers.waitForFunction(() => document.querySelector('main .skeleton') === null);
      if ((await hers.locator('main').getByRole('alert').count()) > 0) refusals.push(one);
    }
    expect(refusals).toEqual([]);
    await hers.goto(`${at.installation.workspacesUrl}/ui/admin/users`);
    await hers.getByText('These pages are for site administrators').waitFor();
  });

  journey('follow one request through the audit log, by a URL that can be shared', async () => {
    const page = await at.signedIn('workspaces', '/ui/organizations/net/audit?action=project.create');
    const row = page.getByRole('row').filter({ hasText: 'billing' });
    await row.getByRole('link', { name: 'follow' }).click();
    await page.waitForURL(/request=/);
    await page.getByRole('row').filter({ hasText: 'project.create' }).waitFor();
    const address = page.url();
    await page.reload();
    await page.getByRole('row').filter({ hasText: 'billing' }).waitFor();
    expect(page.url()).toBe(address);
    await page.getByRole('button', { name: 'Everything' }).click();
    await page.getByRole('row').filter({ hasText: 'organization.create' }).waitFor();
  });

  journey('set how long old states are kept, and show it', async () => {
    const page = await at.signedIn('workspaces', '/ui/organizations/net/retention');
    await page.getByLabel('Data retention').selectOption('days');
    await page.getByLabel('Days').fill('30');
    await page.getByRole('button', { name: 'Save policy' }).click();
    await page.getByText('States and configurations older than 30 days are deleted.').waitFor();
    await page.getByText('0 old state versions').waitFor();
    await page.getByLabel('Data retention').selectOption('above');
    await page.getByRole('button', { name: 'Save policy' }).click();
    await page.getByText('No policy: states and configurations are kept').waitFor();
  });

  journey('find a team by its name if there are more than a list shows', async () => {
    await call('POST', 'organizations', {
      type: 'organizations',
      attributes: { name: 'fleet', email: 'ops@example.com' },
    });
    const names = ['zebra', ...Array.from({ length: 100 }, (_, at) => `crew-${at}`)];
    const make = (name: string) => call('POST', 'organizations/fleet/teams', { type: 'teams', attributes: { name } });
    for (let at = 0; at < names.length; at += 10) await Promise.all(names.slice(at, at + 10).map(make));
    const attributes = { name: 'hull' };
    const { data } = await call('POST', 'organizations/fleet/projects', { type: 'projects', attributes });
    const page = await at.signedIn('workspaces', `/ui/organizations/fleet/projects/${data.id}`);
    await page.getByLabel('Find among 102 teams').fill('zeb');
    await page.getByLabel('Team', { exact: true }).selectOption({ label: 'zebra' });
    await page.getByRole('button', { name: 'Give access' }).click();
    await page.getByRole('link', { name: 'zebra' }).waitFor();
    await at.picture(page, 'workspaces-choice');
  });

  journey('enable a second factor by its QR code, and ask for it at the next sign-in', async () => {
    const { username, password } = at.installation.firstRun().workspaces;
    const page = await at.signedIn('workspaces', '/ui/account');
    await page.getByLabel('Password, to begin').fill(password);
    await page.getByRole('button', { name: 'Set up second factor' }).click();
    await page.getByRole('img', { name: 'QR code for an authenticator app' }).waitFor();
    await page.getByRole('button', { name: 'Reveal secret' }).click();
    const secret = (await page.locator('.value pre').textContent()) ?? '';
    await page.getByLabel('Code', { exact: true }).fill(codeOf(secret, 0));
    await page.getByRole('button', { name: 'Turn on' }).click();
    await page.getByRole('button', { name: 'Remove second factor' }).waitFor();
    const next = await at.open(`${at.installation.workspacesUrl}/ui/`);
    await next.getByLabel('Username').fill(username);
    await next.getByLabel('Password').fill(password);
    await next.getByRole('button', { name: 'Sign in', exact: true }).click();
    // A code is accepted only once; the code of the next time step is accepted too.
    await next.getByLabel('Code').fill(codeOf(secret, 1));
    await next.getByRole('button', { name: 'Sign in', exact: true }).click();
    await next.getByRole('button', { name: /^Account of/ }).waitFor();
    await page.getByLabel('Password, to remove it').fill(password);
    await page.getByRole('button', { name: 'Remove second factor' }).click();
    await page.getByRole('button', { name: 'Set up second factor' }).waitFor();
  });
});

/** The code of an authenticator now, or a number of time steps (30 s each) later. */
function codeOf(secret: string, later: number): string {
  const bits = [...secret.replace(/=/g, '')]
    .map((letter) => 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567'.indexOf(letter).toString(2).padStart(5, '0'))
    .join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000) + later));
  const mac = createHmac('sha1', key).update(counter).digest();
  const offset = mac[19]! & 15;
  return String((mac.readUInt32BE(offset) & 0x7fffffff) % 1_000_000).padStart(6, '0');
}
