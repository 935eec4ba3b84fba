import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { freePort } from './free-port';

/**
 * The folder of a Keycloak, or the address of a running one with the user and password `admin`; undefined if there is
 * none.
 */
export const keycloakAt = process.env.KEYSTEAD_KEYCLOAK;

const password = 'right horse';

/** A SAML client for the workspace service at `url`: it gets signed assertions with the groups in `MemberOf`. */
export const samlClient = (url: string) => ({
  clientId: `${url}/users/saml/metadata`,
  protocol: 'saml',
  redirectUris: [`${url}/users/saml/auth`],
  defaultClientScopes: [],
  protocolMappers: [
    {
      name: 'MemberOf',
      protocol: 'saml',
      protocolMapper: 'saml-group-membership-mapper',
      config: { 'attribute.name': 'MemberOf', 'full.path': 'false', single: 'false' },
    },
  ],
  attributes: {
    'saml.client.signature': 'false',
    'saml.assertion.signature': 'true',
    'saml.server.signature': 'true',
    'saml.signature.algorithm': 'RSA_SHA256',
    'saml.force.post.binding': 'true',
    saml_name_id_format: 'persistent',
    saml_force_name_id_format: 'true',
    saml_assertion_consumer_url_post: `${url}/users/saml/auth`,
  },
});

/** A real Keycloak with its own realm, in which the user `ada` is in the group `operators`. */
export class Keycloak {
  readonly realm = `keystead-${randomUUID().slice(0, 8)}`;
  readonly clientSecret = randomUUID();
  /** The password of `ada`. */
  readonly password = password;
  private base = '';
  private program: ChildProcess | undefined;

  /** Where it is, with no slash at the end. */
  get origin(): string {
    return this.base;
  }

  get issuer(): string {
    return `${this.base}/realms/${this.realm}`;
  }

  /** Starts it if only its folder is known, and creates the realm, with `clients` in addition to `keystead`. */
  async start(clients: readonly object[] = []): Promise<void> {
    this.base = keycloakAt!.startsWith('http') ? keycloakAt! : await this.run();
    const groups = [
      {
        name: 'groups',
        protocol: 'openid-connect',
        protocolMapper: 'oidc-group-membership-mapper',
        config: {
          'claim.name': 'groups',
          'full.path': 'false',
          'id.token.claim': 'true',
          'userinfo.token.claim': 'true',
        },
      },
    ];
    const client = {
      clientId: 'keystead',
      secret: this.clientSecret,
      redirectUris: ['*'],
      protocolMappers: groups,
      attributes: { 'oauth2.device.authorization.grant.enabled': 'true', 'pkce.code.challenge.method': 'S256' },
    };
    const ada = { username: 'ada', email: 'ada@example.com', emailVerified: true, firstName: 'Ada', lastName: 'L' };
    await this.admin('POST', '', {
      realm: this.realm,
      enabled: true,
      sslRequired: 'none',
      groups: [{ name: 'operators' }],
      users: [
        {
          ...ada,
          enabled: true,
          groups: ['/operators'],
          realmRoles: ['offline_access'],
          credentials: [{ type: 'password', value: password }],
        },
      ],
      clients: [client, ...clients],
    });
  }

  async stop(): Promise<void> {
    if (this.base !== '') await this.admin('DELETE', `/${this.realm}`).catch(() => {});
    const program = this.program;
    if (!program) return;
    const ended = new Promise((resolve) => program.once('exit', resolve));
    program.kill();
    await ended;
  }

  /** Removes `ada` from her group. */
  async leaveGroup(): Promise<void> {
    const id = await this.ada();
    const [group] = (await this.admin('GET', `/${this.realm}/users/${id}/groups`)) as { id: string }[];
    await this.admin('DELETE', `/${this.realm}/users/${id}/groups/${group!.id}`);
  }

  /** Adds `ada` to the group again. */
  async joinGroup(): Promise<void> {
    const [group] = (await this.admin('GET', `/${this.realm}/groups?search=operators`)) as { id: string }[];
    await this.admin('PUT', `/${this.realm}/users/${await this.ada()}/groups/${group!.id}`, {});
  }

  /** Enables or disables `ada`. */
  async enable(enabled: boolean): Promise<void> {
    await this.admin('PUT', `/${this.realm}/users/${await this.ada()}`, { enabled });
  }

  /** Ends the sessions of `ada`, and notifies the clients. */
  async signOut(): Promise<void> {
    await this.admin('POST', `/${this.realm}/users/${await this.ada()}/logout`, {});
  }

  /** Changes the client `keystead`. */
  async changeClient(attributes: object): Promise<void> {
    const [client] = (await this.admin('GET', `/${this.realm}/clients?clientId=keystead`)) as {
      id: string;
      attributes: object;
    }[];
    const all = { ...client!.attributes, ...attributes };
    await this.admin('PUT', `/${this.realm}/clients/${client!.id}`, { ...client, attributes: all });
  }

  /** The certificate that the realm signs with, in PEM. */
  async certificate(): Promise<string> {
    const { keys } = (await this.admin('GET', `/${this.realm}/keys`)) as {
      keys: { algorithm: string; certificate?: string }[];
    };
    const { certificate } = keys.find(({ algorithm }) => algorithm === 'RS256')!;
    return `-----BEGIN CERTIFICATE-----\n${certificate!.match(/.{1,64}/g)!.join('\n')}\n-----END CERTIFICATE-----\n`;
  }

  /**
   * Acts as a person who was redirected to `url`: signs in as `ada` and consents. Resolves to the final redirect, or to
   * the last page.
   */
  async browse(url: string, currentPassword = password): Promise<{ location?: string; page: string }> {
    const cookies = new Map<string, string>();
    let at = url;
    let form: URLSearchParams | undefined;
    for (let steps = 0; steps < 12; steps++) {
      const answer = await fetch(at, {
        method: form ? 'POST' : 'GET',
        ...(form ? { body: form } : {}),
        redirect: 'manual',
        headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
      });
      form = undefined;
      for (const line of answer.headers.getSetCookie()) {
        const [, name, value] = /^([^=]+)=([^;]*)/.exec(line)!;
        cookies.set(name!, value!);
      }
      const location = answer.headers.get('location');
      if (location !== null) {
        if (!location.startsWith(this.base)) return { location, page: '' };
        at = location;
        continue;
      }
      const page = await answer.text();
      const [, action] = /<form[^>]* action="([^"]+)"/.exec(page) ?? [];
      const isLogin = page.includes('name="password"');
      const needsConsent = page.includes('name="accept"');
      if (action === undefined || !(isLogin || needsConsent) || (isLogin && steps > 6)) return { page };
      at = new URL(action.replaceAll('&amp;', '&'), at).href;
      form = isLogin
        ? new URLSearchParams({ username: 'ada', password: currentPassword, credentialId: '' })
        : new URLSearchParams([...hiddenOf(page), ['accept', 'Yes']]);
    }
    throw new Error('the provider leads on and on');
  }

  private async ada(): Promise<string> {
    const [found] = (await this.admin('GET', `/${this.realm}/users?username=ada&exact=true`)) as { id: string }[];
    return found!.id;
  }

  private async admin(method: string, at: string, body?: object): Promise<unknown> {
    const form = { grant_type: 'password', client_id: 'admin-cli', username: 'admin', password: 'admin' };
    const signedIn = await fetch(`${this.base}/realms/master/protocol/openid-connect/token`, {
      method: 'POST',
      body: new URLSearchParams(form),
    });
    const { access_token } = (await signedIn.json()) as { access_token: string };
    const answer = await fetch(`${this.base}/admin/realms${at}`, {
      method,
      headers: { authorization: `Bearer ${access_token}`, 'content-type': 'application/json' },
      ...(body ? { body: JSON.stringify(body) } : {}),
    });
    const text = await answer.text();
    if (!answer.ok) throw new Error(`${method} ${at}: ${answer.status} ${text}`);
    return text === '' ? undefined : JSON.parse(text);
  }

  private async run(): Promise<string> {
    const port = await freePort();
    const address = `http://127.0.0.1:${port}`;
    const args = [
      'start-dev',
      '--http-host=127.0.0.1',
      `--http-port=${port}`,
      '--http-management-port',
      `${await freePort()}`,
    ];
    const env = { ...process.env, KC_BOOTSTRAP_ADMIN_USERNAME: 'admin', KC_BOOTSTRAP_ADMIN_PASSWORD: 'admin' };
    // The development database is discarded with the process.
    const memory = ['--db=dev-mem'];
    this.program = spawn(path.join(keycloakAt!, 'bin/kc.sh'), [...args, ...memory], { env, stdio: 'ignore' });
    for (let tries = 0; tries < 3000; tries++) {
      if ((await fetch(`${address}/realms/master`).catch(() => undefined))?.ok) return address;
      await sleep(100);
    }
    throw new Error('Keycloak does not get ready');
  }
}

function hiddenOf(page: string): [string, string][] {
  return [...page.matchAll(/<input[^>]*type="hidden"[^>]*>/g)].flatMap(([input]) => {
    const [, name] = /name="([^"]*)"/.exec(input) ?? [];
    const [, value = ''] = /value="([^"]*)"/.exec(input) ?? [];
    return name ? [[name, value] as [string, string]] : [];
  });
}
