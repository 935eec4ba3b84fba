import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { findBrowser, findProgram, Keycloak, keycloakAt } from '@keystead/testing';
import type { Page } from 'playwright-core';
import { stage } from './stage';

jest.setTimeout(180_000);
const ready = keycloakAt !== undefined && findBrowser() !== undefined;
if (!ready)
  process.stderr.write('skipped: no KEYSTEAD_KEYCLOAK, or no Chromium: nobody signs in to the consoles there\n');
const tool = findProgram(['terraform', 'tofu']);

(ready ? describe : describe.skip)('people in a browser whom Keycloak knows', () => {
  const at = stage();
  const keycloak = new Keycloak();
  const home = mkdtempSync(path.join(tmpdir(), 'tool-login-'));

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
    await keycloak.start();
    const idp = {
      name: 'Keycloak',
      issuer: keycloak.issuer,
      'client-id': 'keystead',
      'client-secret': keycloak.clientSecret,
      'groups-claim': 'groups',
    };
    await workspaces('POST', 'admin/sign-in-providers', 'sign-in-providers', idp);
  }, 400_000);
  afterAll(async () => {
    await keycloak.stop();
    rmSync(home, { recursive: true, force: true });
  }, 60_000);

  /** Who is not known at the provider yet gives the password there. */
  const prove = async (page: Page) => {
    await page.waitForURL((url) => url.origin === keycloak.origin);
    await page.locator('#username').fill('ada');
    await page.locator('#password').fill(keycloak.password);
    await page.locator('[type=submit]').click();
  };
  (tool === undefined ? it.skip : it)('log in by the tool, which a person who came from Keycloak lets in', async () => {
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
  });
});
