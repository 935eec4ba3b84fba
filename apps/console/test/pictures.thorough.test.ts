import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { waitFor } from '../../../local/test/start';
import { journey, stage } from './stage';
import { standInTool, tarOf } from './stand-in-tool';

/** KEYSTEAD_PICTURES=docs/console pnpm jest apps/console/test/pictures renews the pictures of the documents. */
const wanted = process.env.KEYSTEAD_PICTURES === undefined ? it.skip : journey;

const secretsPages: readonly (readonly [string, string])[] = [
  ['overview', '/ui/'],
  ['secret', '/ui/secrets?at=kv/apps/billing/db'],
  ['explain', '/ui/policies/explain?accessor=ACCESSOR&path=kv/data/apps/billing/db&operation=read'],
  ['policy', '/ui/policies/net'],
  ['audit', '/ui/audit'],
  ['operations', '/ui/operations'],
];
const workspace = '/ui/organizations/net/workspaces/core-vpc';
const workspacePages: readonly (readonly [string, string])[] = [
  ['workspaces', '/ui/organizations/net'],
  ['workspace', workspace],
  ['run', `${workspace}/runs/RUN`],
  ['variables', `${workspace}/variables`],
  ['states', `${workspace}/states`],
];
const policy = `# What the team net may read.
path "kv/data/apps/*" {
  capabilities = ["read"]
}

path "kv/data/apps/billing/*" {
  capabilities = ["deny"]
}
`;

interface Made {
  readonly data: { readonly id: string; readonly attributes: Readonly<Record<string, string>> };
}

describe('the pictures of the documents', () => {
  const at = stage({
    SECRETS_AUDIT_TABLE: 'on',
    SECRETS_AUDIT_READS: 'on',
    WORKSPACES_WORKER_BINARY: standInTool('3 stones high'),
  });

  const send = async <T>(method: string, url: string, headers: Record<string, string>, body?: object): Promise<T> => {
    const sent = body === undefined ? {} : { body: JSON.stringify(body) };
    const answer = await fetch(url, { method, headers, ...sent });
    const text = await answer.text();
    expect([url, answer.status < 300, text]).toEqual([url, true, text]);
    return (text === '' ? undefined : JSON.parse(text)) as T;
  };
  const v1 = <T>(path: string, body: object) => {
    const headers = { 'X-Service-Token': at.installation.firstRun().secrets.root_token };
    return send<T>('POST', `${at.installation.secretsUrl}/v1/${path}`, headers, body);
  };
  const v2 = (path: string, body?: object) => {
    const { token } = at.installation.firstRun().workspaces;
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/vnd.api+json' };
    const method = body === undefined ? 'GET' : 'POST';
    return send<Made>(method, `${at.installation.workspacesUrl}/api/v2/${path}`, headers, body);
  };
  const make = async (path: string, type: string, attributes: object, relationships: object = {}) =>
    (await v2(path, { data: { type, attributes, relationships } })).data;

  /** Returns the accessor of a token that may not read a secret. */
  async function fillSecrets(): Promise<string> {
    await v1('sys/mounts/kv', { type: 'kv', options: { version: '2' } });
    for (const password of ['one', 'two', 'three']) {
      await v1('kv/data/apps/billing/db', { data: { host: 'db.internal', user: 'billing', password } });
    }
    await v1('sys/policies/acl/net', { policy });
    const body = { policies: ['net'], ttl: '2h', display_name: 'ana' };
    const { auth } = await v1<{ auth: { accessor: string } }>('auth/token/create', body);
    await v1('sys/mounts/pki', { type: 'pki', description: 'Certificates of services' });
    await v1('pki/root/generate/internal', { common_name: 'Net internal', ttl: '8760h' });
    await v1('pki/roles/services', {
      allowed_domains: 'net.example.com',
      allow_subdomains: true,
      generate_lease: true,
    });
    for (const [name, ttl] of [
      ['gateway', '40h'],
      ['registry', '120h'],
      ['metrics', '400h'],
    ] as const) {
      await v1('pki/issue/services', { common_name: `${name}.net.example.com`, ttl });
    }
    for (const ttl of ['2h', '5h', '5h', '11h', '19h']) {
      await v1('pki/issue/services', { common_name: 'job.net.example.com', ttl });
    }
    await v1('sys/auth/approle', { type: 'approle', description: 'Pipelines' });
    await v1('auth/approle/role/deploy', { token_policies: ['net'], token_ttl: '20m' });
    return auth.accessor;
  }

  /** Returns a run that waits for confirmation, after one that was applied. */
  async function fillWorkspaces(): Promise<string> {
    await make('organizations', 'organizations', { name: 'net', email: 'net@example.com' });
    const ids: string[] = [];
    for (const name of ['core-vpc', 'edge-cdn', 'billing-db', 'dns', 'observability']) {
      const attributes = { name, description: `${name} of all regions` };
      ids.push((await make('organizations/net/workspaces', 'workspaces', attributes)).id);
    }
    const [id = ''] = ids;
    await make(`workspaces/${id}/vars`, 'vars', { key: 'region', value: 'eu-west-1', category: 'terraform' });
    await make(`workspaces/${id}/vars`, 'vars', { key: 'token', value: 'x', category: 'env', sensitive: true });
    const vars = { data: [{ type: 'vars', attributes: { key: 'owner', value: 'net', category: 'terraform' } }] };
    await make('organizations/net/varsets', 'varsets', { name: 'everywhere', global: true }, { vars });
    const kept = { 'auto-queue-runs': false };
    const version = await make(`workspaces/${id}/configuration-versions`, 'configuration-versions', kept);
    const { pathname, search } = new URL(version.attributes['upload-url']!);
    const files = { 'main.tf': 'output "height" { value = 3 }', 'README.md': 'The network of every region.\n' };
    const put = await fetch(at.installation.workspacesUrl + pathname + search, {
      method: 'PUT',
      headers: { 'Content-Type': 'application/octet-stream' },
      body: new Uint8Array(gzipSync(tarOf(files))),
    });
    expect(put.status).toBe(200);
    const begin = async (message: string) => {
      const run = await make('runs', 'runs', { message }, { workspace: { data: { type: 'workspaces', id } } });
      await reaches(run.id, 'planned');
      return run.id;
    };
    const first = await begin('Lay the first stones');
    await v2(`runs/${first}/actions/apply`, { comment: 'Looks right' });
    await reaches(first, 'applied');
    return begin('Raise the wall by one row');
  }
  const reaches = (run: string, status: string) =>
    waitFor(async () => (await v2(`runs/${run}`)).data.attributes.status === status);

  wanted('are taken in an installation that is in use', async () => {
    const accessor = await fillSecrets();
    const run = await fillWorkspaces();
    const folder = process.env.KEYSTEAD_PICTURES!;
    mkdirSync(folder, { recursive: true });
    for (const [service, pages] of [
      ['secrets', secretsPages],
      ['workspaces', workspacePages],
    ] as const) {
      const page = await at.signedIn(service);
      const browser = await page.context().newCDPSession(page);
      for (const [name, address] of pages) {
        const place = address.replace('ACCESSOR', accessor).replace('RUN', run);
        await page.goto(new URL(place, page.url()).href);
        await page.locator('main h1').waitFor();
        if (name === 'explain') await page.getByRole('button', { name: 'Explain', exact: true }).click();
        await page.waitForFunction(() => document.querySelector('main .skeleton') === null);
        await page.waitForTimeout(1500);
        for (const colorScheme of ['light', 'dark'] as const) {
          await page.emulateMedia({ colorScheme });
          const { data } = await browser.send('Page.captureScreenshot', { format: 'webp', quality: 82 });
          const picture = Buffer.from(data, 'base64');
          expect([name, picture.length < 80 * 1024]).toEqual([name, true]);
          writeFileSync(path.join(folder, `${service}-${name}-${colorScheme}.webp`), picture);
        }
      }
    }
  });
});
