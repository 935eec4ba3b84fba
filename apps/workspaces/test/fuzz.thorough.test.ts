import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { asker, type FuzzSubject, smallState, withstandsMadeUpRequests } from '@keystead/testing';
import { type Garden, startGarden } from './garden';

let garden: Garden | undefined;

const subject: FuzzSubject = {
  name: 'workspaces',
  main: path.resolve(__dirname, '../src/main.ts'),
  env: (url) => ({ PUBLIC_URL: url, RATE_LIMIT: '0', FIRST_RUN_FILE: 'first-run.json' }),
  async target({ service, databaseUrl, sealKey }) {
    const { token: root } = JSON.parse(readFileSync(path.join(service.folder, 'first-run.json'), 'utf8'));
    const headers = { Authorization: `Bearer ${root}`, 'Content-Type': 'application/vnd.api+json' };
    const { ask, must } = asker(service.url, () => headers);
    const self = (await must('GET', '/api/v2/account/details')).data.id;
    const mine = async () => must('GET', `/api/v2/users/${self}/authentication-tokens`);
    const own = (await mine()).data.map(({ id }: { id: string }) => id);
    const begun = await startGarden(
      { url: service.url, databaseUrl, sealKey },
      { token: root, id: self, username: 'admin' },
    );
    garden = begun;
    const restore = async () => {
      const make = (at: string, type: string, attributes: object) =>
        ask('POST', `/api/v2/${at}`, { data: { type, attributes } });
      for (const name of ['fuzz-1', 'fuzz-2']) {
        await make('organizations', 'organizations', { name, email: 'fuzz@example.com' });
        for (const type of ['workspaces', 'teams', 'projects', 'varsets']) {
          for (const one of ['a', 'b']) await make(`organizations/${name}/${type}`, type, { name: one });
        }
      }
      return begun.tend();
    };
    return {
      document: await must('GET', '/api/v2/openapi.json'),
      token: async () => root,
      restore,
      place: {
        never: [root, self, ...own],
        paths: {
          found: '/.well-known/terraform.json',
          missing: '/api/v2/runs/run-none',
          writes: '/api/v2/organizations',
          self: '/api/v2/account/details',
        },
        dialect: {
          prefix: '',
          token: { header: 'Authorization', before: 'Bearer ' },
          hints: hints(),
          fixed: {
            'require-two-factor-for-admins': false,
            'api-rate-limiting-enabled': false,
            'collaborator-auth-policy': 'password',
          },
          parameters: { '/api/v2/users/{user_id}/authentication-tokens user_id': [self] },
          secrets: {
            '/api/v2/session': 'token of sessions',
            '/api/agent/': 'token of an agent pool',
            '/scim/': 'token of a directory',
          },
          weights,
          // Unlocking answers 503 while a state is still being uploaded, which ends by itself.
          faults: {
            'POST /api/v2/workspaces/{workspace_id}/actions/unlock': [503],
            'POST /api/v2/organizations/{organization_name}/workspaces/{name}/actions/unlock': [503],
          },
          headers: {
            'If-None-Match': ['*', '"x"', 'W/"x"'],
            'Idempotency-Key': ['a', 'b', 'x'.repeat(300)],
            'X-HTTP-Method-Override': ['DELETE'],
            'X-Forwarded-For': ['127.0.0.2', 'x'],
            Origin: ['http://example.com', 'null'],
            Accept: ['text/html', 'application/json', '*/*'],
          },
        },
      },
    };
  },
  end: async () => garden?.close(),
};
withstandsMadeUpRequests(subject);

/** Requests that are rare because they take long (a password is hashed), or delete what most others need. */
const weights: Readonly<Record<string, number>> = {
  'GET /api/v2/admin/terraform-versions': 0.1,
  'GET /api/v2/admin/infra-versions': 0.1,
  'DELETE /api/v2/organizations/{organization_name}': 0.02,
  'DELETE /api/v2/admin/organizations/{organization_name}': 0.02,
  'DELETE /api/v2/workspaces/{workspace_id}': 0.05,
  'DELETE /api/v2/admin/workspaces/{workspace_id}': 0.05,
  'DELETE /api/v2/organizations/{organization_name}/workspaces/{name}': 0.05,
  'POST /api/v2/workspaces/{workspace_id}/actions/safe-delete': 0.1,
  'POST /api/v2/organizations/{organization_name}/workspaces/{name}/actions/safe-delete': 0.1,
  'POST /api/v2/session': 0.3,
  'PATCH /api/v2/account/password': 0.1,
};

function hints() {
  const states = [1, 2, 3].map((serial) => smallState(serial).bytes);
  return {
    organization_name: ['fuzz-1', 'fuzz-2', 'acme'],
    name: ['fuzz-1', 'fuzz-2', 'acme', 'a', 'b', 'c', 'network', 'with.dots', 'under_score'],
    email: ['a@example.com', 'b@example.com'],
    username: ['admin', 'a', 'b'],
    password: ['correct horse battery', 'x'],
    state: states.map((state) => state.toString('base64')),
    md5: states.map((state) => createHash('md5').update(state).digest('hex')),
    serial: [1, 2, 3],
    lineage: ['one', 'two'],
    key: ['a', 'b', 'TF_LOG'],
    value: ['x', '', `$${'{a}'}`],
    category: ['terraform', 'env'],
    url: ['http://127.0.0.1:1'],
    http_url: ['http://127.0.0.1:1'],
    api_url: ['http://127.0.0.1:1'],
    'http-url': ['http://127.0.0.1:1'],
    'api-url': ['http://127.0.0.1:1'],
    'infra-version': ['1.9.0', '1.11.4', 'latest'],
    'expired-at': ['2031-01-01T00:00:00.000Z'],
    'page[size]': ['1', '20', '100'],
    'page[number]': ['1', '2'],
    'filter[organization][name]': ['fuzz-1', 'fuzz-2'],
    'filter[workspace][name]': ['a', 'b'],
    'filter[run-trigger][type]': ['inbound', 'outbound'],
    registry_name: ['private'],
    scim_name: ['User', 'Group'],
    version: ['1.98.1', '1.98.2', '1.98.3'],
    sha: ['ab', 'a'.repeat(64)],
    response_type: ['code'],
    client_id: ['keystead-cli'],
    'client-id': ['keystead-cli'],
    redirect_uri: ['http://localhost:10003/login'],
    'redirect-uri': ['http://localhost:10003/login'],
    code_challenge_method: ['S256'],
    code_verifier: ['a'.repeat(43)],
    code_challenge: ['a'.repeat(43)],
    'code-challenge': ['a'.repeat(43)],
    'heartbeat-seconds': [10, 30],
  };
}
