import { randomBytes } from 'node:crypto';
import { afterAll, describe, expect } from '@jest/globals';
import { emptyDatabase, testServer } from '@keystead/testing';
import pg from 'pg';
import type { Page } from 'playwright-core';
import { button, journey, soon } from '../stage';
import { at } from './installation';
import { api } from './secrets-api';

describe('the pages of a database engine', () => {
  const cleanUps: (() => Promise<unknown>)[] = [];
  afterAll(async () => {
    for (const cleanUp of cleanUps.toReversed()) await cleanUp();
  });
  const link = (page: Page, name: string) => page.getByRole('link', { name, exact: true });
  const fact = (page: Page, label: string) =>
    page.locator('dl.facts > div').filter({ has: page.getByText(label, { exact: true }) });

  /** A new database, and a user that may create users. */
  async function server() {
    const database = await emptyDatabase();
    const url = Object.assign(new URL((await testServer()).adminUrl), { pathname: `/${database.name}` });
    const admin = new pg.Client(url.href);
    await admin.connect();
    const manager = `manager_${randomBytes(4).toString('hex')}`;
    await admin.query(`CREATE ROLE ${manager} LOGIN CREATEROLE PASSWORD 'first-one'`);
    cleanUps.push(() => database.drop());
    cleanUps.push(() => admin.query(`DROP ROLE ${manager}`).finally(() => admin.end()));
    const address = `postgresql://{{username}}:{{password}}@${url.host}${url.pathname}`;
    const connect = async (user: string, password: string) => {
      const client = new pg.Client(Object.assign(new URL(url), { username: user, password }).href);
      client.on('error', () => {});
      await client.connect();
      return client;
    };
    const logsIn = (user: string, password: string) =>
      connect(user, password).then(
        (client) => client.end().then(() => true),
        () => false,
      );
    return { admin, manager, address, host: url.host, connect, logsIn };
  }

  journey(
    'connect a database, test it, create a role with the usual statements, get credentials, and revoke them',
    async () => {
      const { manager, address, host, connect, logsIn } = await server();
      await api('POST', 'sys/mounts/harbour', { type: 'database' });
      const page = await at.signedIn('secrets', '/ui/engines/mount?mount=harbour/');
      await page.getByText('Connect a database first').waitFor();
      await link(page, 'Create connection').click();
      await link(page, 'PostgreSQL').click();
      await page.getByLabel('Name', { exact: true }).fill('quay');
      await page.getByLabel('Connection URL').fill(address);
      await page.getByLabel('Username', { exact: true }).fill(manager);
      await page.getByLabel('Password', { exact: true }).fill('wrong-one');
      await page.getByRole('button', { name: 'Remove *' }).click();
      await page.getByLabel('Allowed roles').fill('reports');
      await page.keyboard.press('Enter');
      expect(await at.violations(page)).toEqual([]);
      // The connection can be tested without being stored, and is tested before it is stored.
      await button(page, 'Verify connection').click();
      await page.getByText(/error verifying connection: .*authentication failed/).waitFor();
      await button(page, 'Create connection').first().click();
      await page.getByText(/error creating database object: .*authentication failed/).waitFor();
      await page.getByLabel('Password', { exact: true }).fill('first-one');
      await button(page, 'Verify connection').click();
      await page.getByText('Nothing was stored.').waitFor();
      expect((await api('LIST', 'harbour/config').catch(() => undefined))?.data?.keys ?? []).toEqual([]);
      await button(page, 'Create connection').first().click();
      await page.getByRole('heading', { name: 'quay', level: 1 }).waitFor();
      await fact(page, 'Host').getByText(host).waitFor();
      await button(page, 'Verify connection quay').click();
      await page.getByText('reachable', { exact: true }).waitFor();
      expect(await at.violations(page)).toEqual([]);
      await at.picture(page, 'secrets-database-connection');
      await link(page, 'harbour').click();
      const row = page.getByRole('table', { name: 'Connections' }).getByRole('row').nth(1);
      await row.getByText(host).waitFor();
      await at.picture(page, 'secrets-database-connections');

      await page
        .getByRole('navigation', { name: 'Parts of harbour/' })
        .getByRole('link', { name: 'Roles', exact: true })
        .click();
      await link(page, 'Create role').click();
      await page.getByLabel('Name', { exact: true }).fill('crane');
      expect(await page.getByLabel('Connection', { exact: true }).inputValue()).toBe('quay');
      await button(page, 'Create role').first().click();
      await page.getByText('Enter at least one statement.').waitFor();
      await button(page, 'Use the usual statements').click();
      await page.getByRole('textbox', { name: 'Statement 2' }).fill('COMMENT ON ROLE "{{name}}" IS \'a, b; c\'');
      expect(await at.violations(page)).toEqual([]);
      await at.picture(page, 'secrets-database-new-role');
      await button(page, 'Create role').first().click();
      await page.getByRole('heading', { name: 'crane', level: 1 }).waitFor();
      expect((await api('GET', 'harbour/roles/crane')).data).toMatchObject({
        db_name: 'quay',
        default_ttl: 3600,
        creation_statements: [
          expect.stringMatching(/^CREATE ROLE .* VALID UNTIL/),
          'COMMENT ON ROLE "{{name}}" IS \'a, b; c\'',
        ],
      });
      await page.getByText('The connection quay does not allow this role').waitFor();
      await button(page, 'Allow it').click();
      await soon(async () =>
        expect((await api('GET', 'harbour/config/quay')).data.allowed_roles).toEqual(['reports', 'crane']),
      );
      await button(page, 'Dry run').click();
      await page.getByText(/It works: the statements ran for the user v-/).waitFor();
      await button(page, 'Get credentials').click();
      await page.getByText('Copy them now').waitFor();
      const shown = page.getByRole('status', { name: 'Credentials' });
      const user = (await shown.locator('dd code').first().textContent())!;
      await button(page, 'Reveal password').click();
      const password = (await shown.locator('pre').first().textContent())!;
      expect(await logsIn(user, password)).toBe(true);
      await page.getByRole('region', { name: 'Credentials in use' }).getByRole('row').nth(1).waitFor();
      expect(await at.violations(page)).toEqual([]);
      await at.picture(page, 'secrets-database-credentials');
      const client = await connect(user, password);
      const sessions = await at.signedIn(
        'secrets',
        '/ui/engines/mount?mount=harbour/&tab=connections&name=quay&part=sessions',
      );
      const users = sessions.getByRole('table', { name: 'Users and sessions' });
      await users.getByRole('row', { name: new RegExp(`^${user}.*crane.*dynamic.*session `) }).waitFor();
      await users.getByRole('row', { name: new RegExp(`^${manager}.*configured user`) }).waitFor();
      expect(await at.violations(sessions)).toEqual([]);
      await at.picture(sessions, 'secrets-database-sessions');
      await sessions.close();
      await client.end();
      // Neither the address nor the storage of the browser contains the credentials, and they are lost once the user
      // leaves the page.
      expect(
        await page.evaluate(() => JSON.stringify([location.href, { ...localStorage }, { ...sessionStorage }])),
      ).not.toContain(password);
      await link(page, 'Settings').click();
      await link(page, 'Credentials').click();
      await button(page, 'Get credentials').waitFor();
      expect(await page.content()).not.toContain(password);
      await page.getByLabel(/^Choose harbour/).check();
      await button(page, 'Revoke 1 lease').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Revoke 1 lease' }).click();
      await page.getByText('No one has credentials of this role now.').waitFor();
      await soon(async () => expect(await logsIn(user, password)).toBe(false));
      await page.setViewportSize({ width: 390, height: 900 });
      await at.picture(page, 'secrets-database-role-390');
    },
  );

  journey(
    'take over a user, rotate its password and that of the configured user, and pause no rotation by accident',
    async () => {
      const { admin, manager, address, logsIn } = await server();
      const batch = `batch_${randomBytes(4).toString('hex')}`;
      await admin.query(`CREATE ROLE ${batch} LOGIN PASSWORD 'own'`);
      await admin.query(`GRANT ${batch} TO ${manager} WITH ADMIN OPTION`);
      cleanUps.push(() => admin.query(`DROP ROLE ${batch}`));
      await api('POST', 'sys/mounts/depot', { type: 'database' });
      await api('POST', 'depot/config/yard', {
        plugin_name: 'postgresql-database-plugin',
        connection_url: address,
        username: manager,
        password: 'first-one',
        allowed_roles: ['*'],
      });
      const page = await at.signedIn('secrets', '/ui/engines/mount?mount=depot/&tab=static-roles');
      await link(page, 'Create static role').click();
      await page.getByLabel('Name', { exact: true }).fill('batch');
      await page.getByLabel('Connection', { exact: true }).selectOption('yard');
      await page.getByLabel('Username', { exact: true }).fill(batch);
      await page.getByLabel('Rotates').selectOption('schedule');
      await page.getByLabel('Rotation schedule').fill('0 3 * * 6');
      await page.getByLabel('Rotates').selectOption('period');
      await page.getByLabel('Rotation period').selectOption({ label: 'Every 7 days' });
      expect(await at.violations(page)).toEqual([]);
      await button(page, 'Create static role').first().click();
      await page.getByRole('heading', { name: 'batch', level: 1 }).waitFor();
      await fact(page, 'Next rotation').getByText('in 7 days').waitFor();
      expect(await logsIn(batch, 'own')).toBe(false);
      const first = (await api('GET', 'depot/static-creds/batch')).data;
      expect(first.rotation_period).toBe(7 * 86_400);
      await button(page, 'Rotate credentials').click();
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate now' }).click();
      await soon(async () =>
        expect((await api('GET', 'depot/static-creds/batch')).data.password).not.toBe(first.password),
      );
      await button(page, 'Get credentials').click();
      await button(page, 'Reveal password').click();
      const password = (await page.getByRole('status', { name: 'Credentials' }).locator('pre').textContent())!;
      expect(await logsIn(batch, password)).toBe(true);
      expect(await at.violations(page)).toEqual([]);
      await at.picture(page, 'secrets-database-static-role');
      await link(page, 'yard').click();
      await button(page, 'Rotate root credentials').click();
      await page.getByRole('dialog').getByText('one that only this service knows').waitFor();
      await page.getByRole('dialog').getByRole('button', { name: 'Rotate root credentials' }).click();
      await page.getByText(`The password of ${manager} was changed.`).waitFor();
      expect(await logsIn(manager, 'first-one')).toBe(false);
      await button(page, 'Verify connection yard').click();
      await page.getByText('reachable', { exact: true }).waitFor();
      // Only changed fields are written, so the password, which the page does not know, stays.
      await link(page, 'Settings').click();
      await page.getByText('Root rotation', { exact: true }).click();
      await page.getByLabel('Rotation period').selectOption({ label: 'Every 30 days' });
      await button(page, 'Save').click();
      await page.getByText('Saved.').waitFor();
      expect((await api('GET', 'depot/config/yard')).data).toMatchObject({
        rotation_period: 30 * 86_400,
        allowed_roles: ['*'],
      });
      expect(await at.violations(page)).toEqual([]);
      await at.picture(page, 'secrets-database-settings');
    },
  );
});
