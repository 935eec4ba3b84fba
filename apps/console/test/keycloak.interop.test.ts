import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { findBrowser, findProgram, Keycloak, keycloakAt, samlClient } from '@keystead/testing';
import type { Page } from 'playwright-core';
import { signOut as signOutOf, stage } from './stage';

jest.setTimeout(180_000);
const ready = keycloakAt !== undefined && findBrowser() !== undefined;
if (!ready) process.stderr.write('skipped: no KEYSTEAD_KEYCLOAK, or no Chromium: no sign-in to the consoles there\n');
const tool = findProgram(['terraform', 'tofu']);

(ready ? describe : describe.skip)('people with a Keycloak account, in a browser,', () => {
  const at = stage();
  const keycloak = new Keycloak();
  const home = mkdtempSync(path.join(tmpdir(), 'tool-login-'));

  const secrets = async (method: string, at_: string, body?: object) => {
    const headers = { 'X-Service-Token': at.installation.firstRun().secrets.root_token };
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(`${at.installation.secretsUrl}/v1/${at_}`, { method, headers, ...sent });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${at_}: ${answer.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  };
  const workspaces = async (method: string, at_: string, type: string, attributes: object) => {
    const answer = await fetch(`${at.installation.workspacesUrl}/api/v2/${at_}`, {
      method,
      headers: {
        Authorization: `Bearer ${at.installation.firstRun().workspaces.token}`,
        'Content-Type': 'application/vnd.api+json',
      },
      body: JSON.stringify({ data: { type, attributes } }),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${at_}: ${answer.status} ${text}`);
  };

  beforeAll(async () => {
    const { secretsUrl, workspacesUrl } = at.installation;
    await keycloak.start([samlClient(workspacesUrl)]);
    await secrets('POST', 'sys/policies/acl/of-operators', {
      policy: 'path "kept/data/*" { capabilities = ["read"] }',
    });
    await secrets('POST', 'sys/mounts/kept', { type: 'kv-v2' });
    await secrets('POST', 'kept/data/door', { data: { code: '1234' } });
    await secrets('POST', 'sys/auth/oidc', { type: 'oidc', config: { listing_visibility: 'unauth' } });
    const client = { oidc_client_id: 'keystead', oidc_client_secret: keycloak.clientSecret };
    await secrets('POST', 'auth/oidc/config', {
      oidc_discovery_url: keycloak.issuer,
      default_role: 'people',
      ...client,
    });
    const allowed_redirect_uris = `${secretsUrl}/ui/oidc/callback`;
    const role = { user_claim: 'sub', groups_claim: 'groups', allowed_redirect_uris };
    await secrets('POST', 'auth/oidc/role/people', { ...role, oidc_scopes: 'offline_access' });
    await secrets('POST', 'auth/oidc/role/guests', { ...role, groups_claim_optional: true });
    const group = { name: 'operators', type: 'external', policies: 'of-operators' };
    const canonical_id = (await secrets('POST', 'identity/group', group)).data.id;
    const mount_accessor = (await secrets('GET', 'sys/auth')).data['oidc/'].accessor;
    await secrets('POST', 'identity/group-alias', { name: 'operators', canonical_id, mount_accessor });
    const idp = {
      name: 'Keycloak',
      issuer: keycloak.issuer,
      'client-id': 'keystead',
      'client-secret': keycloak.clientSecret,
      'groups-claim': 'groups',
    };
    await workspaces('POST', 'admin/sign-in-providers', 'sign-in-providers', idp);
    const saml = {
      enabled: true,
      'sso-endpoint-url': `${keycloak.issuer}/protocol/saml`,
      'idp-cert': await keycloak.certificate(),
      'team-management-enabled': true,
      'want-assertions-signed': true,
    };
    await workspaces('PATCH', 'admin/saml-settings', 'saml-settings', saml);
    await workspaces('POST', 'organizations', 'organizations', { name: 'works', email: 'works@example.com' });
    const team = { name: 'operators', 'sso-team-id': 'operators' };
    await workspaces('POST', 'organizations/works/teams', 'teams', team);
  }, 400_000);
  afterAll(async () => {
    await keycloak.stop();
    rmSync(home, { recursive: true, force: true });
  }, 60_000);

  beforeEach(() => keycloak.joinGroup());

  const open = (url: string) => at.open(url, { visits: [keycloak.origin] });
  /** A person who is not signed in at the provider enters the password there. */
  const prove = async (page: Page) => {
    await page.waitForURL((url) => url.origin === keycloak.origin);
    await page.locator('#username').fill('ada');
    await page.locator('#password').fill(keycloak.password);
    await page.locator('[type=submit]').click();
  };
  const signOut = async (page: Page) => {
    await signOutOf(page);
    await page.getByRole('heading', { name: 'Sign in' }).waitFor();
  };
  /** The status of a request in the session of a page. */
  const asks = (page: Page, address: string, method = 'GET') =>
    page.evaluate(
      async ([to, how]) => (await fetch(to, { method: how, headers: { 'X-Keystead-Console': '1' } })).status,
      [address, method] as const,
    );

  it('sign in to the secrets console, and lose rights there that they lost at the provider', async () => {
    const { secretsUrl } = at.installation;
    const page = await open(`${secretsUrl}/ui/`);
    const enter = async (role = '') => {
      await page.getByLabel('Sign in with').selectOption({ label: 'Provider (OIDC)' });
      await page.getByLabel('Role').fill(role);
      await page.getByRole('button', { name: 'Sign in', exact: true }).click();
    };
    const inside = async () => {
      await page.waitForURL((url) => url.origin === secretsUrl && url.pathname === '/ui/');
      await page.getByRole('button', { name: /^Account of/ }).waitFor();
    };
    await enter();
    await prove(page);
    await inside();
    expect(new URL(page.url()).search).toBe('');
    expect(await asks(page, '/v1/kept/data/door')).toBe(200);
    await keycloak.leaveGroup();
    expect(await asks(page, '/v1/auth/token/renew-self', 'POST')).toBe(200);
    expect(await asks(page, '/v1/kept/data/door')).toBe(403);
    // The provider omits the claim for people who are in no group: the role decides whether they may sign in. A sign-in
    // with offline access creates no browser session at the provider.
    await signOut(page);
    await enter();
    await prove(page);
    await page.getByText(/"groups" claim not found in token/).waitFor();
    await enter('guests');
    await prove(page);
    await inside();
    expect(await asks(page, '/v1/kept/data/door')).toBe(403);
    // A user without access is refused, and sees the reason.
    await signOut(page);
    await keycloak.enable(false);
    await keycloak.signOut();
    await enter('guests');
    await prove(page);
    await page
      .getByText(/disabled|Invalid username or password/i)
      .first()
      .waitFor();
    expect(page.url().startsWith(keycloak.origin)).toBe(true);
    await keycloak.enable(true);
  });

  it.each(['Keycloak', 'SAML'])(
    'sign in to the workspaces console by %s, into the teams of their groups',
    async (by) => {
      const { workspacesUrl } = at.installation;
      const page = await open(`${workspacesUrl}/ui/`);
      const enter = () => page.getByRole('button', { name: `Sign in with ${by}` }).click();
      const inside = async () => {
        await page.waitForURL((url) => url.origin === workspacesUrl && url.pathname === '/ui/');
        await page.getByRole('button', { name: /^Account of/ }).waitFor();
      };
      await enter();
      await prove(page);
      await inside();
      expect(await asks(page, '/api/v2/organizations/works')).toBe(200);
      await keycloak.leaveGroup();
      await signOut(page);
      await enter();
      await inside();
      expect(await asks(page, '/api/v2/organizations/works')).toBe(404);
    },
  );

  (tool === undefined ? it.skip : it)(
    'log in with the tool, by consent of the person who signed in through Keycloak',
    async () => {
      const { workspacesUrl } = at.installation;
      mkdirSync(path.join(home, '.terraform.d'));
      const discovery = await (await fetch(`${workspacesUrl}/.well-known/terraform.json`)).json();
      const login = discovery['login.v1'] as Record<string, unknown>;
      const absolute = (to: unknown) => JSON.stringify(new URL(String(to), workspacesUrl).href);
      writeFileSync(
        path.join(home, 'cli.tfrc'),
        `disable_checkpoint = true
       host "keystead.local" {
         services = {
           "tfe.v2" = ${absolute(discovery['tfe.v2'])}, "tfe.v2.1" = ${absolute(discovery['tfe.v2.1'])}
           "login.v1" = {
             client = ${JSON.stringify(login.client)}, grant_types = ${JSON.stringify(login.grant_types)}
             authz = ${absolute(login.authz)}, token = ${absolute(login.token)}, ports = ${JSON.stringify(login.ports)}
           }
         }
       }`,
      );
      const env = { ...process.env, HOME: home, TF_CLI_CONFIG_FILE: path.join(home, 'cli.tfrc'), BROWSER: 'true' };
      const child = spawn(tool!, ['login', '-no-color', 'keystead.local'], { env, cwd: home });
      let said = '';
      const address = new Promise<string>((resolve, reject) => {
        const hear = (chunk: Buffer) => {
          said += chunk;
          const found = /http:\S+oauth2\S+/.exec(said)?.[0];
          if (found) resolve(found);
        };
        child.stdout.on('data', hear);
        child.stderr.on('data', hear);
        child.once('close', () => reject(new Error(`ended early: ${said}`)));
      });
      const ended = new Promise<number | null>((resolve) => child.once('close', resolve));
      child.stdin.end('yes\n');
      const url = await address;
      const waiting = new URL(new URL(url).searchParams.get('redirect_uri')!);
      const page = await at.open(url, { visits: [keycloak.origin, waiting.origin] });
      await page.getByRole('button', { name: 'Sign in with Keycloak' }).click();
      await prove(page);
      await page.getByRole('button', { name: 'Allow', exact: true }).click();
      expect([await ended, said]).toEqual([0, expect.stringMatching(/Success|Retrieved token/)]);
      const kept = JSON.parse(readFileSync(path.join(home, '.terraform.d/credentials.tfrc.json'), 'utf8'));
      const answer = await fetch(`${workspacesUrl}/api/v2/account/details`, {
        headers: { Authorization: `Bearer ${kept.credentials['keystead.local'].token}` },
      });
      const { data } = (await answer.json()) as { data: { attributes: { username: string } } };
      expect([answer.status, data.attributes.username]).toEqual([200, 'ada']);
    },
  );
});
