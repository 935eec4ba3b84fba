import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { slice, valuesOf } from '@keystead/testing';
import type { LiveMount } from '../src/kernel/mounts/mount';
import { registry } from '../src/registry';
import { isReading, type Verb } from '../src/sdk/call';
import type { AnyOperation, Path } from '../src/sdk/path';
import { type Example, examples } from './at-once-examples';
import { methodOf, senderTo, worldOf } from './at-once-world';
import { startSecrets } from './start-secrets';
import { declarationOf } from './visits';

// biome-ignore lint/suspicious/noExplicitAny: bodies of every endpoint
type Json = any;

const unseen = (operations: readonly string[], fields: string, why: string) =>
  Object.fromEntries(
    operations.flatMap((name) => fields.split(' ').map((field) => [`write pki/${name} ${field}`, why])),
  );
const ofKey = 'exclude_cn_from_sans signature_bits use_pss not_before_duration private_key_format key_bits key_ref';

/** Fields whose effect no answer shows, and where it can be seen. */
const elsewhere: Readonly<Record<string, string>> = {
  ...unseen(
    ['root/generate/:exported', 'issuers/generate/root/:exported', 'root/rotate/:exported'],
    ofKey,
    'has an effect for another kind of key, for a key that is shown, or for an existing key',
  ),
  ...unseen(
    ['intermediate/generate/:exported', 'issuers/generate/intermediate/:exported'],
    `${ofKey} ttl not_after not_before`,
    'as for a root; a request has no validity',
  ),
  ...unseen(
    ['tidy'],
    'tidy_cert_store tidy_revoked_certs tidy_revoked_cert_issuer_associations tidy_expired_issuers tidy_acme safety_buffer revoked_safety_buffer issuer_safety_buffer acme_account_safety_buffer',
    'tidy: the status of the job later shows its effect',
  ),
  ...unseen(['tidy'], 'tidy_invalid_certs tidy_move_legacy_ca_bundle', 'declared-paths: they have no effect'),
  'write kv/move overwrite': 'relocation: where there is a secret',
  'write kv/copy overwrite': 'relocation: where there is a secret',
  'write kv/copy all_versions': 'relocation: what is copied',
  'write identity/entity/merge force': 'identity: where both have a second factor',
  'write identity/entity/merge conflicting_alias_ids_to_keep': 'identity: where both have an alias of a mount',
  'write identity/oidc/key/:name/rotate verification_ttl': 'identity-provider: how long the old key stays published',
  'write identity/oidc/introspect token': 'identity-provider: of a token that the service has signed',
  'write identity/oidc/introspect client_id': 'identity-provider: the same',
  'write system/tools/random source': 'where the bytes come from cannot be seen in them',
  'delete system/plugins/catalog/:type/:name version': 'there are no plugins',
  'write system/renew/:lease_id* url_lease_id': 'the path says which',
  'write system/leases/renew/:lease_id* url_lease_id': 'the path says which',
  'write system/leases/renew url_lease_id': 'leases: where lease_id is not given',
  'write system/renew url_lease_id': 'leases: where lease_id is not given',
  'write system/leases/revoke url_lease_id': 'leases: where lease_id is not given',
  'write system/leases/revoke/:lease_id* lease_id': 'the path says which',
  'write system/leases/revoke/:lease_id* url_lease_id': 'the path says which',
  'write system/revoke url_lease_id': 'leases: where lease_id is not given',
  'write system/revoke/:lease_id* lease_id': 'the path says which',
  'write system/revoke/:lease_id* url_lease_id': 'the path says which',
  'write system/leases/revoke sync': 'leases: when the answer comes',
  'write system/leases/revoke/:lease_id* sync': 'leases: when the answer comes',
  'write system/revoke sync': 'leases: when the answer comes',
  'write system/revoke/:lease_id* sync': 'leases: when the answer comes',
  'write system/leases/revoke-prefix/:prefix* sync': 'leases: when the answer comes',
  'write system/leases/revoke-force/:prefix* sync': 'leases: when the answer comes',
  'write system/leases/replay lease_id': 'outage: of a lease that rests',
  'write system/capabilities-self token': 'is that of the caller, as clients send it always',
  'write system/policies/explain parameters': 'who-may: where a policy looks at parameters',
  'write system/policies/explain wrap_ttl': 'who-may: where a policy asks for wrapping',
  'write token/create-orphan no_parent': 'it never has one',
  'write token/create/:role no_parent': 'tokens: of a role whose tokens have one',
  'write token/renew-self token': 'is that of the caller, as clients send it always',
  'write ssh/issuers/import key_bits': 'with other types of keys',
  'write ssh/issuers/import set_default': 'config/issuers: which is the default',
  'write ssh/issuers/import/:issuer_name key_bits': 'with other types of keys',
  'write ssh/issuers/import/:issuer_name set_default': 'config/issuers: which is the default',
  'write ssh/issue/:role key_bits': 'with other types of keys',
  'write ssh/sign/:role ttl': 'ssh: inside of the certificate',
  'write ssh/issue/:role ttl': 'ssh: inside of the certificate',
  'write transit/decrypt/:name partial_failure_response_code': 'transit: of a batch that fails in part',
  'write transit/random source': 'where the bytes come from cannot be seen in them',
  'write transit/random/:urlbytes source': 'where the bytes come from cannot be seen in them',
  'write transit/random/:source source': 'the path says which',
  'write transit/random/:source/:urlbytes source': 'the path says which',
  'write transit/random/:urlbytes bytes': 'the path says how many',
  'write transit/random/:source/:urlbytes bytes': 'the path says how many',
  'write transit/hash/:urlalgorithm algorithm': 'the path says which',
  'write transit/hmac/:name/:urlalgorithm algorithm': 'the path says which',
  'write transit/sign/:name/:hash hash_algorithm': 'the path says which',
  'write transit/sign/:name/:hash algorithm': 'the path says which',
  'write transit/verify/:name/:hash hash_algorithm': 'the path says which',
  'write transit/verify/:name/:hash algorithm': 'the path says which',
  'write transit/derive-key/:name key_derivation_algorithm': 'there is one',
};

/** Objects that a second write does not change: the answer of the first shows their fields. */
const madeOnce = new Set(['write transit/keys/:name']);

/** Valid values that cannot be derived from the schema. */
const told: Readonly<Record<string, Json>> = {
  'patch kv/data/:path* options': { cas: 99 },
  'write kv/delete/:path* versions': 'none',
  'write kv/undelete/:path* versions': 'none',
  'write kv/destroy/:path* versions': 'none',
  'write transit/encrypt/:name partial_failure_response_code': 207,
  'write transit/sign/:name signature_algorithm': 'pkcs1v15',
  'write transit/sign/:name/:hash signature_algorithm': 'unknown',
};

/** A batch with one valid and one invalid item. */
const mixed = (...batch_input: object[]) => ({ batch_input });
const unhashed = { prehashed: true, hash_algorithm: 'none' };

/** Other fields that a field needs to be accepted. */
const besides: Readonly<Record<string, object>> = {
  'write token/create no_default_policy': { policies: ['everything'] },
  'write token/create-orphan no_default_policy': { policies: ['everything'] },
  'write token/create/:role no_default_policy': { policies: ['everything'] },
  'write transit/encrypt/:name partial_failure_response_code': mixed({ plaintext: '' }, { plaintext: '!' }),
  'write transit/sign/:name signature_algorithm': unhashed,
};

const jsonOf = (field: Json): Json => {
  for (let at = field; at; at = at.def?.innerType) {
    const json = at.meta?.()?.json;
    if (json) return json;
  }
  return undefined;
};

const lengthOf = (value: unknown): number => String(value).length;

/** The leaves of a value by their path. */
function leavesOf(value: Json, at = ''): [string, unknown][] {
  if (typeof value !== 'object' || value === null) return [[at, value]];
  const inner = Object.entries<Json>(value);
  return inner.length === 0 ? [[at, '{}']] : inner.flatMap(([key, each]) => leavesOf(each, `${at}/${key}`));
}

/** Without times and durations, which change between two reads. */
function isSame(one: unknown, other: unknown): boolean {
  if (typeof one === 'number' && typeof other === 'number') return Math.abs(one - other) <= (one > 30 ? 5 : 0);
  const [a, b] = [one, other].map((value) =>
    /^\d{4}-\d\d-\d\dT/.test(String(value)) ? Date.parse(String(value)) : Number.NaN,
  );
  return Number.isNaN(a!) || Number.isNaN(b!) ? one === other : Math.abs(a! - b!) < 10_000;
}

// If nothing can be read back, a field without any effect is treated as ignored.
describe('fields of requests that no answer shows', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'effects-'));
  afterAll(() => rmSync(folder, { recursive: true }));
  const secrets = startSecrets({ env: { SECRETS_AUDIT_BY_API_DIRECTORY: folder } });
  const send = senderTo(secrets);
  const world = worldOf(secrets, send);
  interface Operation {
    readonly name: string;
    readonly verb: Verb;
    readonly mount: LiveMount;
    readonly declared: Path;
    readonly fields: Readonly<Record<string, Json>>;
  }
  let operations: Operation[] = [];
  let walked: Operation[] = [];
  beforeAll(() => {
    operations = [...secrets.service.kernel.mounts.all()].flatMap((mount) =>
      mount.backend.paths.flatMap((declared) =>
        (Object.entries(declared.operations) as [Verb, AnyOperation][])
          .map(([verb, operation]) => ({ name: `${verb} ${mount.backend.type}/${declared.pattern}`, verb, operation }))
          .filter(
            ({ name, verb }) =>
              !isReading(verb) && (verb !== 'write' || !declared.operations.read || madeOnce.has(name)),
          )
          .map(({ name, verb, operation }) => ({
            name,
            verb,
            mount,
            declared,
            fields: (operation as Json).input?.shape ?? {},
          })),
      ),
    );
    walked = slice(operations, declarationOf);
  });

  const read = async (path: string): Promise<Json> => JSON.parse((await send('GET', path, secrets.rootToken)).text);
  const found = async (path: string, body?: object) =>
    `${(await send(body ? 'POST' : 'GET', path, secrets.rootToken, body)).status}`;
  const ofToken = ({ auth }: Json) => world.root('POST', 'auth/token/lookup', { token: auth.client_token });
  const ofSecretId = (answer: Json, at: string, { secret_id }: Json) =>
    secret_id
      ? found(at.replace(/(custom-)?secret-id.*$/, 'secret-id/lookup'), { secret_id })
      : world.root('POST', at.replace(/secret-id$/, 'secret-id-accessor/lookup'), {
          secret_id_accessor: answer.data.secret_id_accessor,
        });
  const ofLease = (_answer: Json, _at: string, { lease_id }: Json) => found('sys/leases/lookup', { lease_id });
  /**
   * Where the effect of an operation can be seen, in addition to its answer. The path is derived from a body without
   * the field.
   */
  const readers: Readonly<Record<string, (answer: Json, at: string, sent: Json) => Promise<unknown>>> = {
    'write token/create': ofToken,
    'write token/create-orphan': ofToken,
    'write token/create/:role': ofToken,
    'write token/revoke': (_answer, _at, { token }) => found('auth/token/lookup', { token }),
    'write identity/entity': ({ data }) => read(`identity/entity/id/${data.id}`),
    'write identity/entity/batch-delete': (_answer, _at, { entity_ids }) =>
      found(`identity/entity/id/${entity_ids[0]}`),
    'write identity/entity-alias': ({ data }) => read(`identity/entity-alias/id/${data.id}`),
    'write identity/group': ({ data }) => read(`identity/group/id/${data.id}`),
    'write identity/group-alias': ({ data }) => read(`identity/group-alias/id/${data.id}`),
    'write identity/mfa/method/totp': ({ data }) => read(`identity/mfa/method/totp/${data.method_id}`),
    'write approle/role/:role_name/secret-id': ofSecretId,
    'write approle/role/:role_name/custom-secret-id': ofSecretId,
    'write approle/role/:role_name/secret-id/destroy': ofSecretId,
    'write userpass/users/:username/password': (_answer, at, sent) =>
      found(at.replace('users/', 'login/').replace('/password', ''), sent),
    'write userpass/users/:username/policies': (_answer, at) => read(at.replace('/policies', '')),
    'write system/audit/:path*': async (_answer, at) =>
      (await read('sys/audit')).data[`${at.replace('sys/audit/', '')}/`],
    'write system/leases/revoke': ofLease,
    'write system/revoke': ofLease,
    'write transit/encrypt/:name': (_answer, at) => read(at.replace('/encrypt/', '/keys/')),
    'write transit/keys/:name/import': (_answer, at) => read(at.replace('/import', '')),
    'write transit/keys/:name/import_version': (_answer, at) => read(at.replace('/import_version', '')),
  };

  /** The number of audit devices of an installation is limited. */
  const removeDevices = async () => {
    for (const name of Object.keys((await read('sys/audit')).data))
      await send('DELETE', `sys/audit/${name}`, secrets.rootToken);
  };

  /** The answer of a call, and what can be read afterwards. */
  const outcome = async (one: Operation, example: Example, more: object): Promise<Map<string, unknown>> => {
    const below = one.declared.pattern.replace(/:(\w+)\*?/g, (_all, param: string) => example.at?.[param] ?? '');
    const at = one.mount.path + below;
    const token = example.token ?? secrets.rootToken;
    const method = example.wrap ? 'WRAP' : methodOf[one.verb]!;
    const sent = (example.body?.(0) ?? {}) as Json;
    const { status, text } = await send(method, at, token, { ...sent, ...more });
    const answer = text === '' ? undefined : JSON.parse(text);
    const reader = one.verb === 'patch' ? () => read(at) : readers[one.name];
    const after = status < 300 ? await reader?.(answer, at, sent) : undefined;
    if (one.name.includes('system/audit')) await removeDevices();
    return new Map(leavesOf({ status: `${status}`, answer, after }));
  };

  let effective = 0;
  const types = [...new Set(registry.map(({ type }) => type))];
  it.each(types)('have an effect in %s', async (type) => {
    const without: string[] = [];
    for (const one of walked.filter(({ mount }) => mount.backend.type === type)) {
      const making = examples[one.name];
      if (typeof making !== 'function') continue;
      const call = async (more: object) => outcome(one, await making(world), more);
      const twice = async (more: object) => [await call(more), await call(more)] as const;
      const bare = await twice({});
      for (const [field, shape] of Object.entries<Json>(one.fields)) {
        const name = `${one.name} ${field}`;
        const json = jsonOf(shape);
        if (json === undefined || name in elsewhere) continue;
        // An older name is read only if the newer one is absent.
        const newer = json['x-shown-as'];
        const also = newer ? { ...besides[name], [newer]: undefined } : besides[name];
        const plain = also ? await twice(also) : bare;
        const [first, second] = plain;
        const steady = [...first].filter(([at, value]) => isSame(second.get(at), value));
        // Random values and new names are compared by length.
        const sized = [...first].filter(
          ([at, value]) => !isSame(second.get(at), value) && lengthOf(value) === lengthOf(second.get(at)),
        );
        const differs = (other: Map<string, unknown>) =>
          steady.some(([at, value]) => !isSame(other.get(at), value)) ||
          sized.some(([at, value]) => lengthOf(other.get(at)) !== lengthOf(value)) ||
          [...other.keys()].some((at) => !first.has(at) && !second.has(at));
        let isHeeded = false;
        for (const value of name in told ? [told[name]] : valuesOf(json, () => `${world.fresh()}-longer`)) {
          isHeeded ||= differs(await call({ ...also, [field]: value }));
          if (isHeeded) break;
        }
        if (isHeeded) effective += 1;
        else without.push(name);
      }
    }
    expect(without).toEqual([]);
  });

  it('are checked in many places, all of which exist', () => {
    expect(effective).toBeGreaterThan(walked.length === operations.length ? 60 : 0);
    const names = new Set(
      operations.flatMap(({ name, fields }) => Object.keys(fields).map((field) => `${name} ${field}`)),
    );
    expect(Object.keys({ ...elsewhere, ...told, ...besides }).filter((name) => !names.has(name))).toEqual([]);
  });
});
