import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { manualClock } from '@keystead/testing';
import { authenticator, methods, newMethod } from './authenticator';
import { startSecrets } from './start-secrets';

const denied = '1 error occurred:\n\t* permission denied\n\n';

describe('requests whose policy names second factors', () => {
  const clock = manualClock(Date.UTC(2027, 3, 1, 12, 0, 0));
  const secrets = startSecrets({ clock });
  let people = 0;

  /** A person with secrets for some methods, whose token has a policy. */
  async function person(rules: string, methodIds: readonly string[]) {
    const name = `p${++people}`;
    await secrets.root.write(`sys/policies/acl/${name}`, { policy: rules });
    await secrets.root.write(`sys/auth/${name}`, { type: 'approle' }).expect(204);
    const role = { role_id: name, bind_secret_id: false, token_bound_cidrs: '127.0.0.1', token_policies: name };
    await secrets.root.write(`auth/${name}/role/one`, role).expect(204);
    const { auth } = (await secrets.anonymous.write(`auth/${name}/login`, { role_id: name }).expect(200)).body;
    const apps: ReturnType<typeof authenticator>[] = [];
    for (const method_id of methodIds) {
      const asked = { method_id, entity_id: auth.entity_id };
      const made = await secrets.root.write(`${methods}/admin-generate`, asked).expect(200);
      apps.push(authenticator(made.body.data.url));
    }
    const token: string = auth.client_token;
    const sending = (mfa?: string) => secrets.as(token, mfa === undefined ? {} : { 'X-Service-MFA': mfa });
    return { token, sending, code: (at = 0, period = 0) => apps[at]!.code(clock.now(), period) };
  }
  const refused = (test: ReturnType<typeof secrets.root.read>) => test.expect(403, { errors: [denied] });
  const guarded = (...named: string[]) =>
    `path "cubbyhole/guarded" { capabilities = ["create", "read"] mfa_methods = ${JSON.stringify(named)} }
     path "cubbyhole/open" { capabilities = ["create", "read"] }`;

  it('are answered with a right code only, once, under the id or the name of the method', async () => {
    const id = await newMethod(secrets, { method_name: 'step' });
    const one = await person(guarded('step'), [id]);
    const write = (mfa?: string) => one.sending(mfa).write('cubbyhole/guarded', { a: 1 });
    await refused(write());
    await refused(write('step'));
    await refused(write(`step:${one.code() === '000000' ? '111111' : '000000'}`));
    await refused(write(`other:${one.code()}`));
    await write(`step:${one.code()}`).expect(204);
    await refused(one.sending(`step:${one.code()}`).read('cubbyhole/guarded'));
    clock.advance(60_000);
    const read = await one.sending(`${id}:passcode=${one.code()}`).read('cubbyhole/guarded').expect(200);
    expect(read.body.data).toEqual({ a: 1 });
    await one.sending().write('cubbyhole/open', { a: 1 }).expect(204);
  });

  it('need every method that is named, and use no code up while another one is missing', async () => {
    const both = [await newMethod(secrets, { method_name: 'a' }), await newMethod(secrets, { method_name: 'b' })];
    const one = await person(guarded('a', both[1]!), both);
    const read = (mfa: string) => one.sending(mfa).read('cubbyhole/guarded');
    await refused(read(`a:${one.code(0)}`));
    await refused(read(`b:${one.code(1)}`));
    await read(`a:${one.code(0)}, b:${one.code(1)}`).expect(404);
  });

  it('use up no code while another one is wrong, and count only the wrong one', async () => {
    const fields = { max_validation_attempts: 2 };
    const both = [
      await newMethod(secrets, { method_name: 'right', ...fields }),
      await newMethod(secrets, { method_name: 'wrong', ...fields }),
    ];
    const one = await person(guarded('right', 'wrong'), both);
    const read = (first: string, second: string) =>
      one.sending(`right:${first}, wrong:${second}`).read('cubbyhole/guarded');
    const wrong = one.code(1) === '000000' ? '111111' : '000000';
    for (let i = 0; i < 4; i++) await refused(read(one.code(0), wrong));
    clock.advance(30_000);
    await read(one.code(0, -1), one.code(1, -1)).expect(404);
  });

  it('are combined if several policies cover the same path', async () => {
    const id = await newMethod(secrets, { method_name: 'sum' });
    const open = 'path "cubbyhole/guarded" { capabilities = ["read"] }';
    const one = await person(`${open}\n${guarded('sum')}`, [id]);
    await refused(one.sending().read('cubbyhole/guarded'));
    await one.sending(`sum:${one.code()}`).read('cubbyhole/guarded').expect(404);
  });

  it('are refused after too many wrong codes, even with a right one', async () => {
    const id = await newMethod(secrets, { method_name: 'few', max_validation_attempts: 2 });
    const one = await person(guarded('few'), [id]);
    const wrong = one.code() === '000000' ? '111111' : '000000';
    for (let i = 0; i < 3; i++) await refused(one.sending(`few:${wrong}`).read('cubbyhole/guarded'));
    await refused(one.sending(`few:${one.code()}`).read('cubbyhole/guarded'));
  });

  it('are refused to tokens without an entity, but not to root', async () => {
    await newMethod(secrets, { method_name: 'bare' });
    const bare = await secrets.withPolicy(guarded('bare'));
    await refused(bare.read('cubbyhole/guarded'));
    await secrets.root.read('cubbyhole/guarded').expect(404);
  });

  it('are refused if a method does not exist, and writing the policy warns of that', async () => {
    const missing = randomUUID();
    for (const path of ['sys/policies/acl/absent', 'sys/policy/absent']) {
      const { body } = await secrets.root.write(path, { policy: guarded('nowhere', missing) }).expect(200);
      expect(body.warnings).toEqual([
        `mfa_methods names methods that do not exist here: nowhere, ${missing}; these requests are refused until the methods exist`,
      ]);
    }
    const one = await person(guarded('nowhere'), []);
    await refused(one.sending('nowhere:123456').read('cubbyhole/guarded'));
  });

  it('mean the methods of the policy’s namespace, not of a child namespace with the same name', async () => {
    const id = await newMethod(secrets, { method_name: 'corp' });
    await secrets.root.write('sys/namespaces/below', {}).expect(200);
    const below = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'below' });
    await below.write('sys/mounts/kv', { type: 'kv' }).expect(204);
    await below.write('kv/x', { a: 1 }).expect(204);
    const own = (await below.write(methods, { issuer: 'Below', method_name: 'corp' }).expect(200)).body.data.method_id;
    const one = await person('path "below/kv/x" { capabilities = ["read"] mfa_methods = ["corp"] }', [id]);
    await refused(one.sending(`${own}:${one.code()}`).read('below/kv/x'));
    await one.sending(`corp:${one.code()}`).read('below/kv/x').expect(200);
  });

  it('are explained', async () => {
    await newMethod(secrets, { method_name: 'said' });
    const one = await person(`${guarded('said')}\npath "sys/policies/explain" { capabilities = ["update"] }`, []);
    const ask = { path: 'cubbyhole/guarded', operation: 'read' };
    const { body } = await one.sending().write('sys/policies/explain', ask).expect(200);
    expect(body.data).toMatchObject({ granted_by_policy: true, mfa_methods: ['said'] });
  });
});
