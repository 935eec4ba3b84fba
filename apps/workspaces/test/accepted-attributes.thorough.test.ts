import { readFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { slice, valuesOf } from '@keystead/testing';
import type { Example, World } from './at-once-examples';
import { declarationOf, inside, type Json, merged, nested, type Taking, takingOf, walkOf } from './fields-walk';
import { resource, startWorkspaces } from './start-workspaces';

interface Named {
  readonly steps: readonly string[];
  readonly schema: Json;
}

/** The possible values of an attribute, or of its parts. */
function parts(name: readonly string[], schema: Json): Named[] {
  const inner = Object.entries<Json>(schema.properties ?? {});
  return inner.length === 0 ? [{ steps: name, schema }] : inner.flatMap(([key, each]) => parts([...name, key], each));
}

const attributesOf = ({ schema }: Taking): Json => schema.properties?.data?.properties?.attributes?.properties;

/** Operations that perform an action and store nothing of their body: its attributes only say how to perform it. */
const acts = new Set([
  'PATCH /account/password',
  'POST /session',
  'POST /account/two-factor',
  'POST /account/two-factor/actions/verify',
  'DELETE /account/two-factor',
  'POST /one-time-links/:secret',
  'POST /account/login-codes',
  'POST /admin/teams/:team_id/scim-group-mapping',
  'PATCH /admin/teams/:team_id/scim-group-mapping',
  'POST /admin/users/:user_id/actions/confirm_email',
]);

/** Attributes accepted only together with another, and the tests that compare them with what was sent. */
const elsewhere: Readonly<Record<string, string>> = {
  'organizations collaborator-auth-policy': 'spec-organization-attributes',
  'organizations default-agent-pool-id': 'spec-organizations',
  'organizations user-tokens-enabled': 'token-kinds',
  'organizations max-ttl-enabled': 'token-lifetimes',
  'organization-token-ttl-policies token-ttl-policies': 'token-lifetimes',
  'notification-configurations triggers': 'notifications',
  'bulk_actions target_ids': 'notifications',
  'policy-dry-runs runs': 'policy-dry-runs',
  'queries infra-version': 'module-tests',
  'queries variables': 'module-tests',
  'test-runs variables': 'module-tests',
  'registry-modules test-config.agent-execution-mode': 'module-tests',
  'registry-modules test-config.agent-pool-id': 'module-tests',
  'no-code-modules enabled': 'no-code-modules',
  'no-code-modules version-pin': 'no-code-modules',
  'audit-configurations audit-trails.enabled': 'audit',
  'audit-configurations hcp-audit-log-streaming.enabled': 'audit',
  'audit-configurations hcp-audit-log-streaming.organization-id': 'audit',
  'audit-configurations hcp-audit-log-streaming.use-default-organization': 'audit',
  'saml-settings enabled': 'saml',
  'saml-settings authn-requests-signed': 'saml',
  'scim-settings enabled': 'scim',
  'scim-settings site-admin-group-scim-id': 'scim',
  'scim-settings sign-in-provider-id': 'scim',
  'projects setting-overwrites.default-agent-pool': 'projects',
  'workspaces setting-overwrites.agent-pool': 'agent-pools',
  'workspaces vcs-repo.vcshost-app-installation-id': 'spec-workspaces',
  'state-versions md5': 'state-versions',
  'state-versions serial': 'exact-numbers',
  'users email': 'users',
  'state-versions lineage': 'state-versions',
  'notification-configurations enabled': 'notifications',
  'notification-configurations email-addresses': 'notifications',
  'tasks enabled': 'run-tasks',
  'workspace-tasks stage': 'run-tasks',
  'plan-exports data-type': 'plan-exports',
  'registry-modules registry-name': 'registry-modules',
  'registry-modules namespace': 'registry-modules',
  'registry-providers registry-name': 'registry-providers',
  'registry-providers namespace': 'registry-providers',
  'module-versions deprecation.deprecated-status': 'modules-from-git',
  'oauth-clients organization-id': 'repositories',
  'gpg-keys ascii-armor': 'registry-providers',
  'gpg-keys namespace': 'registry-providers',
  'policies enforce': 'policies',
  'policy-sets policies-path': 'policy-sets-from-git',
  ...Object.fromEntries(
    [
      'identifier',
      'display-identifier',
      'oauth-token-id',
      'vcshost-app-installation-id',
      'branch',
      'ingress-submodules',
    ].map((name) => [`policy-sets vcs-repo.${name}`, 'policy-sets-from-git']),
  ),
  'general-settings api-rate-limiting-enabled': 'admin',
  'general-settings api-rate-limit': 'admin',
  'general-settings require-two-factor-for-admins': 'sessions',
};

/** Values that cannot be derived from the declared type of an attribute. */
const toldValue: Readonly<Record<string, (world: World) => Promise<unknown> | unknown>> = {
  'sign-in-providers issuer': () => 'https://another.provider.test',
  'sign-in-providers scopes': () => ['openid', 'email', 'phone'],
  'sign-in-providers organizations': ({ organization }) => [organization],
  'tasks url': () => 'http://127.0.0.1:1/another',
  'runs infra-version': () => '1.5.7',
  'workspaces vcs-repo.oauth-token-id': async (world) => (await connected(world))['oauth-token-id'],
  'workspaces vcs-repo.identifier': () => 'acme/ships',
  'registry-module-versions commit-sha': () => 'c'.repeat(40),
  'registry-provider-versions protocols': () => ['6.0'],
  'policies query': () => 'data.terraform.deny',
  'policy-sets tag-selectors': () => [{ 'tag-key': 'tier', 'tag-value': 'gold', 'is-exclude': false }],
  'runs module-versions': () => [{ source: 'example.com/acme/boats/aws', version: '1.2.0' }],
  'runs variables': () => [{ key: 'height', value: '"40"' }],
  'infra-versions archs': () => [architecture],
  'terraform-versions archs': () => [architecture],
  'opa-versions archs': () => [architecture],
  'sentinel-versions archs': () => [architecture],
};
const architecture = { url: 'https://example.com/t.zip', sha: 'ab', os: 'linux', arch: 'arm64' };

const pool = async (world: World): Promise<string> => {
  const body = resource('agent-pools', { name: world.fresh() });
  return (await world.root('POST', `organizations/${world.organization}/agent-pools`, body)).id;
};
const connected = async (world: World): Promise<Json> => {
  const attributes = {
    'service-provider': 'github',
    'http-url': 'https://code.test',
    'api-url': 'https://api.code.test',
    'oauth-token-string': 'text',
  };
  const made = await world.root(
    'POST',
    `organizations/${world.organization}/oauth-clients`,
    resource('oauth-clients', attributes),
  );
  return { identifier: 'acme/boats', 'oauth-token-id': made.relationships['oauth-tokens'].data[0].id };
};
/** The other attributes that an attribute requires. */
const besides = async (type: string, name: string, world: World): Promise<Json> => {
  if (type === 'tasks' && name === 'url') return { 'hmac-key': 'sent again with it' };
  if (type === 'team-workspaces' && name !== 'access') return { access: 'custom' };
  if (type === 'team-projects' && name !== 'access') return { access: 'custom' };
  if (type === 'workspaces' && name.startsWith('vcs-repo.'))
    return { 'vcs-repo': await connected(world), 'trigger-prefixes': [], 'trigger-patterns': [] };
  if (type === 'workspaces' && name === 'agent-pool-id')
    return { 'execution-mode': 'agent', 'agent-pool-id': await pool(world) };
  if (type === 'workspaces' && name === 'setting-overwrites.execution-mode') return { 'execution-mode': 'local' };
  if (type === 'projects' && name === 'default-agent-pool-id')
    return { 'default-execution-mode': 'agent', 'default-agent-pool-id': await pool(world) };
  if (type === 'projects' && name === 'setting-overwrites.default-execution-mode')
    return { 'default-execution-mode': 'local' };
  if (type === 'workspaces' && name === 'assessments-enabled') return { 'execution-mode': 'remote' };
  if (type === 'organizations' && name === 'aggregated-commit-status-enabled')
    return { 'send-passing-statuses-for-untriggered-speculative-plans': false };
  if (type === 'organizations' && name.startsWith('send-passing-'))
    return { 'aggregated-commit-status-enabled': false };
  if (type === 'sign-in-providers' && name === 'issuer') return { 'client-secret': 'sent again' };
  if (type === 'sign-in-providers' && name === 'site-admin-group') return { 'groups-claim': 'groups' };
  if (type === 'runs' && ['infra-version', 'module-versions'].includes(name)) return { 'plan-only': true };
  return {};
};

const madeOnce = new Set([
  'state-versions',
  'workspace-tasks',
  'registry-module-versions',
  'registry-provider-versions',
  'registry-provider-platforms',
]);
const editions = ['self-hosted', 'hosted'] as const;

describe.each(editions)('the attributes of requests to the %s edition', (edition) => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_VCS: 'off', WORKSPACES_EDITION: edition } });
  const { world, send, make, ask } = walkOf(workspaces);
  const operations = takingOf(edition).filter(
    (one) => one.type !== '' && attributesOf(one) && typeof one.making === 'function',
  );
  const keeping = slice(
    operations.filter(({ name }) => !acts.has(name)),
    ({ endpoint }) => declarationOf(endpoint),
  );

  /** Sends the request of an example with more attributes; returns the resource afterwards. */
  const shownAfter = async (one: Taking, example: Example, n: number, more: Json): Promise<Json> => {
    const { data: base, ...rest } = (example.body?.(n) ?? resource(one.type)) as Json;
    const answer = await ask(one, example, { ...rest, data: merged(base, { attributes: more }) });
    if (answer.status >= 300) return { refused: `${answer.status} ${answer.text.slice(0, 200)}` };
    const shown = answer.body?.data ?? {};
    const token = example.token ?? workspaces.admin.token!;
    const again = shown.links?.self ? await send(token, 'GET', shown.links.self) : undefined;
    return again?.status === 200 ? again.body.data : shown;
  };

  it.each(keeping.map((one) => [one.name, one] as const))('%s stores what it accepts', async (_name, one) => {
    const { type } = one;
    // Some requests can be made only once.
    const once = type.startsWith('team-') || madeOnce.has(type) || one.name.endsWith('/parameters');
    const failures: string[] = [];
    let example = await make(one);
    let n = 0;
    const named = Object.entries<Json>(attributesOf(one)).flatMap(([key, each]) => parts([key], each));
    // The name is changed last, because the path may contain it.
    named.sort((a, b) => Number(a.steps[0] === 'name') - Number(b.steps[0] === 'name'));
    for (const { steps, schema } of named) {
      const name = steps.join('.');
      if (`${type} ${name}` in elsewhere || schema.enum?.length === 1) continue;
      if (once) example = await make(one);
      const also = await besides(type, name, world);
      const before = await shownAfter(one, example, n++, also);
      if (before.refused) {
        failures.push(`${name}: ${before.refused}`);
        continue;
      }
      if (schema.writeOnly) {
        if (inside(before.attributes, steps) != null) failures.push(`${name} is shown`);
        continue;
      }
      const told = toldValue[`${type} ${name}`];
      let last = 'nothing was tried';
      for (const value of told ? [await told(world)] : valuesOf(schema, world.fresh)) {
        if (isDeepStrictEqual(inside(before.attributes, steps), value)) continue;
        if (once) example = await make(one);
        const shown = await shownAfter(one, example, n++, merged(also, nested(steps, value)));
        const got = inside(shown.attributes, steps);
        if (shown.refused) {
          // A value that an edition does not allow is refused.
          last = shown.refused.includes('in this edition') ? '' : shown.refused;
          continue;
        }
        last = isDeepStrictEqual(got, value) ? '' : `${JSON.stringify(value)} is shown as ${JSON.stringify(got)}`;
        break;
      }
      if (last !== '') failures.push(`${name}: ${last}`);
    }
    expect(failures).toEqual([]);
  });
});

it('every attribute in the list occurs in the test file that the list names', () => {
  const unread = Object.entries(elsewhere).filter(([name, file]) => {
    const text = readFileSync(path.join(__dirname, `${file}.test.ts`), 'utf8');
    return !text.includes(name.split(/[ .]/).at(-1)!);
  });
  expect(unread).toEqual([]);
  // Names in the list that no longer exist.
  const names = editions.flatMap(takingOf).flatMap((one) =>
    Object.entries<Json>(attributesOf(one) ?? {})
      .flatMap(([key, each]) => parts([key], each))
      .map(({ steps }) => `${one.type} ${steps.join('.')}`),
  );
  expect(names.length).toBeGreaterThan(300);
  expect(Object.keys({ ...elsewhere, ...toldValue }).filter((name) => !names.includes(name))).toEqual([]);
});
