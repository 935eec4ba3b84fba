import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Algorithm } from '@keystead/auth';
import type { z } from 'zod';
import { authenticator, newMethod as method, methods, scan, unbase32 } from './authenticator';
import { startSecrets } from './start-secrets';

const wrapped = (text: string) => `1 error occurred:\n\t* ${text}\n\n`;

describe('TOTP methods', () => {
  const secrets = startSecrets();

  it('recognize entities and methods by every spelling of their ids', async () => {
    const method_id = await method(secrets);
    const made = await secrets.root.write('identity/entity', { name: 'spelled' }).expect(200);
    const entity_id: string = made.body.data.id;
    const upper = { method_id: method_id.toUpperCase(), entity_id: entity_id.toUpperCase() };
    const factors = async () => (await secrets.root.read(`identity/entity/id/${entity_id}`)).body.data.mfa_secrets;
    await secrets.root.write(`${methods}/admin-generate`, upper).expect(200);
    expect(Object.keys(await factors())).toEqual([method_id]);
    const again = await secrets.root.write(`${methods}/admin-generate`, { method_id, entity_id }).expect(200);
    expect(again.body.warnings).toEqual(['Entity already has a secret for MFA method ""']);
    await secrets.root.write(`${methods}/admin-unlock`, upper).expect(204);
    await secrets.root.write(`${methods}/admin-destroy`, upper).expect(204);
    expect(await factors()).toBeUndefined();
  });

  it('accept every id in a body in its canonical spelling', () => {
    const sent = randomUUID().toUpperCase();
    const identity = [...secrets.service.kernel.mounts.all()].find(({ backend }) => backend.type === 'identity')!;
    const fields = identity.backend.paths.flatMap(({ pattern, operations }) =>
      Object.entries(operations).flatMap(([verb, operation]) => {
        const shape = (operation.input as { shape?: Record<string, z.ZodType> } | undefined)?.shape ?? {};
        // Waiting logins are stored under a hash of their id. Names differ only in case.
        const other = /^(mfa_request_id|(allowed_)?client_ids?)$/;
        const named = Object.entries(shape).filter(([name]) => /(?:^|_)ids?$/.test(name) && !other.test(name));
        return named.map(([name, type]) => ({ where: `${verb} ${pattern} ${name}`, read: type.parse(sent) }));
      }),
    );
    expect(fields.length).toBeGreaterThan(20);
    expect(fields.filter(({ read }) => String(read) !== sent.toLowerCase())).toEqual([]);
  });

  it('are created with the defaults of the specification and read back (S6.1, S6.2, S6.3, S6.4, S6.5, S6.6, S6.7, S6.8, S6.9, S17.1, S17.3, S24.6, SP.12, SP.27)', async () => {
    const id = await method(secrets);
    const { body } = await secrets.root.read(`${methods}/${id}`).expect(200);
    expect(body.data).toEqual({
      algorithm: 'SHA1',
      digits: 6,
      id,
      issuer: 'Acme',
      key_size: 20,
      max_validation_attempts: 5,
      name: '',
      namespace: '',
      namespace_id: 'root',
      namespace_path: '',
      period: 30,
      qr_size: 200,
      skew: 1,
      type: 'totp',
    });
    expect((await secrets.root.read(`identity/mfa/method/${id}`).expect(200)).body.data).toEqual(body.data);
  });

  it('are changed by id in the URL or in the body, and keep omitted fields (S6.1, S17.2)', async () => {
    const id = await method(secrets, { period: '1m', digits: 8 });
    await secrets.root.write(`${methods}/${id}`, { skew: 0 }).expect(204);
    await secrets.root.write(methods, { id, algorithm: 'SHA256' }).expect(204);
    await secrets.root.write(methods, { method_id: id, issuer: 'Other' }).expect(204);
    const { body } = await secrets.root.read(`${methods}/${id}`).expect(200);
    expect(body.data).toMatchObject({ period: 60, digits: 8, skew: 0, algorithm: 'SHA256', issuer: 'Other' });
    for (const path of [`${methods}/${randomUUID()}`]) await secrets.root.write(path, { skew: 0 }).expect(404);
    await secrets.root.write(methods, { id: randomUUID(), issuer: 'x' }).expect(404);
  });

  it('keep each field that is set on create or on change, and the default of an omitted field (S6.1-S6.9, S24.6)', async () => {
    const [first, second] = [
      { issuer: 'A', period: 45, key_size: 32, qr_size: 256, algorithm: 'SHA256', digits: 8, skew: 0 },
      { issuer: 'B', period: 60, key_size: 64, qr_size: 320, algorithm: 'SHA512', digits: 6, skew: 1 },
    ];
    const show = async (id: string) => (await secrets.root.read(`${methods}/${id}`).expect(200)).body.data;
    const id = await method(secrets, { ...first, max_validation_attempts: 7 });
    expect(await show(id)).toMatchObject({ id, ...first, max_validation_attempts: 7 });
    await secrets.root.write(`${methods}/${id}`, { ...second, max_validation_attempts: 9 }).expect(204);
    expect(await show(id)).toMatchObject({ id, ...second, max_validation_attempts: 9 });
    const least = await method(secrets, { issuer: 'C' });
    expect(await show(least)).toMatchObject({
      ...{ id: least, issuer: 'C', period: 30, key_size: 20, qr_size: 200, algorithm: 'SHA1', digits: 6, skew: 1 },
      max_validation_attempts: 5,
    });
  });

  it('can have a name, by which they are changed as well', async () => {
    const id = await method(secrets, { method_name: 'phone' });
    const again = await secrets.root.write(methods, { method_name: 'Phone', digits: 8 }).expect(200);
    expect(again.body.data).toEqual({ method_id: id });
    expect((await secrets.root.read(`${methods}/${id}`)).body.data).toMatchObject({
      name: 'phone',
      digits: 8,
      issuer: 'Acme',
    });
    const other = await method(secrets, { method_name: 'tablet' });
    await secrets.root
      .write(`${methods}/${other}`, { method_name: 'PHONE' })
      .expect(400, { errors: ['method name is already in use'] });
  });

  it('are listed with their details, not found when there are none, and deleted (S17.4, S17.5)', async () => {
    const listed = await secrets.root.list(methods).expect(200);
    const one = listed.body.data.keys[0];
    expect(listed.body.data.key_info[one]).toMatchObject({ id: one, type: 'totp', issuer: expect.any(String) });
    expect((await secrets.root.list('identity/mfa/method').expect(200)).body.data.keys).toEqual(listed.body.data.keys);
    for (const id of listed.body.data.keys) await secrets.root.delete(`${methods}/${id}`).expect(204);
    await secrets.root.delete(`${methods}/${one}`).expect(204);
    await secrets.root.read(`${methods}/${one}`).expect(404, '{"errors":[]}\n');
    await secrets.root.list(methods).expect(404);
  });

  it.each<[object, string]>([
    [{ issuer: 'x', algorithm: 'sha1' }, 'unrecognized algorithm'],
    [{ issuer: 'x', digits: 7 }, 'digits can only be 6 or 8'],
    [{ issuer: 'x', period: 0 }, 'period must be greater than zero'],
    [{ issuer: 'x', period: 3601 }, 'period must not be greater than 3600 seconds'],
    [{ issuer: 'x', skew: 2 }, 'skew must be 0 or 1'],
    [{ issuer: 'x', key_size: 0 }, 'key_size must be greater than zero'],
    [{ issuer: 'x', key_size: 9 }, 'key_size must be between 10 and 256'],
    [{ issuer: 'x', key_size: 257 }, 'key_size must be between 10 and 256'],
    [{}, 'issuer must be set'],
    [{ issuer: 'x', max_validation_attempts: -1 }, 'max_validation_attempts must be greater than zero'],
    [{ issuer: 'x', max_validation_attempts: 101 }, 'max_validation_attempts must not be greater than 100'],
    [{ issuer: 'x', qr_size: 63 }, 'qr_size must be 0 or between 64 and 1024'],
    [{ issuer: 'x', qr_size: 1025 }, 'qr_size must be 0 or between 64 and 1024'],
    [{ algorithm: 'none', digits: 5 }, 'unrecognized algorithm'],
  ])('refuse %j (S6.2, S6.6, S24.7, S24.8)', async (body, message) => {
    await secrets.root.write(methods, body).expect(400, { errors: [message] });
  });

  it('treat zero attempts as the default', async () => {
    const id = await method(secrets, { max_validation_attempts: 0 });
    expect((await secrets.root.read(`${methods}/${id}`)).body.data.max_validation_attempts).toBe(5);
  });

  it('are not found under another type or by a string that is not an id', async () => {
    const id = await method(secrets);
    await secrets.root
      .read(`identity/mfa/method/duo/${id}`)
      .expect(400, { errors: ['failed to find the method ID under MFA type duo.'] });
    await secrets.root.read(`${methods}/not-a-uuid`).expect(404, { errors: [wrapped('unsupported path')] });
  });

  it('are seen from namespaces below, and changed only in their own (S17.5)', async () => {
    await secrets.root.write('sys/namespaces/child', {}).expect(200);
    const id = await method(secrets);
    const below = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'child' });
    expect((await below.list(methods).expect(200)).body.data.keys).toContain(id);
    expect((await below.read(`${methods}/${id}`).expect(200)).body.data).toMatchObject({
      namespace_id: 'root',
      namespace: '',
    });
    await below.write(`${methods}/${id}`, { skew: 0 }).expect(404);
    const own = (await below.write(methods, { issuer: 'Child' }).expect(200)).body.data.method_id;
    expect((await below.read(`${methods}/${own}`)).body.data).toMatchObject({
      namespace: 'child/',
      namespace_path: 'child/',
    });
    await secrets.root.read(`${methods}/${own}`).expect(404);
  });

  it('are not deleted while an enforcement uses them (S17.4, S23.5, SP.28)', async () => {
    const id = await method(secrets);
    const enforcement = 'identity/mfa/login-enforcement/used';
    await secrets.root.write(enforcement, { mfa_method_ids: [id], auth_method_types: ['token'] }).expect(204);
    const used = (await secrets.root.read(enforcement).expect(200)).body.data.id;
    await secrets.root
      .delete(`${methods}/${id}`)
      .expect(400, { errors: [wrapped(`methodID is still used by an enforcement configuration with ID: ${used}`)] });
    await secrets.root.delete(enforcement).expect(204);
    await secrets.root.delete(`${methods}/${id}`).expect(204);
  });
});

describe('TOTP methods of a namespace above', () => {
  const secrets = startSecrets();

  it('are seen from below and deleted only in their own namespace', async () => {
    const id = await method(secrets);
    await secrets.root.write('sys/namespaces/below').expect(200);
    const below = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'below' });
    await below.read(`${methods}/${id}`).expect(200);
    await below.delete(`${methods}/${id}`).expect(404);
    await secrets.root.read(`${methods}/${id}`).expect(200);
    await secrets.root.delete(`${methods}/${id}`).expect(204);
    await below.delete(`${methods}/${id}`).expect(204);
  });
});

describe('TOTP secrets', () => {
  const secrets = startSecrets();
  const entity = async () => (await secrets.root.write('identity/entity').expect(200)).body.data.id as string;

  it.each<[Algorithm, 6 | 8, number, number]>([
    ['SHA1', 6, 20, 200],
    ['SHA256', 8, 32, 256],
    ['SHA512', 6, 64, 320],
  ])(
    'are created with %s and %i digits as a scannable QR code (S7.1, S7.2, S17.7)',
    async (algorithm, digits, key_size, qr_size) => {
      const id = await method(secrets, {
        algorithm,
        digits,
        key_size,
        qr_size,
        issuer: 'Acme & Söhne: a b',
        period: 45,
      });
      const entity_id = await entity();
      const { body } = await secrets.root.write(`${methods}/admin-generate`, { method_id: id, entity_id }).expect(200);
      expect(Object.keys(body.data).sort()).toEqual(['barcode', 'url']);
      const picture = scan(body.data.barcode);
      expect(picture).toEqual({ text: body.data.url, width: qr_size, height: qr_size });
      const url = new URL(body.data.url);
      expect(url.protocol).toBe('otpauth:');
      expect(decodeURIComponent(body.data.url.split('?')[0])).toBe(`otpauth://totp/Acme & Söhne: a b:${entity_id}`);
      expect(Object.fromEntries(url.searchParams)).toMatchObject({
        algorithm,
        digits: String(digits),
        issuer: 'Acme & Söhne: a b',
        period: '45',
      });
      expect(unbase32(url.searchParams.get('secret')!)).toHaveLength(key_size);
      expect((await secrets.root.read(`identity/entity/id/${entity_id}`)).body.data.mfa_secrets).toEqual({
        [id]: { method_name: '', type: 'totp' },
      });
    },
  );

  it('are created only once, and again only after they were destroyed (S17.7, S17.8, SP.12, SP.58)', async () => {
    const id = await method(secrets, { method_name: 'mm', qr_size: 0 });
    const entity_id = await entity();
    const first = await secrets.root.write(`${methods}/admin-generate`, { method_id: id, entity_id }).expect(200);
    expect(first.body.data.barcode).toBe('');
    const second = await secrets.root.write(`${methods}/admin-generate`, { method_id: id, entity_id }).expect(200);
    expect(second.body).toMatchObject({ data: null, warnings: ['Entity already has a secret for MFA method "mm"'] });
    await secrets.root.write(`${methods}/admin-destroy`, { method_id: id, entity_id }).expect(204);
    await secrets.root.write(`${methods}/admin-destroy`, { method_id: id, entity_id }).expect(204);
    const third = await secrets.root.write(`${methods}/admin-generate`, { method_id: id, entity_id }).expect(200);
    expect(third.body.data.url).not.toBe(first.body.data.url);
  });

  it('are created once by simultaneous requests', async () => {
    const id = await method(secrets, { qr_size: 0 });
    const entity_id = await entity();
    const answers = await Promise.all(
      Array.from({ length: 20 }, () =>
        secrets.root.write(`${methods}/admin-generate`, { method_id: id, entity_id }).expect(200),
      ),
    );
    expect(answers.filter(({ body }) => body.data !== null)).toHaveLength(1);
  });

  it('are never in plaintext in the database', async () => {
    const id = await method(secrets, { issuer: 'SekretIssuer' });
    const { body } = await secrets.root
      .write(`${methods}/admin-generate`, { method_id: id, entity_id: await entity() })
      .expect(200);
    const key = authenticator(body.data.url).scheme.key;
    const { Client } = await import('pg');
    const client = new Client({ connectionString: secrets.database.url });
    await client.connect();
    const dump = JSON.stringify([
      (await client.query('SELECT t::text FROM mfa_secret t')).rows,
      (await client.query('SELECT t::text FROM mfa_method t')).rows,
    ]);
    await client.end();
    expect(dump).not.toContain(key.toString('hex'));
    expect(dump).not.toContain(Buffer.from(key.toString('base64')).toString('hex'));
    expect(dump).not.toContain(Buffer.from('SekretIssuer').toString('hex'));
  });

  it.each<[string, object, string]>([
    ['generate', {}, 'missing method ID'],
    ['generate', { method_id: 'zz' }, 'missing entityID'],
    ['admin-generate', {}, 'missing method ID'],
    ['admin-generate', { method_id: 'zz' }, 'missing entityID'],
    ['admin-generate', { method_id: 'zz', entity_id: 'yy' }, 'configuration for method ID "zz" does not exist'],
    ['admin-destroy', {}, 'missing method ID'],
    ['admin-destroy', { method_id: 'zz' }, 'missing entity ID'],
    ['admin-destroy', { method_id: 'zz', entity_id: 'yy' }, 'configuration for method ID "zz" does not exist'],
    ['admin-unlock', { method_id: 'zz' }, 'missing entity ID'],
    ['self-enroll', {}, 'missing request ID'],
    ['self-enroll', { mfa_request_id: 'zz' }, 'missing method ID'],
    ['self-enroll', { mfa_request_id: 'zz', mfa_method_id: 'yy' }, 'invalid request ID'],
  ])('%s refuses %j (S17.6, S17.7, S17.8)', async (path, body, message) => {
    await secrets.root.write(`${methods}/${path}`, body).expect(400, { errors: [message] });
  });

  it('need an entity that exists (S17.7)', async () => {
    const method_id = await method(secrets);
    for (const path of ['admin-generate', 'admin-destroy']) {
      for (const entity_id of ['zz', randomUUID()]) {
        await secrets.root
          .write(`${methods}/${path}`, { method_id, entity_id })
          .expect(400, { errors: ['invalid entity ID'] });
      }
    }
  });
});

describe('login enforcements', () => {
  const secrets = startSecrets();
  const path = (name: string) => `identity/mfa/login-enforcement/${name}`;

  it('are written, read, listed and deleted', async () => {
    const id = await method(secrets);
    const entity = (await secrets.root.write('identity/entity').expect(200)).body.data.id;
    await secrets.root.write(path('en'), { mfa_method_ids: [id], identity_entity_ids: [entity] }).expect(204);
    await secrets.root.write(path('en'), { auth_method_types: ['token'] }).expect(204);
    const { body } = await secrets.root.read(path('en')).expect(200);
    expect(body.data).toEqual({
      auth_method_accessors: [],
      auth_method_types: ['token'],
      id: expect.any(String),
      identity_entity_ids: [entity],
      identity_group_ids: [],
      mfa_method_ids: [id],
      name: 'en',
      namespace_id: 'root',
      namespace_path: '',
    });
    const listed = await secrets.root.list('identity/mfa/login-enforcement').expect(200);
    expect(listed.body.data).toEqual({ keys: ['en'], key_info: { en: body.data } });
    await secrets.root.delete(path('en')).expect(204);
    await secrets.root.delete(path('en')).expect(204);
    await secrets.root.read(path('en')).expect(404);
    await secrets.root.list('identity/mfa/login-enforcement').expect(404);
  });

  it('refuse names and ids that do not exist', async () => {
    const id = await method(secrets);
    for (const [body, message] of [
      [{}, 'missing method ids'],
      [{ mfa_method_ids: ['zz'] }, "one of the provided method ids doesn't exist"],
      [{ mfa_method_ids: [id, randomUUID()] }, "one of the provided method ids doesn't exist"],
      [
        { mfa_method_ids: [id] },
        'One of auth_method_accessors, auth_method_types, identity_group_ids, identity_entity_ids must be specified',
      ],
      [{ mfa_method_ids: [id], auth_method_accessors: ['zz'] }, 'one of the auth method accessors provided is invalid'],
      [{ mfa_method_ids: [id], auth_method_types: ['zz'] }, 'one of the auth method types provided is invalid'],
      [{ mfa_method_ids: [id], identity_group_ids: ['zz'] }, "one of the provided group ids doesn't exist"],
      [{ mfa_method_ids: [id], identity_entity_ids: [randomUUID()] }, "one of the provided entity ids doesn't exist"],
    ] as const) {
      await secrets.root.write(path('bad'), body).expect(400, { errors: [message] });
    }
  });
});
