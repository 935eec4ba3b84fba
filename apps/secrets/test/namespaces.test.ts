import { describe, expect, it } from '@jest/globals';
import { until } from './fresh-storage';
import { startSecrets } from './start-secrets';

describe('namespaces', () => {
  const secrets = startSecrets();
  const inside = (path: string, token = secrets.rootToken) => secrets.as(token, { 'X-Service-Namespace': path });

  it('are created, listed, read and annotated', async () => {
    const made = await secrets.root.write('sys/namespaces/ns1', { custom_metadata: { team: 'a' } }).expect(200);
    expect(made.body.data).toMatchObject({
      path: 'ns1/',
      custom_metadata: { team: 'a' },
      tainted: false,
      locked: false,
    });
    expect(made.body.data.id).toMatch(/^[0-9A-Za-z]{6}$/);
    const list = await secrets.root.list('sys/namespaces').expect(200);
    expect(list.body.data.keys).toEqual(['ns1/']);
    expect(list.body.data.key_info['ns1/'].id).toBe(made.body.data.id);
    await secrets.root.patch('sys/namespaces/ns1', { custom_metadata: { team: null, b: 'c' } }).expect(200);
    const read = await secrets.root.read('sys/namespaces/ns1').expect(200);
    expect(read.body.data.custom_metadata).toEqual({ b: 'c' });
    await secrets.root.read('sys/namespaces/nope').expect(404);
  });

  it('have their own mounts, policies and tokens, reached by header or by path', async () => {
    await secrets.root.write('sys/namespaces/own').expect(200);
    await inside('own').write('sys/mounts/kv', { type: 'kv' }).expect(204);
    await inside('own').write('kv/x', { where: 'inside' }).expect(204);
    expect((await secrets.root.read('own/kv/x').expect(200)).body.data).toEqual({ where: 'inside' });
    await secrets.root.read('kv/x').expect(404);
    await inside('own')
      .write('sys/policies/acl/reader', { policy: 'path "kv/*" { capabilities = ["read"] }' })
      .expect(204);
    await secrets.root.read('sys/policies/acl/reader').expect(404);
    const { body } = await inside('own')
      .write('auth/token/create', { policies: ['reader'] })
      .expect(200);
    const token = body.auth.client_token as string;
    expect(token).toMatch(/^s\.\w{24}\.\w{6}$/);
    await inside('own', token).read('kv/x').expect(200);
    await secrets.as(token).read('own/kv/x').expect(200);
    await secrets.as(token).read('auth/token/lookup-self').expect(403);
    const self = await inside('own', token).read('auth/token/lookup-self').expect(200);
    expect(self.body.data.namespace_path).toBe('own/');
  });

  it('have no separate seal: a request for one is refused, and creates no namespace', async () => {
    await secrets.root.write('sys/namespaces/vault').expect(200);
    const refused = { errors: ['namespace is not sealable: namespaces have no separate seal'] };
    await secrets.root.write('sys/namespaces/vault/seal').expect(400, refused);
    await secrets.root.write('sys/namespaces/vault/unseal', { key: 'x' }).expect(400, refused);
    await secrets.root.read('sys/namespaces/vault/seal-status').expect(400, refused);
    await secrets.root.delete('sys/namespaces/vault/delete-sealed').expect(400, refused);
    await secrets.root.write('sys/namespaces/sealed', { seal: 'shamir' }).expect(400, refused);
    await secrets.root.patch('sys/namespaces/vault', { seal: 'shamir' }).expect(400, refused);
    await inside('vault').list('sys/namespaces').expect(404);
    await secrets.root.read('sys/namespaces/sealed').expect(404);
    // A reserved word is a normal name where it cannot have its special meaning.
    await inside('vault').write('sys/namespaces/seal').expect(200);
    await secrets.root.read('sys/namespaces/vault/seal').expect(200);
    await secrets.root.write('sys/namespaces/vault/seal', { custom_metadata: { a: 'b' } }).expect(200);
  });

  it('report mounts below them to command lines', async () => {
    await secrets.root.write('sys/namespaces/through').expect(200);
    await inside('through')
      .write('sys/mounts/kv', { type: 'kv', options: { version: '2' } })
      .expect(204);
    const { body } = await secrets.root.read('sys/internal/ui/mounts/through/kv/app').expect(200);
    expect(body.data).toMatchObject({ path: 'through/kv/', type: 'kv', options: { version: '2' } });
    expect((await inside('through').read('sys/internal/ui/mounts/kv/app').expect(200)).body.data.path).toBe('kv/');
    const weak = (await secrets.root.write('auth/token/create', { policies: ['default'] }).expect(200)).body.auth;
    await secrets.as(weak.client_token).read('sys/internal/ui/mounts/through/kv/app').expect(403);
  });

  it('are shown to user interfaces, even if there are none', async () => {
    await secrets.root.write('sys/namespaces/told').expect(200);
    const told = async (client = secrets.root) =>
      (await client.read('sys/internal/ui/namespaces').expect(200)).body.data.keys;
    expect(await told(inside('told'))).toEqual([]);
    await inside('told').write('sys/namespaces/below').expect(200);
    expect(await told(inside('told'))).toEqual(['below/']);
    expect(await told()).toContain('told/');
    expect(await told(secrets.anonymous)).toEqual([]);
    // Names in other namespaces are independent.
    await secrets.root.write('sys/namespaces/hidden').expect(200);
    expect(await told(await secrets.withPolicy('path "told/kv/*" { capabilities = ["read"] }'))).toEqual(['told/']);
    expect(await told(await secrets.withPolicy('path "kv/*" { capabilities = ["read"] }'))).toEqual([]);
  });

  it('nest', async () => {
    await secrets.root.write('sys/namespaces/outer').expect(200);
    await inside('outer').write('sys/namespaces/inner').expect(200);
    await inside('outer/inner').write('cubbyhole/a', { a: 1 }).expect(204);
    await secrets.root.read('outer/inner/cubbyhole/a').expect(200);
    await secrets.root
      .write('sys/namespaces/nowhere/inner')
      .expect(400, { errors: ['parent namespace does not exist'] });
  });

  it.each(['sys', 'root', 'audit', 'auth', 'cubbyhole', 'identity'])('cannot be called %s', async (name) => {
    await secrets.root.write(`sys/namespaces/${name}`).expect(400, {
      errors: [`"${name}/" is a reserved path and cannot be used as a namespace name`],
    });
  });

  it.each([
    ['read', 'sys/health'],
    ['read', 'sys/seal-status'],
    ['read', 'sys/init'],
    ['write', 'sys/seal'],
    ['read', 'sys/audit'],
  ] as const)('%s %s belongs to the root namespace', async (verb, path) => {
    await secrets.root.write('sys/namespaces/some').expect(200);
    await inside('some')
      [verb](path)
      .expect(400, { errors: ['operation unavailable in namespaces'] });
  });

  it('that do not exist are refused', async () => {
    await inside('nope')
      .read('sys/mounts')
      .expect(404, { errors: ['namespace not found'] });
  });

  it('are deleted with everything inside', async () => {
    await secrets.root.write('sys/namespaces/gone').expect(200);
    await inside('gone').write('sys/namespaces/below').expect(200);
    await inside('gone').write('sys/mounts/kv', { type: 'kv' }).expect(204);
    await inside('gone').write('kv/x', { a: 1 }).expect(204);
    await inside('gone').write('identity/entity', { name: 'bob' }).expect(200);
    const { body } = await inside('gone').write('auth/token/create', { ttl: '1h' }).expect(200);
    await secrets.root.delete('sys/namespaces/gone').expect(200);
    await inside('gone').read('sys/mounts').expect(404);
    await until(async () => !(await secrets.root.list('sys/namespaces')).body.data.keys.includes('gone/'));
    await secrets.as(body.auth.client_token).read('auth/token/lookup-self').expect(403);
    const missing = await secrets.root.delete('sys/namespaces/gone').expect(200);
    expect(missing.body.warnings).toEqual(['requested namespace does not exist']);
    await secrets.root.write('sys/namespaces/gone').expect(200);
    await inside('gone').read('kv/x').expect(404);
  });
});
