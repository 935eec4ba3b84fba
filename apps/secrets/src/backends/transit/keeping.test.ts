import {
  constants,
  createCipheriv,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  publicEncrypt,
  randomBytes,
} from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { startSecrets } from '../../../test/start-secrets';

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

describe('keys that leave and come', () => {
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

  const wrap = (key: Buffer, oaepHash = 'sha256') => {
    const aes = randomBytes(32);
    const cipher = createCipheriv('id-aes256-wrap-pad', aes, Buffer.from('a65959a6', 'hex'));
    const padding = constants.RSA_PKCS1_OAEP_PADDING;
    const outer = publicEncrypt({ key: wrapping, padding, oaepHash }, aes);
    return Buffer.concat([outer, cipher.update(key), cipher.final()]).toString('base64');
  };

  it.each(types)('%s comes back from a backup, under another name, with all of its versions', async (type) => {
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

  it('exports only what may leave, in the usual forms', async () => {
    await must('keys/stays');
    for (const kind of ['encryption-key', 'signing-key', 'hmac-key']) {
      const { body } = await secrets.root.read(at(`export/${kind}/stays`)).expect(400);
      expect(body.errors).toEqual(['private key material is not exportable']);
    }
    await secrets.root.read(at('backup/stays')).expect(400);
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

  it.each(['SHA1', 'SHA224', 'SHA256', 'SHA384', 'SHA512'])('imports a key wrapped with %s', async (hash_function) => {
    const key = randomBytes(32);
    const name = `in-${hash_function}`;
    const body = { ciphertext: wrap(key, hash_function.toLowerCase()), hash_function, exportable: true };
    await write(`keys/${name}/import`, body).expect(204);
    expect((await read(`export/encryption-key/${name}`)).keys['1']).toBe(key.toString('base64'));
    expect(await refused(`keys/${name}/import`, body)).toContain('cannot be used with an existing key');
    expect(await refused(`keys/${name}/rotate`)).toContain('does not allow rotation');
    await write(`keys/${name}/import_version`, { ciphertext: wrap(randomBytes(32)) }).expect(204);
    expect((await read(`keys/${name}`)).latest_version).toBe(2);
  });

  it('imports a public key, and later the private one that belongs to it', async () => {
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

  it('refuses wrapped keys that are malformed, weak or of another type, and tells nothing of the wrapping', async () => {
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

  it('rotates by the clock what has a period, once', async () => {
    await must('keys/clock', { auto_rotate_period: '1h' });
    await must('keys/still');
    expect((await read('keys/clock')).latest_version).toBe(1);
    nowMs += 3_601_000;
    for (;;) {
      const { latest_version } = await read('keys/clock');
      if (latest_version > 1) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    expect((await read('keys/clock')).latest_version).toBe(2);
    expect((await read('keys/still')).latest_version).toBe(1);
  }, 60_000);
});
