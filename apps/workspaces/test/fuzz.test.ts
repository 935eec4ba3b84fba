import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type FuzzTarget,
  freePort,
  freshDatabase,
  fuzz,
  fuzzPlan,
  isFlat,
  type ServiceProgram,
  smallState,
  startServiceProgram,
  type TestDatabase,
} from '@keystead/testing';

// A few thousand requests always, a million with --long.

describe('made-up requests to the workspace service', () => {
  let database: TestDatabase;
  let service: ServiceProgram;
  let metricsPort: number;

  beforeAll(async () => {
    database = await freshDatabase('workspaces');
    const port = await freePort();
    metricsPort = await freePort();
    service = await startServiceProgram(path.resolve(__dirname, '../src/main.ts'), {
      WORKSPACES_PORT: String(port),
      WORKSPACES_PUBLIC_URL: `http://127.0.0.1:${port}`,
      WORKSPACES_METRICS_PORT: String(metricsPort),
      WORKSPACES_DATABASE_URL: database.url,
      WORKSPACES_SEAL_KEY: '07'.repeat(32),
      WORKSPACES_RATE_LIMIT: '0',
      WORKSPACES_MIGRATE: 'off',
      WORKSPACES_FIRST_RUN_FILE: 'first-run.json',
      WORKSPACES_DRAIN_SECONDS: '1',
    });
  }, 120_000);
  afterAll(async () => {
    await service?.stop();
    await database?.drop();
  });

  it('are answered as documented, and change neither its health nor its size', async () => {
    const { token: root } = JSON.parse(readFileSync(path.join(service.folder, 'first-run.json'), 'utf8'));
    const ask = async (method: string, at: string, body?: object, token = root) => {
      const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/vnd.api+json' };
      const answer = await fetch(`${service.url}${at}`, { method, headers, body: body && JSON.stringify(body) });
      const text = await answer.text();
      return { status: answer.status, body: text === '' ? undefined : JSON.parse(text) };
    };
    const must = async (method: string, at: string, body?: object) => {
      const answer = await ask(method, at, body);
      if (answer.status >= 300) throw new Error(`${method} ${at}: ${answer.status} ${JSON.stringify(answer.body)}`);
      return answer.body;
    };
    const self = (await must('GET', '/api/v2/account/details')).data.id;
    const mine = async () => must('GET', `/api/v2/users/${self}/authentication-tokens`);
    const own = (await mine()).data.map(({ id }: { id: string }) => id);
    const restore = async () => {
      const make = (at: string, type: string, attributes: object) =>
        ask('POST', `/api/v2/${at}`, { data: { type, attributes } });
      for (const name of ['fuzz-1', 'fuzz-2']) {
        await make('organizations', 'organizations', { name, email: 'fuzz@example.com' });
        for (const type of ['workspaces', 'teams', 'projects', 'varsets']) {
          for (const one of ['a', 'b']) await make(`organizations/${name}/${type}`, type, { name: one });
        }
      }
    };
    await restore();
    const target: FuzzTarget = {
      service,
      metricsUrl: `http://127.0.0.1:${metricsPort}/metrics`,
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
          parameters: {},
          weights,
          // While a state is still on its way, which ends by itself.
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
    const report = await fuzz(target, fuzzPlan('workspaces'));
    process.stderr.write(`workspaces, ${report.text}\n`);
    expect(report.findings).toEqual([]);
    expect((await fetch(`${service.url}/readyz`)).status).toBe(200);
    await must('GET', '/api/v2/account/details');
    expect(isFlat(report)).toBe(true);
  }, 3_600_000);
});

/** Rare because they take long by their nature (a password is hashed), or take with them what most others are about. */
const weights: Readonly<Record<string, number>> = {
  'DELETE /api/v2/organizations/{organization_name}': 0.02,
  'DELETE /api/v2/admin/organizations/{organization_name}': 0.02,
  'DELETE /api/v2/workspaces/{workspace_id}': 0.05,
  'DELETE /api/v2/admin/workspaces/{workspace_id}': 0.05,
  'DELETE /api/v2/organizations/{organization_name}/workspaces/{name}': 0.05,
  'POST /api/v2/workspaces/{workspace_id}/actions/safe-delete': 0.1,
  'POST /api/v2/organizations/{organization_name}/workspaces/{name}/actions/safe-delete': 0.1,
  'POST /api/v2/session': 0.1,
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
    include: ['workspace', 'organization', 'project'],
  };
}
