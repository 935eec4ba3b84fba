import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { slice, valuesOf } from '@keystead/testing';
import type { LiveMount } from '../src/kernel/mounts/mount';
import type { AnyOperation, Path } from '../src/sdk/path';
import { examples, type Making } from './at-once-examples';
import { senderTo, worldOf } from './at-once-world';
import { startSecrets } from './start-secrets';
import { declarationOf } from './visits';

// biome-ignore lint/suspicious/noExplicitAny: bodies of every endpoint
type Json = any;

/** Fields that are stored but not shown under their name, or not stored at all, with the reason if no mark gives it. */
const notShown: Readonly<Record<string, string>> = {
  'system/config/auditing/request-headers/:header hmac': 'shown below the name of the header',
  'system/mounts/:path*/tune plugin_version': 'only that of the catalog is taken',
  'system/mounts/:path*/tune user_lockout_config': 'shown as user_lockout_threshold and the like',
  'system/auth/:path*/tune plugin_version': 'only that of the catalog is taken',
  'system/auth/:path*/tune user_lockout_config': 'shown as user_lockout_threshold and the like',
  'identity/oidc/client/:name authorization_code': 'only true is taken: there is no other flow',
  'cloudtwo/config/root credential_source': 'shown where it is not the keys that are given',
  'cloudtwo/config/root identity_token_ttl': 'shown with identity_token_audience',
  'cloudtwo/config/root disable_automated_rotation': 'shown with the terms of a rotation',
  'approle/role/:role_name role_id': 'has its own path',
  'database/config/:name root_rotation_statements': 'shown as root_credentials_rotate_statements',
  'ssh/roles/:role cidr_list': 'of a role for one-time passwords',
  'ssh/roles/:role exclude_cidr_list': 'of a role for one-time passwords',
  'ssh/roles/:role port': 'of a role for one-time passwords',
  'kv/data/:path* options': 'holds only the version that the write expects',
  'totp/keys/:name generate': 'how the key is made',
  'totp/keys/:name exported': 'how the key is made',
  'totp/keys/:name key_size': 'how the key is made',
  'totp/keys/:name qr_size': 'of the picture that is shown once',
  'totp/keys/:name skew': 'clients know no such field of an answer',
};

/** Operations that use their input without storing it, or store it only once. */
const acts = new Set([
  'identity/oidc/provider/:name/authorize',
  'ssh/config/ca',
  'system/wrapping/lookup',
  'token/lookup',
  'totp/code/:name',
  'transit/keys/:name',
]);

const jsonOf = (field: Json): Json => {
  for (let at = field; at; at = at.def?.innerType) {
    const json = at.meta?.()?.json;
    if (json) return json;
  }
  return undefined;
};

describe('the fields of requests', () => {
  const secrets = startSecrets();
  const world = worldOf(secrets, senderTo(secrets));
  const send = async (method: string, path: string, token: string, body?: object): Promise<Json> => {
    const { status, text } = await senderTo(secrets)(method, path, token, body);
    return { status, body: text === '' ? undefined : JSON.parse(text) };
  };
  let operations: { name: string; mount: LiveMount; declared: Path; operation: AnyOperation }[] = [];
  beforeAll(() => {
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
  /**
   * Fields that an operation accepts and that no read shows afterwards. Fields that the operation refuses are left out.
   */
  const forgottenBy = async (one: (typeof operations)[number], making: Exclude<Making, string>) => {
    const { name, mount, declared, operation } = one;
    const forgotten: string[] = [];
    for (const [field, type] of Object.entries<Json>((operation as Json).input?.shape ?? {})) {
      const json = jsonOf(type);
      if (json === undefined || json.writeOnly || `${name} ${field}` in notShown) continue;
      const shownAs = json['x-shown-as'] ?? field;
      const example = await making(world);
      const below = declared.pattern.replace(/:(\w+)\*?/g, (_all, param: string) => example.at?.[param] ?? '');
      const at = mount.path + below;
      const token = example.token ?? secrets.rootToken;
      const base = { ...example.body?.(0) } as Json;
      // An older name is read only if the newer one is absent.
      if (shownAs !== field) delete base[shownAs];
      const shown = async () => {
        const data = (await send('GET', at, secrets.rootToken)).body?.data;
        return data?.[shownAs] ?? data?.connection_details?.[shownAs];
      };
      const write = (more: Json) => send('POST', at, token, { ...base, ...more });
      await write({});
      const before = await shown();
      let taken: string | undefined;
      for (const value of valuesOf(json, world.fresh)) {
        // Without fields there is nothing to request.
        if (isDeepStrictEqual(before, value) || value === '' || (value === false && before === undefined)) continue;
        if ((await write({ [field]: value })).status >= 300) continue;
        const after = await shown();
        taken = `${field}: ${JSON.stringify(value).slice(0, 60)} is shown as ${JSON.stringify(after)}`;
        // Secrets are never shown.
        if (json.format === 'password' && after === undefined) {
          taken = undefined;
          break;
        }
        if (after === undefined || isDeepStrictEqual(after, before)) continue;
        readBack += 1;
        taken = undefined;
        break;
      }
      if (taken !== undefined) forgotten.push(`${name} ${taken}`);
    }
    return forgotten;
  };

  it('are shown afterwards, or refused', async () => {
    const forgotten: string[] = [];
    const walked = slice(operations, declarationOf);
    for (const one of walked) {
      const making = acts.has(one.name) ? '' : examples[`write ${one.name}`];
      if (typeof making === 'function') forgotten.push(...(await forgottenBy(one, making)));
    }
    expect(forgotten).toEqual([]);
    expect(readBack).toBeGreaterThan(walked.length === operations.length ? 300 : 0);
    // Names in the lists that no longer exist.
    const names = new Set(
      operations.flatMap(({ name, operation }) =>
        Object.keys((operation as Json).input?.shape ?? {}).map((field) => `${name} ${field}`),
      ),
    );
    expect(Object.keys(notShown).filter((name) => !names.has(name))).toEqual([]);
  });
});
