import { describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { button, journey, soon } from '../stage';
import { hostile } from '../stand-in-tool';
import { at, forgetProofs } from './installation';
import { api, type Made, of, pushState, upload } from './workspaces-api';

const patient = 240_000;

let counter = 0;

/** An organization with a workspace that has a configuration. */
async function prepared(main = 'output "height" { value = 3 }'): Promise<{ org: string; id: string }> {
  const org = `org-${++counter}`;
  await api('POST', 'organizations', of('organizations', { name: org, email: 'ops@example.com' }));
  const made = await api<Made>(
    'POST',
    `organizations/${org}/workspaces`,
    of('workspaces', { name: 'web', description: hostile }),
  );
  await upload(made.data.id, main);
  return { org, id: made.data.id };
}

const workspace = (org: string, rest = '') => `/ui/organizations/${org}/workspaces/web${rest}`;
const dialog = (page: Page, name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true });
const status = (page: Page, text: string) =>
  page.getByRole('status', { name: 'Status of the run' }).filter({ hasText: text });

/** Starts a run in the console, and returns when its plan waits for confirmation. */
async function planned(page: Page, message: string): Promise<void> {
  await button(page, 'Start run').first().click();
  await page.getByLabel('Message').fill(message);
  await dialog(page, 'Start run').click();
  await page.getByRole('heading', { name: message }).waitFor();
  await status(page, 'needs confirmation').waitFor();
}

const unharmed = async (page: Page) =>
  expect(await page.evaluate(() => (window as unknown as { harmed?: number }).harmed)).toBeUndefined();

describe('the first day in the workspace console', () => {
  journey(
    'creates an organization and a workspace, and finds it by name',
    async () => {
      const page = await at.signedIn('workspaces');
      await button(page, 'Create organization').first().click();
      await page.getByLabel('Name', { exact: true }).fill('garden');
      await page.getByLabel('Email address').fill('ops@example.com');
      await dialog(page, 'Create organization').click();
      await page.getByRole('heading', { name: 'garden', level: 1 }).waitFor();
      await button(page, 'Create workspace').first().click();
      await page.getByLabel('Name', { exact: true }).fill('hedge');
      await dialog(page, 'Create workspace').click();
      await page.getByRole('heading', { name: 'hedge', level: 1 }).waitFor();
      // The page shows the settings, also for a tool that accepts only https.
      await page.getByText('No run yet. Point').waitFor();
      const { host, origin } = new URL(page.url());
      await page.getByText(`credentials "${host}"`).waitFor();
      await page.getByText(`"tfe.v2"   = "${origin}/api/v2/"`).waitFor();
      expect(await at.violations(page)).toEqual([]);
      await page.goto(`${at.installation.workspacesUrl}/ui/organizations/garden`);
      await page.getByLabel('Search by name').fill('edg');
      await page.waitForURL(/q=edg/);
      await page.getByRole('region', { name: 'Workspaces' }).getByRole('link', { name: 'hedge' }).waitFor();
      await page.getByLabel('Search by name').fill('nothing like it');
      await page.getByText('No workspace matches these filters.').waitFor();
      await page.goto(`${at.installation.workspacesUrl}/ui/organizations/garden/teams`);
      await page.getByRole('heading', { name: 'Teams', level: 1 }).waitFor();
      await page.keyboard.press('Control+k');
      await page.locator('.palette input:focus').waitFor();
      await page.keyboard.type('hed');
      await page.getByRole('option', { name: 'hedge garden', exact: true, selected: true }).waitFor();
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: 'hedge', level: 1 }).waitFor();
      const hedge = await api<Made>('GET', 'organizations/garden/workspaces/hedge');
      await api(
        'POST',
        `workspaces/${hedge.data.id}/vars`,
        of('vars', { key: 'blossom_colour', category: 'terraform' }),
      );
      // The search also finds variables of a workspace that was never opened, and of a set.
      const orchard = await api<Made>('POST', 'organizations/garden/workspaces', of('workspaces', { name: 'orchard' }));
      const inOrchard = of('vars', { key: 'blossom_scent', category: 'env', value: 'x', sensitive: true });
      await api('POST', `workspaces/${orchard.data.id}/vars`, inOrchard);
      const seeds = await api<Made>(
        'POST',
        'organizations/garden/varsets',
        of('varsets', { name: 'seeds', global: false }),
      );
      const inSeeds = of('vars', { key: 'blossom_time', category: 'terraform' });
      await api('POST', `varsets/${seeds.data.id}/relationships/vars`, inSeeds);
      await page.goto(`${at.installation.workspacesUrl}/ui/organizations/garden/teams`);
      await page.getByRole('heading', { name: 'Teams', level: 1 }).waitFor();
      await page.keyboard.press('Control+k');
      await page.locator('.palette input:focus').waitFor();
      await page.keyboard.type('blossom');
      await page.getByRole('option', { name: 'blossom_scent orchard', exact: true }).waitFor();
      await page.getByRole('option', { name: 'blossom_time seeds', exact: true }).waitFor();
      await page.getByRole('option', { name: 'blossom_colour hedge', exact: true }).click();
      await page.getByRole('table', { name: 'Variables' }).getByText('blossom_colour').waitFor();
    },
    patient,
  );

  journey(
    'plans, shows the changes, confirms, and shows the log until the run is applied',
    async () => {
      const { org } = await prepared();
      const page = await at.signedIn('workspaces', workspace(org));
      await planned(page, 'Lay the first stones');
      await page.getByText('1 create').waitFor();
      await page.getByText('stone.wall["a"]').waitFor();
      await page.getByText('(sensitive)').first().waitFor();
      await soon(async () => expect(await page.content()).not.toContain('never shown'));
      await page.getByRole('tab', { name: 'Plan log' }).click();
      await page.getByText('The plan has begun').waitFor();
      await page.locator('.ansi-red-fg', { hasText: 'red' }).waitFor();
      await button(page, 'Confirm & apply').click();
      await page.getByLabel('Comment', { exact: true }).fill('Go on');
      await dialog(page, 'Confirm & apply').click();
      await page.getByRole('tab', { name: 'Apply log' }).click();
      // The log appears while the tool is still running.
      await page.getByText('laying row 1').waitFor();
      await status(page, 'applying').waitFor();
      await page.getByText('laying row 6').waitFor();
      await page.getByLabel('Search the log').fill('ROW 3');
      await page.keyboard.press('Enter');
      await page.locator('.log-line.linked', { hasText: 'laying row 3' }).waitFor();
      await button(page, 'Wrap lines').click();
      await page.getByLabel('Search the log').fill('');
      await status(page, 'applied').waitFor();
      await page.getByText('Go on').waitFor();
      // The planned changes are now done, and show values that the plan did not know.
      await page.getByRole('tab', { name: 'Resources' }).click();
      await page.getByRole('heading', { name: 'Created: 1' }).waitFor();
      await page.getByText('1 created').waitFor();
      await page.getByText('(set by the apply)').waitFor();
      expect(await page.getByText('known after apply').count()).toBe(0);
      await button(page, 'Show final values').click();
      await page.getByText('"stone-of-the-wall"').waitFor();
      await page.getByText('(sensitive)').first().waitFor();
      expect(await page.locator('main').textContent()).not.toContain('never shown');
      expect(await at.violations(page)).toEqual([]);
      await unharmed(page);
      // The output of the run can be hidden and restored.
      await page.getByRole('tab', { name: 'Data' }).click();
      await button(page, 'Hide: plan').click();
      await dialog(page, 'Hide').click();
      await button(page, 'Bring back: plan').waitFor();
      expect(await at.violations(page)).toEqual([]);
      await page.getByRole('tab', { name: 'Resources' }).click();
      await page.getByText('The results and the log of this plan were hidden').waitFor();
      await page.getByRole('tab', { name: 'Data' }).click();
      await button(page, 'Bring back: plan').click();
      await dialog(page, 'Bring back').click();
      await button(page, 'Hide: plan').waitFor();
      await page.getByRole('tab', { name: 'Resources' }).click();
      await page.getByRole('heading', { name: 'Created: 1' }).waitFor();
      await page.goto(at.installation.workspacesUrl + workspace(org));
      await page.getByRole('heading', { name: 'Outputs' }).waitFor();
      await page.getByRole('region', { name: 'README' }).getByRole('cell', { name: 'low & dry' }).waitFor();
      await unharmed(page);
      // The URL of a run that the tool prints leads to the run's page.
      const runs = await api<{ data: { id: string }[] }>('GET', `organizations/${org}/runs`);
      await page.goto(`${at.installation.workspacesUrl}/app/${org}/web/runs/${runs.data[0]!.id}`);
      await status(page, 'applied').waitFor();
    },
    patient,
  );

  journey(
    'holds a log of 100,000 lines in less than 200 MB, and links to any line',
    async () => {
      const { org } = await prepared('# chatty');
      const page = await at.signedIn('workspaces', workspace(org));
      await planned(page, 'Say everything');
      await page.getByRole('tab', { name: 'Plan log' }).click();
      await page.getByText(/^100,0\d\d lines$/).waitFor();
      const log = page.getByRole('region', { name: 'Log of the plan' });
      await soon(async () => expect(await log.locator('.log-line').count()).toBeLessThan(200));
      const cdp = await page.context().newCDPSession(page);
      await cdp.send('HeapProfiler.collectGarbage');
      const { usedSize } = await cdp.send('Runtime.getHeapUsage');
      expect(usedSize).toBeLessThan(200 * 1024 * 1024);
      await page.goto(`${page.url().split('#')[0]}#L77777`);
      await page.reload();
      await log.getByText('line 77777 of', { exact: false }).waitFor();
      await log.focus();
      await page.keyboard.press('Home');
      await log.getByText('line 1 of', { exact: false }).waitFor();
    },
    patient,
  );

  journey(
    'compares two states, and rolls back to the first',
    async () => {
      const { org, id } = await prepared();
      await api('POST', `workspaces/${id}/actions/lock`, { reason: 'pushing' });
      for (const serial of [1, 2]) await pushState(id, serial);
      await api('POST', `workspaces/${id}/actions/unlock`);
      const page = await at.signedIn('workspaces', workspace(org, '/states'));
      await button(page, 'Compare with 1').click();
      await page.getByText('stone.wall').waitFor();
      await page.getByLabel('Show values').check();
      await page.getByText('stone.wall').click();
      await page.locator('details', { hasText: 'stone.wall' }).locator('.attributes').waitFor();
      // The workspace was not locked before; it is locked only while the state is rolled back.
      await button(page, 'Roll back').first().click();
      const asked = page.getByRole('dialog');
      await soon(async () => expect(await asked.evaluate((one) => one.scrollWidth - one.clientWidth)).toBe(0));
      await dialog(page, 'Roll back').click();
      await asked.waitFor({ state: 'detached' });
      const { username } = at.installation.firstRun().workspaces;
      const newest = page.getByRole('row').filter({ hasText: 'current' });
      await newest.filter({ hasText: '3' }).getByText(username).waitFor();
      await button(page, 'Lock').click();
      await page.getByLabel('Reason').fill('going back further');
      await dialog(page, 'Lock').click();
      await button(page, 'Unlock').waitFor();
      await button(page, 'Roll back').first().click();
      await dialog(page, 'Roll back').click();
      await newest.filter({ hasText: '4' }).waitFor();
      // The holder of the lock keeps it.
      await button(page, 'Unlock').waitFor();
      await page.getByRole('link', { name: '2', exact: true }).click();
      await page.getByRole('heading', { name: 'State 2', level: 1 }).waitFor();
      await button(page, 'Compare with 1').click();
      await page.getByRole('region', { name: 'Comparison of two states' }).getByText('stone.wall').waitFor();
      await button(page, 'Show JSON').click();
      await page.getByText('"serial": 2').waitFor();
      const saved = page.waitForEvent('download');
      await button(page, 'Download').click();
      expect((await saved).suggestedFilename()).toMatch(/-2\.tfstate$/);
      expect(await at.violations(page)).toEqual([]);
    },
    patient,
  );

  journey(
    'hides a sensitive variable, and shows the source of each value',
    async () => {
      const { org } = await prepared();
      const vars = { data: [{ type: 'vars', attributes: { key: 'colour', value: 'green', category: 'terraform' } }] };
      await api('POST', `organizations/${org}/varsets`, of('varsets', { name: 'everywhere', global: true }, { vars }));
      const page = await at.signedIn('workspaces', workspace(org, '/variables'));
      await page.getByText('a global set').waitFor();
      for (const [key, value, sensitive] of [
        ['colour', 'red', false],
        ['password', 'hush-hush', true],
      ] as const) {
        await button(page, 'Create variable').first().click();
        await page.getByLabel('Key', { exact: true }).fill(key);
        await page.getByLabel('Value', { exact: true }).fill(value);
        if (sensitive) await page.getByLabel('Sensitive').check();
        await dialog(page, 'Create variable').click();
        await page.getByRole('dialog').waitFor({ state: 'detached' });
      }
      await page.getByText('hides that of').waitFor();
      await page.getByText('sensitive', { exact: true }).waitFor();
      await soon(async () => expect(await page.content()).not.toContain('hush-hush'));
    },
    patient,
  );

  journey(
    'locks with a reason, and unlocks',
    async () => {
      const { org } = await prepared();
      const page = await at.signedIn('workspaces', workspace(org));
      await button(page, 'Lock').click();
      await page.getByLabel('Reason').fill('the wall is drying');
      await dialog(page, 'Lock').click();
      await page.getByText('the wall is drying').waitFor();
      await button(page, 'Unlock').click();
      await button(page, 'Lock').waitFor();
    },
    patient,
  );

  journey(
    'tells people without a right which one is missing, and whom to ask',
    async () => {
      const { org, id } = await prepared();
      const admin = await at.signedIn('workspaces', workspace(org));
      await planned(admin, 'Wait for me');
      const address = admin.url();
      const team = await api<Made>('POST', `organizations/${org}/teams`, of('teams', { name: 'readers' }));
      const team_ = { data: { type: 'teams', id: team.data.id } };
      await api(
        'POST',
        'team-workspaces',
        of('team-workspaces', { access: 'read' }, { team: team_, workspace: { data: { type: 'workspaces', id } } }),
      );
      const invited = await api<Made>(
        'POST',
        `organizations/${org}/organization-memberships`,
        of('organization-memberships', { email: 'rea@example.com' }, { teams: { data: [team_.data] } }),
      );
      const link = new URL(invited.meta!['invite-url']!).pathname.replace('/app/', '');
      const password = 'read and no more';
      await api('POST', link, of('one-time-links', { username: 'rea', password, 'password-confirmation': password }));
      const page = await at.open(address);
      await page.getByLabel('Username').fill('rea');
      await page.getByLabel('Password').fill(password);
      await button(page, 'Sign in').click();
      const confirm = button(page, 'Confirm & apply');
      await confirm.waitFor();
      await soon(async () => expect(await confirm.getAttribute('aria-disabled')).toBe('true'));
      await soon(async () => expect(await confirm.getAttribute('title')).toMatch(/can-apply.*owner/));
      await confirm.click({ force: true });
      await soon(async () => expect(await page.getByRole('dialog').count()).toBe(0));
      // Another person confirms the run while she looks at it, and her page shows it.
      await button(admin, 'Confirm & apply').click();
      await dialog(admin, 'Confirm & apply').click();
      await status(page, 'applied').waitFor();
    },
    patient,
  );

  journey(
    'shows live updates in any number of windows, although a browser has only six connections',
    async () => {
      const { org, id } = await prepared();
      const first = await at.signedIn('workspaces', workspace(org, '/runs'));
      const windows = [first];
      while (windows.length < 8) {
        const next = await first.context().newPage();
        await next.goto(first.url());
        await next.getByRole('heading', { name: 'web', level: 1 }).waitFor();
        windows.push(next);
      }
      const web = { data: { type: 'workspaces', id } };
      await api('POST', 'runs', of('runs', { message: 'For all to see', 'plan-only': true }, { workspace: web }));
      for (const window of windows) await window.getByText('For all to see').first().waitFor();
    },
    patient,
  );

  journey(
    'asks for the password again before it deletes a workspace',
    async () => {
      const { org } = await prepared();
      const page = await at.signedIn('workspaces', workspace(org, '/settings'));
      await button(page, 'Delete web').click();
      await page.getByLabel('Type web to confirm').fill('web');
      await forgetProofs('workspaces');
      await dialog(page, 'Delete web').click();
      // A wrong proof gives an error, and the page stays.
      const again = page.getByRole('dialog', { name: 'Confirm it is you' });
      await again.getByLabel('Password').fill('mistyped');
      await again.getByRole('button', { name: 'Confirm' }).click();
      await again.getByRole('alert').getByText('is wrong').waitFor();
      await page.getByLabel('Password').fill(at.installation.firstRun().workspaces.password);
      await page.getByRole('dialog').last().getByRole('button').last().click();
      await page.getByRole('heading', { name: org, level: 1 }).waitFor();
      await page.getByText('A workspace has the state').waitFor();
    },
    patient,
  );
});
