import { createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { until } from '../../../test/fresh-storage';
import { startSecrets } from '../../../test/start-secrets';
import { wrapped } from '../../../test/transit-examples';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const types = [
  'aes128-gcm96',
  'aes256-gcm96',
  'chacha20-poly1305',
  'xchacha20-poly1305',
  'ed25519',
  'ecdsa-p256',
  'ecdsa-p384',
  'ecdsa-p521',
  'rsa-2048',
  'hmac',
];

describe('export, import and backup of keys', () => {
  let nowMs = Date.now();
  const secrets = startSecrets({ clock: { now: () => nowMs } });
  const at = (path: string) => `transit/${path}`;
  const write = (path: string, body: object = {}) => secrets.root.write(at(path), body);
  const must = async (path: string, body: object = {}) => (await write(path, body).expect(200)).body.data;
  const refused = async (path: string, body: object = {}) => (await write(path, body).expect(400)).body.errors[0];
  const read = async (path: string) => (await secrets.root.read(at(path)).expect(200)).body.data;
  let wrapping = '';

  beforeAll(async () => {
    await secrets.root.write('sys/mounts/transit', { type: 'transit' }).expect(204);
    wrapping = (await read('wrapping_key')).public_key;
  }, 60_000);

  const wrap = (key: Buffer, oaepHash?: string) => wrapped(key, wrapping, oaepHash);

  it.each(types)('%s is restored from a backup, under another name, with all of its versions (E3.1)', async (type) => {
    const key_size = type === 'hmac' ? { key_size: 32 } : {};
    await must(`keys/kept-${type}`, { type, exportable: true, allow_plaintext_backup: true, ...key_size });
    const made = await (async () => {
      const text = { plaintext: base64('x'), input: base64('x') };
      if (type === 'hmac') return { use: 'verify', ...(await must(`hmac/kept-${type}`, text)) };
      const encrypts = type.includes('gcm') || type.includes('poly');
      return encrypts
        ? { use: 'decrypt', ...(await must(`encrypt/kept-${type}`, text)) }
        : { use: 'verify', ...(await must(`sign/kept-${type}`, text)) };
    })();
    await must(`keys/kept-${type}/rotate`);
    const { backup } = await read(`backup/kept-${type}`);
    expect(await refused('restore', { backup })).toBe(`key "kept-${type}" already exists`);
    await write(`restore/again-${type}`, { backup }).expect(204);
    const used = await must(`${made.use}/again-${type}`, { ...made, input: base64('x') });
    expect(used).toEqual(made.use === 'decrypt' ? { plaintext: base64('x') } : { valid: true });
    expect(await read(`keys/again-${type}`)).toMatchObject({ latest_version: 2, type });
  });

  it('exports only exportable keys, in the usual formats (E3.2)', async () => {
    await must('keys/stays');
    for (const kind of ['encryption-key', 'signing-key', 'hmac-key']) {
      const { body } = await secrets.root.read(at(`export/${kind}/stays`)).expect(400);
      expect(body.errors).toEqual(['private key material is not exportable']);
    }
    for (const [fields, text] of [
      [{ allow_plaintext_backup: true }, 'exporting is disallowed on the policy'],
      [{ exportable: true }, 'plaintext backup is disallowed on the policy'],
    ] as const) {
      const name = `stays-${Object.keys(fields)[0]}`;
      await must(`keys/${name}`, fields);
      expect((await secrets.root.read(at(`backup/${name}`)).expect(400)).body.errors).toEqual([text]);
    }
    await must('keys/leaves', { type: 'ecdsa-p256' });
    const shared = await read('export/public-key/leaves');
    await must('keys/leaves/config', { exportable: true });
    const own = await read('export/signing-key/leaves/latest');
    expect(own.keys['1']).toMatch(/^-----BEGIN EC PRIVATE KEY-----/);
    const derived = createPublicKey(createPrivateKey(own.keys['1'])).export({ format: 'pem', type: 'spki' });
    expect(String(derived).trim()).toBe(shared.keys['1']);
    await must('keys/leaves/config', { exportable: false });
    expect((await read('keys/leaves')).exportable).toBe(true);
    await secrets.root.read(at('export/signing-key/leaves/7')).expect(400);
    await secrets.root.read(at('export/moon/leaves')).expect(400);
    await secrets.root.read(at('export/signing-key/none')).expect(404);
  });

  it.each(['SHA1', 'SHA224', 'SHA256', 'SHA384', 'SHA512'])(
    'imports a key wrapped with %s (E3.3)',
    async (hash_function) => {
      const key = randomBytes(32);
      const name = `in-${hash_function}`;
      const body = { ciphertext: wrap(key, hash_function.toLowerCase()), hash_function, exportable: true };
      await write(`keys/${name}/import`, body).expect(204);
      expect((await read(`export/encryption-key/${name}`)).keys['1']).toBe(key.toString('base64'));
      expect(await refused(`keys/${name}/import`, body)).toContain('cannot be used with an existing key');
      expect(await refused(`keys/${name}/rotate`)).toContain('does not allow rotation');
      await write(`keys/${name}/import_version`, { ciphertext: wrap(randomBytes(32)) }).expect(204);
      expect((await read(`keys/${name}`)).latest_version).toBe(2);
    },
  );

  it.each([
    ['aes256-gcm96', {}],
    ['hmac', { key_size: 64 }],
    ['ed25519', {}],
    ['ecdsa-p384', {}],
  ])('%s is exported wrapped with a public key, and imported by another mount (E3.4)', async (type, fields) => {
    const [name, destination] = [`byok-${type}`, `wrapping-${type}`];
    await must(`keys/${name}`, { type, exportable: true, ...fields });
    await must(`keys/${name}/rotate`);
    await write(`keys/${destination}/import`, { type: 'rsa-4096', public_key: wrapping }).expect(204);
    const wrappedKeys = await read(`byok-export/${destination}/${name}`);
    expect(Object.keys(wrappedKeys.keys)).toEqual(['1', '2']);
    const ciphertext = (await read(`byok-export/${destination}/${name}/latest`)).keys[2];
    await write(`keys/${name}-again/import`, { type, ciphertext, exportable: true }).expect(204);
    const kind = type === 'hmac' ? 'hmac-key' : type.startsWith('aes') ? 'encryption-key' : 'signing-key';
    const exported = async (path: string) => Object.values((await read(`export/${kind}/${path}`)).keys);
    expect(await exported(`${name}-again`)).toEqual(await exported(`${name}/2`));
  });

  it('wraps only exportable keys, and only with an RSA key (E3.4)', async () => {
    const refusal = async (path: string) => (await secrets.root.read(at(path)).expect(400)).body.errors[0];
    await must('keys/stays', {});
    await must('keys/leaves', { exportable: true });
    await must('keys/pair', { type: 'ecdsa-p256' });
    await write('keys/outer/import', { type: 'rsa-4096', public_key: wrapping }).expect(204);
    expect(await refusal('byok-export/outer/stays')).toBe('key is not exportable');
    expect(await refusal('byok-export/pair/leaves')).toBe('unsupported key type in use; must be a rsa key');
    expect(await refusal('byok-export/none/leaves')).toBe('no such destination key to export to');
    expect(await refusal('byok-export/outer/none')).toBe('no such source key for export');
    expect(await refusal('byok-export/outer/leaves/01')).toBe('invalid key version');
    expect(await refusal('byok-export/outer/leaves?hash=MD5')).toBe('unknown hash function: MD5');
  });

  it('derives a shared key with another party from public keys (E3.5)', async () => {
    for (const name of ['ada', 'bob']) await must(`keys/${name}`, { type: 'ecdsa-p256' });
    const shared = async (name: string) => (await read(`keys/${name}`)).keys[1].public_key;
    const derived = async (base_key_name: string, peer: string) => ({
      base_key_name,
      peer_public_key: await shared(peer),
      derived_key_type: 'chacha20-poly1305',
    });
    await write('derive-key/ada-bob', await derived('ada', 'bob')).expect(204);
    await write('derive-key/bob-ada', await derived('bob', 'ada')).expect(204);
    const { ciphertext } = await must('encrypt/ada-bob', { plaintext: base64('between us') });
    expect((await must('decrypt/bob-ada', { ciphertext })).plaintext).toBe(base64('between us'));
    expect(await refused('derive-key/ada-bob', await derived('ada', 'bob'))).toBe('key "ada-bob" already exists');
    await must('keys/other-curve', { type: 'ecdsa-p384' });
    expect(await refused('derive-key/x', await derived('ada', 'other-curve'))).toBe(
      'base private key type ecdsa-p256 does not match peer public key curve',
    );
    expect(await refused('derive-key/x', { base_key_name: 'ada' })).toBe('peer public key not provided');
    expect(await refused('derive-key/x', { ...(await derived('ada', 'bob')), base_key_name: 'none' })).toBe(
      'specified base key not found',
    );
  });

  it('imports no more versions of a key once it was rotated here (E3.6)', async () => {
    const brought = () => ({ ciphertext: wrap(randomBytes(32)) });
    await write('keys/settled/import', { ...brought(), allow_rotation: true }).expect(204);
    await write('keys/settled/import_version', brought()).expect(204);
    expect((await must('keys/settled/rotate')).imported_key).toBe(false);
    expect(await refused('keys/settled/import_version', brought())).toBe(
      'the import_version endpoint can only be used with an imported key',
    );
  });

  it('imports a public key, and later the private one that belongs to it (E3.7)', async () => {
    const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const public_key = publicKey.export({ format: 'pem', type: 'spki' });
    await write('keys/half/import', { type: 'ecdsa-p256', public_key }).expect(204);
    expect(await refused('sign/half', { input: '' })).toBe(
      'requested version for signing does not contain a private part',
    );
    const other = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const der = (key: typeof privateKey) => key.export({ format: 'der', type: 'pkcs8' });
    expect(await refused('keys/half/import_version', { ciphertext: wrap(der(other)), version: 1 })).toContain(
      'does not belong',
    );
    await write('keys/half/import_version', { ciphertext: wrap(der(privateKey)) }).expect(204);
    const { signature } = await must('sign/half', { input: '' });
    expect(signature).toMatch(/^vault:v1:/);
  });

  it('refuses wrapped keys that are malformed, weak or of another type, without revealing details of the wrapping (E3.8)', async () => {
    const refusal = (body: object) => refused('keys/never/import', body);
    expect(await refusal({ ciphertext: base64('x') })).toBe('provided ciphertext is too short');
    expect(await refusal({ ciphertext: wrap(randomBytes(20)) })).toBe(
      'invalid key size 20 bytes for key type aes256-gcm96',
    );
    const texts = new Set<string>();
    for (const place of [0, 511, 512, 540]) {
      const bytes = Buffer.from(wrap(randomBytes(32)), 'base64');
      bytes[place]! ^= 1;
      texts.add(await refusal({ ciphertext: bytes.toString('base64') }));
    }
    texts.add(await refusal({ ciphertext: wrap(randomBytes(32)), hash_function: 'SHA512' }));
    expect([...texts]).toEqual([expect.stringContaining('cannot be decrypted')]);
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1024 });
    const ciphertext = wrap(privateKey.export({ format: 'der', type: 'pkcs8' }));
    expect(await refusal({ type: 'rsa-2048', ciphertext })).toBe('the key is not of type rsa-2048');
    const weak = generateKeyPairSync('rsa', { modulusLength: 2048, publicExponent: 3 }).privateKey;
    const weakText = wrap(weak.export({ format: 'der', type: 'pkcs8' }));
    expect(await refusal({ type: 'rsa-2048', ciphertext: weakText })).toContain('public exponent');
    expect(await refusal({ ciphertext, hash_function: 'md5' })).toBe('unknown hash function: md5');
    await secrets.root.read(at('keys/never')).expect(404);
  });

  it('rotates keys with a period on schedule, once (E3.9)', async () => {
    const version = async (name: string) => (await read(`keys/${name}`)).latest_version;
    await must('keys/first', { auto_rotate_period: '1h' });
    await must('keys/still');
    nowMs += 1_800_000;
    await must('keys/second', { auto_rotate_period: '1h' });
    nowMs += 1_801_000;
    await until(async () => (await version('first')) > 1);
    expect([await version('first'), await version('second'), await version('still')]).toEqual([2, 1, 1]);
    nowMs += 1_800_000;
    await until(async () => (await version('second')) > 1);
    expect([await version('first'), await version('second'), await version('still')]).toEqual([2, 2, 1]);
  }, 60_000);
});
