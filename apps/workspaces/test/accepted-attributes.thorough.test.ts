import { readFileSync } from 'node:fs';
import path from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { describe, expect, it, jest } from '@jest/globals';
import { testCertificate } from '@keystead/testing';
import type { Endpoint } from '../src/kernel/endpoints/endpoint';
import { resources } from '../src/resources/registry';
import { type Example, examples, type Making, type World } from './at-once-examples';
import { worldOf } from './at-once-world';
import { resource, startWorkspaces } from './start-workspaces';

jest.setTimeout(600_000);

// biome-ignore lint/suspicious/noExplicitAny: bodies of every endpoint
type Json = any;

interface Named {
  readonly steps: readonly string[];
  readonly schema: Json;
}

/** What an attribute, or its parts, may be. */
function parts(name: readonly string[], schema: Json): Named[] {
  const inner = Object.entries<Json>(schema.properties ?? {});
  return inner.length === 0 ? [{ steps: name, schema }] : inner.flatMap(([key, each]) => parts([...name, key], each));
}

const nested = (steps: readonly string[], value: unknown): Json =>
  steps.reduceRight<unknown>((held, step) => ({ [step]: held }), value);
const inside = (held: Json, steps: readonly string[]): unknown => steps.reduce((value, step) => value?.[step], held);
const merged = (one: Json, other: Json): Json =>
  typeof one === 'object' && one !== null && typeof other === 'object' && other !== null && !Array.isArray(other)
    ? Object.fromEntries(
        [...new Set([...Object.keys(one), ...Object.keys(other)])].map((key) => [
          key,
          key in other ? merged(one[key], other[key]) : one[key],
        ]),
      )
    : other;

/** Texts of the forms that attributes have. */
const texts = (fresh: () => string): string[] => [
  fresh(),
  `${fresh()}@example.com`,
  `https://${fresh()}.example/x`,
  new Date(Date.now() + 30 * 86_400_000).toISOString(),
  '12h',
  '1d',
  '~> 1.5.0',
  `8.8.${++patches}`,
  testCertificate.cert,
];
let patches = 0;

/** Values of a shape, in the order in which they are tried. */
function valuesOf(schema: Json, fresh: () => string): unknown[] {
  if (schema.anyOf)
    return schema.anyOf
      .flatMap((each: Json) => valuesOf(each, fresh))
      .sort((value: unknown) => (value === '' ? 1 : -1));
  if (schema.enum) return [...schema.enum].reverse();
  switch (schema.type) {
    case 'boolean':
      return [true, false];
    case 'integer':
    case 'number':
      return [Math.max(7, schema.minimum ?? 0), (schema.minimum ?? 0) + 1];
    case 'array':
      return valuesOf(schema.items ?? { type: 'string' }, fresh).map((value) => [value]);
    case 'object':
      return [nested([fresh()], 'x')];
    default:
      return texts(fresh);
  }
}

const nameOf = ({ method, path }: Endpoint): string => `${method} ${path}`;

/** Operations that do something and keep nothing of what they are told: attributes say with what. */
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
]);

/** What is kept and not shown under its name, as it is secret, or what it is for beside being kept; by the type of the document. */
const notShown: Readonly<Record<string, string>> = {
  'sign-in-providers client-secret': 'secret',
  'saml-settings private-key': 'secret',
  'ssh-keys value': 'secret',
  'oauth-clients secret': 'secret',
  'oauth-clients oauth-token-string': 'secret',
  'oauth-clients private-key': 'secret',
  'oauth-tokens ssh-key': 'secret; has-ssh-key says that there is one',
  'notification-configurations token': 'secret',
  'workspaces agent-pool-id': 'shown as a relationship',
  'projects default-agent-pool-id': 'shown as a relationship',
  'state-versions force': 'lets a state in that does not follow the current one',
  'state-versions state': 'the state, which has a link of its own',
  'state-versions json-state': 'has a link of its own',
  'state-versions json-state-outputs': 'the outputs, which are resources',
};

/** What the edition under test does not have, and its document does not take. */
const otherEdition = [
  'assessments-enforced',
  'assessments-enabled',
  'send-passing-statuses-for-untriggered-speculative-plans',
];

/** What is taken beside something else alone, and the tests that hold it to what was sent. */
const elsewhere: Readonly<Record<string, string>> = {
  'organizations collaborator-auth-policy': 'spec-organization-attributes',
  'organizations default-agent-pool-id': 'spec-organizations',
  'organizations user-tokens-enabled': 'token-kinds',
  'saml-settings enabled': 'saml',
  'saml-settings authn-requests-signed': 'saml',
  'scim-settings enabled': 'scim',
  'scim-settings site-admin-group-scim-id': 'scim',
  'scim-settings sign-in-provider-id': 'scim',
  'projects setting-overwrites.default-agent-pool': 'projects',
  'workspaces setting-overwrites.agent-pool': 'agent-pools',
  'workspaces vcs-repo.vcshost-app-installation-id': 'spec-workspaces',
  'state-versions md5': 'state-versions',
  'state-versions lineage': 'state-versions',
  'notification-configurations enabled': 'notifications',
  'notification-configurations email-addresses': 'notifications',
  'plan-exports data-type': 'plan-exports',
  'general-settings api-rate-limiting-enabled': 'admin',
  'general-settings api-rate-limit': 'admin',
  'general-settings require-two-factor-for-admins': 'sessions',
};

/** Values that no shape tells. */
const toldValue: Readonly<Record<string, (world: World) => Promise<unknown> | unknown>> = {
  'sign-in-providers scopes': () => ['openid', 'email', 'phone'],
  'sign-in-providers organizations': ({ organization }) => [organization],
  'runs infra-version': () => '1.5.7',
  'workspaces vcs-repo.oauth-token-id': async (world) => (await connected(world))['oauth-token-id'],
  'workspaces vcs-repo.identifier': () => 'acme/ships',
  'runs variables': () => [{ key: 'height', value: '"40"' }],
  'infra-versions archs': () => [architecture],
  'terraform-versions archs': () => [architecture],
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
/** What else has to be said for an attribute to be taken. */
const besides = async (type: string, name: string, world: World): Promise<Json> => {
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
  if (type === 'sign-in-providers' && name === 'site-admin-group') return { 'groups-claim': 'groups' };
  if (type === 'runs' && name === 'infra-version') return { 'plan-only': true };
  return {};
};

describe('what requests may say', () => {
  const workspaces = startWorkspaces({ env: { WORKSPACES_VCS: 'off' } });
  const send = async (token: string, method: string, path: string, body?: object, headers?: object): Promise<Json> => {
    const verb = method.toLowerCase();
    const test = workspaces.as(token)[verb as 'post'](path, body);
    for (const [key, value] of Object.entries(headers ?? {})) test.set(key, value);
    return test;
  };
  const world = worldOf(workspaces, async (token, method, path, body, headers) => {
    const answer = await send(token, method, path, body, headers);
    if (answer.status >= 300) throw new Error(`${method} ${path} was answered ${answer.status}: ${answer.text}`);
    if (path.startsWith('/')) return answer.body;
    const { data, meta } = answer.body ?? {};
    return meta === undefined || Array.isArray(data) ? data : { ...data, meta };
  });

  let asked = 0;
  /** Attributes of an operation that are taken and not read back, or that nothing was found for. */
  const forgottenBy = async (endpoint: Endpoint, type: string, attributes: Json, making: Exclude<Making, string>) => {
    const failures: string[] = [];
    // Some requests can be made once.
    const once = type.startsWith('team-') || type === 'state-versions';
    let example: Example = await making(world);
    let n = 0;
    /** Sends a request of the example with more attributes; answers what is there afterwards. */
    const ask = async (more: Json): Promise<Json> => {
      const at = endpoint.path.replace(/:(\w+)/g, (_all, param: string) => example.at?.[param] ?? '');
      const token = example.token ?? workspaces.admin.token!;
      const { data: base, ...rest } = (example.body?.(n++) ?? resource(type)) as Json;
      const body = { ...rest, data: merged(base, { attributes: more }) };
      const answer = await send(token, endpoint.method, at, body);
      asked += 1;
      if (answer.status >= 300) return { refused: `${answer.status} ${answer.text.slice(0, 200)}` };
      const shown = answer.body?.data ?? {};
      const again = shown.links?.self ? await send(token, 'GET', shown.links.self) : undefined;
      return again?.status === 200 ? again.body.data : shown;
    };
    const named = Object.entries<Json>(attributes).flatMap(([key, each]) => parts([key], each));
    // Last, as the path may have the name.
    named.sort((a, b) => Number(a.steps[0] === 'name') - Number(b.steps[0] === 'name'));
    for (const { steps, schema } of named) {
      const name = steps.join('.');
      if (`${type} ${name}` in elsewhere || otherEdition.includes(name) || schema.enum?.length === 1) continue;
      if (once) example = await making(world);
      const also = await besides(type, name, world);
      const before = await ask(also);
      if (before.refused) {
        failures.push(`${name}: ${before.refused}`);
        continue;
      }
      if (`${type} ${name}` in notShown) {
        if (inside(before.attributes, steps) != null) failures.push(`${name} is shown`);
        continue;
      }
      const told = toldValue[`${type} ${name}`];
      let last = 'nothing was tried';
      for (const value of told ? [await told(world)] : valuesOf(schema, world.fresh)) {
        if (isDeepStrictEqual(inside(before.attributes, steps), value)) continue;
        if (once) example = await making(world);
        const shown = await ask(merged(also, nested(steps, value)));
        const got = inside(shown.attributes, steps);
        if (shown.refused) {
          last = shown.refused;
          continue;
        }
        last = isDeepStrictEqual(got, value) ? '' : `${JSON.stringify(value)} is shown as ${JSON.stringify(got)}`;
        break;
      }
      if (last !== '') failures.push(`${name}: ${last}`);
    }
    return failures;
  };

  it('is looked at elsewhere where the list says so', () => {
    const unread = Object.entries(elsewhere).filter(([name, file]) => {
      const text = readFileSync(path.join(__dirname, `${file}.test.ts`), 'utf8');
      return !text.includes(name.split(/[ .]/).at(-1)!);
    });
    expect(unread).toEqual([]);
  });

  it('is read back', async () => {
    const failures: string[] = [];
    for (const endpoint of resources.flatMap(({ endpoints }) => endpoints)) {
      const data = (endpoint.body?.jsonSchema() as Json)?.properties?.data;
      const attributes = data?.properties?.attributes?.properties;
      const making = examples[nameOf(endpoint)];
      const isOurs = endpoint.edition !== 'hosted' && !acts.has(nameOf(endpoint)) && !endpoint.outside;
      if (!attributes || typeof making !== 'function' || !isOurs) continue;
      const type: string = data.properties.type?.enum?.[0] ?? '';
      const lines = await forgottenBy(endpoint, type, attributes, making).catch((error) => [String(error)]);
      failures.push(...lines.map((line) => `${nameOf(endpoint)}: ${line}`));
    }
    expect(asked).toBeGreaterThan(500);
    expect(failures).toEqual([]);
  });
});
