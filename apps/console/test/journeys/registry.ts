import { gzipSync } from 'node:zlib';
import { describe, expect } from '@jest/globals';
import { journey, soon } from '../stage';
import { hostile, tarOf } from '../stand-in-tool';
import { at } from './installation';
import { api, type Made, of, upload } from './workspaces-api';

const patient = 240_000;
const organization = (name: string) =>
  api('POST', 'organizations', of('organizations', { name, email: 'ops@example.com' }));

describe('what teams share', () => {
  journey('is a module: published from a file, read, deprecated with a reason, and deleted', async () => {
    await organization('quarry');
    const page = await at.signedIn('workspaces', '/ui/organizations/quarry/registry');
    await page.getByRole('button', { name: 'New module' }).click();
    await page.getByLabel('Name', { exact: true }).fill('wall');
    await page.getByLabel('Provider', { exact: true }).fill('stone');
    await page.getByRole('button', { name: 'Create module' }).click();
    await page.getByRole('heading', { name: 'wall', level: 1 }).waitFor();
    await page.getByText('It has no published version yet.').waitFor();
    await page.getByRole('button', { name: 'Publish version' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Version').fill('1.2.0');
    const main = `variable "height" {
  type        = number
  description = "How high it is."
}
output "top" { value = var.height }`;
    const archive = gzipSync(tarOf({ 'main.tf': main, 'README.md': hostile }));
    await dialog
      .getByLabel('Archive (.tar.gz)')
      .setInputFiles({ name: 'wall.tar.gz', mimeType: 'application/gzip', buffer: archive });
    await dialog.getByRole('button', { name: 'Publish version' }).click();
    await page.getByText('/quarry/wall/stone"').waitFor();
    await page.getByRole('table', { name: 'Inputs' }).getByText('How high it is.').waitFor();
    await page.getByRole('table', { name: 'Outputs' }).getByText('top').waitFor();
    await page.getByText(hostile).first().waitFor();
    expect(await page.evaluate(() => (window as unknown as { harmed?: number }).harmed)).toBeUndefined();
    expect(await at.violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Deprecate 1.2.0' }).click();
    await dialog.getByLabel('Reason').fill('leans to one side');
    await dialog.getByRole('button', { name: 'Deprecate version' }).click();
    await page.getByText('1.2.0 is deprecated: leans to one side').waitFor();
    await page.getByRole('button', { name: 'Delete wall' }).click();
    await dialog.getByLabel('Type wall to confirm').fill('wall');
    await dialog.getByRole('button', { name: 'Delete wall' }).click();
    await page.getByRole('heading', { name: 'Modules', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'wall' }).waitFor({ state: 'detached' });
  });

  journey('is a provider, and the key that signs it', async () => {
    await organization('foundry');
    const page = await at.signedIn('workspaces', '/ui/organizations/foundry/registry/providers');
    await page.getByRole('button', { name: 'Add key' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Public key').fill('no key at all');
    await dialog.getByRole('button', { name: 'Add key' }).click();
    await dialog.getByText('must be one OpenPGP public key').first().waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'New provider' }).click();
    await dialog.getByLabel('Name', { exact: true }).fill('bell');
    await dialog.getByRole('button', { name: 'Create provider' }).click();
    await page.getByRole('heading', { name: 'bell', level: 1 }).waitFor();
    await page.getByText('/foundry/bell"').waitFor();
    expect(await at.violations(page)).toEqual([]);
  });

  journey(
    'are policies: one that fails holds a run, says why, and is overridden with a reason',
    async () => {
      await organization('court');
      const made = await api<Made>('POST', 'organizations/court/workspaces', of('workspaces', { name: 'web' }));
      await upload(made.data.id, 'output "height" { value = 3 }');
      const page = await at.signedIn('workspaces', '/ui/organizations/court/policies');
      const dialog = page.getByRole('dialog');
      await page.getByRole('button', { name: 'New policy' }).click();
      await dialog.getByLabel('Name', { exact: true }).fill('owners');
      await dialog.getByLabel('Query').fill('data.terraform.owners.deny');
      await dialog.getByLabel('Enforcement level').selectOption('mandatory');
      await dialog.getByRole('button', { name: 'Create policy' }).click();
      await page.getByRole('heading', { name: 'owners', level: 1 }).waitFor();
      await page.getByLabel('Text of the policy').fill('package terraform.owners\n\ndeny contains "x" if true');
      await page.getByRole('button', { name: 'Save text' }).click();
      await page.getByText('Saved.').waitFor();
      await page.reload();
      await soon(async () =>
        expect(await page.getByLabel('Text of the policy').inputValue()).toContain('deny contains'),
      );
      expect(await at.violations(page)).toEqual([]);
      await page.goto(`${at.installation.workspacesUrl}/ui/organizations/court/policies/sets`);
      await page.getByRole('button', { name: 'New policy set' }).click();
      await dialog.getByLabel('Name', { exact: true }).fill('everywhere');
      await dialog.getByLabel('Apply to all workspaces').check();
      await dialog.getByLabel('Overridable').check();
      await dialog.getByRole('button', { name: 'Create policy set' }).click();
      await page.getByRole('heading', { name: 'everywhere', level: 1 }).waitFor();
      await page.getByLabel('Add a policy').selectOption({ label: 'owners' });
      await page.getByRole('button', { name: 'Add', exact: true }).first().click();
      await page.getByRole('button', { name: 'Remove owners' }).waitFor();
      await page.getByRole('button', { name: 'New parameter' }).click();
      await dialog.getByLabel('Key').fill('team');
      await dialog.getByLabel('Value').fill('masons');
      await dialog.getByRole('button', { name: 'Create parameter' }).click();
      await page.getByText('masons').waitFor();
      expect(await at.violations(page)).toEqual([]);

      const workspace = { workspace: { data: { type: 'workspaces', id: made.data.id } } };
      const run = await api<Made>('POST', 'runs', of('runs', { message: 'Judged' }, workspace));
      await page.goto(`${at.installation.workspacesUrl}/ui/organizations/court/workspaces/web/runs/${run.data.id}`);
      const outcome = page.getByRole('table', { name: 'Policies of everywhere' });
      await outcome.getByText('stone.wall has no owner').waitFor({ timeout: 120_000 });
      await outcome.getByText('failed').waitFor();
      expect(await page.evaluate(() => (window as unknown as { harmed?: number }).harmed)).toBeUndefined();
      expect(await at.violations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Override' }).click();
      await dialog.getByLabel('Reason').fill('The owner is on leave');
      await dialog.getByRole('button', { name: 'Override' }).click();
      await page.getByText('needs confirmation').first().waitFor();
      await page.getByText('overridden').first().waitFor();
    },
    patient,
  );
});
