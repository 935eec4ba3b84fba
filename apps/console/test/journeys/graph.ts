import { createHash } from 'node:crypto';
import { describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { journey } from '../stage';
import { at } from './installation';
import { api, type Made, of, upload } from './workspaces-api';

const patient = 240_000;

describe('a resource graph', () => {
  const open = async (path: string): Promise<Page> => {
    const page = await at.signedIn('workspaces', path);
    await page.getByRole('button', { name: 'Show as graph' }).click();
    return page;
  };

  journey('shows a state: by keyboard along its edges, and as a table', async () => {
    await api('POST', 'organizations', of('organizations', { name: 'bridge', email: 'ops@example.com' }));
    const made = await api<Made>('POST', 'organizations/bridge/workspaces', of('workspaces', { name: 'span' }));
    const { id } = made.data;
    await api('POST', `workspaces/${id}/actions/lock`, { reason: 'drawn' });
    const provider = 'provider["registry.terraform.io/made/up"]';
    const resource = (type: string, name: string, ...dependencies: string[]) => ({
      mode: 'managed',
      type,
      name,
      provider,
      instances: [{ schema_version: 0, attributes: {}, dependencies }],
    });
    const resources = [
      resource('pier', 'north'),
      resource('deck', 'main', 'pier.north'),
      { ...resource('rail', 'left', 'deck.main', 'pier.north'), module: 'module.side' },
    ];
    const text = JSON.stringify({
      version: 4,
      terraform_version: '1.11.4',
      serial: 1,
      lineage: 'drawn',
      outputs: {},
      resources,
    });
    const attributes = {
      serial: 1,
      lineage: 'drawn',
      md5: createHash('md5').update(text).digest('hex'),
      state: Buffer.from(text).toString('base64'),
    };
    const state = await api<Made>('POST', `workspaces/${id}/state-versions`, of('state-versions', attributes));
    const page = await open(`/ui/organizations/bridge/workspaces/span/states/${state.data.id}`);
    const drawing = page.getByRole('group', { name: /^Resource graph/ });
    const deck = drawing.getByRole('button', { name: /^deck\.main, depends on 1 resource, used by 1 resource/ });
    await deck.waitFor();
    expect(await drawing.locator('.graph-edge').count()).toBe(3);
    await drawing.getByRole('button', { name: /^pier\.north/ }).focus();
    await page.keyboard.press('ArrowRight');
    await page.keyboard.press('Enter');
    await page.getByRole('status').getByText('deck.main').waitFor();
    expect(await deck.getAttribute('aria-pressed')).toBe('true');
    await page.keyboard.press('Escape');
    await page.getByText('Choose a resource to see only what it touches.').waitFor();
    const rail = page
      .getByRole('table', { name: 'Dependencies' })
      .getByRole('row', { name: /^module\.side\.rail\.left/ });
    await rail.getByText('deck.main').waitFor();
    expect(await at.violations(page)).toEqual([]);
    await page.emulateMedia({ colorScheme: 'dark' });
    expect(await at.violations(page, ['color-contrast'])).toEqual([]);
    await page.setViewportSize({ width: 320, height: 900 });
    expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
    await at.picture(page, 'workspaces-state-graph');
  });

  journey(
    'shows a plan: the action on each resource, and the references',
    async () => {
      await api('POST', 'organizations', of('organizations', { name: 'tower', email: 'ops@example.com' }));
      const made = await api<Made>('POST', 'organizations/tower/workspaces', of('workspaces', { name: 'stairs' }));
      const { id } = made.data;
      await upload(id, 'output "height" { value = 3 }');
      const workspace = { workspace: { data: { type: 'workspaces', id } } };
      const run = await api<Made>('POST', 'runs', of('runs', { message: 'Drawn' }, workspace));
      const page = await at.signedIn('workspaces', `/ui/organizations/tower/workspaces/stairs/runs/${run.data.id}`);
      await page.getByRole('button', { name: 'Show as graph' }).click({ timeout: 120_000 });
      const drawing = page.getByRole('group', { name: /^Resource graph/ });
      await drawing.getByRole('button', { name: /^stone\.wall, to create, depends on 1 resource/ }).waitFor();
      await drawing.getByRole('button', { name: /^stone\.ground, depends on no resources/ }).waitFor();
      expect(await at.violations(page)).toEqual([]);
      await page.getByRole('button', { name: 'Show as list' }).click();
      await page.getByText('stone.wall["a"]').first().waitFor();
    },
    patient,
  );
});
