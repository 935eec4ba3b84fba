import { describe, expect, it } from '@jest/globals';
import { startSecrets } from './start-secrets';

const invalid = { errors: ['wrapping token is not valid or does not exist'] };

describe('response wrapping', () => {
  const secrets = startSecrets();
  const wrapping = (ttl = '60') => secrets.as(secrets.rootToken, { 'X-Service-Wrap-TTL': ttl });
  const wrap = async () =>
    (await wrapping().write('sys/wrapping/wrap', { color: 'green', n: 1 }).expect(200)).body.wrap_info as {
      token: string;
    };

  it('returns a token instead of the answer, which can be unwrapped once', async () => {
    await secrets.root.write('cubbyhole/w', { a: 'b' }).expect(204);
    const { body } = await wrapping('5m').read('cubbyhole/w').expect(200);
    expect(body.data).toBeNull();
    expect(body.wrap_info).toMatchObject({ ttl: 300, creation_path: 'cubbyhole/w' });
    const { token } = body.wrap_info;
    const out = await secrets.anonymous.write('sys/wrapping/unwrap', { token }).expect(200);
    expect(out.body.data).toEqual({ a: 'b' });
    expect(out.body.request_id).not.toBe(body.request_id);
    await secrets.anonymous.write('sys/wrapping/unwrap', { token }).expect(400, invalid);
  });

  it('is looked up without a token, and without using it up', async () => {
    const { token } = await wrap();
    const { body } = await secrets.anonymous.write('sys/wrapping/lookup', { token }).expect(200);
    expect(body.data).toMatchObject({ creation_path: 'sys/wrapping/wrap', creation_ttl: 60 });
    await secrets.as(token).write('sys/wrapping/unwrap').expect(200);
    await secrets.anonymous.write('sys/wrapping/lookup', { token }).expect(400, invalid);
  });

  it('moves to a fresh token', async () => {
    const { token } = await wrap();
    const { body } = await secrets.root.write('sys/wrapping/rewrap', { token }).expect(200);
    expect(body.wrap_info.creation_path).toBe('sys/wrapping/wrap');
    await secrets.anonymous.write('sys/wrapping/unwrap', { token }).expect(400, invalid);
    const out = await secrets.anonymous.write('sys/wrapping/unwrap', { token: body.wrap_info.token }).expect(200);
    expect(out.body.data).toEqual({ color: 'green', n: 1 });
  });

  it('returns the answer to exactly one of many simultaneous callers', async () => {
    for (let round = 0; round < 5; round++) {
      const { token } = await wrap();
      const answers = await Promise.all(
        Array.from({ length: 8 }, () => secrets.anonymous.write('sys/wrapping/unwrap', { token })),
      );
      expect(answers.filter(({ status }) => status === 200)).toHaveLength(1);
      expect(answers.filter(({ status }) => status === 400)).toHaveLength(7);
    }
  });

  it('is required by wrap, and does nothing to answers without a body', async () => {
    await secrets.root
      .write('sys/wrapping/wrap', { a: 1 })
      .expect(400, { errors: ['endpoint requires response wrapping to be used'] });
    await wrapping().write('cubbyhole/none', { a: 1 }).expect(204);
    await wrapping().read('cubbyhole/absent').expect(404);
  });

  it('names the accessor of a wrapped token', async () => {
    const { body } = await wrapping().write('auth/token/create', {}).expect(200);
    expect(body.wrap_info.wrapped_accessor).toMatch(/^\w{24}$/);
    const out = await secrets.anonymous.write('sys/wrapping/unwrap', { token: body.wrap_info.token }).expect(200);
    expect(out.body.auth.accessor).toBe(body.wrap_info.wrapped_accessor);
  });
});
