import { generateKeyPairSync } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testCertificate } from '@keystead/testing';
import type { LiveMount } from '../src/kernel/mounts/mount';
import type { AnyOperation, Path } from '../src/sdk/path';
import { examples, type Making, type World } from './at-once-examples';
import { SchedulerStandIn } from './stand-ins/scheduler';
import { startSecrets } from './start-secrets';
import { mountEveryKind } from './visits';

// biome-ignore lint/suspicious/noExplicitAny: bodies of every endpoint
type Json = any;

/** What is kept and not shown under its name, or is for something else than being kept; and why. */
const notShown: Readonly<Record<string, string>> = {
  'identity/entity-alias/id/:id entity_id': 'another name of canonical_id',
  'identity/mfa/method/totp/:method_id method_name': 'shown as name',
  'system/config/auditing/request-headers/:header hmac': 'shown below the name of the header',
  'system/policies/acl/:name* cas': 'the version that is replaced',
  'system/policies/acl/:name* ttl': 'shown as expiration',
  'system/policy/:name* cas': 'the version that is replaced',
  'system/policy/:name* ttl': 'shown as expiration',
  'system/policy/:name* rules': 'another name of policy',
  'system/mounts/:path*/tune plugin_version': 'has no effect, as documented',
  'system/mounts/:path*/tune user_lockout_config': 'has no effect, as documented',
  'system/auth/:path*/tune plugin_version': 'has no effect, as documented',
  'system/auth/:path*/tune user_lockout_config': 'has no effect, as documented',
  'token/roles/:name bound_cidrs': 'another name of token_bound_cidrs',
  'identity/oidc/client/:name authorization_code': 'only true is taken: there is no other flow',
  'scheduler/config/access token': 'secret',
  'scheduler/config/access verify': 'tries the access before it is kept',
  'scheduler/config/access bootstrap': 'makes the token that is kept',
  'cloudtwo/config/root secret_key': 'secret',
  'cloudtwo/config/root credential_source': 'shown where it is not the keys that are given',
  'cloudtwo/config/root identity_token_ttl': 'shown with identity_token_audience',
  'cloudtwo/config/root disable_automated_rotation': 'shown with the terms of a rotation',
  'userpass/users/:username password': 'secret',
  'approle/role/:role_name role_id': 'has a path of its own',
  'approle/role/:role_name bound_cidr_list': 'another name of secret_id_bound_cidrs',
  'approle/role/:role_name/policies policies': 'another name of token_policies',
  'approle/role/:role_name/period period': 'another name of token_period',
  'jwt/config skip_jwks_validation': 'keeps an address that does not answer yet',
  'kubernetes/config token_reviewer_jwt': 'secret',
  'ldap/config bindpass': 'secret',
  'cert/certs/:name lease': 'another name of token_ttl',
};

/** Operations that do something with what they are told, and keep nothing of it. */
const acts = new Set(['identity/oidc/provider/:name/authorize', 'system/wrapping/lookup', 'token/lookup']);

const upstream = new SchedulerStandIn();
beforeAll(() => upstream.start());
afterAll(() => upstream.stop());

const publicKey = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  .publicKey.export({ type: 'spki', format: 'pem' })
  .toString();

/** Values of a type, in the order in which they are tried. */
function valuesOf(json: Json, fresh: () => string): unknown[] {
  if (json.enum) return [...json.enum].reverse();
  switch (json.type) {
    case 'boolean':
      return [true, false];
    case 'integer':
      return [Math.max(7, json.minimum ?? 0), (json.minimum ?? 0) + 1, 3600];
    case 'array':
      return [...valuesOf(json.items ?? { type: 'string' }, fresh).map((value) => [value]), ['127.0.0.1/32']];
    case 'object':
      return [{ [fresh()]: 'x' }];
    default:
      return json.format === 'duration'
        ? ['1h', '30m', '2h', '48h']
        : [
            fresh(),
            `https://${fresh()}.example/x`,
            `${fresh()}@example.com`,
            '1h',
            '30m',
            '127.0.0.1/32',
            'arn:aws:iam::123456789012:role/x',
            testCertificate.cert,
            publicKey,
          ];
  }
}

const jsonOf = (field: Json): Json => {
  for (let at = field; at; at = at.def?.innerType) {
    const json = at.meta?.()?.json;
    if (json) return json;
  }
  return undefined;
};

describe('what requests may say', () => {
  const secrets = startSecrets();
  let made = 0;
  const send = async (method: string, path: string, token: string, body?: object): Promise<Json> => {
    const { port } = secrets.server.address() as AddressInfo;
    const answer = await fetch(`http://127.0.0.1:${port}/v1/${path}`, {
      method,
      headers: { 'X-Service-Token': token, 'Content-Type': 'application/json' },
      body: body === undefined ? undefined : JSON.stringify(body),
      signal: AbortSignal.timeout(15_000),
    });
    const text = await answer.text();
    return { status: answer.status, text, body: text === '' ? undefined : JSON.parse(text) };
  };
  const world: World = {
    root: (method, path, body) => world.as(secrets.rootToken, method, path, body),
    async as(token, method, path, body) {
      const { status, text, body: said } = await send(method, path, token, body);
      if (status >= 300) throw new Error(`${method} ${path} was answered ${status}: ${text}`);
      return said;
    },
    fresh: () => `thing${++made}`,
    get schedulerAddress() {
      return upstream.address;
    },
    get schedulerToken() {
      return upstream.management;
    },
    publicKey,
  };
  let operations: { name: string; mount: LiveMount; declared: Path; operation: AnyOperation }[] = [];
  beforeAll(async () => {
    await mountEveryKind(secrets);
    const access = { address: upstream.address, token: upstream.management };
    await secrets.root.write('scheduler/config/access', access).expect(204);
    await secrets.root.write('scheduler/role/ops', { policies: 'read' }).expect(204);
    operations = [...secrets.service.kernel.mounts.all()].flatMap((mount) =>
      mount.backend.paths.flatMap((declared) =>
        declared.operations.write && declared.operations.read
          ? [
              {
                name: `${mount.backend.type}/${declared.pattern}`,
                mount,
                declared,
                operation: declared.operations.write as AnyOperation,
              },
            ]
          : [],
      ),
    );
  });

  let readBack = 0;
  /** Fields of an operation that are taken, whatever of them is read afterwards. What is refused is not forgotten. */
  const forgottenBy = async (one: (typeof operations)[number], making: Exclude<Making, string>) => {
    const { name, mount, declared, operation } = one;
    const forgotten: string[] = [];
    for (const [field, type] of Object.entries<Json>((operation as Json).input?.shape ?? {})) {
      const json = jsonOf(type);
      if (json === undefined || `${name} ${field}` in notShown) continue;
      const example = await making(world);
      const below = declared.pattern.replace(/:(\w+)\*?/g, (_all, param: string) => example.at?.[param] ?? '');
      const at = mount.path + below;
      const token = example.token ?? secrets.rootToken;
      const base = (example.body?.(0) ?? {}) as Json;
      const shown = async () => (await send('GET', at, secrets.rootToken)).body?.data?.[field];
      const write = (more: Json) => send('POST', at, token, { ...base, ...more });
      await write({});
      const before = await shown();
      let taken: string | undefined;
      for (const value of valuesOf(json, world.fresh)) {
        // Nothing is asked for where there is nothing.
        if (isDeepStrictEqual(before, value) || value === '' || (value === false && before === undefined)) continue;
        if ((await write({ [field]: value })).status >= 300) continue;
        const after = await shown();
        taken = `${field}: ${JSON.stringify(value).slice(0, 60)} is shown as ${JSON.stringify(after)}`;
        if (after === undefined || isDeepStrictEqual(after, before)) continue;
        readBack += 1;
        taken = undefined;
        break;
      }
      if (taken !== undefined) forgotten.push(`${name} ${taken}`);
    }
    return forgotten;
  };

  it('is read back, or refused', async () => {
    const forgotten: string[] = [];
    for (const one of operations) {
      const making = acts.has(one.name) ? '' : examples[`write ${one.name}`];
      if (typeof making === 'function') forgotten.push(...(await forgottenBy(one, making)));
    }
    expect(forgotten).toEqual([]);
    expect(readBack).toBeGreaterThan(300);
    // Names that are not there any more.
    const names = new Set(
      operations.flatMap(({ name, operation }) =>
        Object.keys((operation as Json).input?.shape ?? {}).map((field) => `${name} ${field}`),
      ),
    );
    expect(Object.keys(notShown).filter((name) => !names.has(name))).toEqual([]);
  }, 600_000);
});
