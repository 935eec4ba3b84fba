import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Keycloak, keycloakAt } from '@keystead/testing';
import { startSecrets } from '../../secrets/test/start-secrets';
import { asker } from '../src/ask';
import { run } from '../src/program';

jest.setTimeout(120_000);
if (!keycloakAt) process.stderr.write('skipped: no KEYSTEAD_KEYCLOAK, so there is no sign-in at a real provider\n');
const withKeycloak = keycloakAt ? describe : describe.skip;

withKeycloak('sign-in to the secrets service at Keycloak', () => {
  const secrets = startSecrets();
  const keycloak = new Keycloak();
  const home = mkdtempSync(join(tmpdir(), 'keystead-keycloak-'));
  const back = 'http://localhost:8250/oidc/callback';
  beforeAll(async () => {
    await keycloak.start();
    await secrets.root.write('sys/auth/oidc', { type: 'oidc' }).expect(204);
    const config = {
      oidc_discovery_url: keycloak.issuer,
      oidc_client_id: 'keystead',
      oidc_client_secret: keycloak.clientSecret,
      default_role: 'people',
    };
    await secrets.root.write('auth/oidc/config', config).expect(204);
    const role = { user_claim: 'sub', groups_claim: 'groups', allowed_redirect_uris: back };
    await secrets.root
      .write('auth/oidc/role/people', { ...role, oidc_scopes: 'offline_access', claim_mappings: { email: 'email' } })
      .expect(204);
    await secrets.root.write('auth/oidc/role/device', { user_claim: 'sub', callback_mode: 'device' }).expect(204);
    const { body } = await secrets.root.read('sys/auth');
    const group = { name: 'operators', type: 'external', policies: 'of-operators' };
    const canonical_id = (await secrets.root.write('identity/group', group).expect(200)).body.data.id;
    const alias = { name: 'operators', canonical_id, mount_accessor: body.data['oidc/'].accessor };
    await secrets.root.write('identity/group-alias', alias).expect(200);
  }, 400_000);
  afterAll(async () => {
    await keycloak.stop();
    rmSync(home, { recursive: true, force: true });
  });
  beforeEach(async () => {
    await keycloak.enable(true);
    await keycloak.joinGroup();
  });

  const begin = async (role = 'people') =>
    (
      await secrets.anonymous
        .write('auth/oidc/oidc/auth_url', { role, redirect_uri: back, client_nonce: 'n' })
        .expect(200)
    ).body.data as { auth_url: string; state: string };
  const finish = (location: string) =>
    secrets.anonymous.read(`auth/oidc/oidc/callback?${new URL(location).searchParams}&client_nonce=n`);
  const signIn = async () => {
    const { location } = await keycloak.browse((await begin()).auth_url);
    return (await finish(location!).expect(200)).body.auth;
  };
  const policiesOf = async (token: string) =>
    (await secrets.as(token).read('auth/token/lookup-self').expect(200)).body.data.identity_policies ?? [];

  it('issues a token with the rights of their groups; after a group is removed, the next renewal removes its rights', async () => {
    const { client_token: token, metadata } = await signIn();
    expect(metadata).toMatchObject({ email: 'ada@example.com', role: 'people' });
    expect(await policiesOf(token)).toEqual(['of-operators']);
    await keycloak.leaveGroup();
    await secrets.as(token).write('auth/token/renew-self', {}).expect(200);
    expect(await policiesOf(token)).toEqual([]);
    await keycloak.joinGroup();
    await secrets.as(token).write('auth/token/renew-self', {}).expect(200);
    expect(await policiesOf(token)).toEqual(['of-operators']);
    await keycloak.enable(false);
    await secrets
      .as(token)
      .write('auth/token/renew-self', {})
      .expect(400, /has ended this sign-in/);
  });

  it('accepts an answer once, and a code only for the sign-in that requested it', async () => {
    const one = await keycloak.browse((await begin()).auth_url);
    const other = await begin();
    const crossed = new URL(one.location!);
    crossed.searchParams.set('state', other.state ?? new URL(other.auth_url).searchParams.get('state')!);
    // Keycloak checks the PKCE verifier, and this code was requested with another verifier.
    await finish(crossed.href).expect(400);
    await finish(one.location!).expect(400);
    const two = await keycloak.browse((await begin()).auth_url);
    await finish(two.location!).expect(200);
    await finish(two.location!).expect(400, /state/i);
  });

  it('refuses a wrong password', async () => {
    const { location } = await keycloak.browse((await begin()).auth_url, 'wrong');
    expect(location).toBeUndefined();
  });

  it('issues a token to a device once the person has agreed', async () => {
    const { auth_url, state } = await begin('device');
    const { page } = await keycloak.browse(auth_url);
    expect(page).not.toContain('name="password"');
    for (let tries = 0; ; tries++) {
      const { body } = await secrets.anonymous.write('auth/oidc/oidc/poll', { state, client_nonce: 'n' });
      if (body.auth) break;
      expect([body.errors, tries < 20]).toEqual([[expect.stringMatching(/authorization_pending|slow_down/)], true]);
      await sleep(5_000);
    }
  });

  it('works for keystead login -method=oidc', async () => {
    let printed = '';
    let opened: Promise<unknown> | undefined;
    const code = await run(['login', '-method=oidc', '--print-only', 'port=0', 'skip_browser=true'], {
      env: { HOME: home, SERVICE_ADDR: `http://127.0.0.1:${(secrets.server.address() as AddressInfo).port}` },
      out: (text) => {
        printed += text;
      },
      err: (text) => {
        const url = /https?:\/\/\S+/.exec(text)?.[0];
        if (url && text.includes('Sign in here')) {
          opened ??= keycloak.browse(url).then(({ location }) => fetch(location!));
        }
      },
      ask: asker(new PassThrough().end() as unknown as NodeJS.ReadStream, () => {}),
    });
    process.exitCode = undefined;
    await opened;
    expect([code, await policiesOf(printed.trim())]).toEqual([0, ['of-operators']]);
  });
});
