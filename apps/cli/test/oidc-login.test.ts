import { mkdtempSync, rmSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { PassThrough } from 'node:stream';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { ProviderStandIn } from '../../secrets/test/stand-ins/oidc';
import { startSecrets } from '../../secrets/test/start-secrets';
import { asker } from '../src/ask';
import { run } from '../src/program';

describe('login -method=oidc', () => {
  const secrets = startSecrets();
  const provider = new ProviderStandIn();
  const home = mkdtempSync(join(tmpdir(), 'keystead-oidc-'));
  const config = (fields: object = {}) =>
    secrets.root.write('auth/oidc/config', {
      oidc_discovery_url: provider.address,
      oidc_client_id: provider.clientId,
      oidc_client_secret: provider.clientSecret,
      default_role: 'people',
      ...fields,
    });
  beforeAll(async () => {
    await provider.start();
    await secrets.root.write('sys/auth/oidc', { type: 'oidc' }).expect(204);
    await config().expect(204);
    const role = { user_claim: 'sub', allowed_redirect_uris: 'http://localhost:8250/oidc/callback' };
    await secrets.root.write('auth/oidc/role/people', role).expect(204);
    const device = { user_claim: 'sub', callback_mode: 'device', poll_interval: 1 };
    await secrets.root.write('auth/oidc/role/device', device).expect(204);
  });
  afterAll(async () => {
    await provider.stop();
    rmSync(home, { recursive: true, force: true });
  });

  /** Runs the command; `browse` acts as the person at the printed address. */
  async function login(args: string[], browse: (url: string) => Promise<void>) {
    let printed = '';
    let said = '';
    let opened: Promise<void> | undefined;
    const code = await run(['login', '-method=oidc', '--print-only', ...args, 'skip_browser=true'], {
      env: { HOME: home, SERVICE_ADDR: `http://127.0.0.1:${(secrets.server.address() as AddressInfo).port}` },
      out: (text) => {
        printed += text;
      },
      err: (text) => {
        said += text;
        const url = /https?:\/\/\S+/.exec(text)?.[0];
        if (url && text.includes('Sign in here')) opened ??= browse(url);
      },
      ask: asker(new PassThrough().end() as unknown as NodeJS.ReadStream, () => {}),
    });
    process.exitCode = undefined;
    await opened;
    return { code, printed: printed.trim(), said };
  }

  it('waits on this machine for the browser, and prints the token', async () => {
    let page = '';
    const { code, printed } = await login(['port=0'], async (url) => {
      const back = new URL(new URL(url).searchParams.get('redirect_uri')!);
      expect((await fetch(`${back.origin}/favicon.ico`)).status).toBe(404);
      page = await (await fetch(url)).text();
    });
    expect([code, page]).toEqual([0, 'Signed in. You can close this page and go back to the terminal.\n']);
    const self = await secrets.as(printed).read('auth/token/lookup-self').expect(200);
    expect(self.body.data.display_name).toBe('oidc-ada');
  });

  it('passes on a code that arrived by form', async () => {
    await config({ oidc_response_mode: 'form_post' }).expect(204);
    const { code, printed } = await login(['people', 'port=0'], async (url) => {
      const back = new URL(url).searchParams.get('redirect_uri')!;
      const body = new URLSearchParams(provider.signIn(url, { sub: 'ada' }));
      expect((await fetch(back, { method: 'POST', body })).status).toBe(200);
    });
    expect([code, printed.length > 20]).toEqual([0, true]);
    await config().expect(204);
  });

  it('reports a refusal in the browser and in the terminal', async () => {
    const { code, said } = await login(['port=0'], async (url) => {
      const asked = new URL(url).searchParams;
      const back = `${asked.get('redirect_uri')}?error=access_denied&state=${asked.get('state')}`;
      const answer = await fetch(back);
      expect([answer.status, await answer.text()]).toEqual([
        400,
        'The sign-in failed. See the terminal for the reason.\n',
      ]);
    });
    expect(code).toBe(2);
    expect(said).toContain('access_denied');
  });

  it('polls until the user has agreed on another device', async () => {
    provider.deviceAgreed = false;
    const { code, said, printed } = await login(['device', 'port=0'], async () => {
      provider.deviceAgreed = true;
    });
    expect(said).toContain('enter the code ABCD-EFGH');
    expect([code, printed.length > 20]).toEqual([0, true]);
  });

  it('names the address that must be allowed, and the existing fields', async () => {
    const wrong = await login(['port=0', 'callbackhost=elsewhere.example'], async () => {});
    expect([wrong.code, wrong.said]).toEqual([
      2,
      expect.stringMatching(/ask an administrator to allow http:\/\/elsewhere.example:\d+\/oidc\/callback/),
    ]);
    expect((await login(['prot=1'], async () => {})).said).toContain('prot is not a field of this login');
  });
});
