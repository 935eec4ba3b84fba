import { describe, expect, it } from '@jest/globals';
import { startSecrets } from './start-secrets';

// Requests of clients that were written for Vault and OpenBao.
describe('scans below a folder', () => {
  const secrets = startSecrets();
  const all = '"create", "read", "update", "delete", "list"';

  it('work on both versions of kv, in order and page by page', async () => {
    await secrets.root.write('sys/mounts/one', { type: 'kv' }).expect(204);
    await secrets.root.write('sys/mounts/two', { type: 'kv', options: { version: '2' } }).expect(204);
    for (const path of ['a', 'b/c', 'b/d/e', 'b-c', 'z']) {
      await secrets.root.write(`one/${path}`, { x: 1 }).expect(204);
      await secrets.root.write(`two/data/${path}`, { data: { x: 1 } }).expect(200);
    }
    for (const at of ['one', 'two/metadata']) {
      const keys = async (rest: string) => (await secrets.root.scan(at + rest).expect(200)).body.data.keys;
      expect(await keys('')).toEqual(['a', 'b-c', 'b/c', 'b/d/e', 'z']);
      expect(await keys('/b')).toEqual(['c', 'd/e']);
      expect(await keys('?limit=2')).toEqual(['a', 'b-c']);
      expect(await keys('?limit=2&after=b-c')).toEqual(['b/c', 'b/d/e']);
      await secrets.root.scan(`${at}/nothing`).expect(404);
    }
    await secrets.root.read('one?list=true&scan=true').expect(400);
    await secrets.root.scan('sys/mounts').expect(405);
  });

  it('need the capability of that name, and are filtered like lists', async () => {
    const listing = await secrets.withPolicy(`path "one/*" { capabilities = [${all}] }`);
    await listing.scan('one').expect(403);
    const scanning = await secrets.withPolicy('path "one/" { capabilities = ["scan"] }');
    await scanning.scan('one').expect(200);
    await scanning.list('one').expect(403);
    const some = await secrets.withPolicy(
      `path "one/" { capabilities = ["scan"] list_scan_response_keys_filter_path = "{{ .path }}{{ .key }}" }
       path "one/b/*" { capabilities = ["read"] }`,
    );
    expect((await some.scan('one').expect(200)).body.data.keys).toEqual(['b/c', 'b/d/e']);
  });

  it('work on the caller’s own cubbyhole', async () => {
    const own = await secrets.withPolicy('path "cubbyhole/*" { capabilities = ["create", "update", "scan"] }');
    await own.write('cubbyhole/a/b', { x: 1 }).expect(204);
    expect((await own.scan('cubbyhole').expect(200)).body.data.keys).toEqual(['a/b']);
    await secrets.root.scan('cubbyhole').expect(404);
  });

  it('work on child namespaces', async () => {
    for (const path of ['up', 'up/down', 'side']) await secrets.root.write(`sys/namespaces/${path}`).expect(200);
    const { body } = await secrets.root.scan('sys/namespaces').expect(200);
    expect([...body.data.keys].sort()).toEqual(['side/', 'up/', 'up/down/']);
    const inner = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'up' });
    expect((await inner.scan('sys/namespaces').expect(200)).body.data.keys).toEqual(['down/']);
  });
});

describe('password policies', () => {
  const secrets = startSecrets();
  const at = 'sys/policies/password';
  const policy = 'length = 20\nrule "charset" {\n  charset = "abc"\n}\n';

  it('are written, read, listed and deleted, separately in each namespace', async () => {
    await secrets.root.list(at).expect(404);
    await secrets.root.write(`${at}/digits`, { policy }).expect(204);
    await secrets.root.write(`${at}/coded`, { policy: Buffer.from(policy).toString('base64') }).expect(204);
    expect((await secrets.root.read(`${at}/coded`).expect(200)).body.data).toEqual({ policy });
    expect((await secrets.root.list(at).expect(200)).body.data.keys).toEqual(['coded', 'digits']);
    await secrets.root.write('sys/namespaces/other').expect(200);
    const other = secrets.as(secrets.rootToken, { 'X-Service-Namespace': 'other' });
    await other.read(`${at}/digits`).expect(404);
    await other.read(`${at}/digits/generate`).expect(404);
    await secrets.root.delete(`${at}/coded`).expect(204);
    await secrets.root.read(`${at}/coded`).expect(404);
  });

  it('generate passwords for authorized callers', async () => {
    const maker = await secrets.withPolicy(`path "${at}/digits/generate" { capabilities = ["read"] }`);
    const { body } = await maker.read(`${at}/digits/generate`).expect(200);
    expect(body.data.password).toMatch(/^[abc]{20}$/);
    await maker.read(`${at}/digits`).expect(403);
  });

  it('are refused with the position of the error', async () => {
    const { body } = await secrets.root.write(`${at}/bad`, { policy: 'length = 2' }).expect(400);
    expect(body.errors[0]).toBe('failed to parse password policy: length must be between 4 and 100');
    await secrets.root.write(`${at}/bad`, {}).expect(400, /'policy' parameter not supplied or empty/);
    await secrets.root.read(`${at}/bad`).expect(404);
  });
});

describe('an endpoint that operator tools call', () => {
  const secrets = startSecrets();

  it('generates a root token at the path that requires a token', async () => {
    const attempt = 'sys/generate-root-token/attempt';
    await secrets.anonymous.read(attempt).expect(403);
    const operator = await secrets.withPolicy(
      'path "sys/generate-root-token/*" { capabilities = ["read", "update", "delete"] }',
    );
    expect((await operator.read(attempt).expect(200)).body.data).toMatchObject({ started: false, required: 3 });
    await operator.write(attempt, {}).expect(200);
    // The same attempt at both paths.
    expect((await secrets.anonymous.read('sys/generate-root/attempt').expect(200)).body.started).toBe(true);
    await operator.delete(attempt).expect(204);
    const { otp, nonce } = (await operator.write(attempt, {}).expect(200)).body.data;
    let last = { complete: false, encoded_token: '' };
    for (const key of secrets.recoveryKeys.slice(0, 3)) {
      last = (await operator.write('sys/generate-root-token/update', { key, nonce }).expect(200)).body.data;
    }
    expect(last.complete).toBe(true);
    const bytes = Buffer.from(last.encoded_token, 'base64').map((byte, i) => byte ^ otp.charCodeAt(i));
    const self = await secrets.as(bytes.toString()).read('auth/token/lookup-self').expect(200);
    expect(self.body.data.policies).toEqual(['root']);
    await operator.write('sys/generate-root-token/update', {}).expect(400);
  });

  it('lists the kinds of mounts', async () => {
    const { body } = await secrets.root.read('sys/plugins/catalog/secret/kv').expect(200);
    expect(body.data).toMatchObject({ name: 'kv', builtin: true, deprecation_status: 'supported', sha256: '' });
    await secrets.root.read('sys/plugins/catalog/secret/approle').expect(404);
    await secrets.root.read('sys/plugins/catalog/database/kv').expect(404);
    const all = (await secrets.root.read('sys/plugins/catalog').expect(200)).body.data;
    expect(all.detailed).toContainEqual(expect.objectContaining({ type: 'auth', name: 'approle', builtin: true }));
    expect(all.detailed).toHaveLength(all.auth.length + all.secret.length);
    const reader = await secrets.withPolicy('path "sys/plugins/*" { capabilities = ["read"] }');
    await reader.read('sys/plugins/catalog/secret/kv').expect(403);
  });

  it('describes a mount and its paths', async () => {
    for (const at of ['cubbyhole', 'auth/token', 'sys', 'identity', 'scheduler']) {
      const { body } = await secrets.root.read(`${at}?help=1`).expect(200);
      expect(body.help).toMatch(/^## DESCRIPTION\n\n.+\n\n## PATHS\n\n {4}\S/);
      expect(Object.keys(body.openapi.paths).length).toBeGreaterThan(0);
    }
    const { help } = (await secrets.root.read('auth/token/create/x?help=1').expect(200)).body;
    expect(help).toMatch(/## PARAMETERS\n[\s\S]*\n {4}role \(string\)\n {8}\S[\s\S]*\n {4}ttl \(\w+\)\n {8}\S/);
    expect(help).toMatch(/## DESCRIPTION\n[\s\S]*\n {4}write\n {8}\S/);
    const without = await secrets.withPolicy('path "sys/*" { capabilities = ["read"] }');
    await without.read('cubbyhole?help=1').expect(403);
  });
});

describe('a locked namespace', () => {
  const secrets = startSecrets();
  const at = 'sys/namespaces/api-lock';
  const inside = (path: string, token = secrets.rootToken) => secrets.as(token, { 'X-Service-Namespace': path });

  it('answers no request, and neither do the namespaces below it, until it is unlocked by the key', async () => {
    for (const path of ['shut', 'shut/deep', 'open']) await secrets.root.write(`sys/namespaces/${path}`).expect(200);
    const { unlock_key } = (await secrets.root.write(`${at}/lock/shut`).expect(200)).body.data;
    for (const path of ['shut', 'shut/deep']) {
      const { body } = await inside(path).read('sys/mounts').expect(503);
      expect(body.errors[0]).toContain('"shut/" must be unlocked');
    }
    await secrets.root.read('shut/deep/sys/mounts').expect(503);
    await inside('open').read('sys/mounts').expect(200);
    expect((await secrets.root.read('sys/namespaces/shut').expect(200)).body.data.locked).toBe(true);
    await secrets.root.write(`${at}/lock/shut`).expect(400, /is already locked/);
    await secrets.root.write(`${at}/lock/shut/deep`).expect(400, /ancestor namespace \\"shut\/\\" is already locked/);
    await secrets.root.write(`${at}/unlock/shut`, { unlock_key: 'other' }).expect(400, /incorrect unlock key/);
    await inside('shut').read('sys/mounts').expect(503);
    // Metadata can be changed in between, and the key stays.
    await secrets.root.write('sys/namespaces/shut', { custom_metadata: { a: 'b' } }).expect(200);
    await secrets.root.write(`${at}/unlock/shut`, { unlock_key }).expect(204);
    await inside('shut/deep').read('sys/mounts').expect(200);
    await secrets.root.write(`${at}/unlock/shut`, { unlock_key }).expect(400, /is not locked/);
  });

  it('is locked from inside as well, and unlocked without a key only by sudo', async () => {
    await inside('open').write(`${at}/lock`).expect(200);
    const rules = `path "${at}/unlock/*" { capabilities = ["update"] }`;
    const some = await secrets.withPolicy(rules);
    await some.write(`${at}/unlock/open`).expect(400, /provided empty key/);
    const sudo = await secrets.withPolicy(rules.replace('"update"', '"update", "sudo"'));
    const { body } = await sudo.write(`${at}/unlock/open`).expect(200);
    expect(body.warnings).toEqual(['Namespace unlocked using sudo capabilities']);
    const { unlock_key } = (await inside('open').write(`${at}/lock`).expect(200)).body.data;
    await inside('open').write(`${at}/unlock`, { unlock_key }).expect(204);
  });

  it('cannot be unlocked from inside, by any spelling, and reveals nothing through its parent', async () => {
    const all = 'path "*" { capabilities = ["create", "read", "update", "sudo"] }';
    await inside('open').write('sys/policies/acl/all', { policy: all }).expect(204);
    const made = await inside('open')
      .write('auth/token/create', { policies: ['all'] })
      .expect(200);
    const own = secrets.as(made.body.auth.client_token, { 'X-Service-Namespace': 'open' });
    const wrapped = await secrets
      .as(made.body.auth.client_token, { 'X-Service-Namespace': 'open', 'X-Service-Wrap-TTL': '1h' })
      .read('auth/token/lookup-self')
      .expect(200);
    await own.write(`${at}/lock/root`).expect(400, /does not exist/);
    const { unlock_key } = (await secrets.root.write(`${at}/lock/open`).expect(200)).body.data;
    await own.write(`${at}/unlock`).expect(400, /provided empty key/);
    const { token } = wrapped.body.wrap_info;
    for (const how of ['unwrap', 'lookup', 'rewrap']) {
      await secrets.root.write(`sys/wrapping/${how}`, { token }).expect(503, /has been locked/);
    }
    await own.write(`${at}/unlock`, { unlock_key }).expect(204);
    await secrets.root.write('sys/wrapping/unwrap', { token }).expect(200);
    // The root token belongs to the namespace above.
    await secrets.root.write(`${at}/lock/open`).expect(200);
    await inside('open').write(`${at}/unlock`).expect(200);
  });

  it('cannot be absent or the root namespace', async () => {
    await secrets.root.write(`${at}/lock`).expect(400, /root namespace cannot be locked/);
    await secrets.root.write(`${at}/lock/absent`).expect(400, /requested namespace does not exist/);
    await secrets.root.write(`${at}/unlock/absent`, { unlock_key: 'x' }).expect(400, /does not exist/);
  });
});

describe('the version that clients see', () => {
  const secrets = startSecrets();

  it('is that of the API, followed by our own', async () => {
    for (const path of ['sys/health', 'sys/seal-status']) {
      const { body } = await secrets.anonymous.read(path).expect(200);
      expect(body.version).toMatch(/^1\.19\.0\+keystead\.\d+\.\d+\.\d+$/);
    }
  });
});
