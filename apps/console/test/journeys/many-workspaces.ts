import { describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { journey, soon } from '../stage';
import { at } from './installation';
import { api, type Made, of, pushState } from './workspaces-api';

const organization = 'orchard';
const names = ['apple', 'cherry', 'pear', 'plum'] as const;
interface Tagged {
  readonly data: { readonly attributes: { readonly 'tag-names': readonly string[]; readonly locked: boolean } };
}
const shown = (name: string) => api<Tagged>('GET', `organizations/${organization}/workspaces/${name}`);
const inDialog = (page: Page, name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true });

/** Four workspaces; the first manages a resource. */
async function plant(): Promise<void> {
  await api('POST', 'organizations', of('organizations', { name: organization, email: 'ops@example.com' }));
  await api('POST', `organizations/${organization}/projects`, of('projects', { name: 'stone fruit' }));
  for (const name of names) {
    const { data } = await api<Made>('POST', `organizations/${organization}/workspaces`, of('workspaces', { name }));
    if (name !== 'apple') continue;
    await api('POST', `workspaces/${data.id}/actions/lock`);
    const few = Array.from({ length: 11 }, (_, at) => [`tree_${at}`, { value: at, type: 'number' }]);
    const rows = { value: Array.from({ length: 250 }, (_, at) => `row-${at}`), type: ['list', 'string'] };
    await pushState(data.id, 1, { ...Object.fromEntries(few), a_rows: rows });
    await api('POST', `workspaces/${data.id}/actions/unlock`);
  }
}

describe('many workspaces', () => {
  journey(
    'are tagged, moved, locked and deleted together, with the result of each, and favourites stay at the top',
    async () => {
      await plant();
      const page = await at.signedIn('workspaces', `/ui/organizations/${organization}`);
      const bar = page.getByRole('region', { name: 'Chosen workspaces' });
      const act = async (action: string) => bar.getByRole('button', { name: action, exact: true }).click();
      await page.getByRole('button', { name: 'Choose all 4' }).click();
      await bar.getByText('4 workspaces chosen').waitFor();
      await act('Tags');
      await page.getByRole('dialog').getByLabel('Tags', { exact: true }).fill('fruit, sweet');
      expect(await at.violations(page)).toEqual([]);
      await inDialog(page, 'Add tags').click();
      await page.getByText('4 of 4 done').waitFor();
      expect(await at.violations(page)).toEqual([]);
      await inDialog(page, 'Close').click();
      for (const name of names) expect((await shown(name)).data.attributes['tag-names']).toEqual(['fruit', 'sweet']);
      await page.getByLabel('Choose pear').uncheck();
      await page.getByLabel('Choose apple').uncheck();
      await act('Move');
      await page.getByRole('dialog').getByLabel('Project').selectOption({ label: 'stone fruit' });
      await inDialog(page, 'Move').click();
      await page.getByText('2 of 2 done').waitFor();
      await inDialog(page, 'Close').click();
      await act('Lock');
      await page.getByLabel('Reason').fill('Harvest');
      await inDialog(page, 'Lock').click();
      await page.getByText('2 of 2 done').waitFor();
      await inDialog(page, 'Close').click();
      expect((await shown('plum')).data.attributes.locked).toBe(true);
      await page.getByLabel('Project').selectOption({ label: 'stone fruit' });
      await soon(async () => expect(await page.getByLabel(/^Choose /).count()).toBe(2));
      await page.getByLabel('Project').selectOption({ label: 'All projects' });
      // Its project lists them as well.
      const project = await at.signedIn('workspaces', `/ui/organizations/${organization}/projects`);
      await project.getByRole('link', { name: 'stone fruit' }).click();
      const listed = project.getByRole('table', { name: 'Workspaces' });
      await listed.getByRole('row', { name: /plum/ }).getByText('locked').waitFor();
      await listed.getByRole('link', { name: 'cherry' }).waitFor();
      await project.getByLabel('Search by name').fill('plu');
      await project.waitForURL(/q=plu/);
      await listed.getByRole('link', { name: 'cherry' }).waitFor({ state: 'detached' });
      expect(await at.violations(project)).toEqual([]);
      await project.getByRole('button', { name: 'Create workspace' }).first().click();
      await project.getByRole('heading', { name: 'Create workspace in stone fruit' }).waitFor();
      await project.getByLabel('Name', { exact: true }).last().fill('peach');
      await inDialog(project, 'Create workspace').click();
      await project.getByRole('heading', { name: 'peach', level: 1 }).waitFor();
      await project.locator('dd').getByText('stone fruit').waitFor();
      await api('DELETE', `organizations/${organization}/workspaces/peach`);
      // A workspace that is already locked is refused; the others are locked.
      await page.getByLabel('Choose pear').check();
      await act('Lock');
      await inDialog(page, 'Lock').click();
      await page.getByText('1 of 3 done, 2 refused').waitFor();
      await inDialog(page, 'Close').click();
      await act('Unlock');
      await inDialog(page, 'Unlock').click();
      await page.getByText('3 of 3 done').waitFor();
      await inDialog(page, 'Close').click();
      await page.getByLabel('Favourite plum').click();
      await page.getByLabel('Favourite pear').click();
      await page.getByRole('navigation', { name: 'Favourites' }).getByRole('link', { name: 'plum' }).click();
      await page.getByRole('heading', { name: 'plum', level: 1 }).waitFor();
      await page.getByRole('link', { name: organization }).first().click();
      const marked = page.getByRole('navigation', { name: 'Favourites' });
      await marked.getByRole('link', { name: 'pear' }).waitFor();
      await page.getByLabel('Choose apple').check();
      await page.getByLabel('Choose pear').check();
      await act('Delete');
      expect(await inDialog(page, 'Delete').getAttribute('title')).toBe('Type 2 first.');
      await page.getByLabel('Type 2 to confirm').fill('2');
      await inDialog(page, 'Delete').click();
      await page.getByText('1 of 2 done, 1 refused').waitFor();
      await page
        .getByRole('dialog')
        .getByText(/still managing resources/)
        .waitFor();
      await inDialog(page, 'Close').click();
      await bar.getByText('1 workspace chosen').waitFor();
      expect(await marked.getByRole('link').allTextContents()).toEqual(['plum']);
      expect(await page.getByLabel('Choose pear').count()).toBe(0);
    },
    120_000,
  );

  journey('are in the order that the URL names', async () => {
    const page = await at.signedIn('workspaces', `/ui/organizations/${organization}?sort=-latest-change-at`);
    const listed = () => page.getByLabel(/^Choose \w+$/).evaluateAll((all) => all.map((one) => one.ariaLabel));
    const { data } = await api<Made>(
      'POST',
      `organizations/${organization}/workspaces`,
      of('workspaces', { name: 'zucchini' }),
    );
    await page.reload();
    await soon(async () => expect((await listed())[0]).toBe('Choose zucchini'));
    await page.getByLabel('Sort by').selectOption({ label: 'Name' });
    await soon(async () => expect((await listed()).at(-1)).toBe('Choose zucchini'));
    await api('DELETE', `workspaces/${data.id}`);
  });

  journey(
    'are explored by provider, tool version and drift, with filters in the URL, and exported as a file',
    async () => {
      const page = await at.signedIn('workspaces', `/ui/organizations/${organization}/explorer`);
      const table = page.getByRole('table', { name: 'Workspaces' });
      await table.getByRole('link', { name: 'apple' }).waitFor();
      await page.getByRole('link', { name: 'Providers' }).click();
      const providers = page.getByRole('table', { name: 'Providers' });
      await providers.getByText('registry.terraform.io/made/up').waitFor();
      expect(await at.violations(page)).toEqual([]);
      await providers.getByRole('link', { name: '1', exact: true }).click();
      await soon(async () => expect(await table.getByRole('row').count()).toBe(2));
      expect(new URL(page.url()).searchParams.get('provider')).toBe('registry.terraform.io/made/up');
      await table.getByRole('link', { name: 'apple' }).waitFor();
      await page.getByLabel('Drift').selectOption({ label: 'Drifted' });
      await page.getByText('Nothing matches these filters.').waitFor();
      await page.getByLabel('Drift').selectOption({ label: 'Any' });
      await table.getByRole('link', { name: 'apple' }).waitFor();
      const file = page.waitForEvent('download');
      await page.getByRole('button', { name: 'Download CSV' }).click();
      const { readFile } = await import('node:fs/promises');
      const lines = (await readFile(await (await file).path(), 'utf8')).trim().split('\r\n');
      expect(lines).toHaveLength(2);
      expect(lines[1]).toContain('registry.terraform.io/made/up');
      await page.getByRole('link', { name: 'Terraform versions' }).click();
      await page.getByRole('table', { name: 'Terraform versions' }).waitFor();
      await page.getByRole('link', { name: 'Modules' }).click();
      await page.getByText('No run has installed a module').waitFor();
      // The resources stay visible with many and long outputs.
      await page.goto(`${at.installation.workspacesUrl}/ui/organizations/${organization}/workspaces/apple`);
      await page.getByRole('button', { name: 'Show all 13 outputs' }).click();
      await page.getByText('tree_9').waitFor();
      await page.locator('summary').filter({ hasText: 'row-0' }).click();
      await page.getByText('"row-249"').waitFor();
      expect(await at.violations(page)).toEqual([]);
    },
  );
});
