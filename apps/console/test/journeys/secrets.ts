import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect } from '@jest/globals';
import { findBrowser } from '@keystead/testing';
import { SchedulerStandIn } from '../../../secrets/test/stand-ins/scheduler';
import { button, journey, soon } from '../stage';
import { at, forgetProofs } from './installation';
import { api } from './secrets-api';

/** A string that must be shown as text everywhere. */
const evil = '<img src=x onerror="document.title=1">';

describe('the console of the secrets service', () => {
  journey('stores a secret, shows it, writes it again, compares, deletes, restores and destroys', async () => {
    const page = await at.signedIn('secrets', '/ui/engines/new');
    await page.getByRole('link', { name: 'Key/value' }).click();
    await page.getByLabel('Path').fill('first');
    await button(page, 'Enable engine').click();
    await button(page, 'Create secret').first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Path').fill('apps/db');
    await dialog.getByLabel('Name').fill('password');
    await dialog.getByLabel('Value').fill('swordfish-one');
    await button(page, 'Create secret').first().click();
    await page.getByRole('heading', { name: 'db', exact: true }).waitFor();
    await soon(async () => expect(await page.content()).not.toContain('swordfish-one'));
    await button(page, 'Reveal password').click();
    await page.getByText('swordfish-one').waitFor();
    await button(page, 'Hide password').click();
    await soon(async () => expect(await page.content()).not.toContain('swordfish-one'));
    await button(page, 'Create version').first().click();
    await page.getByRole('dialog').getByLabel('Value').fill('swordfish-two');
    await button(page, 'Create version').first().click();
    await page.getByText('version 2, current').waitFor();
    await page.getByRole('link', { name: 'Compare with 2' }).click();
    await page.getByRole('heading', { name: 'From version 1 to version 2' }).waitFor();
    await page.getByText('changed').waitFor();
    // The newer of the two versions is still the current one.
    await page.getByText('version 2, current').waitFor();
    expect(page.url()).not.toContain('swordfish');
    await button(page, 'Delete version 1').click();
    await button(page, 'Undelete version 1').click();
    await forgetProofs('secrets');
    await button(page, 'Destroy version 1').first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Destroy version 1' }).click();
    await page.getByRole('heading', { name: 'Confirm it is you' }).waitFor();
    await page.getByLabel('Token', { exact: true }).fill(at.installation.firstRun().secrets.root_token);
    await button(page, 'Confirm').click();
    await page.getByText('destroyed', { exact: true }).waitFor();
    const { data } = await api('GET', 'first/metadata/apps/db');
    expect(data.versions['1'].destroyed).toBe(true);
    await at.picture(page, 'secrets-secret');
  });

  journey('writes fields as JSON, reveals two versions side by side, restores one, and keeps metadata', async () => {
    await api('POST', 'sys/mounts/second', { type: 'kv', options: { version: '2' } });
    await api('POST', 'second/data/app', { data: { word: 'first word', port: 1 } });
    const page = await at.signedIn('secrets', '/ui/secrets?at=second/app');
    await button(page, 'Create version').first().click();
    await button(page, 'Edit as JSON').click();
    const json = page.getByLabel('Fields as JSON');
    await json.fill('{"word": "second word", "port": ');
    await page.getByText('This is not a JSON object.').waitFor();
    await button(page, 'Create version').first().click();
    await json.fill('{"word": "second word", "port": 2, "hosts": ["a", "b"]}');
    await button(page, 'Create version').first().click();
    await page.getByText('version 2, current').waitFor();
    expect((await api('GET', 'second/data/app')).data.data).toEqual({
      word: 'second word',
      port: 2,
      hosts: ['a', 'b'],
    });
    await page.getByRole('link', { name: 'Compare with 2' }).click();
    await button(page, 'Reveal values').click();
    const row = page.getByRole('table', { name: 'Differences' }).getByRole('row').filter({ hasText: 'word' });
    await row.getByText('first word').waitFor();
    await row.getByText('second word').waitFor();
    expect(await at.violations(page)).toEqual([]);
    await button(page, 'Restore version 1').click();
    await soon(async () =>
      expect((await api('GET', 'second/data/app')).data).toMatchObject({
        data: { word: 'first word', port: 1 },
        metadata: { version: 3 },
      }),
    );
    await button(page, 'Edit metadata').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Maximum versions').fill('4');
    await button(page, 'Add key').click();
    await dialog.getByLabel('Key', { exact: true }).fill('owner');
    await dialog.getByLabel('Text').fill('harbour');
    await button(page, 'Save metadata').click();
    await page.getByText('harbour').waitFor();
    expect((await api('GET', 'second/metadata/app')).data).toMatchObject({
      max_versions: 4,
      custom_metadata: { owner: 'harbour' },
    });
  });

  journey('moves a secret, and copies a folder', async () => {
    await api('POST', 'sys/mounts/moved', { type: 'kv', options: { version: '2' } });
    await api('POST', 'moved/data/old/db', { data: { word: 'kept' } });
    const page = await at.signedIn('secrets', '/ui/secrets?at=moved/old/db');
    const dialog = page.getByRole('dialog');
    await button(page, 'Move or copy').click();
    await dialog.getByLabel('New path').fill('team/database');
    expect(await at.violations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Move', exact: true }).click();
    await page.getByRole('heading', { name: 'database', exact: true }).waitFor();
    await page.goto(`${at.installation.secretsUrl}/ui/secrets?at=moved/team/`);
    await button(page, 'Move or copy').click();
    await dialog.getByLabel('Action').selectOption('copy');
    await dialog.getByLabel('New path').fill('spare');
    await dialog.getByRole('button', { name: 'Copy', exact: true }).click();
    await page.getByRole('heading', { name: 'spare', exact: true }).waitFor();
    await page.getByRole('link', { name: 'database' }).waitFor();
    expect((await api('LIST', 'moved/metadata/')).data.keys).toEqual(['spare/', 'team/']);
  });

  journey('keeps every line of a pasted value, and every digit of the unchanged fields', async () => {
    const pem = '-----BEGIN KEY-----\nYWJj\n-----END KEY-----\n';
    await api('POST', 'sys/mounts/exact', { type: 'kv' });
    const raw = await fetch(`${at.installation.secretsUrl}/v1/exact/pasted`, {
      method: 'POST',
      headers: { 'X-Service-Token': at.installation.firstRun().secrets.root_token },
      body: '{"id":9007199254740993,"note":"one"}',
    });
    expect(raw.status).toBe(204);
    const page = await at.signedIn('secrets', '/ui/secrets?at=exact/pasted');
    await page.evaluate((text) => navigator.clipboard.writeText(text), pem);
    await button(page, 'Edit').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Value').nth(1).fill('');
    await dialog.getByLabel('Value').nth(1).press('Control+V');
    await dialog.getByRole('button', { name: 'Save', exact: false }).click();
    await soon(async () => {
      const answer = await fetch(`${at.installation.secretsUrl}/v1/exact/pasted`, {
        headers: { 'X-Service-Token': at.installation.firstRun().secrets.root_token },
      });
      expect(await answer.text()).toContain(`"data":{"id":9007199254740993,"note":${JSON.stringify(pem)}}`);
    });
  });

  journey('shares a secret once with a person who has no account', async () => {
    await api('POST', 'sys/mounts/shared', { type: 'kv' });
    await api('POST', 'shared/code', { word: 'barnacle' });
    const page = await at.signedIn('secrets', '/ui/secrets?at=shared/code');
    await button(page, 'Share once').click();
    await button(page, 'Create link').first().click();
    const link = (await page.getByRole('dialog').locator('code').first().textContent())!;
    expect(link).toContain('/ui/unwrap#');
    const stranger = await at.open(link);
    await stranger.getByRole('heading', { name: 'Shared with you' }).waitFor();
    await soon(() => expect(new URL(stranger.url()).hash).toBe(''));
    await button(stranger, 'Unwrap').click();
    await button(stranger, 'Reveal word').click();
    await stranger.getByText('barnacle').waitFor();
    const late = await at.open(link);
    await button(late, 'Unwrap').click();
    await late.getByRole('alert').waitFor();
    await soon(async () => expect(await late.content()).not.toContain('barnacle'));
  });

  journey('writes a policy, shows the wrong line, and explains why the policy denies a request', async () => {
    const page = await at.signedIn('secrets', '/ui/policies');
    await button(page, 'Create policy').first().click();
    await page.getByLabel('Name').fill('crew');
    await button(page, 'Continue').click();
    const rules = page.getByLabel('Rules');
    await rules.fill('path "kv/*" {\n  capabilities = ["raed"]\n}');
    await button(page, 'Create policy').first().click();
    await page.getByRole('alert').waitFor();
    await rules.fill('path "kv/*" {\n  capabilities = ["read"]\n}\npath "kv/safe/*" {\n  capabilities = ["deny"]\n}\n');
    await button(page, 'Create policy').first().click();
    await page.getByText('Saved.').waitFor();
    const { auth } = await api('POST', 'auth/token/create', { policies: ['crew'] });
    await page.getByRole('link', { name: 'Explain' }).click();
    // Explains the policy itself, which no token may have yet.
    await page.getByLabel('Path').fill('kv/harbour');
    await button(page, 'Explain').click();
    await page.getByRole('heading', { name: 'Yes', exact: true }).waitFor();
    await page.getByText('by the policies crew').waitFor();
    await page.getByLabel('For', { exact: true }).selectOption({ label: 'another token' });
    await page.getByLabel('Accessor').fill(auth.accessor);
    await page.getByLabel('Path').fill('kv/safe/code');
    await button(page, 'Explain').click();
    await page.getByRole('heading', { name: 'No', exact: true }).waitFor();
    await page.getByText('path "kv/safe/*" { capabilities = ["deny"] }').waitFor();
    await page.getByText('path "kv/*" { capabilities = ["read"] }').waitFor();
    await button(page, 'Look').click();
    await page.getByText('does not', { exact: true }).waitFor();
    await soon(() => expect(new URL(page.url()).searchParams.get('path')).toBe('kv/safe/code'));
    await at.picture(page, 'secrets-explain');
  });

  journey('names the denying rule before a person tries, and when a request is refused nevertheless', async () => {
    await api('POST', 'sys/mounts/deck', { type: 'kv', options: { version: '2' } });
    await api('POST', 'deck/data/open/flag', { data: { colour: 'red' } });
    await api('POST', 'deck/data/locked/safe', { data: { code: '7' } });
    await api('POST', 'sys/policies/acl/deckhand', {
      policy:
        'path "deck/data/open/*" { capabilities = ["read"] }\npath "deck/metadata/*" { capabilities = ["read", "list"] }\n' +
        'path "deck/data/locked/*" { capabilities = ["deny"] }',
    });
    const { auth } = await api('POST', 'auth/token/create', { policies: ['deckhand'] });
    const page = await at.open(`${at.installation.secretsUrl}/ui/secrets?at=deck/open/flag`);
    await page.getByLabel('Token', { exact: true }).fill(auth.client_token);
    await button(page, 'Sign in').click();
    // A forbidden button gives its reason on hover, and more when pressed.
    await page.locator('button[title^="Needs update on deck/data/open/flag"]').waitFor();
    await button(page, 'Create version').click({ force: true });
    const reason = page.locator('.popup.reason:popover-open');
    await reason.getByText('path "deck/data/open/*" { capabilities = ["read"] }').waitFor();
    await reason.getByText('The request would be allowed if that rule granted update as well.').waitFor();
    await soon(async () => expect(await page.getByRole('dialog').count()).toBe(0));
    expect(await at.violations(page)).toEqual([]);
    await page.keyboard.press('Escape');
    await reason.waitFor({ state: 'hidden' });
    await page.locator('button[title^="Needs update on deck/destroy/open/flag"]').waitFor();
    // A refusal names the rule, and links to its line.
    await page.goto(`${at.installation.secretsUrl}/ui/secrets?at=deck/locked/safe`);
    const alert = page.getByRole('alert');
    await alert.getByText('path "deck/data/locked/*" { capabilities = ["deny"] }').waitFor();
    await alert.getByText(', line 3').waitFor();
    await alert.getByRole('link', { name: 'Explain' }).click();
    await page.getByRole('heading', { name: 'No', exact: true }).waitFor();
    await page.goto(`${at.installation.secretsUrl}/ui/leases`);
    await alert.getByText('path "sys/leases/timeline" { capabilities = ["read", "sudo"] }').waitFor();
    const keeper = await at.signedIn('secrets', '/ui/policies/deckhand?line=3');
    await soon(async () => expect(await keeper.locator('.editor-lines .shown').textContent()).toBe('3'));
  });

  describe('shows credentials that expire', () => {
    const scheduler = new SchedulerStandIn();
    if (findBrowser() !== undefined) {
      beforeAll(() => scheduler.start());
      afterAll(() => scheduler.stop());
    }

    journey('links the token of a run to its leases, these to their engine, and back', async () => {
      const { address, management } = scheduler;
      await api('POST', 'sys/mounts/dock', { type: 'scheduler' });
      await api('POST', 'dock/config/access', { address, token: management });
      await api('POST', 'dock/config/lease', { ttl: '1h', max_ttl: '2h' });
      await api('POST', 'dock/role/crane', { policies: 'read' });
      await api('POST', 'sys/policies/acl/docker', { policy: 'path "dock/creds/*" { capabilities = ["read"] }' });
      const { auth } = await api('POST', 'auth/token/create', { policies: ['docker'], meta: { run_id: 'run-of-it' } });
      for (const _ of [1, 2]) {
        const headers = { 'X-Service-Token': auth.client_token };
        const made = await fetch(`${at.installation.secretsUrl}/v1/dock/creds/crane`, { headers });
        expect(made.status).toBe(200);
      }
      const page = await at.signedIn('secrets', `/ui/access/tokens?accessor=${auth.accessor}`);
      const run = await page.getByRole('link', { name: 'run-of-it' }).getAttribute('href');
      expect(run).toBe(`${at.installation.workspacesUrl}/ui/runs/run-of-it`);
      const origins = page.getByRole('table', { name: 'Leases' }).getByRole('link', { name: 'dock/creds/crane' });
      await origins.nth(1).waitFor();
      expect(await at.violations(page)).toEqual([]);
      await origins.first().click();
      await page.getByRole('heading', { name: 'creds/{name}' }).waitFor();
      await soon(async () => expect(await page.getByLabel('name', { exact: true }).inputValue()).toBe('crane'));
      await page.getByRole('link', { name: 'Leases that were issued here' }).click();
      await page.getByRole('heading', { name: 'Leases', level: 1 }).waitFor();
      await page.getByLabel('Select all shown').check();
      await button(page, 'Revoke 2 leases').waitFor();
      await page.getByLabel('Select all shown').uncheck();
      await page
        .getByRole('link', { name: /^token …/ })
        .first()
        .click();
      await page.getByRole('link', { name: 'View all leases' }).click();
      await page.waitForURL(/accessor=/);
      await page
        .getByLabel(/^Choose dock/)
        .first()
        .check();
      await button(page, 'Revoke 1 lease').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke 1 lease' }).click();
      await page.getByText('1 in all').waitFor();
      expect(scheduler.issued).toHaveLength(1);
      // Each lease has a page.
      await page.getByRole('link', { name: /^lease …/ }).click();
      await page.getByRole('heading', { name: /^Lease …/ }).waitFor();
      const facts = page.locator('dl.facts');
      await facts.getByRole('link', { name: 'crane', exact: true }).waitFor();
      await facts.getByText('never').waitFor();
      await button(page, 'Renew 1 lease').click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Valid for').selectOption({ label: '12 hours' });
      expect(await at.violations(page)).toEqual([]);
      await dialog.getByRole('button', { name: 'Renew 1 lease' }).click();
      // A lease cannot be renewed beyond its maximum, and the service reports this.
      await dialog.getByText(/^It is valid for 1 h 59 min/).waitFor();
      await dialog.locator('.notice').waitFor();
      await dialog.getByRole('button', { name: 'Done' }).click();
      await facts.getByText('never').waitFor({ state: 'detached' });
      expect(await at.violations(page)).toEqual([]);
      await page.setViewportSize({ width: 320, height: 900 });
      expect(await page.evaluate(() => document.documentElement.scrollWidth - innerWidth)).toBeLessThanOrEqual(0);
      await page.setViewportSize({ width: 1440, height: 900 });
      const id = new URL(page.url()).searchParams.get('id')!;
      // A person who may not list leases can still look up their own.
      await api('POST', 'sys/policies/acl/holder', {
        policy: 'path "sys/leases/revoke" { capabilities = ["update"] }',
      });
      const { auth: holder } = await api('POST', 'auth/token/create', { policies: ['holder'] });
      const own = await at.open(`${at.installation.secretsUrl}/ui/leases/lease?id=${encodeURIComponent(id)}`);
      await own.getByLabel('Token', { exact: true }).fill(holder.client_token);
      await button(own, 'Sign in').click();
      await own.getByText('dock/creds/crane', { exact: true }).waitFor();
      // The role says who holds its credentials.
      await page.goto(`${at.installation.secretsUrl}/ui/engines/mount?mount=dock/&tab=role&name=crane`);
      const held = page.getByRole('region', { name: 'Credentials in use' });
      await held.getByRole('link', { name: `token …${auth.accessor.slice(-6)}` }).waitFor();
      expect(await held.getByRole('link', { name: 'dock/creds/crane' }).count()).toBe(1);
      await held.getByLabel(/^Choose dock/).check();
      await button(page, 'Renew 1 lease').click();
      await dialog.getByLabel('Valid for').selectOption({ label: '30 minutes' });
      await dialog.getByRole('button', { name: 'Renew 1 lease' }).click();
      await dialog.getByText('It is valid for 30 min from now.').waitFor();
      await dialog.getByRole('button', { name: 'Done' }).click();
      await button(own, 'Revoke 1 lease').click();
      await own.getByRole('dialog').getByRole('button', { name: 'Revoke 1 lease' }).click();
      await own.getByText('The lease was revoked').waitFor();
      expect(scheduler.issued).toHaveLength(0);
    });
  });

  journey('finds engines and policies by part of their names', async () => {
    await api('POST', 'sys/mounts/needle', { type: 'kv' });
    await api('POST', 'sys/policies/acl/haystack', { policy: 'path "needle/*" { capabilities = ["read"] }' });
    const page = await at.signedIn('secrets');
    for (const [text, found, heading] of [
      ['needl', 'needle/', 'needle/'],
      ['hayst', 'haystack', 'haystack'],
    ] as const) {
      await page.keyboard.press('Control+k');
      await page.locator('.palette input:focus').waitFor();
      await page.keyboard.type(text);
      await page.getByRole('option', { name: found, exact: true, selected: true }).waitFor();
      expect(await at.violations(page)).toEqual([]);
      await page.keyboard.press('Enter');
      await page.getByRole('heading', { name: heading, level: 1 }).waitFor();
    }
  });

  journey('signs a person in with name and password, and offers exactly what they may do', async () => {
    await api('POST', 'sys/auth/userpass', { type: 'userpass' });
    await api('POST', 'auth/userpass/users/ana', { password: 'right horse' });
    const page = await at.open(`${at.installation.secretsUrl}/ui/`);
    await page.getByLabel('Sign in with').selectOption({ label: 'Username and password' });
    await page.getByLabel('Username').fill('ana');
    await page.getByLabel('Password').fill('right horse');
    await button(page, 'Sign in').click();
    await page.getByRole('button', { name: /^Account of/ }).waitFor();
    // The navigation has no pages that would only refuse the person.
    const rail = page.getByRole('navigation', { name: 'Pages' }).getByRole('link');
    const shown = ['Overview', 'Secrets', 'Secrets engines', 'Auth methods', 'Policies', 'Tokens', 'MFA'];
    await soon(async () => expect(await rail.allTextContents()).toEqual(shown));
    await page.goto(`${at.installation.secretsUrl}/ui/secrets?at=cubbyhole/`);
    await button(page, 'Create secret').first().click();
    await page.getByLabel('Path').fill('mine');
    await page.getByRole('dialog').getByLabel('Name').fill('note');
    await page.getByRole('dialog').getByLabel('Value').fill('x');
    await button(page, 'Create secret').first().click();
    await page.getByRole('heading', { name: 'mine' }).waitFor();
    await page.goto(`${at.installation.secretsUrl}/ui/engines`);
    await page.getByRole('table', { name: 'Secrets engines' }).waitFor();
    await soon(async () => expect(await page.getByRole('link', { name: 'Enable secrets engine' }).count()).toBe(0));
    await page.goto(`${at.installation.secretsUrl}/ui/policies`);
    await page.getByRole('alert').waitFor();
  });

  journey('has a form for every engine, generated from its declaration', async () => {
    const page = await at.signedIn('secrets', '/ui/engines/mount?mount=scheduler/&tab=endpoints');
    await page.getByRole('link', { name: 'config/lease' }).click();
    await page.getByLabel('ttl', { exact: true }).fill('30m');
    await page.getByLabel('max_ttl').fill('1h');
    await button(page, 'Save').click();
    await page.getByRole('heading', { name: 'Result' }).waitFor();
    expect((await api('GET', 'scheduler/config/lease')).data).toMatchObject({ ttl: 1800, max_ttl: 3600 });
    await page.getByRole('link', { name: 'scheduler', exact: true }).click();
    await page.getByRole('link', { name: 'Create role' }).first().click();
    await page.getByLabel('Name', { exact: true }).fill('ops');
    // The names belong to the scheduler, so the console cannot offer any.
    await page.getByLabel('Policies', { exact: true }).fill('read, write');
    await button(page, 'Create role').first().click();
    await page.getByRole('heading', { name: 'ops', level: 1 }).waitFor();
    expect((await api('GET', 'scheduler/role/ops')).data.policies).toEqual(['read', 'write']);
  });

  journey('creates users of userpass with chosen policies, changes and deletes them', async () => {
    await api('POST', 'sys/auth/lodge', { type: 'userpass' });
    const page = await at.signedIn('secrets', '/ui/access/mount?mount=auth/lodge/');
    await page.getByRole('link', { name: 'Create user' }).first().click();
    await page.getByLabel('Username').fill('mate');
    await page.getByLabel('Password', { exact: true }).fill('heave ho heave ho');
    await page.getByLabel('Token policies').fill('castaway');
    await page.getByRole('option', { name: 'Use “castaway”' }).click();
    await page.getByText('There is no policy named castaway.').waitFor();
    await button(page, 'Remove castaway').click();
    await page.getByLabel('Token policies').fill('defau');
    await page.getByRole('option', { name: 'default' }).click();
    await page.keyboard.press('Escape');
    expect(await at.violations(page)).toEqual([]);
    await button(page, 'Create user').first().click();
    await page.getByRole('heading', { name: 'mate', level: 1 }).waitFor();
    expect((await api('GET', 'auth/lodge/users/mate')).data.token_policies).toEqual(['default']);
    await button(page, 'Remove default').click();
    await page.getByLabel('Token TTL').fill('20m');
    await button(page, 'Save').click();
    await page.getByText('Saved.').waitFor();
    expect((await api('GET', 'auth/lodge/users/mate')).data.token_ttl).toBe(1200);
    await button(page, 'Delete').click();
    await button(page, 'Delete user').click();
    await page.getByText('No users yet.').waitFor();
    await button(page, 'Edit').click();
    await page.getByLabel('Description').fill('The crew');
    await page.getByLabel('Default lease TTL').selectOption({ label: '1 hour' });
    await page.getByLabel('List method when unauthenticated').check();
    expect(await at.violations(page)).toEqual([]);
    await button(page, 'Save settings').click();
    await page.getByRole('main').getByText('The crew').waitFor();
    expect((await api('GET', 'sys/auth/lodge/tune')).data).toMatchObject({
      description: 'The crew',
      default_lease_ttl: 3600,
      listing_visibility: 'unauth',
    });
  });

  journey('creates an AppRole, and shows a program’s two login credentials', async () => {
    await api('POST', 'sys/auth/approle', { type: 'approle' });
    const page = await at.signedIn('secrets', '/ui/access/mount?mount=auth/approle/&create=true');
    await page.getByLabel('Role name').fill('pipeline');
    await button(page, 'Create role').first().click();
    await page.getByRole('heading', { name: 'Credentials' }).waitFor();
    await button(page, 'Generate secret ID').click();
    await button(page, 'Reveal secret ID').click();
    const secret_id = await page.getByRole('alert').locator('pre').textContent();
    const { role_id } = (await api('GET', 'auth/approle/role/pipeline/role-id')).data;
    await page.getByText(role_id).waitFor();
    expect((await api('POST', 'auth/approle/login', { role_id, secret_id })).auth.client_token).toBeTruthy();
    await page.getByRole('button', { name: 'Destroy' }).click();
    await page.getByText('No secret ID is valid.').waitFor();
  });

  journey('creates a token that is shown once, and lists tokens by their names', async () => {
    const page = await at.signedIn('secrets', '/ui/access/tokens');
    await button(page, 'Create token').first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Display name').fill('deckhand');
    await dialog.getByLabel('Policies').fill('default');
    await page.getByRole('option', { name: 'default' }).click();
    await dialog.getByLabel('TTL').fill('20m');
    await button(page, 'Create token').first().click();
    await button(page, 'Reveal token').click();
    const token = (await page.getByRole('alert').locator('pre').textContent())!;
    const own = await fetch(`${at.installation.secretsUrl}/v1/auth/token/lookup-self`, {
      headers: { 'X-Service-Token': token },
    });
    expect(((await own.json()) as { data: unknown }).data).toMatchObject({ policies: ['default'], creation_ttl: 1200 });
    await button(page, 'Done').click();
    await page.getByRole('definition').filter({ hasText: 'token-deckhand' }).waitFor();
    const renewed = page.waitForResponse((answer) => answer.url().endsWith('/auth/token/renew-accessor'));
    await button(page, 'Renew').click();
    expect((await renewed).status()).toBe(200);
    expect(await page.content()).not.toContain(token);
    await page.getByRole('navigation').getByRole('link', { name: 'Tokens', exact: true }).first().click();
    const row = page.getByRole('row').filter({ hasText: 'token-deckhand' }).getByText('default');
    await soon(async () => {
      const more = button(page, 'Load more');
      if (await more.isVisible()) await more.click();
      expect(await row.isVisible()).toBe(true);
    });
    expect(await at.violations(page)).toEqual([]);
  });

  journey('adds entities to a group by name', async () => {
    await api('POST', 'identity/entity', { name: 'stoker' });
    const page = await at.signedIn('secrets', '/ui/access/groups');
    await button(page, 'Create group').first().click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('Name').fill('engine room');
    await dialog.getByLabel('Members').fill('stok');
    await page.getByRole('option', { name: 'stoker' }).click();
    await button(page, 'Create group').first().click();
    await page.getByRole('link', { name: 'engine room' }).click();
    await page.getByRole('region', { name: 'Members' }).getByRole('link', { name: 'stoker' }).waitFor();
    await button(page, 'Remove stoker').click();
    await button(page, 'Save').click();
    await page.getByRole('region', { name: 'Members' }).getByText('none').waitFor();
    expect((await api('GET', 'identity/group/name/engine%20room')).data.member_entity_ids).toEqual([]);
  });

  journey('opens a secret by part of its path or by the whole path, and accepts typing at once', async () => {
    await api('POST', 'sys/mounts/hold', { type: 'kv', options: { version: '2' } });
    await api('POST', 'hold/data/cargo/crates', { data: { count: '7' } });
    const { auth } = await api('POST', 'auth/token/create', { display_name: 'lighthouse', ttl: '1h' });
    const { accessor } = auth;
    const page = await at.signedIn('secrets', '/ui/');
    const find = async (text: string, option: string) => {
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.keyboard.press('Control+k');
      await page.keyboard.type(text);
      await page.getByRole('option', { name: option, exact: true }).click();
    };
    await find('hold/cargo/cr', 'hold/cargo/crates');
    await page.getByRole('heading', { name: 'crates', level: 1 }).waitFor();
    await find('hold/cargo/nowhere', 'Open hold/cargo/nowhere');
    await page.getByRole('heading', { name: 'nowhere', level: 1 }).waitFor();
    await find('lighthou', `token-lighthouse ${accessor}`);
    await page.getByText(accessor).first().waitFor();
    await page.getByRole('button', { name: 'Revoke' }).waitFor();
    await page.goto(`${at.installation.secretsUrl}/ui/`);
    await find(accessor.slice(0, 8), `token-lighthouse ${accessor}`);
    await page.getByRole('button', { name: 'Revoke' }).waitFor();
  });

  journey('imports the fields of a secret from a file, exports them, and shows who wrote each version', async () => {
    await api('POST', 'sys/mounts/desk', { type: 'kv', options: { version: '2' } });
    const page = await at.signedIn('secrets', '/ui/secrets?at=desk/');
    await button(page, 'Create secret').first().click();
    const box = page.getByRole('dialog');
    await box.getByLabel('Path').fill('lamp');
    const choose = (name: string, text: string) =>
      box.getByLabel('File with fields').setInputFiles({ name, mimeType: 'text/plain', buffer: Buffer.from(text) });
    await choose('notes.txt', 'no fields at all');
    await box.getByText('notes.txt is neither a JSON object').waitFor();
    await choose('.env', '# of the lamp\nexport BULB="warm white"\nWATTS=7\n');
    await choose('more.json', '{"height": 12345678901234567890}');
    await button(page, 'Create secret').first().click();
    await page.getByRole('heading', { name: 'lamp', level: 1 }).waitFor();
    await page.getByRole('table', { name: 'Versions' }).getByText('root').waitFor();
    const download = page.waitForEvent('download');
    await page.getByRole('button', { name: 'Export' }).click();
    const saved = await (await download).path();
    expect(readFileSync(saved, 'utf8')).toBe(
      '{\n  "BULB": "warm white",\n  "WATTS": "7",\n  "height": 12345678901234567890\n}\n',
    );
    expect(await at.violations(page)).toEqual([]);
  });

  journey('shows what expires soon, earliest first, and revokes a certificate', async () => {
    await api('POST', 'sys/mounts/pki', { type: 'pki' });
    await api('POST', 'pki/root/generate/internal', { common_name: 'Harbour CA', ttl: '720h' });
    await api('POST', 'pki/roles/berths', { allowed_domains: ['example.com'], allow_subdomains: true });
    await api('POST', 'pki/issue/berths', { common_name: 'north.example.com', ttl: '24h' });
    await api('POST', 'pki/issue/berths', { common_name: 'south.example.com', ttl: '480h' });
    await api('POST', 'sys/mounts/tides', { type: 'kv', options: { version: '2' } });
    await api('POST', 'tides/metadata/tables/east', { delete_version_after: '60h' });
    await api('POST', 'tides/data/tables/east', { data: { high: '4' } });
    await api('POST', 'auth/token/create', { display_name: 'pilot', ttl: '200h' });
    const page = await at.signedIn('secrets', '/ui/');
    const soonest = page.getByRole('table', { name: 'Expires soon' });
    for (const name of ['south.example.com', 'tables/east', 'token-pilot']) {
      await soonest.getByRole('link', { name }).waitFor();
    }
    const rows = (await soonest.getByRole('row').allTextContents()).map((text) => text.replace(/in .*?\./, ''));
    expect(rows.filter((text) => /example\.com|tables|pilot/.test(text))).toEqual([
      expect.stringMatching(/^north\.example\.comcertificate.*within a week$/),
      expect.stringMatching(/^tables\/eastsecret.*within a week$/),
      expect.stringMatching(/^token-pilottoken.*within a month$/),
      expect.stringMatching(/^south\.example\.comcertificate.*within a month$/),
    ]);
    await soonest.getByRole('link', { name: 'tables/east' }).click();
    await page.getByRole('heading', { name: 'east', level: 1 }).waitFor();
    await page.goBack();
    await soonest.getByRole('link', { name: 'token-pilot' }).click();
    await page.getByRole('button', { name: /^Revoke/ }).waitFor();
    await page.goBack();
    await soonest.getByRole('link', { name: 'north.example.com' }).click();
    await page.waitForURL(/tab=certificates/);
    const first = page.getByRole('row').nth(1);
    await first.getByText('north.example.com').waitFor();
    await first.getByText('expires soon').waitFor();
    expect(await at.violations(page)).toEqual([]);
    await first.getByRole('button', { name: 'Revoke north.example.com' }).click();
    await button(page, 'Revoke certificate').click();
    await soon(async () => expect(await page.getByText('north.example.com').count()).toBe(0));
    await page.getByLabel('Show').selectOption({ label: 'All, with revoked and expired ones' });
    await page.getByRole('row').filter({ hasText: 'north.example.com' }).getByText('revoked').waitFor();
  });

  journey('enrols a person for a second factor with a QR code', async () => {
    await api('POST', 'identity/entity', { name: 'scanner' });
    await api('POST', 'sys/auth/bridge', { type: 'userpass' });
    await api('POST', 'auth/bridge/users/rower', { password: 'never used' });
    const page = await at.signedIn('secrets', '/ui/access/second-factor');
    await button(page, 'Create method').first().click();
    await page.getByLabel('Name').fill('phones');
    await page.getByLabel('A login with a passkey needs no code').check();
    await button(page, 'Create method').first().click();
    await page.getByRole('list', { name: 'Methods' }).getByText('passkeys need no code').waitFor();
    const enroll = async (typed: string, option: string) => {
      await button(page, 'Enroll someone').click();
      await page.getByLabel('Person').fill(typed);
      await page.getByRole('option', { name: option, exact: true }).click();
      expect(await at.violations(page)).toEqual([]);
      await button(page, 'Create secret').first().click();
      await page.getByRole('img', { name: 'The secret as a QR code' }).waitFor();
      await button(page, 'Done').click();
      await page.getByRole('dialog').waitFor({ state: 'detached' });
    };
    await enroll('scan', 'scanner');
    // A user who has never logged in, found by the login.
    await enroll('bridge/rower', 'Use “bridge/rower”');
    const { accessor } = (await api('GET', 'sys/auth')).data['bridge/'];
    const rower = { alias_name: 'rower', alias_mount_accessor: accessor };
    const { data: entity } = await api('POST', 'identity/lookup/entity', rower);
    expect(Object.values(entity.mfa_secrets)).toEqual([{ method_name: 'phones', type: 'totp' }]);
    await api('POST', 'identity/group', { name: 'crew', member_entity_ids: [entity.id] });
    await page.reload();
    await button(page, 'Create enforcement').first().click();
    const dialog = page.getByRole('dialog');
    const pick = async (label: string, typed: string) => {
      await dialog.getByLabel(label).fill(typed);
      await dialog.getByRole('option', { name: typed }).click();
    };
    await dialog.getByLabel('Name').fill('some-logins');
    await pick('At every login of members of', 'crew');
    await pick('At every login of these people and programs', 'scanner');
    await pick('At every auth method of the types', 'userpass');
    expect(await at.violations(page)).toEqual([]);
    await dialog.getByRole('button', { name: 'Create enforcement' }).click();
    await page
      .getByText('logins at every userpass method, of the group crew, of scanner need a code of phones')
      .waitFor();
    await button(page, 'Delete enforcement some-logins').click();
    await button(page, 'Delete enforcement').click();
    await page.getByText('No login needs MFA.').waitFor();
    await button(page, 'Create enforcement').first().click();
    await dialog.getByLabel('Name').fill('all-logins');
    await dialog.getByRole('checkbox', { name: /^bridge\// }).check();
    await at.picture(page, 'secrets-new-enforcement');
    await dialog.getByRole('button', { name: 'Create enforcement' }).click();
    await page.getByText('logins at bridge/ need a code of phones').waitFor();
    expect((await api('GET', 'identity/mfa/login-enforcement/all-logins')).data.auth_method_accessors).toHaveLength(1);
    await button(page, 'Delete enforcement all-logins').click();
    await button(page, 'Delete enforcement').click();
    await page.getByText('No login needs MFA.').waitFor();
    await page.goto(`${at.installation.secretsUrl}/ui/access/entities`);
    await page.getByRole('link', { name: 'scanner', exact: true }).click();
    await button(page, 'Remove MFA secret phones').click();
    await button(page, 'Remove MFA secret').click();
    await page.getByRole('region', { name: 'MFA secrets' }).getByText('none').waitFor();
    await page.goto(`${at.installation.secretsUrl}/ui/access/second-factor`);
    await button(page, 'Delete method phones').click();
    await page.getByLabel('Type phones to confirm').fill('phones');
    await button(page, 'Delete method').click();
    await page.getByText('A method defines one-time codes.').waitFor();
  });

  journey('shows what another token may do, to people with the right to see that', async () => {
    await api('POST', 'sys/policies/acl/galley', {
      policy: 'path "kv/galley/*" { capabilities = ["read"] }\npath "kv/bridge" { capabilities = ["deny"] }',
    });
    const { auth } = await api('POST', 'auth/token/create', { policies: ['galley'], no_default_policy: true });
    const page = await at.signedIn('secrets', `/ui/access/tokens?accessor=${auth.accessor}`);
    await page.getByRole('link', { name: 'View as this token' }).click();
    const rules = page.getByRole('table', { name: 'Its rules' });
    await rules.getByRole('row').filter({ hasText: 'kv/galley/*' }).getByText('read').waitFor();
    await rules.getByRole('row').filter({ hasText: 'kv/bridge' }).getByText('deny').waitFor();
    await at.picture(page, 'secrets-view-as');
    await page.getByLabel('Path').fill('kv/galley/stove');
    await button(page, 'Explain').click();
    await page.getByRole('heading', { name: 'Yes', exact: true }).waitFor();
    const weak = await at.open(`${at.installation.secretsUrl}/ui/access/view-as?accessor=${auth.accessor}`);
    await weak
      .getByLabel('Token', { exact: true })
      .fill((await api('POST', 'auth/token/create', { policies: ['default'] })).auth.client_token);
    await button(weak, 'Sign in').click();
    await weak.getByRole('alert').getByText('permission denied').waitFor();
  });

  journey('creates a root token and new recovery keys with enough of the keys', async () => {
    const { recovery_keys: keys } = at.installation.firstRun().secrets;
    const page = await at.signedIn('secrets', '/ui/operations');
    await page.getByRole('link', { name: 'Key shares' }).click();
    const root = page.getByRole('region', { name: 'Generate root token' });
    await root.getByRole('button', { name: 'Begin a root token' }).click();
    const give = async (region: typeof root, count: number) => {
      for (let given = 0; given < count; given++) {
        await region.getByText(`${given} of ${count} keys given`).waitFor();
        await region.getByLabel('Key', { exact: true }).fill(keys[given]!);
        await region.getByRole('button', { name: 'Give this key' }).click();
      }
    };
    await give(root, 3);
    await root.getByRole('button', { name: 'Reveal root token' }).click();
    const token = (await root.locator('pre').textContent()) ?? '';
    const self = await fetch(`${at.installation.secretsUrl}/v1/auth/token/lookup-self`, {
      headers: { 'X-Service-Token': token },
    });
    expect(((await self.json()) as { data: { policies: string[] } }).data.policies).toEqual(['root']);
    await root.getByRole('button', { name: 'I have it' }).click();
    await soon(async () => expect(await page.content()).not.toContain(token));
    const rekey = page.getByRole('region', { name: 'New recovery keys' });
    await rekey.getByRole('button', { name: 'Begin new keys' }).click();
    await rekey.getByText('0 of 3 keys given').waitFor();
    await at.picture(page, 'secrets-key-shares');
    await rekey.getByRole('button', { name: 'Cancel' }).click();
    await rekey.getByRole('button', { name: 'Begin new keys' }).waitFor();
  });

  journey('lists changes without automatic requests of pages, unless these are requested', async () => {
    await api('POST', 'sys/policies/acl/seen', { policy: '# seen' });
    const page = await at.signedIn('secrets', '/ui/audit');
    const lines = page.getByRole('table', { name: 'Audit entries' });
    await lines.getByText('sys/policies/acl/seen').first().waitFor();
    expect(await lines.getByText('ui/session').count()).toBe(0);
    await page.getByLabel('Include requests that the console makes in the background').check();
    await lines.getByText('ui/session').first().waitFor();
    expect(new URL(page.url()).searchParams.get('own')).toBe('true');
    await page.getByLabel('When').selectOption({ label: 'Since…' });
    await page.getByLabel('Since', { exact: true }).fill('2099-01-01T00:00');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.getByText('Nothing in the audit table matches this search.').waitFor();
    // The table is on, so the page does not ask for the setting.
    expect(await page.getByText('SECRETS_AUDIT_TABLE').count()).toBe(0);
    await page.getByRole('button', { name: 'Everything' }).click();
    await page.getByLabel('When').selectOption({ label: 'Last hour' });
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await lines.getByText('sys/policies/acl/seen').first().waitFor();
    // A person is chosen by name, not by id.
    const { data } = (await api('POST', 'identity/entity', { name: 'auditor' })) as { data: { id: string } };
    await page.reload();
    await page.getByLabel('Who').fill('audit');
    await page.getByRole('option', { name: 'auditor', exact: true }).click();
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await page.waitForURL((url) => url.searchParams.get('entity_id') === data.id);
    await page.getByRole('button', { name: 'Everything' }).click();
    await page.getByLabel('Operation').selectOption('delete');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await soon(async () => expect(await lines.getByText('sys/policies/acl/seen').count()).toBe(0));
  });

  journey('shows who read a secret, on its page and in a search of all reads', async () => {
    await api('POST', 'sys/mounts/chest', { type: 'kv', options: { version: '2' } });
    await api('POST', 'chest/data/map', { data: { place: 'under the palm' } });
    await api('POST', 'chest/data/other', { data: { place: 'elsewhere' } });
    await api('POST', 'sys/policies/acl/sailor', { policy: 'path "chest/*" { capabilities = ["read", "list"] }' });
    const { auth } = await api('POST', 'auth/token/create', { policies: ['sailor'], display_name: 'bosun' });
    for (const name of ['map', 'map?version=1', 'other']) {
      const headers = { 'X-Service-Token': auth.client_token };
      await fetch(`${at.installation.secretsUrl}/v1/chest/data/${name}`, { headers });
    }
    await soon(async () =>
      expect((await api('GET', 'sys/audit-reads?path=chest/')).data.reads.length).toBeGreaterThanOrEqual(2),
    );
    const page = await at.signedIn('secrets', '/ui/secrets?at=chest/map');
    const section = page.getByRole('region', { name: 'Who read this' });
    const row = section.getByRole('row').filter({ hasText: 'token-bosun' });
    await row.getByText('2 times within the hour').waitFor();
    expect(await at.violations(page)).toEqual([]);
    await section.getByRole('link', { name: 'Search reads' }).click();
    const reads = page.getByRole('table', { name: 'Reads' });
    await reads.getByRole('row').filter({ hasText: 'token-bosun' }).getByText('chest/data/map').first().waitFor();
    expect(await reads.getByText('chest/data/other').count()).toBe(0);
    await page.getByLabel('Path, or folder/').fill('chest/');
    await button(page, 'Search').click();
    await reads.getByText('chest/data/other').first().waitFor();
    await page.getByLabel('Path, or folder/').fill('chest/data/none');
    await button(page, 'Search').click();
    await page.getByText('No recorded read matches this search.').waitFor();
    await page.getByRole('link', { name: 'Changes' }).click();
    await page.getByRole('table', { name: 'Audit entries' }).waitFor();
    // A person without rights on the audit log sees no part of it, and no refusal.
    const sailor = await at.open(`${at.installation.secretsUrl}/ui/secrets?at=chest/map`);
    await sailor.getByLabel('Token', { exact: true }).fill(auth.client_token);
    await button(sailor, 'Sign in').click();
    await sailor.getByText('version 1, current').waitFor();
    await sailor.waitForLoadState('networkidle');
    expect(await sailor.getByText('Who read this').count()).toBe(0);
    expect(await sailor.getByRole('alert').count()).toBe(0);
  });

  journey('lets people who may not list a folder open a secret by its path, without showing a refusal', async () => {
    await api('POST', 'sys/mounts/narrow', { type: 'kv', options: { version: '2' } });
    await api('POST', 'narrow/data/team/one', { data: { word: 'known' } });
    await api('POST', 'sys/policies/acl/narrow', { policy: 'path "narrow/data/team/one" { capabilities = ["read"] }' });
    const { auth } = await api('POST', 'auth/token/create', { policies: ['narrow'] });
    const page = await at.open(`${at.installation.secretsUrl}/ui/secrets?at=narrow/`);
    await page.getByLabel('Token', { exact: true }).fill(auth.client_token);
    await button(page, 'Sign in').click();
    await page.getByText('Your policies do not let you list this folder.').waitFor();
    await soon(async () => expect(await button(page, 'Create secret').count()).toBe(0));
    expect(await page.getByRole('alert').count()).toBe(0);
    expect(await at.violations(page)).toEqual([]);
    await page.getByRole('list', { name: 'Named by your policies' }).getByRole('link', { name: 'team/one' }).waitFor();
    await page.getByLabel('Path').fill('team/one');
    await button(page, 'Open path').click();
    await page.getByRole('heading', { name: 'one', exact: true }).waitFor();
    await page.getByText('Your policies show you the value, but not its versions and metadata.').waitFor();
    await page.waitForLoadState('networkidle');
    expect(await page.getByRole('alert').count()).toBe(0);
  });

  journey('reports that a typed policy does not exist', async () => {
    await api('POST', 'sys/policies/acl/quartermaster', { policy: 'path "a" { capabilities = ["read"] }' });
    const page = await at.signedIn('secrets', '/ui/access/tokens');
    await button(page, 'Create token').first().click();
    await page.getByLabel('Policies').fill('quarter');
    const option = page.getByRole('option');
    await option.filter({ hasText: 'Use “quarter”' }).getByText('no policy has this name').waitFor();
    expect(await option.filter({ hasText: 'quartermaster' }).getByText('no policy has this name').count()).toBe(0);
  });

  journey('shows all names as text', async () => {
    await api('POST', 'sys/mounts/odd', { type: 'kv', description: evil });
    await api('POST', `odd/${encodeURIComponent(evil)}`, { [evil]: evil });
    await api('POST', 'identity/entity', { name: evil, metadata: { word: evil } });
    await api('POST', 'sys/policies/acl/odd', { policy: `# ${evil}` });
    const page = await at.signedIn('secrets', '/ui/secrets?at=odd/');
    await page.getByText(evil).waitFor();
    const places = [
      `/ui/secrets?at=${encodeURIComponent(`odd/${evil}`)}`,
      '/ui/secrets',
      '/ui/engines',
      '/ui/access/entities',
      '/ui/policies/odd',
      '/ui/audit',
    ];
    for (const place of places) {
      await page.goto(`${at.installation.secretsUrl}${place}`);
      await page.getByRole('heading', { level: 1 }).waitFor();
      await page.waitForLoadState('networkidle');
      await soon(async () => expect(await page.locator('main img').count()).toBe(0));
      await soon(async () => expect(await page.title()).not.toBe('1'));
    }
  });
});
