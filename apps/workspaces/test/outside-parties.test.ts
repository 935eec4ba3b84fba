import { existsSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FailingParty, failings } from '@keystead/testing';
import request, { type Response } from 'supertest';
import { describeConfig } from '../src/config';
import { resource, startWorkspaces } from './start-workspaces';

/** How to make the service call an address, and the answer while the address fails. */
interface Row {
  readonly status: number;
  readonly asks: (address: string, name: string) => Promise<() => Promise<Response>>;
}

describe('an outside system that fails', () => {
  const workspaces = startWorkspaces({
    env: {
      WORKSPACES_VCS: 'on',
      WORKSPACES_VCS_NETWORKS: '127.0.0.1/32',
      WORKSPACES_NOTIFICATION_NETWORKS: '127.0.0.1/32',
    },
  });
  const { admin } = workspaces;
  let workspace = '';
  const made = async (path: string, type: string, attributes: object) =>
    (await admin.post(path, resource(type, attributes)).expect(201)).body.data;

  const gitHost: Row['asks'] = async (address, name) => {
    const client = await made('organizations/acme/oauth-clients', 'oauth-clients', {
      'service-provider': 'gitea',
      'http-url': address,
      'api-url': `${address}/api/v1`,
      'oauth-token-string': 'text',
    });
    const repo = { identifier: 'team/net', 'oauth-token-id': client.relationships['oauth-tokens'].data[0].id };
    return () =>
      admin.post(
        'organizations/acme/workspaces',
        resource('workspaces', { name, 'vcs-repo': repo }),
      ) as Promise<Response>;
  };

  /** Every field of a request and every setting that names an address; a string says why there is no row. */
  const rows: Readonly<Record<string, Row | string>> = {
    'notification-configurations url': {
      status: 422,
      asks: async (url, name) => {
        const attributes = { name, url, 'destination-type': 'generic', enabled: false, triggers: ['run:created'] };
        const type = 'notification-configurations';
        const { id } = await made(`workspaces/${workspace}/${type}`, type, attributes);
        return () => admin.post(`${type}/${id}/actions/verify`, {}) as Promise<Response>;
      },
    },
    'oauth-clients api-url': { status: 422, asks: gitHost },
    'oauth-clients http-url': 'is where people and the tool go; the service calls api-url',
    'github-app-manifests api-url':
      'is called once a person comes back from the host: apps/workspaces/test/app-manifests.test.ts',
    'github-app-manifests http-url': 'is where people go',
    'infra-versions url': 'is called by workers and agents: apps/workspaces/src/worker/tool/releases.test.ts',
    'terraform-versions url': 'is called by workers and agents: apps/workspaces/src/worker/tool/releases.test.ts',
    'login-codes redirect-uri': 'is where a browser goes',
    'notification-configurations email-addresses': 'get mail from WORKSPACES_SMTP_URL',
    'saml-settings slo-endpoint-url': 'is where browsers go',
    'saml-settings sso-endpoint-url': 'is where browsers go',
    'task-results url': 'is only shown',
    'tasks url': 'is called as a run comes to its stages: apps/workspaces/test/run-tasks.test.ts',
    'workspaces source-url': 'is only shown',
    'no-code-module-workspace source-url': 'is only shown',
    'opa-versions url': 'is only listed',
    'sentinel-versions url': 'is only listed',
    WORKSPACES_BLOB_STORE: 'apps/workspaces/test/storage-away.thorough.test.ts',
    WORKSPACES_DATABASE_URL: 'apps/workspaces/test/lost-database.test.ts',
    WORKSPACES_HOST: 'is where the service listens',
    WORKSPACES_METRICS_HOST: 'is where the service listens',
    WORKSPACES_PRIMARY_URL: 'is where clients are sent',
    WORKSPACES_PUBLIC_URL: 'is the address of the service itself',
    WORKSPACES_SECRETS_ADDR: 'is called as a run begins and ends: local/test/run-credentials.thorough.test.ts',
    WORKSPACES_SECRETS_PUBLIC_URL: 'is where browsers go',
    WORKSPACES_SMTP_URL: 'apps/workspaces/src/kernel/installation/mailer.test.ts',
    WORKSPACES_TRACES_URL: 'is sent to in the background: apps/workspaces/test/tracing.test.ts',
    'sign-in-providers issuer': {
      status: 502,
      asks: async (issuer, name) => {
        const attributes = { name, issuer, 'client-id': 'keystead', 'client-secret': 'a secret of ours' };
        const { id } = await made('admin/sign-in-providers', 'sign-in-providers', attributes);
        return () => request(workspaces.server).get(`/ui/sign-in/${id}`) as unknown as Promise<Response>;
      },
    },
  };

  it('has a row for every field and every setting that names an address', async () => {
    const isAddress = /(^|-)(url|uri|address|addresses|host|endpoint|server|issuer)(-|$)/;
    const { body } = await admin.get('openapi.json').expect(200);
    const found = new Set<string>();
    const look = (type: string, schema: Record<string, unknown> | undefined): void => {
      for (const [name, value] of Object.entries(
        (schema?.properties ?? {}) as Record<string, Record<string, unknown>>,
      )) {
        if (isAddress.test(name) || value.format === 'uri') found.add(`${type} ${name}`);
        look(type, value);
      }
    };
    for (const operations of Object.values(body.paths as Record<string, Record<string, never>>)) {
      for (const { requestBody } of Object.values(operations) as {
        requestBody?: { content: Record<string, never> };
      }[]) {
        for (const { schema } of Object.values(requestBody?.content ?? {}) as { schema: { properties?: never } }[]) {
          const data = (schema?.properties as never as { data?: { properties?: Record<string, never> } })?.data;
          const type = (data?.properties?.type as { const?: string; enum?: string[] } | undefined) ?? {};
          look(type.const ?? type.enum?.[0] ?? '', data?.properties?.attributes);
        }
      }
    }
    for (const [name] of describeConfig().matchAll(/WORKSPACES_[A-Z_]+/g)) {
      if (/_(URL|ADDR|STORE|HOST|ENDPOINT)$/.test(name)) found.add(name);
    }
    expect(Object.keys(rows).sort()).toEqual([...found].sort());
    for (const row of Object.values(rows)) {
      const [file] = (typeof row === 'string' && /\S+\.test\.ts/.exec(row)) || [];
      if (file) expect([file, existsSync(path.join(__dirname, '../../..', file))]).toEqual([file, true]);
    }
  });

  const stray: unknown[] = [];
  const note = (error: unknown) => stray.push(error);
  const cases = Object.entries(rows).flatMap(([name, row]) =>
    typeof row === 'string' ? [] : failings.map((how) => ({ name, row, how, party: new FailingParty(how) })),
  );
  beforeAll(async () => {
    process.on('unhandledRejection', note).on('uncaughtException', note);
    await workspaces.organization('acme', { 'default-execution-mode': 'remote' });
    ({ id: workspace } = await workspaces.workspace('acme', 'web'));
    await Promise.all(cases.map(({ party }) => party.start()));
  });
  afterAll(async () => {
    process.off('unhandledRejection', note).off('uncaughtException', note);
    await Promise.all(cases.map(({ party }) => party.stop()));
  });

  it('is reported in time, only to the right people, and is called again once it works', async () => {
    const asks: (() => Promise<Response>)[] = [];
    for (const [n, { row, party }] of cases.entries()) asks.push(await row.asks(party.address, `party-${n}`));
    let over = false;
    const others: number[] = [];
    const bystander = (async () => {
      for (; !over; await sleep(20)) others.push((await admin.get('organizations/acme/workspaces')).status);
    })();
    const answers = await Promise.all(
      cases.map(async ({ name, how, party }, n) => {
        const { status, text } = await asks[n]!();
        return { name: `${name}: ${how}`, status, text, heard: party.requests > 0 };
      }),
    );
    over = true;
    await bystander;
    const wanted = cases.map(({ name, how, row }) => [`${name}: ${how}`, row.status, how !== 'closed']);
    expect(answers.map(({ name, status, heard }) => [name, status, heard])).toEqual(wanted);
    for (const { text } of answers) {
      expect(text).toMatch(/unreachable|cannot be reached|no answer/);
      expect(text.length).toBeLessThan(3000);
    }
    expect(new Set(others)).toEqual(new Set([200]));
    await Promise.all(cases.map(({ party }) => party.recover()));
    for (const [n, { party }] of cases.entries()) {
      await asks[n]!();
      // A party that has failed often is not called for a few seconds.
      for (let tries = 0; party.requests === 0 && tries < 100; tries++) {
        await sleep(300);
        await asks[n]!();
      }
      expect(party.requests).toBeGreaterThan(0);
    }
    expect(stray).toEqual([]);
  });
});
