import { describe, expect, it } from '@jest/globals';
import { journey, stage, type Theme } from './stage';

/** KEYSTEAD_PICTURES=docs/console pnpm jest apps/console/test/pictures: the pictures of the documents, made anew. */
const wanted = process.env.KEYSTEAD_PICTURES === undefined ? it.skip : journey;

const secretsPages: readonly (readonly [string, string])[] = [
  ['secret', '/ui/secrets?at=kv/apps/billing/db'],
  ['explain', '/ui/policies/explain?path=kv/data/apps/billing/db&operation=read'],
  ['leases', '/ui/leases'],
  ['audit', '/ui/audit'],
  ['operations', '/ui/operations'],
];
const workspacePages: readonly (readonly [string, string])[] = [
  ['workspaces', '/ui/organizations/net/workspaces'],
  ['workspace', '/ui/organizations/net/workspaces/core-vpc'],
  ['variables', '/ui/organizations/net/workspaces/core-vpc/variables'],
  ['teams', '/ui/organizations/net/teams'],
  ['run-queue', '/ui/organizations/net/runs'],
];

describe('the pictures of the documents', () => {
  const at = stage({ SECRETS_AUDIT_TABLE: 'on' });

  wanted(
    'are made of an installation that is used',
    async () => {
      const { secrets, workspaces } = at.installation.firstRun();
      const send = async (url: string, headers: Record<string, string>, body: unknown): Promise<unknown> => {
        const answer = await fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
        expect([url, answer.status < 300]).toEqual([url, true]);
        return answer.status === 204 ? undefined : answer.json();
      };
      const v1 = (path: string, body: unknown) =>
        send(`${at.installation.secretsUrl}/v1/${path}`, { 'X-Service-Token': secrets.root_token }, body);
      const v2 = (path: string, type: string, attributes: object) =>
        send(
          `${at.installation.workspacesUrl}/api/v2/${path}`,
          { Authorization: `Bearer ${workspaces.token}`, 'Content-Type': 'application/vnd.api+json' },
          { data: { type, attributes } },
        );
      await v1('sys/mounts/kv', { type: 'kv', options: { version: '2' } });
      for (const password of ['one', 'two', 'three']) {
        await v1('kv/data/apps/billing/db', { data: { host: 'db.internal', user: 'billing', password } });
      }
      await v1('sys/policies/acl/net', { policy: 'path "kv/data/apps/*" { capabilities = ["read"] }' });
      for (const ttl of ['10m', '1h', '8h'])
        await v1('auth/token/create', { policies: ['net'], ttl, display_name: 'ci' });
      await v2('organizations', 'organizations', { name: 'net', email: 'net@example.com' });
      for (const name of ['core-vpc', 'edge-cdn', 'billing-db', 'dns', 'observability']) {
        await v2('organizations/net/workspaces', 'workspaces', { name, description: `${name} of all regions` });
      }
      for (const name of ['platform', 'readers']) await v2('organizations/net/teams', 'teams', { name });
      const found = await fetch(`${at.installation.workspacesUrl}/api/v2/organizations/net/workspaces/core-vpc`, {
        headers: { Authorization: `Bearer ${workspaces.token}` },
      });
      const { data } = (await found.json()) as { data: { id: string } };
      await v2(`workspaces/${data.id}/vars`, 'vars', { key: 'region', value: 'eu-west-1', category: 'terraform' });
      await v2(`workspaces/${data.id}/vars`, 'vars', { key: 'token', value: 'x', category: 'env', sensitive: true });
      for (const theme of ['light', 'dark'] as const satisfies readonly Theme[]) {
        for (const [service, pages] of [
          ['secrets', secretsPages],
          ['workspaces', workspacePages],
        ] as const) {
          const page = await at.signedIn(service, '/ui/', { theme, width: 1280 });
          for (const [name, address] of pages) {
            await page.goto(new URL(address, page.url()).href);
            await page.locator('main h1').waitFor();
            await page.waitForTimeout(1500);
            await at.picture(page, `${service}-${name}-${theme}`);
          }
        }
      }
    },
    300_000,
  );
});
