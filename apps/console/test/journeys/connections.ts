import { beforeAll, describe, expect } from '@jest/globals';
import { findBrowser } from '@keystead/testing';
import { waitFor } from '../../../../local/test/start';
import { journey, soon } from '../stage';
import { at, elsewhere, forgetProofs } from './installation';
import { api, type Made, of } from './workspaces-api';

const workspace = '/ui/organizations/harbor/workspaces/crane';

describe('an outside system in the workspaces console', () => {
  let crane = '';
  if (findBrowser() !== undefined) {
    beforeAll(async () => {
      await api('POST', 'organizations', of('organizations', { name: 'harbor', email: 'ops@example.com' }));
      const made = await api<Made>('POST', 'organizations/harbor/workspaces', of('workspaces', { name: 'crane' }));
      crane = made.data.id;
    }, 60_000);
  }

  journey('can be a sign-in provider: added with a proof of identity, offered, changed and removed', async () => {
    const page = await at.signedIn('workspaces', '/ui/admin/sign-in');
    await page.getByRole('link', { name: 'Add provider' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('Acme');
    await page.getByLabel('Issuer').fill('http://id.example.com');
    await page.getByLabel('Client id').fill('keystead');
    await page.getByLabel('Client secret').fill('not to be seen again');
    await page.getByLabel('Claim with the groups').fill('groups');
    await page.getByRole('button', { name: 'Add provider' }).last().click();
    await page.getByText('must be an https URL without a query').first().waitFor();
    await page.getByLabel('Issuer').fill('https://id.example.com');
    await forgetProofs('workspaces');
    await page.getByRole('button', { name: 'Add provider' }).last().click();
    const asked = page.getByRole('dialog', { name: 'Confirm it is you' });
    await asked.getByLabel('Password').fill(at.installation.firstRun().workspaces.password);
    await asked.getByRole('button', { name: 'Confirm' }).click();
    await page.getByRole('heading', { name: 'Acme', level: 1 }).waitFor();
    await soon(async () => expect(await page.content()).not.toContain('not to be seen again'));
    await page.getByText('/logout').first().waitFor();
    const outsider = await at.open(`${at.installation.workspacesUrl}/ui/`);
    await outsider.getByRole('button', { name: 'Sign in with Acme' }).waitFor();
    await page.getByLabel('Create accounts at the first sign-in').uncheck();
    await page.getByLabel('Group of site administrators').fill('platform');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Saved.').waitFor();
    await page.reload();
    await page.getByRole('heading', { name: 'Acme', level: 1 }).waitFor();
    await soon(async () =>
      expect(await page.getByLabel('Create accounts at the first sign-in').isChecked()).toBe(false),
    );
    await soon(async () => expect(await page.getByLabel('Group of site administrators').inputValue()).toBe('platform'));
    await soon(async () => expect(await page.getByLabel('Client secret').inputValue()).toBe(''));
    await page.getByRole('button', { name: 'Delete Acme' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Type Acme to confirm').fill('Acme');
    await dialog.getByRole('button', { name: 'Delete Acme' }).click();
    await page.getByRole('heading', { name: 'Sign-in providers', level: 1 }).waitFor();
    await page.getByRole('link', { name: 'Acme' }).waitFor({ state: 'detached' });
    await outsider.reload();
    await outsider.getByRole('heading', { name: 'Sign in' }).waitFor();
    await soon(async () => expect(await outsider.getByRole('button', { name: 'Sign in with Acme' }).count()).toBe(0));
  });

  journey('can be a SAML provider, which is refused until its settings can be verified', async () => {
    const page = await at.signedIn('workspaces', '/ui/admin/saml');
    await page.getByText('/users/saml/metadata').waitFor();
    await page.getByLabel('Enable SAML sign-in').check();
    await page.getByRole('button', { name: 'Save changes' }).click();
    // The wrong field shows the error, and has the focus.
    await page.locator('[aria-invalid="true"]:focus').waitFor();
    await page.getByLabel('Enable SAML sign-in').uncheck();
    await page.getByLabel('Address at which people sign in').fill('https://id.example.com/saml/sso');
    await page.getByLabel('Groups fill teams').check();
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Saved.').waitFor();
    await page.reload();
    await page.getByText('/users/saml/metadata').waitFor();
    await soon(async () => expect(await page.getByLabel('Groups fill teams').isChecked()).toBe(true));
    await page.getByLabel('Groups fill teams').uncheck();
    await page.getByLabel('Address at which people sign in').fill('');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Saved.').waitFor();
  });

  journey('can be a directory, which uses a token that is shown once', async () => {
    const page = await at.signedIn('workspaces', '/ui/admin/scim');
    await page.getByRole('button', { name: 'Switch SCIM on' }).click();
    await page.getByText('The directory authenticates with a token').waitFor();
    await page.getByLabel('Description').fill('the directory of harbor');
    await page.getByRole('button', { name: 'Create token' }).first().click();
    await page.getByRole('button', { name: 'Reveal New token' }).click();
    const token = (await page.getByRole('alert').locator('pre').textContent()) ?? '';
    const scim = (path: string, body?: object) =>
      fetch(`${at.installation.workspacesUrl}/scim/v2/${path}`, {
        headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/scim+json' },
        ...(body === undefined ? {} : { method: 'POST', body: JSON.stringify(body) }),
      });
    expect((await scim('Groups', { displayName: 'stevedores' })).status).toBe(201);
    await page.getByRole('button', { name: 'I have it' }).click();
    await page.reload();
    await page.getByRole('button', { name: 'Make administrators of stevedores' }).waitFor();
    expect(await at.violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'Make administrators of stevedores' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Make administrators of stevedores' }).click();
    await page.getByText('administers the site').waitFor();
    expect(await at.violations(page)).toEqual([]);
    await page.getByRole('button', { name: 'stevedores no longer administers' }).click();
    await page.getByRole('button', { name: 'Make administrators of stevedores' }).waitFor();
    await page.getByLabel('Paused').click();
    await page.getByText('paused', { exact: true }).waitFor();
    expect((await scim('Groups', { displayName: 'late' })).status).toBe(403);
    await page.getByRole('button', { name: 'Revoke the directory of harbor' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke token' }).click();
    await page.getByText('The directory authenticates with a token').waitFor();
    expect((await scim('Groups')).status).toBe(401);
    await page.getByRole('button', { name: 'Switch SCIM off' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Switch SCIM off' }).click();
    await page.getByRole('button', { name: 'Switch SCIM on' }).waitFor();
  });

  journey('can be a notified address, which is tested first and whose answers are shown', async () => {
    const page = await at.signedIn('workspaces', `${workspace}/notifications`);
    await page.getByRole('link', { name: 'Create notification' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('on call');
    await page.getByLabel('Address', { exact: true }).fill(`${elsewhere.url}/hooks/closed`);
    await page.getByLabel('Token').fill('signs bodies');
    await page.getByRole('button', { name: 'Create notification' }).first().click();
    await page.getByText('did not verify: it answered 503').first().waitFor();
    await page.getByLabel('Address', { exact: true }).fill(`${elsewhere.url}/hooks/open`);
    await page.getByRole('button', { name: 'Create notification' }).first().click();
    await page.getByRole('heading', { name: 'on call' }).waitFor();
    const rows = page.getByRole('table', { name: 'Recent deliveries' }).getByRole('row');
    await soon(async () => expect(await rows.filter({ hasText: 'arrived' }).count()).toBe(1));
    const before = elsewhere.told.length;
    await page.getByRole('button', { name: 'Send test' }).click();
    await page.getByText('It arrived.').waitFor();
    expect(elsewhere.told.length).toBe(before + 1);
    await rows.filter({ hasText: 'arrived' }).nth(1).waitFor();
    // A disabled configuration is saved without a test; a failing one is shown when it is tested.
    await page.getByLabel('Enabled').uncheck();
    await page.getByLabel('Address', { exact: true }).fill(`${elsewhere.url}/hooks/closed`);
    await page.getByRole('button', { name: 'Save changes' }).click();
    // The stored token was given for the old address.
    await page
      .getByText(/token/i)
      .filter({ hasText: /again|address|url/i })
      .first()
      .waitFor();
    await page.getByLabel('Token').fill('signs bodies');
    await page.getByRole('button', { name: 'Save changes' }).click();
    await page.getByText('Saved.').waitFor();
    await page.getByRole('button', { name: 'Send test' }).click();
    await rows.filter({ hasText: 'failed' }).filter({ hasText: '503' }).waitFor();
    await soon(async () => expect(await page.content()).not.toContain('signs bodies'));
    await page.getByRole('link', { name: 'Notifications', exact: true }).click();
    await page.getByRole('row').filter({ hasText: 'on call' }).filter({ hasText: 'disabled' }).waitFor();
  });

  journey('can be a repository that a workspace follows, through a connection of its organization', async () => {
    const page = await at.signedIn('workspaces', `${workspace}/settings`);
    await page.getByRole('button', { name: 'Connect a repository' }).click();
    await page.getByRole('link', { name: 'add one' }).click();
    await page.getByRole('link', { name: 'Add connection' }).first().click();
    await page.getByLabel('Host').selectOption('gitea');
    await page.getByLabel('Name', { exact: true }).fill('our host');
    await page.getByLabel('Address', { exact: true }).fill(elsewhere.url);
    await soon(async () => expect(await page.getByLabel('API URL').inputValue()).toBe(`${elsewhere.url}/api/v1`));
    await page.getByLabel('Token').fill('token of the host');
    await page.getByLabel('Available to the whole organization').uncheck();
    await page.getByRole('button', { name: 'Add connection' }).last().click();
    await page.getByRole('heading', { name: 'our host', level: 1 }).waitFor();
    await page.getByText('No project may use it yet.').waitFor();
    await page.getByLabel('Project').selectOption({ label: 'Default Project' });
    await page.getByRole('button', { name: 'Allow project' }).click();
    await page.getByRole('button', { name: 'Remove Default Project' }).waitFor();
    await page.goto(`${at.installation.workspacesUrl}${workspace}/settings`);
    await page.getByRole('button', { name: 'Connect a repository' }).click();
    await page.getByLabel('Connection').selectOption({ label: 'our host' });
    await page.getByRole('textbox', { name: 'Repository', exact: true }).fill('team/elsewhere');
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.getByText('was not found with the token of the connection').first().waitFor();
    await page.getByRole('textbox', { name: 'Repository', exact: true }).fill('team/hedge');
    await page.getByLabel('Automatic run triggering').selectOption('patterns');
    await page.getByLabel('Patterns').fill('/modules/**/*.tf\n/net work/*');
    await page.getByRole('button', { name: 'Connect', exact: true }).click();
    await page.getByText(`${elsewhere.url}/team/hedge`).waitFor();
    const { data } = await api<Made>('GET', `workspaces/${crane}`);
    expect(data.attributes).toMatchObject({
      'vcs-repo-identifier': 'team/hedge',
      'file-triggers-enabled': true,
      'trigger-patterns': ['/modules/**/*.tf', '/net work/*'],
    });
    await page.getByRole('button', { name: 'Disconnect' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Disconnect' }).click();
    await page.getByRole('button', { name: 'Connect a repository' }).waitFor();
  });

  journey('can be limited to the addresses in a list, which is created, filled and deleted here', async () => {
    const page = await at.signedIn('workspaces', '/ui/organizations/harbor/addresses');
    await page.getByRole('button', { name: 'Create IP allowlist' }).first().click();
    await page.getByLabel('Name').fill('Office');
    await page.getByLabel('Limits').selectOption({ label: 'all agents' });
    await page.getByRole('dialog').getByRole('button', { name: 'Create IP allowlist' }).click();
    await page.getByText('The list limits no one until it has a range').waitFor();
    await page.getByRole('button', { name: 'Add range' }).first().click();
    await page.getByRole('textbox', { name: 'Range' }).fill('192.0.2.0/33');
    await page.getByRole('button', { name: 'Add range' }).last().click();
    await page.getByText('must be a range of addresses').first().waitFor();
    await page.getByRole('textbox', { name: 'Range' }).fill('192.0.2.0/24');
    await page.getByRole('button', { name: 'Add range' }).last().click();
    const enabled = page.getByLabel('192.0.2.0/24 is enabled');
    await enabled.uncheck();
    await waitFor(async () => {
      const { data } = await api<{ data: Made['data'][] }>('GET', 'organizations/harbor/cidr-range-lists');
      const ranges = `cidr-range-lists/${data[0]!.id}/relationships/cidr-ranges`;
      const found = await api<{ data: Made['data'][] }>('GET', ranges);
      return found.data.length === 1 && String(found.data[0]!.attributes.enabled) === 'false';
    });
    await page.getByRole('button', { name: 'Delete Office' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Type Office to confirm').fill('Office');
    await dialog.getByRole('button', { name: 'Delete Office' }).click();
    await page.getByText('An IP allowlist says from which networks').waitFor();
  });

  journey('can be an agent, which is shown as soon as it has registered', async () => {
    const pool = await api<Made>('POST', 'organizations/harbor/agent-pools', of('agent-pools', { name: 'pier' }));
    const page = await at.signedIn('workspaces', `${workspace}/settings`);
    await page.getByLabel('Execution mode').selectOption('agent');
    await page.getByLabel('Agent pool').selectOption({ label: 'pier' });
    await page.getByRole('button', { name: 'Save settings' }).click();
    await page.getByText('Saved.').waitFor();
    const { data: moved } = await api<Made>('GET', `workspaces/${crane}`);
    expect(moved.attributes['execution-mode']).toBe('agent');
    await page.getByLabel('Execution mode').selectOption('remote');
    await page.getByRole('button', { name: 'Save settings' }).click();
    await waitFor(async () => {
      const { data } = await api<Made>('GET', `workspaces/${crane}`);
      return data.attributes['execution-mode'] === 'remote';
    });
    await page.goto(`${at.installation.workspacesUrl}/ui/organizations/harbor/agents/${pool.data.id}`);
    await page.getByText('No agent has registered yet.').waitFor();
    await page.getByLabel('Description').fill('pier 1');
    await page.getByRole('button', { name: 'Create token' }).first().click();
    await page.getByRole('button', { name: 'Reveal New token' }).click();
    const token = (await page.getByRole('alert').locator('pre').textContent()) ?? '';
    const registration = {
      name: 'pier 1',
      version: '0.2.0',
      protocol: { oldest: 1, newest: 1 },
      'tool-versions': ['1.11.4'],
      isolation: 'same-user',
    };
    const registered = await fetch(`${at.installation.workspacesUrl}/api/agent/v1/agents`, {
      method: 'POST',
      headers: { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' },
      body: JSON.stringify(registration),
    });
    expect([registered.status, await registered.text()]).toEqual([201, expect.any(String)]);
    const agents = page.getByRole('table', { name: 'Agents' });
    await agents.getByRole('row').filter({ hasText: 'pier 1' }).filter({ hasText: 'idle' }).waitFor();
    const button = page.getByRole('button', { name: 'Delete pier 1' });
    await soon(async () => expect(await button.getAttribute('title')).toBe('It is connected: stop it first.'));
    await page.getByRole('button', { name: 'Revoke pier 1' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Revoke token' }).click();
    await agents.getByRole('row').filter({ hasText: 'errored' }).waitFor();
    await button.click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete pier 1' }).click();
    await page.getByText('No agent has registered yet.').waitFor();
    await waitFor(async () => (await api<{ data: [] }>('GET', `agent-pools/${pool.data.id}/agents`)).data.length === 0);
  });
});
