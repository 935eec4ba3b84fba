import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { Ground } from '../src/program';
import { ask, times } from '../src/service';
import type { Bounds } from './bodies';
import { casesFor } from './cases';
import { type Document, type Operation, operationsOf } from './document';
import type { Case, Sender, Target } from './run-case';
import { startWatched } from './service';
import type { Hints } from './worst-values';

const KiB = 1024;
const spaces = 1_000;
interface Made {
  readonly data: { readonly id: string };
}

/**
 * Prepares the workspace service with an organization that has one object of every kind. The caller owns the
 * organization. Also returns the cases.
 */
export async function prepareWorkspaces(setup: Ground): Promise<{ target: Target; cases: Case[] }> {
  const firstRun = path.join(setup.folder, 'first-run.json');
  const target = await startWatched(
    'workspaces',
    {
      WORKSPACES_SEAL_KEY: randomBytes(32).toString('hex'),
      WORKSPACES_FIRST_RUN_FILE: firstRun,
      WORKSPACES_RATE_LIMIT: '0',
    },
    setup,
  );
  const { token } = JSON.parse(readFileSync(firstRun, 'utf8')) as { token: string };
  const credentials = { Authorization: `Bearer ${token}` };
  const api = `${target.url}/api/v2`;
  const headers = { ...credentials, 'Content-Type': 'application/vnd.api+json' };
  const make = async (at: string, type: string, attributes: object) =>
    (await ask<Made>(`${api}/${at}`, 'POST', headers, { data: { type, attributes } })).data.id;
  await make('organizations', 'organizations', { name: 'hostile', email: 'hostile@example.com' });
  const below = 'organizations/hostile';
  const parameters: Record<string, string> = {
    organization_name: 'hostile',
    name: 'hostile',
    workspace_id: await make(`${below}/workspaces`, 'workspaces', { name: 'hostile' }),
    project_id: await make(`${below}/projects`, 'projects', { name: 'hostile' }),
    team_id: await make(`${below}/teams`, 'teams', { name: 'hostile' }),
    varset_id: await make(`${below}/varsets`, 'varsets', { name: 'hostile' }),
    agent_pool_id: await make(`${below}/agent-pools`, 'agent-pools', { name: 'hostile' }),
    ssh_key_id: await make(`${below}/ssh-keys`, 'ssh-keys', { name: 'hostile', value: 'x' }).catch(() => 'sshkey-none'),
    user_id: (await ask<Made>(`${api}/account/details`, 'GET', headers)).data.id,
  };
  await times(spaces, (n) => make(`${below}/workspaces`, 'workspaces', { name: `space-${n}` }));
  const document = await ask<Document>(`${api}/openapi.json`, 'GET', headers);
  const cases = casesFor(operationsOf(document), {
    prefix: '',
    credentials,
    bounds: boundsOf,
    hints: hints(),
    parameters,
    forms: false,
    spared:
      /^DELETE (?!.*relationships)|actions\/(safe-)?delete|account\/(password|update)|rate-limit|actions\/disable|organizations\/\{organization_name\}$|\/users\/\{user_id\}\/actions/,
    open: /session|oauth2|one-time|two-factor|login|password/,
  });
  return { target, cases };
}

const states = /state-versions$/;

function boundsOf(sender: Sender, { name }: Operation): Bounds {
  if (sender === 'stranger') return { bytes: 64 * KiB, values: 1000, levels: 64, elements: 900 };
  const bytes = states.test(name) ? 32 * KiB * KiB : 2 * KiB * KiB;
  return { bytes, values: 50_000, levels: 64, elements: 10_000 };
}

function hints(): Hints {
  const list = (count: number, item: (n: number) => unknown) => Array.from({ length: count }, (_, n) => item(n));
  return {
    'tags-regex': ['(a?){1000}', `${'[a-z]{25}'.repeat(100)}`, '\\pL{999}', '('.repeat(500) + ')'.repeat(500)],
    'trigger-patterns': [list(1_000, (n) => `${'**/'.repeat(600)}${n}`), list(1_000, () => '{a,b}'.repeat(380))],
    'trigger-prefixes': [list(1_000, (n) => `/${'a/'.repeat(500)}${n}`)],
    value: ['x'.repeat(256 * KiB), '\\u0001'.repeat(40 * KiB), `[${'1,'.repeat(49_000)}1]`],
    key: ['x'.repeat(60_000)],
    password: ['x'.repeat(60_000), '😀'.repeat(15_000)],
    description: ['x'.repeat(65_000), '😀'.repeat(16_000)],
    'target-addrs': [list(200, (n) => `module.a[${n}].${'b.'.repeat(100)}c`)],
    variables: [list(1_000, (n) => ({ key: `k${n}`, value: '"v"' }))],
    state: ['A'.repeat(2_000_000), Buffer.alloc(1_000_000).toString('base64')],
    'json-state': [Buffer.from(`{"a":[${'1,'.repeat(400_000)}1]}`).toString('base64')],
  };
}
