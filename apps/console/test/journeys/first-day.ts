import { describe, expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { button, journey, signOut } from '../stage';
import { at } from './installation';
import { api, type Made, of, upload } from './workspaces-api';

const dialog = (page: Page, name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true });
const password = 'a long enough password';

/** The administrator's preparations on the day before: a team with rights, an invitation, a login and a policy. */
async function expected(): Promise<string> {
  const { secretsUrl } = at.installation;
  const write = async (path: string, body: object) => {
    const headers = { 'X-Service-Token': at.installation.firstRun().secrets.root_token };
    const answer = await fetch(`${secretsUrl}/v1/${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect([path, answer.ok]).toEqual([path, true]);
  };
  await write('sys/mounts/harbour', { type: 'kv', options: { version: '2' } });
  await write('sys/auth/harbour', { type: 'userpass', config: { listing_visibility: 'unauth' } });
  const rules = [
    'harbour/*" { capabilities = ["create", "read", "update", "list"]',
    'harbour/data/vault/*" { capabilities = ["deny"]',
  ];
  await write('sys/policies/acl/docker', { policy: rules.map((rule) => `path "${rule} }`).join('\n') });
  await write('auth/harbour/users/rosa', { password, token_policies: 'docker' });
  await api('POST', 'organizations', of('organizations', { name: 'harbour', email: 'ops@example.com' }));
  const rights = { 'organization-access': { 'manage-workspaces': true, 'manage-projects': true } };
  const team = await api<Made>('POST', 'organizations/harbour/teams', of('teams', { name: 'dockers', ...rights }));
  const teams = { teams: { data: [{ type: 'teams', id: team.data.id }] } };
  const invited = of('organization-memberships', { email: 'rosa@example.com' }, teams);
  return (await api<Made>('POST', 'organizations/harbour/organization-memberships', invited)).meta!['invite-url']!;
}

describe('a person', () => {
  journey(
    'has a whole first day in both services',
    async () => {
      const { secretsUrl, workspacesUrl } = at.installation;
      // She accepts, and signs in.
      const page = await at.open(await expected());
      await page.getByLabel('Username').fill('rosa');
      await page.getByLabel('Password').fill(password);
      await page.getByLabel('The same again').fill(password);
      await button(page, 'Join').click();
      await button(page, 'Sign in').click();
      await page.getByLabel('Username').fill('rosa');
      await page.getByLabel('Password').fill(password);
      await button(page, 'Sign in').click();
      await page.getByRole('link', { name: 'harbour' }).click();
      // A workspace, a token for the tool, a configuration that the tool pushes.
      await button(page, 'Create workspace').first().click();
      await page.getByLabel('Name', { exact: true }).fill('quay');
      await dialog(page, 'Create workspace').click();
      await page.getByRole('heading', { name: 'quay', level: 1 }).waitFor();
      const quay = page.url();
      await page.goto(`${workspacesUrl}/app/settings/tokens`);
      await page.getByLabel('Description').fill('my laptop');
      await button(page, 'Create token').first().click();
      await button(page, 'Reveal New token').click();
      const token = (await page.getByRole('alert').locator('pre').textContent()) ?? '';
      const workspace = await api<Made>('GET', 'organizations/harbour/workspaces/quay', undefined, token);
      await upload(workspace.data.id, 'output "height" { value = 3 }', token);
      // A run, which she confirms and watches.
      await page.goto(quay);
      await button(page, 'Start run').first().click();
      await page.getByLabel('Message').fill('First stones of the quay');
      await dialog(page, 'Start run').click();
      await page.getByText('stone.wall["a"]').waitFor();
      await button(page, 'Confirm & apply').click();
      await dialog(page, 'Confirm & apply').click();
      await page.getByRole('status', { name: 'Status of the run' }).filter({ hasText: 'applied' }).waitFor();
      await page.goto(quay);
      await page.getByRole('heading', { name: 'Outputs' }).waitFor();
      // She sees a message about what she may not do.
      await page.goto(`${workspacesUrl}/ui/organizations/harbour/teams`);
      await page.locator('button[title^="Needs can-create-team"]').waitFor();
      // In the secrets service she stores a secret, and shares it by a one-time link.
      const vault = await at.open(`${secretsUrl}/ui/`);
      await vault.getByLabel('Sign in with').selectOption({ label: 'Username and password at harbour/' });
      await vault.getByLabel('Username').fill('rosa');
      await vault.getByLabel('Password').fill(password);
      await button(vault, 'Sign in').click();
      await vault.getByRole('button', { name: /^Account of/ }).waitFor();
      await vault.goto(`${secretsUrl}/ui/secrets?at=harbour/`);
      await button(vault, 'Create secret').first().click();
      await vault.getByRole('dialog').getByLabel('Path').fill('crane');
      await vault.getByRole('dialog').getByLabel('Name').fill('code');
      await vault.getByRole('dialog').getByLabel('Value').fill('heave-ho');
      await button(vault, 'Create secret').click();
      await button(vault, 'Share once').click();
      await button(vault, 'Create link').click();
      const link = (await vault.getByRole('dialog').locator('code').first().textContent())!;
      const stranger = await at.open(link);
      await button(stranger, 'Unwrap').click();
      await button(stranger, 'Reveal code').click();
      await stranger.getByText('heave-ho').waitFor();
      await button(vault, 'Done').click();
      // The page explains why that secret cannot be read.
      await vault.goto(`${secretsUrl}/ui/policies/explain?path=harbour/data/vault/gold&operation=read`);
      await vault.getByRole('heading', { name: 'No', exact: true }).waitFor();
      await vault.getByText('path "harbour/data/vault/*"').first().waitFor();
      // She signs out of both services.
      for (const one of [page, vault]) {
        await signOut(one);
        await one.getByRole('heading', { name: 'Sign in' }).waitFor();
      }
    },
    240_000,
  );
});
