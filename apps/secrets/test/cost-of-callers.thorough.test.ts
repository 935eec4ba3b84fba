import { beforeAll, describe, expect, it } from '@jest/globals';
import type { z } from 'zod';
import type { FieldMeta } from '../src/sdk/fields';
import { startSecrets } from './start-secrets';
import { authOf, everyVisit, mountEveryKind } from './visits';

const most = 10_000;

/** The JSON schema that a declared field carries. */
function schemaOf(field: z.ZodType): Record<string, unknown> {
  let inner = field as z.ZodType & { unwrap?: () => z.ZodType };
  while (typeof inner.unwrap === 'function') inner = inner.unwrap() as typeof inner;
  return ((inner.meta() as unknown as FieldMeta | undefined)?.json ?? {}) as Record<string, unknown>;
}

const repeated = (count: number, line: (n: number) => string) =>
  Array.from({ length: count }, (_, n) => line(n)).join('');

/** Fields that an operation requires, where it reports a missing field before the exceeded limit. */
const besides = new Map([['write sys/policies/explain', { path: 'a', operation: 'read' }]]);

// The work of comparing, merging and listing for one caller is limited: Decision 0060.
describe('the limits of an authenticated caller', () => {
  const secrets = startSecrets();
  beforeAll(() => mountEveryKind(secrets));

  it('no field of several elements accepts more than ten thousand, and each refusal names field and bound', async () => {
    const wrong: string[] = [];
    let fields = 0;
    for (const { name, at, verb, declared, operation } of everyVisit(secrets)) {
      if (
        (verb !== 'write' && verb !== 'patch') ||
        operation.freeform ||
        authOf({ declared, operation } as never) !== 'token'
      )
        continue;
      for (const [field, type] of Object.entries(operation.input?.shape ?? {})) {
        const { type: kind, additionalProperties, maxItems, maxProperties } = schemaOf(type as z.ZodType);
        const pairs = kind === 'object' && additionalProperties !== undefined;
        if (kind !== 'array' && !pairs) continue;
        fields += 1;
        if ((pairs ? maxProperties : maxItems) !== most) wrong.push(`${name}: ${field} declares no bound`);
        if (operation.decodedInto) continue;
        const value = pairs
          ? Object.fromEntries(Array.from({ length: most + 1 }, (_, n) => [`k${n}`, 'v']))
          : Array.from({ length: most + 1 }, () => '1');
        const { status, text } = await secrets.root[verb](at, { ...besides.get(name), [field]: value });
        const named = text.includes(`for field \\"${field}\\": more than ${most} elements`);
        if (status !== 400 || !named || text.length > 1000)
          wrong.push(`${name}: ${field}: ${status} ${text.slice(0, 300)}`);
      }
    }
    expect(wrong).toEqual([]);
    expect(fields).toBeGreaterThan(40);
  });

  it('text that is split at commas has no more than ten thousand elements, either', async () => {
    const names = (count: number) => Array.from({ length: count }, (_, n) => `p${n}`).join(',');
    await secrets.root.write('auth/token/roles/many', { allowed_policies: names(most) }).expect(204);
    const refused = await secrets.root
      .write('auth/token/roles/more', { allowed_policies: names(most + 1) })
      .expect(400);
    expect(refused.body.errors[0]).toMatch(
      /^Field validation failed: .* for field "allowed_policies": more than 10000/,
    );
    expect(refused.text.length).toBeLessThan(1000);
  });

  it('no policy has more than ten thousand elements', async () => {
    const write = (policy: string) => secrets.root.write('sys/policies/acl/large', { policy });
    const blocks = (count: number) => repeated(count, (n) => `path "a/${n}" {}\n`);
    await write(blocks(most)).expect(204);
    for (const text of [
      blocks(most + 1),
      `path "a" { allowed_parameters = { "b" = [${'1,'.repeat(most)}] } }`,
      `path "a" { denied_parameters = { ${repeated(most, (n) => `"b${n}"=[]\n`)} } }`,
      `path "a" { required_parameters = [${repeated(most, (n) => `"b${n}",`)}] }`,
      `path "a" { mfa_methods = [${repeated(most, (n) => `"b${n}",`)}] }`,
      `path "a" { allowed_parameters = { "b" = [[${'{"c"=1},'.repeat(most / 2)}]] } }`,
      '{'.repeat(6 * most + 1),
    ]) {
      const { body } = await write(text).expect(400);
      expect(body.errors[0]).toBe(`'policy' holds more than ${most} paths, parameter values and methods`);
    }
  });

  it('the policies of a caller have at most fifty thousand rules; a caller with more is refused until it has fewer', async () => {
    const names = Array.from({ length: 6 }, (_, n) => `rules-${n}`);
    for (const name of names) {
      const policy = repeated(most, (n) => `path "cubbyhole/${name}/${n}" {policy="read"}\n`);
      await secrets.root.write(`sys/policies/acl/${name}`, { policy }).expect(204);
    }
    const tokenWith = async (policies: string[]) => {
      const { body } = await secrets.root.write('auth/token/create', { policies, no_default_policy: true }).expect(200);
      return secrets.as(body.auth.client_token);
    };
    const allowed = await tokenWith(names.slice(0, 5));
    await allowed.read('cubbyhole/rules-4/9999').expect(404);
    await allowed.read('cubbyhole/rules-5/1').expect(403);
    const refused = await tokenWith(names);
    for (const path of ['cubbyhole/rules-0/0', 'auth/token/lookup-self']) {
      const { body } = await refused.read(path).expect(403);
      expect(body.errors[0]).toContain('permission denied: the policies of the caller have more than 50000 rules');
    }
    await secrets.root.delete('sys/policies/acl/rules-5').expect(204);
    await refused.read('cubbyhole/rules-0/0').expect(404);
  });

  // Copying each block into the next took minutes for these policies.
  it('many blocks of one path are merged in a number of steps proportional to their contents', async () => {
    const names = Array.from({ length: 5 }, (_, n) => `merged-${n}`);
    for (const name of names) {
      const block = (n: number) => `path "cubbyhole/x" {allowed_parameters={"${name}${n}"=[]}}\n`;
      await secrets.root.write(`sys/policies/acl/${name}`, { policy: repeated(4_900, block) }).expect(204);
    }
    const last = 'path "cubbyhole/x" { capabilities = ["create", "update"] }';
    const client = await secrets.withPolicy(last, { policies: [...names, 'merged-last'] });
    await secrets.root.write('sys/policies/acl/merged-last', { policy: last }).expect(204);
    await client.write('cubbyhole/x', { 'merged-49': 1, 'merged-04899': 1 }).expect(204);
    await client.write('cubbyhole/x', { 'merged-4': 1 }).expect(403);
  });

  it('the parameters of a request are compared with patterns up to a limit', async () => {
    const values = repeated(4_000, (n) => `"*${'a'.repeat(60)}b${n}*",`);
    const client = await secrets.withPolicy(
      `path "cubbyhole/x" { capabilities = ["create", "update"] denied_parameters = { "v" = [${values}] } }`,
    );
    await client.write('cubbyhole/x', { v: 'a'.repeat(100) }).expect(204);
    await client.write('cubbyhole/x', { v: `${'a'.repeat(60)}b3999` }).expect(403);
    const text = 'too many or too long parameters to compare with the policies';
    await client.write('cubbyhole/x', { v: 'a'.repeat(1_000_000) }).expect(413, { errors: [text] });
  });

  it('policies of a role are compared with patterns up to a limit', async () => {
    const globs = Array.from({ length: most }, (_, n) => `*${'a'.repeat(50)}b${n}*`);
    await secrets.root
      .write('auth/token/roles/globs', { allowed_policies_glob: [...globs.slice(1), 'z*'] })
      .expect(204);
    await secrets.root.write('auth/token/create/globs', { policies: ['zebra'] }).expect(200);
    const policies = ['a'.repeat(10_000)];
    const { body } = await secrets.root.write('auth/token/create/globs', { policies }).expect(413);
    expect(body.errors).toEqual(['too many or too long strings to compare with patterns']);
  });

  it('a filter of listed keys that generates endless text shows no keys', async () => {
    await secrets.root.write('cubbyhole/aa', { v: 1 }).expect(204);
    const grow = ' | replace \\"a\\" \\"aaaaaaaaaaaaaaaaaaaa\\"'.repeat(16);
    const client = await secrets.withPolicy(
      'path "sys/policies/acl" { capabilities = ["list"] ' +
        `list_scan_response_keys_filter_path = "{{ .path }}{{ .key${grow} }}" }\n` +
        'path "sys/policies/acl/*" { capabilities = ["read"] }',
    );
    await secrets.root.write('sys/policies/acl/aa', { policy: 'path "x" {}' }).expect(204);
    const { body } = await client.list('sys/policies/acl').expect(200);
    expect(body.data.keys).not.toContain('aa');
    expect(body.data.keys).toContain('root');
    const { body: refused } = await secrets.root
      .write('sys/policies/acl/b', {
        policy: `path "x" { list_scan_response_keys_filter_path = "{{ .key${grow}${grow} }}" }`,
      })
      .expect(400);
    expect(refused.errors[0]).toContain('is not a template of .path and .key');
  });

  it('an issuer is at most as long as a QR code can show', async () => {
    const method = 'identity/mfa/method/totp';
    await secrets.root.write(method, { issuer: '界'.repeat(113) }).expect(200);
    const { body } = await secrets.root.write(method, { issuer: '界'.repeat(114) }).expect(400);
    expect(body.errors).toEqual(['issuer is longer than 1024 characters when it is written into an address']);
    await secrets.root.write(method, '{"issuer":"\\ud800"}').expect(400);
  });
});
