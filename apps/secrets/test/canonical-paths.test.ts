import { describe, expect, it } from '@jest/globals';
import { startSecrets } from './start-secrets';

const wrapped = (message: string) => `1 error occurred:\n\t* ${message}\n\n`;
const all = '["create", "read", "update", "delete", "list", "patch", "sudo"]';

describe('the canonical path', () => {
  const secrets = startSecrets();
  const deny = (path: string) =>
    secrets.withPolicy(`path "*" { capabilities = ${all} }\npath "${path}" { capabilities = ["deny"] }`);

  it('has no slash at its end, except for folders', async () => {
    await secrets.root.write('auth/token/roles/ops', {}).expect(204);
    await secrets.root.read('auth/token/roles/ops/').expect(404, { errors: [wrapped('unsupported path')] });
    await secrets.root.delete('auth/token/roles/ops%2f').expect(404);
    await secrets.root.read('auth/token/lookup-self/').expect(404);
    await secrets.root.read('sys/mounts/').expect(404);
    await secrets.root.read('auth/token/roles/ops').expect(200);
    // The path of a list ends in a slash. Other verbs also accept the slash if there is a list.
    await secrets.root.list('auth/token/roles/').expect(200);
    await secrets.root.read('auth/token/roles/').expect(405);
    const noWrite = { errors: ["cannot write to a path ending in '/'"] };
    for (const path of ['auth/token/roles/ops/', 'sys/mounts/m/', 'sys/leases/renew/', 'cubbyhole/a/']) {
      await secrets.root.write(path, { type: 'kv' }).expect(400, noWrite);
    }
    await secrets.root.read('sys/policy/').expect(200);
    // A folder has the same name with and without a trailing slash.
    await secrets.root.read('sys/mounts/cubbyhole/').expect(200);
    const token = await deny('sys/mounts/cubbyhole');
    await token.read('sys/mounts/cubbyhole').expect(403);
    await token.read('sys/mounts/cubbyhole/').expect(403);
    // The tuning of a mount is not a mount called tune.
    await secrets.root.read('sys/mounts/cubbyhole/tune/').expect(404);
  });

  it('protects from an extra slash: a removal, an issue, a move', async () => {
    await secrets.root.write('sys/namespaces/t2', {}).expect(200);
    const token = await deny('sys/namespaces/t2');
    for (const path of ['sys/namespaces/t2', 'sys/namespaces/t2/', 'sys/namespaces/t2%2f', 'sys/namespaces/t2%2F/']) {
      expect((await token.delete(path)).status).toBe(path.endsWith('%2F/') ? 307 : 403);
    }
    expect((await secrets.root.read('sys/namespaces/t2').expect(200)).body.data.tainted).toBe(false);
  });

  it('has names in lower case if they are stored so, and rules are read in the same way', async () => {
    await secrets.root.write('sys/auth/userpass', { type: 'userpass' }).expect(204);
    for (const user of ['admin1', 'Bob']) {
      await secrets.root.write(`auth/userpass/users/${user}`, { password: 'long-enough' }).expect(204);
    }
    const token = await deny('auth/userpass/users/admin1');
    for (const user of ['admin1', 'ADMIN1', 'Admin1', '%41dmin1']) {
      await token.read(`auth/userpass/users/${user}`).expect(403);
      await token.delete(`auth/userpass/users/${user}`).expect(403);
      await token.write(`auth/userpass/users/${user}/password`, { password: 'long-enough-2' }).expect(204);
    }
    await token.read('auth/userpass/users/BOB').expect(200);
    // A rule in upper case applies to the same name.
    const capitals = await deny('auth/userpass/users/ADMIN1');
    await capitals.read('auth/userpass/users/admin1').expect(403);
    const own = await secrets.withPolicy('path "auth/userpass/users/Bob" { capabilities = ["read"] }');
    await own.read('auth/userpass/users/Bob').expect(200);
    await own.read('auth/userpass/users/bob').expect(200);
    await own.read('auth/userpass/users/admin1').expect(403);
    // This is another mount.
    await secrets.root.write('sys/auth/UserPass', { type: 'userpass' }).expect(204);
    await secrets.root.write('auth/UserPass/users/admin1', { password: 'long-enough' }).expect(204);
    await token.read('auth/UserPass/users/ADMIN1').expect(200);
    await own.read('auth/UserPass/users/Bob').expect(403);
  });

  it('keeps the case of the name of an entity, and lets the entity find itself', async () => {
    await secrets.root.write('identity/entity/name/Anna-\u00c9', {}).expect(200);
    await secrets.root.write('identity/entity/name/ANNA-\u00c9', { metadata: { a: 'b' } }).expect(204);
    const { body } = await secrets.root.read('identity/entity/name/anna-\u00c9').expect(200);
    expect(body.data).toMatchObject({ name: 'Anna-\u00c9', metadata: { a: 'b' } });
    const { id } = body.data;
    const token = await secrets.withPolicy('path "identity/entity/name/Anna-\u00c9" { capabilities = ["read"] }');
    await token.read('identity/entity/name/anna-\u00c9').expect(200);
    await token.read('identity/entity/name/Anna-\u00c9').expect(200);
    await token.read('identity/entity/name/anna-\u00e9').expect(403);
    const denied = await deny(`identity/entity/id/${id}`);
    await denied.read(`identity/entity/id/${id.toUpperCase()}`).expect(403);
    await secrets.root.read(`identity/entity/id/${id.toUpperCase()}`).expect(200);
    // Listings are filtered by the same canonical path.
    const lister = await secrets.withPolicy(
      'path "identity/entity/name" { capabilities = ["list"] list_scan_response_keys_filter_path = "{{ .path }}{{ .key }}" }\n' +
        'path "identity/entity/name/anna-*" { capabilities = ["read"] }',
    );
    expect((await lister.list('identity/entity/name').expect(200)).body.data.keys).toEqual(['Anna-\u00c9']);
  });

  it('is used by capabilities, explanations and documents', async () => {
    const token = await deny('auth/userpass/users/admin1');
    const asked = [
      'users/admin1',
      'users/ADMIN1',
      'users//admin1',
      'users/./ADMIN1',
      'x/../users/admin1',
      'users/admin1/',
    ];
    const paths = asked.map((path) => `auth/userpass/${path}`);
    const { body } = await token.write('sys/capabilities-self', { paths }).expect(200);
    for (const path of paths) expect([path, body.data[path]]).toEqual([path, ['deny']]);
    const explain = async (path: string) =>
      (await token.write('sys/policies/explain', { path, operation: 'read' }).expect(200)).body.data;
    // There is no operation at the last path, so policies for it have no effect.
    for (const path of paths.slice(0, -1)) expect(await explain(path)).toMatchObject({ granted_by_policy: false });
    expect(await explain('auth/userpass/users/Bob')).toMatchObject({ granted_by_policy: true });
    await token.write('sys/capabilities-self', { paths: ['a\u200bb'] }).expect(400);
    const shower = await secrets.withPolicy(
      'path "auth/userpass/users/BOB" { capabilities = ["read"] }\npath "auth/userpass/users/bob" { capabilities = ["update"] }\n' +
        'path "sys/internal/ui/resultant-acl" { capabilities = ["read"] }\npath "auth/userpass/users/Eve*" { capabilities = ["list"] }',
    );
    expect((await shower.read('sys/internal/ui/resultant-acl').expect(200)).body.data).toEqual({
      root: false,
      exact_paths: {
        'auth/userpass/users/bob': { capabilities: ['read', 'update'] },
        'sys/internal/ui/resultant-acl': { capabilities: ['read'] },
      },
      glob_paths: { 'auth/userpass/users/Eve': { capabilities: ['list'] } },
    });

    const both = await secrets.withPolicy(
      'path "auth/userpass/users/BOB" { capabilities = ["read"] }\npath "auth/userpass/users/bob" { capabilities = ["deny"] }\n' +
        'path "sys/internal/specs/openapi" { capabilities = ["read"] }',
    );
    const document = (await both.read('sys/internal/specs/openapi').expect(200)).body;
    expect(Object.keys(document.paths)).not.toContain('/auth/userpass/users/{username}');
  });

  it('is the path that quotas count, in any case', async () => {
    const limit = { rate: 1, interval: '1h', path: 'auth/userpass/login/BOB' };
    await secrets.root.write('sys/quotas/rate-limit/bob', limit).expect(204);
    const login = (user: string) => secrets.anonymous.write(`auth/userpass/login/${user}`, { password: 'wrong' });
    await login('bob').expect(400);
    await login('Bob').expect(429);
    await login('admin1').expect(400);
    await secrets.root.delete('sys/quotas/rate-limit/bob').expect(204);
    for (const path of ['auth/userpass//login/x', 'auth/./userpass', 'cubbyhole/../sys', 'cubbyhole/\u200b']) {
      await secrets.root.write('sys/quotas/rate-limit/none', { rate: 1, path }).expect(400);
    }
  });

  it.each([
    ['a zero-width space', 'cubbyhole/a%E2%80%8Bb'],
    ['a no-break space', 'cubbyhole/a%C2%A0b'],
    ['a right-to-left mark', 'cubbyhole/%E2%80%8Fb'],
    ['a byte order mark', 'cubbyhole/%EF%BB%BFb'],
    ['a control character', 'cubbyhole/a%C2%85b'],
    ['NUL', 'cubbyhole/a%00b'],
  ])('never contains %s', async (_what, path) => {
    await secrets.root.write(path, { a: 1 }).expect(400);
    await secrets.root.read(path).expect(400);
  });

  it('may contain visible characters, each spelling being a separate name', async () => {
    for (const path of ['caf%C3%A9', 'cafe%CC%81', 'a%20b', '%F0%9F%94%91', '%E9%8D%B5', 'a;b', 'a.']) {
      await secrets.root.write(`cubbyhole/${path}`, { path }).expect(204);
    }
    const { body } = await secrets.root.list('cubbyhole').expect(200);
    expect(body.data.keys).toEqual(['a b', 'a.', 'a;b', 'cafe\u0301', 'caf\u00e9', '\u9375', '\u{1f511}']);
  });
});

describe('a path with a wider effect than its name', () => {
  const secrets = startSecrets();

  it('is not a way around sudo for disabling auth methods', async () => {
    await secrets.root.write('sys/auth/userpass', { type: 'userpass' }).expect(204);
    const token = await secrets.withPolicy(
      'path "sys/mounts/*" { capabilities = ["read", "update", "delete"] }\npath "sys/auth/*" { capabilities = ["deny"] }',
    );
    for (const path of ['sys/mounts/auth/userpass', 'sys/mounts/auth/userpass/', 'sys/mounts/auth%2fuserpass']) {
      await token.delete(path).expect(400, { errors: ['cannot unmount "auth/userpass/"'] });
    }
    await secrets.root.read('sys/auth/userpass').expect(200);
  });

  it('revokes only leases below it', async () => {
    const create = async (path: string) =>
      (await secrets.root.write(path, { policies: ['default'] }).expect(200)).body.auth.client_token;
    await secrets.root.write('auth/token/roles/dev', {}).expect(204);
    await secrets.root.write('auth/token/roles/dev2', {}).expect(204);
    const [dev, dev2] = [await create('auth/token/create/dev'), await create('auth/token/create/dev2')];
    for (const prefix of ['auth/token/create/de', 'auth/token/cre', 'auth/tok', 'a']) {
      await secrets.root.write(`sys/leases/revoke-prefix/${prefix}`).expect(204);
      await secrets.root.write(`sys/leases/revoke-force/${prefix}`).expect(204);
    }
    await secrets.as(dev).read('auth/token/lookup-self').expect(200);
    await secrets.root.write('sys/leases/revoke-prefix/auth/token/create/dev').expect(204);
    await secrets.as(dev).read('auth/token/lookup-self').expect(403);
    await secrets.as(dev2).read('auth/token/lookup-self').expect(200);
    // An empty prefix does not mean everything: that would include the caller's token.
    await secrets.root.write('sys/leases/revoke-prefix').expect(404);
    await secrets.root.write('sys/leases/revoke-force').expect(404);
    await secrets.as(dev2).read('auth/token/lookup-self').expect(200);
  });

  it('has ids as they are shown, and in lower case', async () => {
    await secrets.root.write('sys/mounts/moved', { type: 'kv' }).expect(204);
    const { body } = await secrets.root.write('sys/remount', { from: 'moved', to: 'moving' }).expect(200);
    const id: string = body.data.migration_id;
    const digits = id.replaceAll('-', '');
    await secrets.root.read(`sys/remount/status/${id.toUpperCase()}`).expect(200);
    for (const other of [
      digits,
      `{${id}}`,
      digits.replace(/^(.{4})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
      'a-'.repeat(18),
    ]) {
      await secrets.root.read(`sys/remount/status/${other}`).expect(404);
      await secrets.root.read(`sys/leases/jobs/${other}`).expect(404);
    }
  });

  it('leads to a mount or into a namespace, never first to one and then the other', async () => {
    await secrets.root.write('sys/mounts/both/deep', { type: 'kv' }).expect(204);
    await secrets.root
      .write('sys/namespaces/both', {})
      .expect(400, { errors: ['new namespace conflicts with existing mount: both/deep/'] });
    await secrets.root.write('sys/namespaces/outer', {}).expect(200);
    await secrets.root.write('sys/namespaces/outer/inner', {}).expect(200);
    for (const path of ['outer', 'outer/deep', 'outer/inner']) {
      await secrets.root
        .write(`sys/mounts/${path}`, { type: 'kv' })
        .expect(400, { errors: ['path is already in use by the namespace outer/'] });
      await secrets.root.write('sys/remount', { from: 'both/deep', to: path }).expect(400);
    }
    await secrets.root.write('both/deep/a', { a: 1 }).expect(204);
    const outer = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'outer' });
    await outer.write('sys/mounts/kv', { type: 'kv' }).expect(204);
    await secrets.root.write('sys/namespaces/outer/kv', {}).expect(400);
    await outer.write('sys/namespaces/kv', {}).expect(400);
    await secrets.root.write('sys/namespaces/kv-too', {}).expect(200);
    await secrets.root.write('sys/mounts/root', { type: 'kv' }).expect(204);
  });

  it('is not a name for a mount', async () => {
    await secrets.root.write('sys/mounts/kv', { type: 'kv' }).expect(204);
    for (const to of ['a//b', 'a/../b', './a', 'a/.', '..', 'a\0b', 'a\u200bb', 'a\u00a0b', `${'a/'.repeat(600)}a`]) {
      const { body } = await secrets.root.write('sys/remount', { from: 'kv', to }).expect(400);
      expect(body.errors[0]).toContain("'to' must be a path in its simplest form");
    }
    await secrets.root.read('sys/mounts/kv').expect(200);
  });
});

describe('a path below an unknown mount', () => {
  const secrets = startSecrets();

  it('reveals nothing about mounts to callers without rights there', async () => {
    await secrets.root.write('sys/mounts/hidden', { type: 'kv' }).expect(204);
    await secrets.root.write('sys/mounts/deep/hidden', { type: 'kv' }).expect(204);
    const made = await secrets.root.write('auth/token/create', { policies: ['default'] }).expect(200);
    const token = secrets.as(made.body.auth.client_token);
    const listed = (await token.read('sys/internal/ui/mounts').expect(200)).body.data.secret;
    expect(Object.keys(listed)).not.toContain('hidden/');
    for (const path of ['hidden', 'hidden/', 'hidden/a', 'deep/hidden', 'deep/hidden/', 'deep', 'nosuch']) {
      const { body } = await token.read(`sys/internal/ui/mounts/${path}`).expect(403);
      expect(body).toEqual({ errors: [expect.stringContaining('preflight capability check returned 403')] });
    }
    await token.read('sys/internal/ui/mounts/cubbyhole').expect(200);
    const allowed = await secrets.withPolicy('path "deep/hidden/a/b" { capabilities = ["read"] }');
    await allowed.read('sys/internal/ui/mounts/deep/hidden').expect(200);
    await allowed.read('sys/internal/ui/mounts/deep/hidden/a/b').expect(200);
    await allowed.read('sys/internal/ui/mounts/hidden').expect(403);
  });
});

describe('names', () => {
  const secrets = startSecrets();

  it('of policies have no surrounding spaces', async () => {
    for (const name of ['%20root%20', 'a%20', '%20a']) {
      const { body } = await secrets.root
        .write(`sys/policies/acl/${name}`, { policy: 'path "a" { policy = "read" }' })
        .expect(400);
      expect(body.errors[0]).toBe('policy name cannot begin or end with a blank');
    }
    await secrets.root.write('sys/policies/acl/a%20b', { policy: 'path "a" { policy = "read" }' }).expect(204);
  });
});
