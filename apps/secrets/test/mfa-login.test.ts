import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import { authenticator, newMethod as method, methods, scan } from './authenticator';
import { startSecrets } from './start-secrets';

const generic = 'MFA credentials not supplied or incorrect';

describe('logins with second factors', () => {
  const clock = manualClock(Date.UTC(2027, 3, 1, 12, 0, 0));
  const secrets = startSecrets({ clock });
  let users = 0;

  /** A user with a secret, whose logins need it. */
  async function enrolled(fields: object = {}) {
    const name = `user${++users}`;
    const mount = `up${users}`;
    await secrets.root.write(`sys/auth/${mount}`, { type: 'approle' }).expect(204);
    const accessor = (await secrets.root.read('sys/auth')).body.data[`${mount}/`].accessor;
    const role = { role_id: name, bind_secret_id: false, token_bound_cidrs: '127.0.0.1', token_policies: 'dev' };
    await secrets.root.write(`auth/${mount}/role/${name}`, role).expect(204);
    const login = (headers: Record<string, string> = {}) =>
      secrets.as(undefined, headers).write(`auth/${mount}/login`, { role_id: name });
    const entity = (await login().expect(200)).body.auth.entity_id;
    const id = await method(secrets, { method_name: `m${users}`, ...fields });
    const made = await secrets.root
      .write(`${methods}/admin-generate`, { method_id: id, entity_id: entity })
      .expect(200);
    await secrets.root
      .write(`identity/mfa/login-enforcement/en${users}`, { mfa_method_ids: [id], auth_method_accessors: [accessor] })
      .expect(204);
    const app = authenticator(made.body.data.url);
    const begin = async () => (await login().expect(200)).body.auth.mfa_requirement.mfa_request_id as string;
    const validate = (mfa_request_id: string, passcode: unknown, key = id) =>
      secrets.anonymous.write('sys/mfa/validate', { mfa_request_id, mfa_payload: { [key]: passcode } });
    return {
      name,
      mount,
      accessor,
      entity,
      id,
      app,
      login,
      begin,
      validate,
      enforcement: `en${users}`,
      recovery: made.body.data.recovery_codes as string[],
    };
  }
  const failed = (enforcement: string, id: string, reason = generic) =>
    `failed to satisfy enforcement ${enforcement}. error: 2 errors occurred:\n\t* ${reason}\n\t* login MFA validation failed for methodID: [${id}]\n\n`;

  it('wait for a code and finish with it', async () => {
    const user = await enrolled();
    const waiting = await user.login().expect(200);
    expect(waiting.body.warnings).toEqual([
      expect.stringMatching(/^A login request was issued that is subject to MFA validation/),
    ]);
    expect(waiting.body.auth).toMatchObject({
      client_token: '',
      accessor: '',
      policies: null,
      lease_duration: 0,
      token_type: 'default',
    });
    expect(waiting.body.auth.mfa_requirement).toEqual({
      mfa_request_id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      mfa_constraints: {
        [user.enforcement]: { any: [{ type: 'totp', id: user.id, uses_passcode: true, name: `m${users}` }] },
      },
    });
    const request = waiting.body.auth.mfa_requirement.mfa_request_id;
    const done = await user.validate(request, [user.app.code(clock.now())]).expect(200);
    expect(done.body.auth).toMatchObject({
      token_policies: ['default', 'dev'],
      entity_id: user.entity,
      metadata: { role_name: user.name },
      mfa_requirement: null,
      token_type: 'service',
    });
    const self = await secrets.as(done.body.auth.client_token).read('auth/token/lookup-self').expect(200);
    expect(self.body.data.path).toBe(`auth/${user.mount}/login`);
    await user.validate(request, [user.app.code(clock.now(), 1)]).expect(400, { errors: ['invalid request ID'] });
  });

  it('accept the method by name, and the code with or without a name', async () => {
    const user = await enrolled();
    await user.validate(await user.begin(), [`passcode=${user.app.code(clock.now())}`], `m${users}`).expect(200);
    clock.advance(60_000);
    await user.validate(await user.begin(), user.app.code(clock.now())).expect(200);
  });

  it('work from enrolment by QR code to login with a code, lockout and unlocking', async () => {
    await secrets.root.write('sys/auth/people', { type: 'userpass' }).expect(204);
    const policy = `path "${methods}/generate" { capabilities = ["update"] }`;
    await secrets.root.write('sys/policies/acl/enrol', { policy }).expect(204);
    const account = { password: 'correct horse', token_policies: 'enrol' };
    await secrets.root.write('auth/people/users/ada', account).expect(204);
    const login = async () =>
      (await secrets.anonymous.write('auth/people/login/ada', { password: 'correct horse' }).expect(200)).body.auth;
    const before = await login();
    const id = await method(secrets, { max_validation_attempts: 2, algorithm: 'SHA256', digits: 8, qr_size: 240 });
    const made = await secrets.as(before.client_token).write(`${methods}/generate`, { method_id: id }).expect(200);
    const app = authenticator(scan(made.body.data.barcode).text);
    const rule = { mfa_method_ids: [id], auth_method_types: ['userpass'] };
    await secrets.root.write('identity/mfa/login-enforcement/people', rule).expect(204);
    const give = async (code: string) =>
      secrets.anonymous.write('sys/mfa/validate', {
        mfa_request_id: (await login()).mfa_requirement.mfa_request_id,
        mfa_payload: { [id]: [code] },
      });
    const first = await give(app.code(clock.now())).then(({ body }) => body.auth);
    expect(first).toMatchObject({ entity_id: before.entity_id, client_token: expect.stringMatching(/^s\./) });
    clock.advance(60_000);
    for (const code of ['00000000', '00000001']) expect((await give(code)).status).toBe(403);
    const locked = await give(app.code(clock.now()));
    expect([locked.status, locked.body.errors[0]]).toEqual([403, expect.stringContaining('Please try again in 30')]);
    const unlock = { method_id: id, entity_id: before.entity_id };
    await secrets.as(first.client_token).write(`${methods}/admin-unlock`, unlock).expect(403);
    await secrets.root.write(`${methods}/admin-unlock`, unlock).expect(204);
    expect((await give(app.code(clock.now()))).body.auth.client_token).toMatch(/^s\./);
    await secrets.root.delete('identity/mfa/login-enforcement/people').expect(204);
  });

  it('accept a code once, and none of an earlier period', async () => {
    const user = await enrolled();
    const code = user.app.code(clock.now());
    await user.validate(await user.begin(), [code]).expect(200);
    await user.validate(await user.begin(), [code]).expect(403, { errors: [failed(user.enforcement, user.id)] });
    await user.validate(await user.begin(), [user.app.code(clock.now(), -1)]).expect(403);
    await user.validate(await user.begin(), [user.app.code(clock.now(), 1)]).expect(200);
  });

  it('accept the codes of the window and no others', async () => {
    const user = await enrolled({ skew: 0 });
    await user.validate(await user.begin(), [user.app.code(clock.now(), -1)]).expect(403);
    await user.validate(await user.begin(), [user.app.code(clock.now(), 1)]).expect(403);
    await user.validate(await user.begin(), [user.app.code(clock.now())]).expect(200);
    const wide = await enrolled({ skew: 1 });
    await wide.validate(await wide.begin(), [wide.app.code(clock.now(), -2)]).expect(403);
    await wide.validate(await wide.begin(), [wide.app.code(clock.now(), -1)]).expect(200);
  });

  it('survive wrong attempts, and end after five minutes', async () => {
    const user = await enrolled();
    const request = await user.begin();
    await user.validate(request, ['000000']).expect(403, { errors: [failed(user.enforcement, user.id)] });
    clock.advance(299_000);
    await user.validate(request, [user.app.code(clock.now())]).expect(200);
    const late = await user.begin();
    clock.advance(300_000);
    await user.validate(late, [user.app.code(clock.now())]).expect(400, { errors: ['invalid request ID'] });
  });

  it.each(['', ' 12345', '12345', '1234567', '12345a', '１２３４５６', '123456 ', '-12345'])(
    'do not count %j, which is not a code',
    async (text) => {
      const user = await enrolled({ max_validation_attempts: 1 });
      const request = await user.begin();
      for (let i = 0; i < 4; i += 1)
        await user.validate(request, [text]).expect(403, { errors: [failed(user.enforcement, user.id)] });
      await user.validate(request, [user.app.code(clock.now())]).expect(200);
    },
  );

  it('are locked after too many wrong codes, even for the right one, twice as long every time', async () => {
    const user = await enrolled({ max_validation_attempts: 3, period: 30 });
    const request = async () => user.begin();
    const locked = (seconds: number) =>
      failed(
        user.enforcement,
        user.id,
        `maximum TOTP validation attempts 4 exceeded the allowed attempts 3. Please try again in ${seconds} seconds`,
      );
    const fail = async () =>
      user.validate(await request(), ['000000']).expect(403, { errors: [failed(user.enforcement, user.id)] });
    for (let i = 0; i < 3; i += 1) await fail();
    await user.validate(await request(), [user.app.code(clock.now())]).expect(403, { errors: [locked(30)] });
    clock.advance(10_000);
    await user.validate(await request(), [user.app.code(clock.now())]).expect(403, { errors: [locked(20)] });
    clock.advance(20_000);
    for (let i = 0; i < 3; i += 1) await fail();
    await user.validate(await request(), [user.app.code(clock.now())]).expect(403, { errors: [locked(60)] });
    clock.advance(60_000);
    await user.validate(await request(), [user.app.code(clock.now())]).expect(200);
    clock.advance(60_000);
    for (let i = 0; i < 3; i += 1) await fail();
    await user.validate(await request(), ['000000']).expect(403, { errors: [locked(30)] });
  });

  it('are unlocked by an administrator', async () => {
    const user = await enrolled({ max_validation_attempts: 1 });
    for (let i = 0; i < 2; i += 1) await user.validate(await user.begin(), ['000000']).expect(403);
    await user.validate(await user.begin(), [user.app.code(clock.now())]).expect(403);
    await secrets.root.write(`${methods}/admin-unlock`, { method_id: user.id, entity_id: user.entity }).expect(204);
    await user.validate(await user.begin(), [user.app.code(clock.now())]).expect(200);
  });

  it('finish in one step when the code is sent along', async () => {
    const user = await enrolled();
    const sent = (value: string) => user.login({ 'X-Service-MFA': value });
    const done = await sent(`${user.id}:${user.app.code(clock.now())}`).expect(200);
    expect(done.body.auth.client_token).not.toBe('');
    await sent(`${user.id}:${user.app.code(clock.now())}`).expect(403, { errors: ['permission denied'] });
    await sent(`m${users}:000000`).expect(403, { errors: ['permission denied'] });
    await sent(user.id).expect(403, { errors: ['permission denied'] });
    await sent('other:123456').expect(403, { errors: ['permission denied'] });
    clock.advance(60_000);
    await sent(`m${users}:${user.app.code(clock.now())}`).expect(200);
  });

  it('refuse empty requests', async () => {
    const user = await enrolled();
    const request = await user.begin();
    const unsanitary = `failed to sanitize MFA creds, 1 error occurred:\n\t* failed to find MFA credentials associated with an MFA method ID ${user.id}, method name m${users}\n\n`;
    const validate = (body: object) => secrets.anonymous.write('sys/mfa/validate', body);
    await validate({}).expect(400, { errors: ['missing request ID'] });
    await validate({ mfa_request_id: randomUUID(), mfa_payload: { x: ['1'] } }).expect(400, {
      errors: ['invalid request ID'],
    });
    await validate({ mfa_request_id: 'zz', mfa_payload: { x: ['1'] } }).expect(400, { errors: ['invalid request ID'] });
    expect((await validate({ mfa_request_id: request, mfa_payload: 'x' }).expect(400)).body.errors[0]).toMatch(
      /^Field validation failed/,
    );
    await validate({ mfa_request_id: request }).expect(403, { errors: [unsanitary] });
    await validate({ mfa_request_id: request, mfa_payload: {} }).expect(403, { errors: [unsanitary] });
    await validate({ mfa_request_id: request, mfa_payload: { other: ['123456'] } }).expect(403, {
      errors: [unsanitary],
    });
    await user.validate(request, [user.app.code(clock.now())]).expect(200);
  });

  it('report that the entity has no secret', async () => {
    const user = await enrolled();
    await secrets.root.write(`${methods}/admin-destroy`, { method_id: user.id, entity_id: user.entity }).expect(204);
    const reason = `MFA secret for method name "m${users}" not present in entity "${user.entity}"`;
    await user
      .validate(await user.begin(), ['123456'])
      .expect(403, { errors: [failed(user.enforcement, user.id, reason)] });
  });

  it('need one method, no matter which, of every enforcement', async () => {
    const user = await enrolled();
    const second = await method(secrets, { qr_size: 0 });
    const third = await method(secrets, { qr_size: 0 });
    const made = await secrets.root
      .write(`${methods}/admin-generate`, { method_id: third, entity_id: user.entity })
      .expect(200);
    const app = authenticator(made.body.data.url);
    await secrets.root
      .write('identity/mfa/login-enforcement/also', {
        mfa_method_ids: [second, third],
        identity_entity_ids: [user.entity],
      })
      .expect(204);
    const request = await user.begin();
    await user.validate(request, [user.app.code(clock.now())]).expect(403);
    const both = { [user.id]: [user.app.code(clock.now(), 1)], [third]: [app.code(clock.now())] };
    await secrets.anonymous.write('sys/mfa/validate', { mfa_request_id: request, mfa_payload: both }).expect(200);
    await secrets.root.delete('identity/mfa/login-enforcement/also').expect(204);
  });

  it('use up nothing with an insufficient answer, and count only its wrong codes', async () => {
    const user = await enrolled({ max_validation_attempts: 2 });
    const second = await method(secrets, { qr_size: 0, max_validation_attempts: 2 });
    const made = await secrets.root
      .write(`${methods}/admin-generate`, { method_id: second, entity_id: user.entity })
      .expect(200);
    const app = authenticator(made.body.data.url);
    const rule = { mfa_method_ids: [second], identity_entity_ids: [user.entity] };
    await secrets.root.write('identity/mfa/login-enforcement/zz-also', rule).expect(204);
    const request = await user.begin();
    const answer = (payload: object) =>
      secrets.anonymous.write('sys/mfa/validate', { mfa_request_id: request, mfa_payload: payload });
    const [one, two] = [user.app.code(clock.now()), app.code(clock.now())];
    const wrong = [one, two].includes('000000') ? '000001' : '000000';
    // While one factor is missing, no code is used up and no attempt is counted.
    for (let i = 0; i < 5; i += 1) await answer({ [user.id]: [one] }).expect(403, /failed to sanitize/);
    for (let i = 0; i < 5; i += 1) await answer({ [user.id]: [wrong] }).expect(403, /failed to sanitize/);
    // If one is right and the other wrong, in one step or two, only the wrong one is counted, and nothing is used up.
    await answer({ [user.id]: [one], [second]: [wrong] }).expect(403, /failed to satisfy enforcement zz-also/);
    await user.login({ 'X-Service-MFA': `${user.id}:${one}, ${second}:${wrong}` }).expect(403);
    await answer({ [user.id]: [one], [second]: [two] }).expect(403, /exceeded the allowed attempts 2/);
    clock.advance(30_000);
    const late = { [user.id]: [user.app.code(clock.now(), -1)], [second]: [app.code(clock.now(), -1)] };
    await answer(late).expect(200);
    await secrets.root.delete('identity/mfa/login-enforcement/zz-also').expect(204);
  });

  it('use up no code for a login that another call has already completed', async () => {
    const user = await enrolled();
    const request = await user.begin();
    const answers = await Promise.all([-1, 0, 1].map((at) => user.validate(request, [user.app.code(clock.now(), at)])));
    const won = answers.findIndex(({ status }) => status === 200);
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
    // All codes after the successful one are still unused.
    if (won < 2) await user.validate(await user.begin(), [user.app.code(clock.now(), 1)]).expect(200);
  });

  it('need one code for a method that two enforcements name', async () => {
    const user = await enrolled();
    await secrets.root
      .write('identity/mfa/login-enforcement/twice', { mfa_method_ids: [user.id], identity_entity_ids: [user.entity] })
      .expect(204);
    const waiting = await user.login().expect(200);
    expect(Object.keys(waiting.body.auth.mfa_requirement.mfa_constraints).sort()).toEqual(
      [user.enforcement, 'twice'].sort(),
    );
    await user.validate(waiting.body.auth.mfa_requirement.mfa_request_id, [user.app.code(clock.now())]).expect(200);
    await user.login({ 'X-Service-MFA': `${user.id}:${user.app.code(clock.now(), 1)}` }).expect(200);
    await secrets.root.delete('identity/mfa/login-enforcement/twice').expect(204);
  });

  it('follow an entity that is merged into another', async () => {
    const [stays, goes] = [await enrolled({ recovery_codes: 1 }), await enrolled({ recovery_codes: 1 })];
    await secrets.root
      .write('identity/entity/merge', { from_entity_ids: [goes.entity], to_entity_id: stays.entity })
      .expect(204);
    const both = (await secrets.root.read(`identity/entity/id/${stays.entity}`)).body.data.mfa_secrets;
    expect(Object.keys(both).sort()).toEqual([stays.id, goes.id].sort());
    const done = await goes.validate(await goes.begin(), [goes.app.code(clock.now())]).expect(200);
    expect(done.body.auth.entity_id).toBe(stays.entity);
    await goes.validate(await goes.begin(), [goes.recovery[0]!]).expect(200);
    const third = await enrolled();
    const copy = await secrets.root
      .write(`${methods}/admin-generate`, { method_id: goes.id, entity_id: third.entity })
      .expect(200);
    const merge = { from_entity_ids: [third.entity], to_entity_id: stays.entity };
    const refused = await secrets.root.write('identity/entity/merge', merge).expect(400);
    expect(refused.body.errors[0]).toContain(`both entities have a secret for MFA method ${goes.id}`);
    await secrets.root.write('identity/entity/merge', { ...merge, force: true }).expect(204);
    clock.advance(60_000);
    await goes.validate(await goes.begin(), [authenticator(copy.body.data.url).code(clock.now())]).expect(403);
    await goes.validate(await goes.begin(), [goes.app.code(clock.now())]).expect(200);
  });

  it('still need the factor of an entity that was merged into another', async () => {
    const [stays, goes] = [await enrolled(), await enrolled()];
    for (const { enforcement } of [stays, goes]) {
      await secrets.root.delete(`identity/mfa/login-enforcement/${enforcement}`).expect(204);
    }
    const enforcement = { mfa_method_ids: [goes.id], identity_entity_ids: [goes.entity] };
    await secrets.root.write('identity/mfa/login-enforcement/person', enforcement).expect(204);
    await secrets.root
      .write('identity/entity/merge', { from_entity_ids: [goes.entity], to_entity_id: stays.entity })
      .expect(204);
    const { body } = await secrets.root.read('identity/mfa/login-enforcement/person').expect(200);
    expect(body.data.identity_entity_ids).toEqual([stays.entity]);
    await secrets.root
      .write('identity/mfa/login-enforcement/person', { identity_entity_ids: [goes.entity] })
      .expect(400);
    await goes.validate(await goes.begin(), [goes.app.code(clock.now())]).expect(200);
    await secrets.root.delete('identity/mfa/login-enforcement/person').expect(204);
  });

  it('are named by explanations', async () => {
    const user = await enrolled();
    const done = await user.validate(await user.begin(), [user.app.code(clock.now())]).expect(200);
    const { body } = await secrets
      .as(done.body.auth.client_token)
      .write('sys/policies/explain', { path: 'cubbyhole/a', operation: 'read' })
      .expect(200);
    expect(body.data).toMatchObject({ allowed: true, login_enforcements: [user.enforcement] });
  });

  it('can be required of groups and of types of mounts', async () => {
    const user = await enrolled();
    await secrets.root.delete(`identity/mfa/login-enforcement/${user.enforcement}`).expect(204);
    expect((await user.login().expect(200)).body.auth.client_token).not.toBe('');
    const group = (await secrets.root.write('identity/group', { member_entity_ids: [user.entity] }).expect(200)).body
      .data.id;
    const outer = (await secrets.root.write('identity/group', { member_group_ids: [group] }).expect(200)).body.data.id;
    for (const target of [{ identity_group_ids: [outer] }, { auth_method_types: ['approle'] }]) {
      await secrets.root
        .write('identity/mfa/login-enforcement/more', {
          mfa_method_ids: [user.id],
          identity_group_ids: [],
          auth_method_types: [],
          ...target,
        })
        .expect(204);
      expect((await user.login().expect(200)).body.auth.client_token).toBe('');
    }
    await secrets.root.delete('identity/mfa/login-enforcement/more').expect(204);
    expect((await user.login().expect(200)).body.auth.client_token).not.toBe('');
  });

  it('work with a secret that was created before its method changed', async () => {
    const user = await enrolled();
    await secrets.root.write(`${methods}/${user.id}`, { digits: 8, period: 60, algorithm: 'SHA512' }).expect(204);
    await user.validate(await user.begin(), [user.app.code(clock.now())]).expect(200);
  });

  it('let an entity make its own secret (S7.1, S7.2, S17.6)', async () => {
    const user = await enrolled();
    // The default policy does not grant it to every token.
    const plain = await user.validate(await user.begin(), [user.app.code(clock.now(), -1)]).expect(200);
    await secrets.as(plain.body.auth.client_token).write(`${methods}/generate`, { method_id: user.id }).expect(403);
    await secrets.root
      .write('sys/policies/acl/dev', { policy: `path "${methods}/generate" { capabilities = ["update"] }` })
      .expect(204);
    const done = await user.validate(await user.begin(), [user.app.code(clock.now())]).expect(200);
    const token = secrets.as(done.body.auth.client_token);
    const other = await method(secrets);
    const made = await token.write(`${methods}/generate`, { method_id: other }).expect(200);
    expect(made.body.data.url).toContain(user.entity);
    const third = await method(secrets);
    const another = await token.write(`${methods}/generate`, { method_id: third }).expect(200);
    for (const { body } of [made, another]) expect(scan(body.data.barcode).text).toBe(body.data.url);
    expect(another.body.data.url).not.toBe(made.body.data.url);
    await token.write(`${methods}/generate`, { method_id: other }).expect(200, /Entity already has a secret/);
    await token
      .write(`${methods}/generate`, { method_id: 'zz' })
      .expect(400, { errors: ['configuration for method ID "zz" does not exist'] });
  });

  it('let people enrol themselves if the method allows it, once and only with a code that confirms it', async () => {
    const user = await enrolled({ enable_self_enrollment: true });
    await secrets.root.write(`${methods}/admin-destroy`, { method_id: user.id, entity_id: user.entity }).expect(204);
    const waiting = await user.login().expect(200);
    const request = waiting.body.auth.mfa_requirement.mfa_request_id;
    expect(waiting.body.auth.mfa_requirement.mfa_constraints[user.enforcement].any[0].self_enrollment_enabled).toBe(
      true,
    );
    const enrol = (id: string) =>
      secrets.anonymous.write(`${methods}/self-enroll`, { mfa_request_id: id, mfa_method_id: user.id });
    const made = await enrol(request).expect(200);
    expect(scan(made.body.data.barcode).text).toBe(made.body.data.url);
    await enrol(request).expect(403, { errors: ['self-enrolment was already begun for this login'] });
    expect((await secrets.root.read(`identity/entity/id/${user.entity}`)).body.data.mfa_secrets).toBeUndefined();
    await user.validate(request, ['000000']).expect(403);
    const app = authenticator(made.body.data.url);
    await user.validate(request, [app.code(clock.now())]).expect(200);
    await user.validate(await user.begin(), [app.code(clock.now())]).expect(403);
    clock.advance(30_000);
    await user.validate(await user.begin(), [app.code(clock.now())]).expect(200);
    await enrol(await user.begin()).expect(403, { errors: ['self-enrolment is not available for this login'] });
    const plain = await enrolled();
    await secrets.anonymous
      .write(`${methods}/self-enroll`, { mfa_request_id: await plain.begin(), mfa_method_id: plain.id })
      .expect(403, { errors: ['self-enrolment is not available for this login'] });
  });

  it('accept each recovery code once if the method has them', async () => {
    const user = await enrolled({ recovery_codes: 3, max_validation_attempts: 2 });
    expect(user.recovery).toHaveLength(3);
    expect(new Set(user.recovery).size).toBe(3);
    await user.validate(await user.begin(), [user.recovery[0]!]).expect(200);
    await user.validate(await user.begin(), [user.recovery[0]!]).expect(403);
    await user.validate(await user.begin(), [user.recovery[1]!]).expect(200);
    for (let i = 0; i < 2; i += 1) await user.validate(await user.begin(), ['aaaaa-bbbbb-ccccc']).expect(403);
    await user
      .validate(await user.begin(), [user.recovery[2]!])
      .expect(403, /maximum TOTP validation attempts 3 exceeded/);
  });
});
