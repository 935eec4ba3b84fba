import { readdirSync, readFileSync } from 'node:fs';
import http from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testCertificate } from '@keystead/testing';
import { registry } from '../src/registry';
import { GithubStandIn } from './stand-ins/github';
import { ProviderStandIn } from './stand-ins/oidc';
import { startSecrets } from './start-secrets';

const back = 'http://localhost:8250/oidc/callback';

/** A server that must not receive anything, even if a configuration names it. */
class Elsewhere {
  readonly arrived: string[] = [];
  private readonly server = http.createServer((req, res) => {
    let body = '';
    req.on('data', (part) => {
      body += part;
    });
    req.on('end', () => {
      this.arrived.push(`${req.headers.authorization ?? ''} ${body}`);
      res.setHeader('content-type', 'application/json').end('{"id":42,"login":"Ada"}');
    });
  });
  start = () => new Promise<void>((done) => this.server.listen(0, '127.0.0.1', done));
  get address(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }
  stop(): void {
    this.server.closeAllConnections();
    this.server.close();
  }
}

describe('a secret that a login stores', () => {
  const [hub, provider, other, elsewhere] = [
    new GithubStandIn(),
    new ProviderStandIn(),
    new ProviderStandIn(),
    new Elsewhere(),
  ];
  const secrets = startSecrets();
  beforeAll(async () => {
    await Promise.all([hub.start(), provider.start(), other.start(), elsewhere.start()]);
    for (const type of ['github', 'oidc']) await secrets.root.write(`sys/auth/${type}`, { type }).expect(204);
  });
  afterAll(async () => {
    elsewhere.stop();
    await Promise.all([hub.stop(), provider.stop(), other.stop()]);
  });

  interface Keeping {
    readonly config: () => Record<string, unknown>;
    login(): Promise<string>;
    /** Other values of the fields that decide where the secret goes. */
    readonly changed: () => readonly Record<string, unknown>[];
  }
  const keeping: Record<string, Keeping> = {
    github: {
      config: () => ({ organization: 'acme', base_url: hub.address, token_ttl: '1h' }),
      async login() {
        hub.members.set('ghp_ADA', { login: 'Ada', organizations: [42], teams: [] });
        return (await secrets.anonymous.write('auth/github/login', { token: 'ghp_ADA' }).expect(200)).body.auth
          .client_token;
      },
      changed: () => [{ base_url: elsewhere.address }],
    },
    jwt: {
      config: () => ({
        oidc_discovery_url: provider.address,
        oidc_discovery_ca_pem: '',
        oidc_client_id: provider.clientId,
        oidc_client_secret: provider.clientSecret,
      }),
      async login() {
        const role = { user_claim: 'sub', allowed_redirect_uris: back, oidc_scopes: 'offline_access', token_ttl: '1h' };
        await secrets.root.write('auth/oidc/role/kept', role).expect(204);
        const { body } = await secrets.anonymous.write('auth/oidc/oidc/auth_url', { role: 'kept', redirect_uri: back });
        const { state, code } = provider.signIn(body.data.auth_url, { sub: 'grace' });
        const at = `auth/oidc/oidc/callback?${new URLSearchParams({ state, code })}`;
        return (await secrets.anonymous.read(at).expect(200)).body.auth.client_token;
      },
      changed: () => [
        { oidc_discovery_url: other.address },
        { oidc_discovery_ca_pem: testCertificate.cert },
        { oidc_client_id: 'another' },
      ],
    },
  };

  it('is declared by every method that stores one', () => {
    const backends = join(__dirname, '../src/backends');
    const sources = (folder: string) =>
      readdirSync(join(backends, folder)).filter((name) => /(?<!\.test)\.ts$/.test(name));
    const read = (folder: string) => sources(folder).map((name) => readFileSync(join(backends, folder, name), 'utf8'));
    const folders = readdirSync(backends).filter((folder) => read(folder).some((text) => text.includes('keepSecret(')));
    expect(folders.sort()).toEqual(Object.keys(keeping));
    expect(registry.map(({ type }) => type)).toEqual(expect.arrayContaining(folders));
    // Other methods store only names of a login, and no secrets.
    const remembered = readdirSync(backends).flatMap((folder) =>
      read(folder).flatMap((text) => [...text.matchAll(/internal: \{([^}]*)\}/g)].map((found) => found[1]!)),
    );
    expect(remembered.length).toBeGreaterThan(7);
    expect(
      remembered.filter((text) =>
        /token|password|secret|jwt\b/.test(
          text.replaceAll(/token_policies|token: keepSecret\(token|token\.accessorId/g, ''),
        ),
      ),
    ).toEqual([]);
  });

  it.each(Object.keys(keeping))('by %s is sent again only to the same address', async (method) => {
    const { config, login, changed } = keeping[method]!;
    const mount = method === 'jwt' ? 'oidc' : method;
    for (const change of changed()) {
      await secrets.root.write(`auth/${mount}/config`, config()).expect(204);
      const token = secrets.as(await login());
      await token.write('auth/token/renew-self', {}).expect(200);
      const [before, forms] = [elsewhere.arrived.length, provider.forms.length];
      const written = await secrets.root.write(`auth/${mount}/config`, { ...config(), ...change });
      expect([change, written.status < 300]).toEqual([change, true]);
      const asked = elsewhere.arrived.length;
      const { body } = await token.write('auth/token/renew-self', {}).expect(400);
      expect(body.errors[0]).toContain('log in again');
      expect(elsewhere.arrived.slice(asked)).toEqual([]);
      expect(elsewhere.arrived.slice(before).join()).not.toContain('ghp_ADA');
      expect([other.forms, provider.forms.slice(forms)]).toEqual([[], []]);
      // With the original address it is valid again.
      await secrets.root.write(`auth/${mount}/config`, config()).expect(204);
      await token.write('auth/token/renew-self', {}).expect(200);
    }
  });
});
