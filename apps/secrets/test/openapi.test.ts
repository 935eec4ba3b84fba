import { beforeAll, describe, expect, it } from '@jest/globals';
import { generatorFaults } from '@keystead/testing';
import { validate } from '@readme/openapi-parser';
import { Validator } from '@seriousme/openapi-schema-validator';
import Ajv from 'ajv';
import { startSecrets } from './start-secrets';
import { everyVisit, mountEveryKind } from './visits';

// biome-ignore lint/suspicious/noExplicitAny: documents are read by key.
type Json = any;

const at = 'sys/internal/specs/openapi';

describe('the OpenAPI document', () => {
  const secrets = startSecrets();
  const document = async (client = secrets.root, query = '') => (await client.read(`${at}${query}`).expect(200)).body;

  it('is accepted by two validators (S2.1, S2.2, S2.3, S15.1, SV.2)', async () => {
    const body = await document();
    expect(body).toMatchObject({
      openapi: '3.0.2',
      info: { description: expect.any(String), license: { name: 'Apache-2.0' } },
    });
    const described = Object.values<Json>(body.paths).map(({ description }) => typeof description);
    expect(new Set(described)).toEqual(new Set(['string']));
    expect(body).not.toHaveProperty('request_id');
    expect((await new Validator().validate(structuredClone(body))).errors ?? []).toEqual([]);
    const checked = await validate(structuredClone(body));
    expect(checked).toMatchObject({ valid: true });
  });

  it('states its server, how to send a token, and which operations need none', async () => {
    const { servers, security, components, paths } = await document();
    expect(servers).toEqual([expect.objectContaining({ url: '/v1' })]);
    expect(security.flatMap(Object.keys).sort()).toEqual(Object.keys(components.securitySchemes).sort());
    const { name } = components.securitySchemes.token;
    await secrets.anonymous.read('sys/mounts').set(name, secrets.rootToken).expect(200);
    await secrets.anonymous.read('sys/mounts').set('Authorization', `Bearer ${secrets.rootToken}`).expect(200);
    const free = Object.keys((await document(secrets.anonymous)).paths);
    expect(free.length).toBeGreaterThan(10);
    for (const [key, item] of Object.entries<Json>(paths)) {
      for (const method of ['get', 'post', 'patch', 'delete']) {
        const operation = item[method];
        if (operation?.security) expect([key, operation.security, free.includes(key)]).toEqual([key, [], true]);
      }
    }
    for (const key of free) {
      const open = ['get', 'post', 'patch', 'delete'].some((method) => paths[key][method]?.security?.length === 0);
      expect([key, open]).toEqual([key, true]);
    }
  });

  // Checks of Python's openapi-spec-validator that the other two lack.
  it('has defaults and examples that match their schemas', async () => {
    for (const query of ['', '?generic_mount_paths=true']) {
      const body = await document(secrets.root, query);
      const ajv = new Ajv({ strict: false, logger: false });
      ajv.addSchema({ $id: 'doc', components: body.components });
      const wrong = parts(body).flatMap((part: Json) =>
        ['default', 'example'].flatMap((name) => {
          if (!(name in part) || typeof part.type !== 'string') return [];
          const schema = JSON.parse(JSON.stringify(part).replaceAll('#/components', 'doc#/components'));
          return ajv.validate(schema, part[name]) ? [] : [part];
        }),
      );
      expect(wrong).toEqual([]);
    }
  });

  it('has a summary, a tag, a unique id and a response schema for every operation (SV.3, SP.21)', async () => {
    const { paths, components } = await document();
    const ids: string[] = [];
    for (const [key, item] of Object.entries<Json>(paths)) {
      expect(typeof item.description).toBe('string');
      for (const method of ['get', 'post', 'patch', 'delete']) {
        const operation = item[method];
        if (!operation) continue;
        ids.push(operation.operationId);
        expect([key, method, typeof operation.summary, operation.tags?.length]).toEqual([key, method, 'string', 1]);
        const { content } = operation.responses['200'] ?? operation.responses['202'];
        const schema = content['application/json']?.schema;
        // Bytes and text have no schema to name.
        if (!schema) expect([key, Object.values<Json>(content)[0].schema.type]).toEqual([key, 'string']);
        for (const { $ref } of schema ? (schema.anyOf ?? [schema]) : []) {
          expect(components.schemas).toHaveProperty($ref.split('/').at(-1));
        }
      }
    }
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.length).toBeGreaterThan(150);
  });

  // Every default, enum and bound of the specification, except empty defaults.
  it.each<[string, string, Json]>([
    ['identity/mfa/method/totp', 'period', { default: '30' }],
    ['identity/mfa/method/totp', 'key_size', { default: 20, minimum: 10, maximum: 256 }],
    ['identity/mfa/method/totp', 'qr_size', { default: 200, minimum: 0, maximum: 1024 }],
    ['identity/mfa/method/totp', 'algorithm', { default: 'SHA1', enum: ['SHA1', 'SHA256', 'SHA512'] }],
    ['identity/mfa/method/totp', 'digits', { default: 6, enum: [6, 8] }],
    ['identity/mfa/method/totp', 'skew', { default: 1, enum: [0, 1] }],
    ['identity/mfa/method/totp', 'max_validation_attempts', { default: 5, minimum: 0, maximum: 100 }],
    ['identity/mfa/method/totp/{method_id}', 'digits', { default: 6, enum: [6, 8] }],
    ['sys/rekey-recovery-key/init', 'secret_shares', { minimum: 1, maximum: 255 }],
    ['sys/rekey-recovery-key/init', 'secret_threshold', { minimum: 1, maximum: 255 }],
    ['sys/rekey-recovery-key/init', 'backup', { default: false }],
    ['sys/rekey-recovery-key/init', 'require_verification', { default: false }],
    [
      'auth/cloudone/config',
      'environment',
      { default: 'CloudonePublicCloud', enum: expect.arrayContaining(['CloudoneGermanCloud']) },
    ],
    ['auth/cloudone/login', 'vm_name', { default: '' }],
    ['auth/cloudone/role/{name}', 'token_num_uses', { default: 0 }],
    ['auth/cloudone/role/{name}', 'token_no_default_policy', { default: false }],
    ['scheduler/role/{name}', 'type', { default: 'client', enum: ['client', 'management'] }],
    ['scheduler/role/{name}', 'global', { default: false }],
    ['cloudtwo/config/root', 'max_retries', { default: -1, minimum: -1, maximum: 20 }],
    ['cloudtwo/roles/{name}', 'user_path', { default: '/' }],
    [
      'cloudtwo/roles/{name}',
      'credential_type',
      { enum: ['iam_user', 'assumed_role', 'federation_token', 'session_token'] },
    ],
    ['cloudtwo/sts/{name}', 'ttl', { default: '3600s' }],
  ])('documents for %s the values and the default of %s (S2.3)', async (path, field, facts) => {
    const { paths, components } = await document();
    const { $ref } = paths[`/${path}`].post.requestBody.content['application/json'].schema;
    expect(components.schemas[$ref.split('/').at(-1)].properties[field]).toMatchObject(facts);
  });

  it.each([
    ['identity/mfa/method/totp', { issuer: 'bounds' }],
    ['sys/rekey-recovery-key/init', { secret_shares: 3, secret_threshold: 2 }],
    ['cloudtwo/config/root', { access_key: 'a', secret_key: 'b' }],
    ['cloudtwo/roles/bounded', { credential_type: 'iam_user', policy_arns: 'arn:aws:iam::aws:policy/ReadOnlyAccess' }],
    ['scheduler/role/bounded', { policies: 'some' }],
    ['auth/cloudone/config', { tenant_id: 'example.com', resource: 'https://example.com' }],
  ])('refuses at %s values beyond the documented bounds', async (path, sound) => {
    const { paths, components } = await document();
    const { $ref } = paths[`/${path.replace('bounded', '{name}')}`].post.requestBody.content['application/json'].schema;
    const properties = Object.entries<Json>(components.schemas[$ref.split('/').at(-1)].properties);
    const beyond = properties.flatMap(([name, { type, enum: choices, minimum, maximum, maxLength }]) => [
      ...(choices ? [[name, type === 'string' ? 'none of them' : Math.max(...choices) + 1]] : []),
      ...(minimum === undefined ? [] : [[name, minimum - 1]]),
      ...(maximum === undefined ? [] : [[name, maximum + 1]]),
      ...(maxLength === undefined ? [] : [[name, 'x'.repeat(maxLength + 1)]]),
    ]);
    expect(beyond).not.toEqual([]);
    const statuses = [];
    for (const [name, value] of beyond) {
      statuses.push([name, value, (await secrets.root.write(path, { ...sound, [name]: value })).status]);
    }
    expect(statuses).toEqual(beyond.map(([name, value]) => [name, value, 400]));
    // The body without the wrong field is valid, so the refusals were only about that field.
    expect((await secrets.root.write(path, sound)).status).toBeLessThan(300);
  });

  it('lists every status of an operation, and names its parts by the rules of the reference', async () => {
    const { paths, components } = await document();
    const health = paths['/sys/health'].get.responses;
    expect(Object.keys(health)).toEqual(expect.arrayContaining(['200', '429', '472', '501', '503']));
    expect(paths['/cubbyhole/{path}'].delete.responses['204']).toEqual({ description: 'empty body' });
    expect(paths['/sys/seal'].post).not.toHaveProperty('requestBody');
    for (const [key, item] of Object.entries<Json>(paths)) {
      for (const method of ['get', 'post', 'patch', 'delete']) {
        const operation = item[method];
        if (!operation) continue;
        const { responses, tags, operationId } = operation;
        expect([key, tags]).toEqual([key, [expect.stringMatching(/^(system|secrets|auth|identity)$/)]]);
        expect(operationId).toMatch(/^[a-z0-9]+(-[a-z0-9]+)*$/);
        // With a default response, or a listed 500, no tool could recognise an unexpected answer.
        expect(responses).not.toHaveProperty('default');
        expect([key, Object.keys(responses)]).toEqual([
          key,
          expect.arrayContaining(['400', '403', '404', '429', '503']),
        ]);
        expect(responses).not.toHaveProperty('500');
        for (const { $ref } of Object.values<Json>(responses)) {
          if ($ref) expect(components.responses).toHaveProperty($ref.split('/').at(-1));
        }
      }
    }
    for (const [name, schema] of Object.entries<Json>(components.schemas)) {
      expect(name).toMatch(/^[A-Z][A-Za-z0-9]*$/);
      // Without a `type`, `nullable` has no meaning in OpenAPI 3.0, and validators refuse the schema.
      for (const part of parts(schema)) if (part.nullable) expect([name, typeof part.type]).toEqual([name, 'string']);
    }
  });

  it('is the same by POST, and shows the default path of a mount', async () => {
    const posted = await secrets.root.write(at, { context: 'any' }).expect(200);
    expect(posted.body).toEqual(await document());
    const generic = (await secrets.root.write(at, { generic_mount_paths: true }).expect(200)).body;
    const [mount] = generic.paths['/{scheduler_mount_path}/role/{name}'].parameters;
    expect(mount).toMatchObject({ name: 'scheduler_mount_path', in: 'path', required: true });
    expect(mount.schema.default).toBe('scheduler');
  });

  it('names mounts as they are, marks sudo, free and creating paths (SA.5, SP.19)', async () => {
    const { paths } = await document();
    expect(paths['/sys/remount']['x-service-sudo']).toBe(true);
    expect(paths['/sys/health']['x-service-unauthenticated']).toBe(true);
    expect(paths['/cubbyhole/{path}']['x-service-create-supported']).toBe(true);
    expect(paths['/sys/mounts/{path}']['x-service-create-supported']).toBeUndefined();
    expect(paths['/cloudtwo/roles'].get.parameters).toEqual([
      {
        name: 'list',
        description: 'Must be set to `true`',
        in: 'query',
        schema: { type: 'string', enum: ['true'] },
        required: true,
      },
      expect.objectContaining({ name: 'after', in: 'query', required: false }),
      expect.objectContaining({ name: 'limit', in: 'query', required: false }),
    ]);
    const named = ({ parameters }: Json) => parameters.map(({ name, schema }: Json) => [name, schema]);
    expect(named(paths['/sys/leases/jobs/{id}'])).toEqual([['id', { type: 'string', format: 'uuid' }]]);
    expect(named(paths['/identity/mfa/method/{type}/{method_id}'])).toEqual([
      ['type', { type: 'string', enum: ['duo', 'okta', 'pingid'] }],
      ['method_id', { type: 'string', format: 'uuid' }],
    ]);
    await secrets.root.write('sys/mounts/team/kv', { type: 'kv' }).expect(204);
    expect(await document()).toHaveProperty(['paths', '/team/kv/{path}']);
    const generic = await document(secrets.root, '?generic_mount_paths=true');
    expect(generic.paths).toHaveProperty('/{scheduler_mount_path}/role/{name}');
    expect(generic.paths).toHaveProperty('/auth/{cloudone_mount_path}/login');
    expect(generic.paths).toHaveProperty('/sys/mounts');
    await secrets.root.delete('sys/mounts/team/kv').expect(204);
    expect((await document()).paths).not.toHaveProperty('/team/kv/{path}');
  });

  it('lists operations that need sudo only with sudo, and those of the root namespace only there (SA.5)', async () => {
    const everything = '["create", "read", "update", "delete", "list", "patch"]';
    const broad = (await document(await secrets.withPolicy(`path "*" { capabilities = ${everything} }`))).paths;
    for (const key of ['/sys/audit', '/sys/host-info', '/auth/token/accessors', '/sys/rekey-recovery-key/init']) {
      expect(broad).not.toHaveProperty([key]);
    }
    expect(broad).toHaveProperty(['/sys/mounts', 'get']);
    const rule = (more: string) => `path "sys/host-info" { capabilities = ["read"${more}] }`;
    const plain = await document(await secrets.withPolicy(rule('')));
    expect(plain.paths).not.toHaveProperty(['/sys/host-info']);
    const sudo = await document(await secrets.withPolicy(rule(', "sudo"')));
    expect(sudo.paths).toHaveProperty(['/sys/host-info', 'get']);
    await secrets.root.write('sys/namespaces/apart', {}).expect(200);
    const child = await document(secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'apart' }));
    expect(Object.keys(child.paths).filter((key) => key.startsWith('/sys/rekey'))).toEqual([]);
    expect(child.paths).toHaveProperty(['/sys/mounts', 'get']);
  });

  it('lists no operation that needs sudo to callers without it, and marks none (SA.5)', async () => {
    await mountEveryKind(secrets);
    const everything = ['create', 'read', 'update', 'delete', 'list', 'patch', 'scan'];
    const withRights = (rights: string[]) =>
      secrets.withPolicy(`path "*" { capabilities = ${JSON.stringify(rights)} }`);
    const broad = await withRights(everything);
    const [without, having] = [
      (await document(broad)).paths,
      (await document(await withRights([...everything, 'sudo']))).paths,
    ];
    const methods = { read: 'get', list: 'get', scan: 'get', write: 'post', patch: 'patch', delete: 'delete' } as const;
    const visits = everyVisit(secrets).map((visit) => ({
      ...visit,
      key: `/${visit.name.slice(visit.name.indexOf(' ') + 1).replace(/:(\w+)\*?/g, '{$1}')}`.replace(/\/$/, ''),
      method: methods[visit.verb],
      sudo: visit.operation.sudo ?? visit.declared.sudo,
    }));
    const needing = visits.filter(({ sudo }) => sudo);
    expect(needing.length).toBeGreaterThan(50);
    for (const { name, key, method, verb, at: place } of needing) {
      expect([name, having[key]?.['x-service-sudo'], method in having[key]]).toEqual([name, true, true]);
      const answer = verb === 'write' ? await broad.write(place, {}) : await broad[verb as 'read'](place);
      expect([name, answer.status]).toEqual([name, 403]);
      const others = visits.filter((one) => one.key === key && one.method === method && !one.sudo);
      const shown = without[key]?.[method];
      expect([name, shown !== undefined]).toEqual([name, others.length > 0]);
      const asks = (shown?.parameters ?? []).map((parameter: Json) => parameter.name);
      if (method === 'get') expect([name, asks]).not.toEqual([name, expect.arrayContaining([verb])]);
    }
    const marked = Object.keys(without).filter((key) => without[key]['x-service-sudo']);
    expect(marked).toEqual([]);
    for (const { name, key, method, sudo } of visits)
      if (!sudo) expect([name, method in without[key]]).toEqual([name, true]);
  });

  it('marks operations as creating if a token with only create can use them (SA.5)', async () => {
    const maker = await secrets.withPolicy(
      'path "identity/*" { capabilities = ["create"] }\npath "sys/policies/acl/*" { capabilities = ["create"] }\npath "auth/token/roles/*" { capabilities = ["create"] }',
    );
    const { paths } = await document();
    const marked = (key: string) => paths[key]['x-service-create-supported'] === true;
    for (const [key, path, body] of [
      ['/identity/entity', 'identity/entity', { name: 'made' }],
      ['/identity/group', 'identity/group', { name: 'made' }],
      ['/sys/policies/acl/{name}', 'sys/policies/acl/made', { policy: '' }],
      ['/auth/token/roles/{name}', 'auth/token/roles/made', {}],
    ] as const) {
      const { status } = await maker.write(path, body);
      expect([key, marked(key)]).toEqual([key, status < 300]);
    }
  });

  it('documents listing parameters if one GET reads and lists', async () => {
    const { paths } = await document();
    const names = (key: string) => paths[key].get.parameters.map(({ name }: Json) => name);
    expect(names('/cubbyhole/{path}')).toEqual(['list', 'scan', 'after', 'limit']);
    expect(names('/sys/leases/lookup/{prefix}')).toEqual(['list', 'after', 'limit']);
  });

  it('has pages of every listing', async () => {
    const listings = everyVisit(secrets).filter(({ verb }) => verb === 'list' || verb === 'scan');
    const whole = listings.filter(({ operation }) => !operation.input?.shape.after || !operation.input.shape.limit);
    expect(whole.map(({ name }) => name)).toEqual([]);
    expect(listings.length).toBeGreaterThan(30);
    const listed = await secrets.root.list('sys/policies/acl?after=default&limit=1').expect(200);
    expect(listed.body.data.keys).toEqual(['root']);
    await secrets.root.list('sys/policies/acl?after=zzz').expect(404);
  });

  it('shows only permitted operations, path by path and operation by operation (SA.5, SP.10, SP.20)', async () => {
    const free = await document(secrets.anonymous);
    for (const item of Object.values<Record<string, unknown>>(free.paths)) {
      expect(item['x-service-unauthenticated']).toBe(true);
    }
    expect(free.paths).toHaveProperty('/auth/cloudone/login');
    await secrets.as('s.unknown').read(at).expect(403);
    const weak = await secrets.withPolicy('path "sys/mounts/team-*" { capabilities = ["read"] }');
    const { paths } = await document(weak);
    expect(paths).toHaveProperty(['/sys/mounts/{path}', 'get']);
    expect(paths).not.toHaveProperty(['/sys/mounts/{path}', 'post']);
    expect(paths).not.toHaveProperty('/sys/mounts');
    expect(paths).not.toHaveProperty('/cubbyhole/{path}');
  });

  it('grows and shrinks with the policy of the token', async () => {
    await secrets.root
      .write('sys/policies/acl/growing', { policy: 'path "a" { capabilities = ["read"] }' })
      .expect(204);
    const made = await secrets.root.write('auth/token/create', { policies: ['growing'], no_default_policy: true });
    const client = secrets.as(made.body.auth.client_token);
    expect((await document(client)).paths).not.toHaveProperty('/sys/mounts');
    await secrets.root
      .write('sys/policies/acl/growing', { policy: 'path "sys/mounts" { capabilities = ["read"] }' })
      .expect(204);
    expect((await document(client)).paths).toHaveProperty('/sys/mounts');
    await secrets.root
      .write('sys/policies/acl/growing', { policy: 'path "a" { capabilities = ["read"] }' })
      .expect(204);
    expect((await document(client)).paths).not.toHaveProperty('/sys/mounts');
  });

  it('has an ETag, so that clients can skip an unchanged document', async () => {
    const first = await secrets.root.read(at).expect(200);
    const tag = first.headers.etag;
    expect(tag).toMatch(/^"[\w-]{27}"$/);
    const again = await secrets.root.read(at).set('If-None-Match', tag!).expect(304);
    expect(again.text).toBe('');
    expect((await secrets.root.read(at)).headers.etag).toBe(tag);
  });

  it('describes the real answers', async () => {
    await secrets.root.write('cubbyhole/seen', { a: 1 }).expect(204);
    const body = await document();
    const check = checker(body);
    for (const [path, key] of [
      ['sys/health', '/sys/health'],
      ['sys/seal-status', '/sys/seal-status'],
      ['sys/mounts', '/sys/mounts'],
      ['sys/mounts/scheduler/tune', '/sys/mounts/{path}/tune'],
      ['sys/auth', '/sys/auth'],
      ['auth/token/lookup-self', '/auth/token/lookup-self'],
      ['cubbyhole/seen', '/cubbyhole/{path}'],
      ['cubbyhole/?list=true', '/cubbyhole/{path}'],
      ['sys/policies/acl/default', '/sys/policies/acl/{name}'],
      ['sys/host-info', '/sys/host-info'],
    ] as const) {
      const answer = await secrets.root.read(path).expect(200);
      expect([path, check(key, 'get', answer.body)]).toEqual([path, []]);
    }
    const created = await secrets.root.write('auth/token/create', {}).expect(200);
    expect(check('/auth/token/create', 'post', created.body)).toEqual([]);
  });

  it('answers help for a path with its part of the document', async () => {
    const { body } = await secrets.root.read('cubbyhole/x?help=1').expect(200);
    expect(body.help).toContain('cubbyhole/:path*');
    expect(body.openapi.paths).toHaveProperty('/cubbyhole/{path}');
    const weak = await secrets.withPolicy('path "a" { capabilities = ["read"] }');
    await weak.read('sys/mounts?help=1').expect(403);
  });
});

describe('the OpenAPI document of many mounts', () => {
  const secrets = startSecrets();

  it('does not break client generators, with any names of mounts', async () => {
    await mountEveryKind(secrets);
    for (const mount of ['twin1', 'twin-1', 'twin_1', 'twin_1-2', 'Twin1']) {
      await secrets.root.write(`sys/mounts/${mount}`, { type: mount === 'twin1' ? 'scheduler' : 'kv' }).expect(204);
    }
    for (const query of ['', '?generic_mount_paths=true']) {
      const { body } = await secrets.root.read(`${at}${query}`).expect(200);
      expect(generatorFaults(body)).toEqual([]);
    }
  });
});

/** A schema and all schemas inside it. */
function parts(schema: Json): Json[] {
  if (typeof schema !== 'object' || schema === null) return [];
  return [schema, ...Object.values(schema).flatMap(parts)];
}

/** Checks an answer against the schema of its operation. */
function checker(document: Json) {
  const ajv = new Ajv({ strict: false });
  ajv.addSchema({ $id: 'doc', components: document.components });
  return (key: string, method: string, body: unknown): unknown[] => {
    const { schema } = document.paths[key][method].responses['200'].content['application/json'];
    const refs = (schema.anyOf ?? [schema]).map(({ $ref }: { $ref: string }) => ({ $ref: `doc${$ref}` }));
    const test = ajv.compile({ anyOf: refs });
    return test(body) ? [] : (test.errors ?? []);
  };
}

describe('the OpenAPI document of a service with every engine and method', () => {
  const secrets = startSecrets();
  beforeAll(() => mountEveryKind(secrets));

  it('gives no field a default that is not among its values', async () => {
    const { components } = (await secrets.root.read(at).expect(200)).body;
    expect(components.schemas.SshWriteRoleRequest).toBeDefined();
    const wrong = Object.entries<Json>(components.schemas).flatMap(([schema, { properties = {} }]) =>
      Object.entries<Json>(properties)
        .filter(([, field]) => field.enum && 'default' in field && !field.enum.includes(field.default))
        .map(([name]) => `${schema}.${name}`),
    );
    expect(wrong).toEqual([]);
  });
});
