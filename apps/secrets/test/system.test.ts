import { existsSync, mkdtempSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import request from 'supertest';
import { until } from './fresh-storage';
import { startSecrets } from './start-secrets';

describe('initialisation', () => {
  const secrets = startSecrets({ bare: true });

  it('happens once, and nothing else answers before', async () => {
    await secrets.anonymous.read('sys/init').expect(200, { initialized: false });
    await secrets.anonymous.read('sys/health').expect(501);
    await secrets.anonymous.read('sys/mounts').expect(503, { errors: ['Service is sealed'] });
    await secrets.anonymous.write('sys/init', { recovery_shares: 3, recovery_threshold: 4 }).expect(400);
    await secrets.anonymous.write('sys/init', { recovery_shares: 'zz' }).expect(400);
    const long = await secrets.anonymous.write('sys/init', `{"recovery_shares":1.5${'9'.repeat(60_000)}}`).expect(400);
    expect(long.text.length).toBeLessThan(500);
    await secrets.anonymous.read('sys/init').expect(200, { initialized: false });
    const { body } = await secrets.anonymous
      .write('sys/init', { recovery_shares: 3, recovery_threshold: 2 })
      .expect(200);
    expect(body).toMatchObject({ keys: [], keys_base64: [] });
    expect(body.recovery_keys).toHaveLength(3);
    expect(body.recovery_keys[0]).toMatch(/^[0-9a-f]{66}$/);
    expect(body.recovery_keys_base64[0]).toHaveLength(44);
    await secrets.anonymous.read('sys/init').expect(200, { initialized: true });
    await secrets.anonymous.write('sys/init', {}).expect(400, { errors: ['Service is already initialized'] });
    await secrets.as(body.root_token).read('auth/token/lookup-self').expect(200);
  });
});

describe('the seal', () => {
  const secrets = startSecrets();

  it('blocks everything except unsealing, and recovery shares unseal it', async () => {
    await secrets.root.write('cubbyhole/kept', { a: 1 }).expect(204);
    const weak = await secrets.withPolicy('path "sys/seal" { capabilities = ["update"] }');
    await weak.write('sys/seal').expect(403);
    await secrets.anonymous.write('sys/seal').expect(403);
    await secrets.root.write('sys/seal').expect(204);
    for (const [verb, at] of [
      ['read', 'cubbyhole/kept'],
      ['read', 'nosuch'],
      ['read', 'sys/internal/specs/openapi'],
      ['write', 'sys/mfa/validate'],
      ['write', 'sys/seal'],
    ] as const) {
      await secrets.root[verb](at).expect(503, { errors: ['Service is sealed'] });
    }
    const health = await secrets.anonymous.read('sys/health').expect(503);
    expect(health.body).toMatchObject({ initialized: true, sealed: true, standby: true });
    await secrets.anonymous.read('sys/health?sealedcode=299').expect(299);
    for (const code of [100, 199]) await secrets.anonymous.read(`sys/health?sealedcode=${code}`).expect(400);
    await secrets.anonymous.read('sys/leader').expect(200);
    const status = await secrets.anonymous.read('sys/seal-status').expect(200);
    expect(status.body).toMatchObject({ sealed: true, t: 3, n: 5, progress: 0, nonce: '', storage_type: 'postgresql' });
    expect(status.body).not.toHaveProperty('cluster_id');
    await secrets.anonymous.write('sys/unseal', {}).expect(400, {
      errors: ["'key' must be specified in request body as JSON, or 'reset' set to true"],
    });
    await secrets.anonymous.write('sys/unseal', { key: '!' }).expect(400, {
      errors: ["'key' must be a valid hex or base64 string"],
    });
    const keys = secrets.recoveryKeys;
    expect((await secrets.anonymous.write('sys/unseal', { key: keys[0] }).expect(200)).body.progress).toBe(1);
    expect((await secrets.anonymous.write('sys/unseal', { key: keys[0] }).expect(200)).body.progress).toBe(1);
    await secrets.anonymous.write('sys/unseal', { reset: true }).expect(200);
    for (const key of keys.slice(0, 3)) await secrets.anonymous.write('sys/unseal', { key }).expect(200);
    expect((await secrets.root.read('cubbyhole/kept').expect(200)).body.data).toEqual({ a: 1 });
    expect((await secrets.anonymous.read('sys/seal-status')).body.sealed).toBe(false);
  });
});

describe('a Shamir seal', () => {
  const secrets = startSecrets({ env: { SECRETS_SEAL: 'shamir' } });
  it('gives unseal keys and needs them after sealing', async () => {
    expect(secrets.recoveryKeys).toHaveLength(1);
    await secrets.root.write('sys/seal').expect(204);
    await secrets.anonymous.write('sys/unseal', { key: 'ab'.repeat(32) }).expect(400);
    const { body } = await secrets.anonymous.write('sys/unseal', { key: secrets.recoveryKeys[0] }).expect(200);
    expect(body).toMatchObject({ type: 'shamir', sealed: false, recovery_seal: false });
    await secrets.root.read('auth/token/lookup-self').expect(200);
  });
});

describe('audit', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'audit-'));
  const file = path.join(folder, 'audit.log');
  afterAll(() => rmSync(folder, { recursive: true }));
  const secrets = startSecrets({ env: { SECRETS_AUDIT_FILE: file } });
  const lines = (at = file) =>
    readFileSync(at, 'utf8')
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));

  it('writes one line before the handler and one before the answer, with every text hashed', async () => {
    await secrets.root.write('cubbyhole/audited', { color: 'very-green', n: 7 }).expect(204);
    await secrets.root.read('cubbyhole/audited').expect(200);
    const text = readFileSync(file, 'utf8');
    expect(text).not.toContain('very-green');
    expect(text).not.toContain(secrets.rootToken);
    const { body } = await secrets.root.write('sys/audit-hash/file', { input: 'very-green' }).expect(200);
    expect(body.data.hash).toMatch(/^hmac-sha256:[0-9a-f]{64}$/);
    const about = lines().filter((line) => line.request.path === 'cubbyhole/audited');
    expect(about.map(({ type, request: { operation } }) => [type, operation])).toEqual([
      ['request', 'update'],
      ['response', 'update'],
      ['request', 'read'],
      ['response', 'read'],
    ]);
    // Numbers may be secrets as well.
    const shown = {
      color: body.data.hash,
      n: (await secrets.root.write('sys/audit-hash/file', { input: '7' })).body.data.hash,
    };
    expect(about[0].request.data).toEqual(shown);
    expect(about[3].response.data).toEqual(shown);
    expect(about[0].auth).toMatchObject({ display_name: 'root', policies: ['root'], token_type: 'service' });
    expect(about[0].request.id).toBe(about[1].request.id);
  });

  it('names the rule that refused a request', async () => {
    const weak = await secrets.withPolicy('path "cubbyhole/x*" { capabilities = ["read"] }');
    await weak.delete('cubbyhole/xyz').expect(403);
    const refused = lines().filter((line) => line.request.path === 'cubbyhole/xyz');
    expect(refused).toHaveLength(2);
    expect(refused[1]).toMatchObject({
      type: 'response',
      error: '1 error occurred:\n\t* permission denied\n\n',
      rule: { objection: 'capability', pattern: 'cubbyhole/x*' },
    });
  });

  it('continues in a new file when the old one was renamed', async () => {
    renameSync(file, `${file}.1`);
    await until(async () => {
      await secrets.root.read('sys/mounts').expect(200);
      return existsSync(file) && lines().some((line) => line.request.path === 'sys/mounts');
    });
  });

  it('refuses everything once no device accepts lines, and changes nothing', async () => {
    const device = secrets.service.kernel.audit.devices.find('file')!;
    const write = device.write;
    device.write = () => Promise.reject(new Error('audit device file/: no space left'));
    await secrets.root
      .write('cubbyhole/unaudited', { a: 1 })
      .expect(500, { errors: ['audit device file/: no space left'] });
    device.write = write;
    await secrets.root.read('cubbyhole/unaudited').expect(404);
  });

  it('devices are set up by configuration', async () => {
    const { body } = await secrets.root.read('sys/audit').expect(200);
    expect(body.data['file/']).toMatchObject({ type: 'file', options: { file_path: file } });
    await secrets.root.write('sys/audit/x', { type: 'file' }).expect(400);
    await secrets.root
      .write('sys/audit-hash/nope', { input: 'x' })
      .expect(400, { errors: ['unknown audit backend "nope/"'] });
  });
});

describe('tools and other paths of sys', () => {
  const secrets = startSecrets();

  it.each([
    ['hash', { input: 'aGVsbG8=' }, '2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824'],
    [
      'hash/sha2-512',
      { input: 'aGVsbG8=', format: 'base64' },
      'm3HSJL1i83hdltRq0+o9czGb+8KJDKra4t/3JRlnPKcjI8PZm6XBHXx6zG4UuMXaDEZjR1wuXDre9G9zvN7AQw==',
    ],
  ])('tools/%s hashes', async (at, body, sum) => {
    expect((await secrets.root.write(`sys/tools/${at}`, body).expect(200)).body.data.sum).toBe(sum);
  });

  it('tools/random generates bytes', async () => {
    const length = async (at: string, body = {}) =>
      Buffer.from((await secrets.root.write(at, body).expect(200)).body.data.random_bytes, 'base64').length;
    expect(await length('sys/tools/random')).toBe(32);
    expect(await length('sys/tools/random/16')).toBe(16);
    expect(await length('sys/tools/random/all/8')).toBe(8);
    expect(await length('sys/tools/random', { bytes: 3 })).toBe(3);
    await secrets.root.write('sys/tools/random/0').expect(400, { errors: ["'bytes' cannot be less than 1"] });
    for (const algorithm of ['constructor', '__proto__', 'toString'])
      await secrets.root.write(`sys/tools/hash/${algorithm}`, { input: 'YQ==' }).expect(400);
    await secrets.root.write('sys/tools/hash', { input: '***' }).expect(400, {
      errors: ['unable to decode input as base64: illegal base64 data at input byte 0'],
    });
  });

  it('show the log level, and change it on request', async () => {
    const { data: first } = (await secrets.root.read('sys/loggers').expect(200)).body;
    expect(Object.keys(first)).toEqual(['secrets']);
    const { log } = secrets.service.kernel;
    for (const [path, level, becomes] of [
      ['sys/loggers', 'warning', 'warn'],
      ['sys/loggers/secrets', 'ERR', 'error'],
    ] as const) {
      await secrets.root.write(path, { level }).expect(204);
      expect(log.level).toBe(becomes);
      expect((await secrets.root.read(path).expect(200)).body.data).toEqual({ secrets: becomes });
      await secrets.root.delete(path).expect(204);
      expect(log.level).toBe(first.secrets);
    }
    for (const level of ['', 'loud', 'silent', '__proto__'])
      await secrets.root.write('sys/loggers', { level }).expect(400);
    // The name of the type in Vault.
    await secrets.root.write('sys/loggers/core', { level: 'debug' }).expect(204);
    expect((await secrets.root.read('sys/loggers/core').expect(200)).body.data).toEqual({ core: 'debug' });
    expect((await secrets.root.read('sys/loggers').expect(200)).body.data).toEqual({ secrets: 'debug' });
    await secrets.root.delete('sys/loggers/core').expect(204);
    expect(log.level).toBe(first.secrets);
    await secrets.root.write('sys/loggers/other', { level: 'info' }).expect(400);
    await secrets.root.delete('sys/loggers/other').expect(400);
    await secrets.root.read('sys/loggers/other').expect(404);
    const some = await secrets.withPolicy('path "sys/loggers" { capabilities = ["read", "update"] }');
    await some.write('sys/loggers', { level: 'info' }).expect(403);
  });

  it('are open to web pages once an operator allows it', async () => {
    const ask = () =>
      request(secrets.server)
        .options('/v1/cubbyhole/a')
        .set('Origin', 'https://ui.example')
        .set('Access-Control-Request-Method', 'GET');
    await ask().expect(400);
    await secrets.root
      .write('sys/config/cors', { allowed_origins: 'https://ui.example', allowed_headers: 'X-More' })
      .expect(204);
    const { headers } = await ask().expect(204);
    expect(headers['access-control-allow-origin']).toBe('https://ui.example');
    expect(headers['access-control-allow-headers']).toContain('X-More');
    expect(headers['access-control-allow-headers']).toContain('X-Vault-Token');
    const read = await secrets.root.read('sys/config/cors').expect(200);
    expect(read.body).toMatchObject({
      enabled: true,
      allowed_origins: ['https://ui.example'],
      allowed_headers: ['X-More'],
    });
    await request(secrets.server).options('/v1/x').set('Origin', 'https://evil.example').expect(403);
    await secrets.root.delete('sys/config/cors').expect(204);
    await ask().expect(400);
    await secrets.root.write('sys/config/cors', {}).expect(400);
    // No origin contains half a surrogate pair or the character zero, and PostgreSQL cannot store them.
    for (const origin of ['https://\0', 'https://\udb88', 'https://ui example', 'ü']) {
      await secrets.root.write('sys/config/cors', { allowed_origins: [origin] }).expect(400);
    }
    // A header name with a line break would make every answer to a web page fail.
    await secrets.root.write('sys/config/cors', { allowed_origins: '*', allowed_headers: ['X\nY'] }).expect(400);
  });

  it('refuse text that the database cannot store, everywhere', async () => {
    const message = { errors: ['text contains a character that cannot be stored'] };
    await secrets.root.write('identity/group', { name: 'listed' }).expect(200);
    await secrets.root.list('identity/group/name?after=%00').expect(400, message);
    await secrets.root
      .write('sys/quotas/rate-limit/odd', { rate: 9, path: 'cubbyhole/\ud800' })
      .expect(400, { errors: ['path contains an unpaired surrogate'] });
  });

  it('answer at host-info, version-history and resultant-acl', async () => {
    expect((await secrets.root.read('sys/host-info').expect(200)).body.data.memory.total).toBeGreaterThan(0);
    expect((await secrets.root.list('sys/version-history').expect(200)).body.data.keys).toHaveLength(1);
    const weak = await secrets.withPolicy(
      'path "sys/internal/ui/resultant-acl" { capabilities = ["read"] }\npath "a/*" { capabilities = ["list"] }',
    );
    expect((await weak.read('sys/internal/ui/resultant-acl').expect(200)).body.data).toEqual({
      root: false,
      exact_paths: { 'sys/internal/ui/resultant-acl': { capabilities: ['read'] } },
      glob_paths: { 'a/': { capabilities: ['list'] } },
    });
  });
});
