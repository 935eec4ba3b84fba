import { gzipSync } from 'node:zlib';
import { describe, expect } from '@jest/globals';
import { journey, soon } from '../stage';
import { readme, tarOf } from '../stand-in-tool';
import { at } from './installation';
import { api, type Made, of, upload } from './workspaces-api';

const patient = 240_000;
const organization = (name: string) =>
  api('POST', 'organizations', of('organizations', { name, email: 'ops@example.com' }));

describe('the registry and policies of an organization', () => {
  journey('have modules: published from a file, read, deprecated with a reason, and deleted', async () => {
    await organization('quarry');
    const page = await at.signedIn('workspaces', '/ui/organizations/quarry/registry');
    await page.getByRole('button', { name: 'Create module' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('wall');
    await page.getByLabel('Provider', { exact: true }).fill('stone');
    await page.getByRole('dialog').getByRole('button', { name: 'Create module' }).click();
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
    const archive = gzipSync(tarOf({ 'main.tf': main, 'README.md': readme }));
    await dialog
      .getByLabel('Archive (.tar.gz)')
      .setInputFiles({ name: 'wall.tar.gz', mimeType: 'application/gzip', buffer: archive });
    await dialog.getByRole('button', { name: 'Publish version' }).click();
    await page.getByText('/quarry/wall/stone"').waitFor();
    await page.getByRole('table', { name: 'Inputs' }).getByText('How high it is.').waitFor();
    await page.getByRole('table', { name: 'Outputs' }).getByText('top').waitFor();
    const shown = page.getByRole('region', { name: 'README' });
    await shown.getByRole('heading', { name: 'Its heights', level: 4 }).waitFor();
    const links = await shown
      .getByRole('link')
      .evaluateAll((all) => all.map((a) => [a.textContent, a.getAttribute('href'), a.getAttribute('rel')]));
    expect(links).toEqual([
      ['Its guide', 'https://example.com/guide', 'noopener noreferrer nofollow'],
      ['its heights', '#text-its-heights', null],
      ['a picture', 'https://example.com/wall.svg', 'noopener noreferrer nofollow'],
    ]);
    await shown.getByRole('cell', { name: 'low & dry' }).waitFor();
    await shown.getByText('More about it', { exact: true }).waitFor();
    expect(await shown.textContent()).not.toContain('written by a tool');
    await shown.getByText('{{7*7}}').waitFor();
    await shown.getByRole('link', { name: 'its heights' }).click();
    await page.waitForURL(/#text-its-heights$/);
    expect(await page.evaluate(() => (window as unknown as { harmed?: number }).harmed)).toBeUndefined();
    await page.getByText('No workspace used this module in its latest plan.').waitFor();
    await page.getByLabel('Only workspaces whose constraint excludes version').fill('2.0.0');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByText('No workspace that uses this module refuses 2.0.0.').waitFor();
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

  journey(
    'plan the workspaces that use a module with another version, before they are changed',
    async () => {
      await organization('mole');
      const module = await api<Made>(
        'POST',
        'organizations/mole/registry-modules',
        of('registry-modules', { name: 'wall', provider: 'stone', 'registry-name': 'private' }),
      );
      const source = `${new URL(at.installation.workspacesUrl).host}/mole/wall/stone`;
      let id = '';
      // The worker of the installation may still be starting.
      await soon(async () => {
        const body = of('workspaces', { name: 'north', 'terraform-version': '1.14.0' });
        ({ id } = (await api<Made>('POST', 'organizations/mole/workspaces', body)).data);
      });
      await upload(id, `module "wall" {\n  source = "${source}"\n}`);
      const workspace = { workspace: { data: { type: 'workspaces', id: id } } };
      const run = await api<Made>('POST', 'runs', of('runs', { message: 'First' }, workspace));
      await soon(async () => {
        const { data } = await api<Made>('GET', `runs/${run.data.id}`);
        expect(data.attributes.status).toBe('planned');
      }, 120_000);
      await api('POST', `runs/${run.data.id}/actions/discard`, {});
      const page = await at.signedIn('workspaces', `/ui/organizations/mole/registry/modules/${module.data.id}`);
      await page.getByRole('table', { name: 'Used by' }).getByText('1.2.0').waitFor();
      await page.getByLabel('Try another version in these workspaces').fill('two');
      await page.getByRole('button', { name: 'Plan with this version' }).click();
      const plans = page.getByRole('table', { name: 'Plans with this version' });
      await plans.getByText('must be versions such as 1.2.0').waitFor();
      await page.getByLabel('Try another version in these workspaces').fill('2.0.0');
      await page.getByRole('button', { name: 'Plan with this version' }).click();
      await plans.getByText('with changes').waitFor({ timeout: 120_000 });
      expect(await at.violations(page)).toEqual([]);
      await plans.getByRole('link').click();
      await page.getByRole('tab', { name: 'Inputs' }).click();
      await page.getByText(`${source} 2.0.0`).first().waitFor();
    },
    patient,
  );

  journey('have providers, and the keys that sign them', async () => {
    await organization('foundry');
    const page = await at.signedIn('workspaces', '/ui/organizations/foundry/registry/providers');
    await page.getByRole('button', { name: 'Add key' }).first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Public key').fill('no key at all');
    await dialog.getByRole('button', { name: 'Add key' }).click();
    await dialog.getByText('must be one OpenPGP public key').first().waitFor();
    await dialog.getByRole('button', { name: 'Cancel' }).click();
    await page.getByRole('button', { name: 'Create provider' }).first().click();
    await dialog.getByLabel('Name', { exact: true }).fill('bell');
    await dialog.getByRole('button', { name: 'Create provider' }).click();
    await page.getByRole('heading', { name: 'bell', level: 1 }).waitFor();
    await page.getByText('/foundry/bell"').waitFor();
    expect(await at.violations(page)).toEqual([]);
  });

  journey(
    'have policies: a failed one holds a run, shows the reason, and is overridden with a reason',
    async () => {
      await organization('court');
      const made = await api<Made>('POST', 'organizations/court/workspaces', of('workspaces', { name: 'web' }));
      await upload(made.data.id, 'output "height" { value = 3 }');
      const page = await at.signedIn('workspaces', '/ui/organizations/court/policies');
      const dialog = page.getByRole('dialog');
      await page.getByRole('button', { name: 'Create policy' }).first().click();
      await dialog.getByLabel('Name', { exact: true }).fill('owners');
      await dialog.getByLabel('Query').fill('data.terraform.owners.deny');
      await dialog.getByLabel('Enforcement level').selectOption('mandatory');
      await dialog.getByRole('button', { name: 'Create policy' }).click();
      await page.getByRole('heading', { name: 'owners', level: 1 }).waitFor();
      await page.getByText('This policy checks no runs until it is in a policy set.').waitFor();
      expect(await page.getByLabel('Policy code').inputValue()).toContain('package terraform.owners\n');
      await page.getByLabel('Policy code').fill('package terraform.owners\n\ndeny contains "x" if true');
      await page.getByRole('button', { name: 'Save code' }).click();
      await page.getByText('Saved.').waitFor();
      await page.reload();
      await soon(async () => expect(await page.getByLabel('Policy code').inputValue()).toContain('deny contains'));
      expect(await at.violations(page)).toEqual([]);
      await page.goto(`${at.installation.workspacesUrl}/ui/organizations/court/policies/sets`);
      await page.getByRole('button', { name: 'Create policy set' }).first().click();
      await dialog.getByLabel('Name', { exact: true }).fill('everywhere');
      await dialog.getByLabel('Apply to all workspaces').check();
      await dialog.getByLabel('Overridable').check();
      await dialog.getByRole('button', { name: 'Create policy set' }).click();
      await page.getByRole('heading', { name: 'everywhere', level: 1 }).waitFor();
      await page.getByLabel('Add a policy').selectOption({ label: 'owners' });
      await page.getByRole('button', { name: 'Add', exact: true }).first().click();
      await page.getByRole('button', { name: 'Remove owners' }).waitFor();
      await page.getByRole('button', { name: 'Create parameter' }).first().click();
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
      const checks = page.getByRole('region', { name: 'Checks: Post-plan' });
      await checks.getByRole('heading', { name: /overridden/ }).waitFor();
      await page.keyboard.press('Control+k');
      await page.locator('.palette input:focus').waitFor();
      await page.keyboard.type('everywh');
      await page.getByRole('option', { name: 'everywhere', exact: true }).click();
      await page.getByRole('heading', { name: 'everywhere', level: 1 }).waitFor();
    },
    patient,
  );

  journey(
    'have tests of modules: enabled, run with values, watched while they run, and canceled',
    async () => {
      await organization('mason');
      const module = await api<Made>(
        'POST',
        'organizations/mason/registry-modules',
        of('registry-modules', { name: 'wall', provider: 'stone', 'registry-name': 'private' }),
      );
      const page = await at.signedIn('workspaces', `/ui/organizations/mason/registry/modules/${module.data.id}`);
      const dialog = page.getByRole('dialog');
      await page.getByRole('link', { name: 'Tests', exact: true }).click();
      await page.getByRole('heading', { name: 'Tests of wall', level: 1 }).waitFor();
      await page.getByRole('button', { name: 'Enable tests' }).click();
      await page.getByText('The tests of this module are off.').waitFor({ state: 'detached' });
      await page.getByRole('button', { name: 'Create variable' }).first().click();
      await dialog.getByLabel('Key').fill('height');
      await dialog.getByLabel('Value').fill('3');
      await dialog.getByRole('button', { name: 'Create variable' }).click();
      await page.getByRole('table', { name: 'Variables' }).getByText('height').waitFor();
      const start = async (main: string) => {
        await page.getByRole('button', { name: 'Start test run' }).first().click();
        const buffer = gzipSync(tarOf({ 'main.tf': main, 'tests/wall.tftest.hcl': 'run "is_high" {}' }));
        await dialog
          .getByLabel('Archive (.tar.gz)')
          .setInputFiles({ name: 'wall.tar.gz', mimeType: 'application/gzip', buffer });
        await dialog.getByLabel('Variables').fill('height 4');
        await dialog.getByText('Write one variable per line').first().waitFor();
        await dialog.getByLabel('Variables').fill('height = 4');
        await dialog.getByRole('button', { name: 'Start test run' }).click();
        await page.getByRole('heading', { name: 'Test run of wall', level: 1 }).waitFor();
      };
      const status = page.getByRole('status', { name: 'Status of the run' });
      await start('variable "height" {}');
      await status.getByText('finished').waitFor({ timeout: 120_000 });
      await page.getByText('1 passed').first().waitFor();
      await page.getByText('1 failed').first().waitFor();
      await page.getByRole('alert').getByText('Test assertion failed').waitFor();
      await page
        .getByRole('region', { name: /^Log of trun-/ })
        .getByText('is_straight... fail')
        .waitFor();
      expect(await page.evaluate(() => (window as unknown as { harmed?: number }).harmed)).toBeUndefined();
      expect(await at.violations(page)).toEqual([]);
      await page.getByRole('link', { name: 'Tests', exact: true }).click();
      await page.getByRole('table', { name: 'Test runs' }).getByText('1 failed').waitFor();
      expect(await at.violations(page)).toEqual([]);
      await start('# endless');
      await page
        .getByRole('region', { name: /^Log of trun-/ })
        .getByText('waits')
        .waitFor({ timeout: 120_000 });
      await page.getByRole('button', { name: 'Cancel', exact: true }).click();
      await status.getByText('canceled').waitFor({ timeout: 120_000 });
    },
    patient,
  );

  journey(
    'have queries: started with values, watched while they run, and canceled',
    async () => {
      await organization('surveyor');
      const made = await api<Made>('POST', 'organizations/surveyor/workspaces', of('workspaces', { name: 'hill' }));
      await upload(made.data.id, 'variable "region" {}');
      const page = await at.signedIn('workspaces', '/ui/organizations/surveyor/workspaces/hill/queries');
      const dialog = page.getByRole('dialog');
      const start = async () => {
        await page.getByRole('button', { name: 'Start query' }).first().click();
        await dialog.getByLabel('Variables').fill('region = "north"');
        await dialog.getByRole('button', { name: 'Start query' }).click();
        await page.getByRole('heading', { name: 'Query of hill', level: 1 }).waitFor();
      };
      const status = page.getByRole('status', { name: 'Status of the run' });
      const log = page.getByRole('region', { name: /^Log of / });
      await start();
      await status.getByText('finished').waitFor({ timeout: 120_000 });
      await log.getByText('stone.wall: found "north"').waitFor();
      expect(await page.evaluate(() => (window as unknown as { harmed?: number }).harmed)).toBeUndefined();
      expect(await at.violations(page)).toEqual([]);
      await page.getByRole('link', { name: 'Queries', exact: true }).click();
      await page.getByRole('table', { name: 'Queries' }).getByText('finished').waitFor();
      expect(await at.violations(page)).toEqual([]);
      await upload(made.data.id, '# endless');
      await start();
      await log.getByText('waits').waitFor({ timeout: 120_000 });
      await page.getByRole('button', { name: 'Cancel', exact: true }).click();
      await status.getByText('canceled').waitFor({ timeout: 120_000 });
    },
    patient,
  );

  journey(
    'have dry runs of policies: evaluated on earlier runs, with the messages of the failed ones',
    async () => {
      await organization('jury');
      const made = await api<Made>('POST', 'organizations/jury/workspaces', of('workspaces', { name: 'web' }));
      await upload(made.data.id, 'output "height" { value = 3 }');
      const workspace = { workspace: { data: { type: 'workspaces', id: made.data.id } } };
      const run = await api<Made>('POST', 'runs', of('runs', { message: 'Earlier' }, workspace));
      const planned = async () =>
        expect((await api<Made>('GET', `runs/${run.data.id}`)).data.attributes.status).toBe('planned');
      await soon(planned, 120_000);
      const attributes = {
        name: 'owners',
        kind: 'opa',
        query: 'data.terraform.owners.deny',
        'enforcement-level': 'mandatory',
      };
      const policy = await api<Made>('POST', 'organizations/jury/policies', of('policies', attributes));
      const page = await at.signedIn('workspaces', `/ui/organizations/jury/policies/${policy.data.id}`);
      await page.getByLabel('Policy code').fill('package terraform.owners\n\ndeny contains "x" if true');
      await page.getByRole('button', { name: 'Save code' }).click();
      await page.getByText('Saved.').waitFor();
      await page.getByRole('button', { name: 'Start dry run' }).first().click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('owners', { exact: true }).waitFor();
      await dialog.getByRole('button', { name: 'Start dry run' }).click();
      await page.getByRole('heading', { name: 'Dry run', level: 1 }).waitFor();
      await page.getByText('1 of 1 runs would have been stopped.').waitFor({ timeout: 120_000 });
      const judged = page.getByRole('table', { name: 'Judged runs' });
      await judged.getByText('stone.wall has no owner').waitFor();
      await judged.getByText('would have been stopped').waitFor();
      expect(await page.evaluate(() => (window as unknown as { harmed?: number }).harmed)).toBeUndefined();
      expect(await at.violations(page)).toEqual([]);
      await page.getByLabel('Verdict').selectOption('passed');
      await page.getByText('No run has this verdict.').waitFor();
      await page.getByLabel('Verdict').selectOption('stopped');
      await judged.getByRole('link', { name: run.data.id }).click();
      await page.getByRole('heading', { name: 'Earlier', level: 1 }).waitFor();
      await page.goto(`${at.installation.workspacesUrl}/ui/organizations/jury/policies/dry-runs`);
      await page.getByText('1 of 1 runs').waitFor();
      expect(await at.violations(page)).toEqual([]);
    },
    patient,
  );
});
