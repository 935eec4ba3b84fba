import { beforeAll, describe, expect, it } from '@jest/globals';
import { startSecrets } from '../../../test/start-secrets';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const aeadTypes = ['aes128-gcm96', 'aes256-gcm96', 'chacha20-poly1305', 'xchacha20-poly1305'];

describe('keys that encrypt', () => {
  const secrets = startSecrets();
  const at = (path: string) => `transit/${path}`;
  const write = (path: string, body: object = {}) => secrets.root.write(at(path), body);
  const must = async (path: string, body: object = {}) => (await write(path, body).expect(200)).body.data;
  const refused = async (path: string, body: object = {}) => (await write(path, body).expect(400)).body.errors[0];

  beforeAll(async () => {
    await secrets.root.write('sys/mounts/transit', { type: 'transit' }).expect(204);
  });

  it.each([...aeadTypes, 'rsa-2048', 'rsa-3072', 'rsa-4096'])(
    '%s decrypts its own ciphertexts, and rewraps them (E1.1)',
    async (type) => {
      const shown = await must(`keys/round-${type}`, { type });
      expect(shown).toMatchObject({ name: `round-${type}`, type, latest_version: 1, supports_encryption: true });
      for (const text of ['', 'a', 'naïve ☃', 'x'.repeat(150)]) {
        const { ciphertext, key_version } = await must(`encrypt/round-${type}`, { plaintext: base64(text) });
        expect(key_version).toBe(1);
        expect(ciphertext).toMatch(/^vault:v1:/);
        expect(await must(`decrypt/round-${type}`, { ciphertext })).toEqual({ plaintext: base64(text) });
      }
      const { ciphertext } = await must(`encrypt/round-${type}`, { plaintext: base64('old') });
      await must(`keys/round-${type}/rotate`);
      const again = await must(`rewrap/round-${type}`, { ciphertext });
      expect(again).toMatchObject({ key_version: 2, ciphertext: expect.stringMatching(/^vault:v2:/) });
      await must(`keys/round-${type}/config`, { min_decryption_version: 2 });
      expect(await must(`decrypt/round-${type}`, { ciphertext: again.ciphertext })).toEqual({
        plaintext: base64('old'),
      });
      expect(await refused(`decrypt/round-${type}`, { ciphertext })).toBe(
        'ciphertext or signature version is disallowed by policy (too old)',
      );
    },
  );

  it.each(aeadTypes)('%s binds a ciphertext to its context, associated data, key and version (E1.2)', async (type) => {
    const context = base64('tenant 1');
    const associated_data = base64('row 7');
    const failed = /message authentication failed$/;
    await must(`keys/bound-${type}`, { type, derived: true });
    await must(`keys/other-${type}`, { type, derived: true });
    const { ciphertext } = await must(`encrypt/bound-${type}`, { plaintext: base64('x'), context, associated_data });
    const right = { ciphertext, context, associated_data };
    expect(await must(`decrypt/bound-${type}`, right)).toEqual({ plaintext: base64('x') });
    expect(await refused(`decrypt/bound-${type}`, { ...right, context: base64('tenant 2') })).toMatch(failed);
    expect(await refused(`decrypt/bound-${type}`, { ...right, associated_data: base64('row 8') })).toMatch(failed);
    expect(await refused(`decrypt/bound-${type}`, { ...right, associated_data: undefined })).toMatch(failed);
    expect(await refused(`decrypt/bound-${type}`, { ...right, context: undefined })).toMatch(/^missing 'context'/);
    expect(await refused(`decrypt/other-${type}`, right)).toMatch(failed);
    await must(`keys/bound-${type}/rotate`);
    const moved = ciphertext.replace('v1', 'v2');
    expect(await refused(`decrypt/bound-${type}`, { ...right, ciphertext: moved })).toMatch(failed);
    const cut = ciphertext.slice(0, -4);
    expect(await refused(`decrypt/bound-${type}`, { ...right, ciphertext: cut })).toMatch(failed);
  });

  it.each(aeadTypes)('a convergent %s key never uses a nonce twice for different data (E1.3)', async (type) => {
    await must(`keys/conv-${type}`, { type, derived: true, convergent_encryption: true });
    const nonceOf = ({ ciphertext }: { ciphertext: string }) =>
      Buffer.from(ciphertext.slice(9), 'base64').subarray(0, 12).toString('hex');
    const context = base64('c');
    const encrypt = (more: object) => must(`encrypt/conv-${type}`, { plaintext: base64('x'), context, ...more });
    expect(await encrypt({})).toEqual(await encrypt({}));
    const bodies = [
      {},
      { plaintext: base64('y') },
      { context: base64('d') },
      { associated_data: base64('1') },
      { associated_data: base64('2') },
    ];
    const made = await Promise.all(bodies.map(encrypt));
    expect(new Set(made.map(nonceOf)).size).toBe(bodies.length);
    const { ciphertext } = await encrypt({ associated_data: base64('1') });
    const back = await must(`decrypt/conv-${type}`, { ciphertext, context, associated_data: base64('1') });
    expect(back).toEqual({ plaintext: base64('x') });
  });

  it('loses none of twenty simultaneous rotations (E1.4)', async () => {
    await must('keys/race');
    const first = await must('encrypt/race', { plaintext: base64('x') });
    await Promise.all(Array.from({ length: 20 }, () => must('keys/race/rotate')));
    const { body } = await secrets.root.read(at('keys/race')).expect(200);
    expect(body.data.latest_version).toBe(21);
    expect(Object.keys(body.data.keys)).toHaveLength(21);
    expect(await must('decrypt/race', { ciphertext: first.ciphertext })).toEqual({ plaintext: base64('x') });
  });

  it('creates a key on encryption only for callers who may create it, and for valid plaintext (E1.5)', async () => {
    const updater = await secrets.withPolicy('path "transit/encrypt/*" { capabilities = ["update"] }');
    await updater.write(at('encrypt/made'), { plaintext: '' }).expect(403);
    expect(await refused('encrypt/made', { plaintext: '!!' })).toBe('illegal base64 data at input byte 0');
    await secrets.root.read(at('keys/made')).expect(404);
    await must('encrypt/made', { plaintext: base64('x'), context: base64('c') });
    expect((await secrets.root.read(at('keys/made')).expect(200)).body.data.derived).toBe(true);
    await updater.write(at('encrypt/made'), { plaintext: '', context: base64('c') }).expect(200);
    await must('config/keys', { disable_upsert: true });
    expect(await refused('encrypt/unmade', { plaintext: '' })).toBe('encryption key not found');
    await must('config/keys', { disable_upsert: false });
  });

  it('answers each item of a batch, with a status from the failures (E1.6)', async () => {
    const items = [
      { plaintext: base64('a'), reference: 'r1' },
      { plaintext: '!!', reference: 'r2' },
    ];
    const bad = await write('encrypt/batch', { batch_input: items }).expect(400);
    expect(bad.body.data.batch_results).toEqual([
      { ciphertext: expect.stringMatching(/^vault:v1:/), key_version: 1, reference: 'r1' },
      { error: 'illegal base64 data at input byte 0', reference: 'r2' },
    ]);
    await write('encrypt/batch', { batch_input: items, partial_failure_response_code: 207 }).expect(207);
    await write('encrypt/batch', { batch_input: items.slice(1), partial_failure_response_code: 207 }).expect(400);
    const none = await write('decrypt/batch', { batch_input: [{ ciphertext: 'vault:v1:AAAA' }] }).expect(400);
    expect(none.body.data.batch_results).toEqual([
      { plaintext: '', error: 'invalid ciphertext length', reference: '' },
    ]);
    expect(await refused('encrypt/batch', { batch_input: [] })).toBe('missing batch input to process');
    expect(await refused('encrypt/batch', { batch_input: [{}] })).toContain(
      "'[0].plaintext' missing plaintext to encrypt",
    );
    expect(await refused('encrypt/batch', { batch_input: [5] })).toContain("'[0]' expected a map");
    expect(await refused('encrypt/batch', { batch_input: 'x' })).toContain(
      'source data must be an array or slice, got string',
    );
    expect(await refused('encrypt/batch', { batch_input: Array(10_001).fill({ plaintext: '' }) })).toContain(
      'more than 10000 elements',
    );
    const mixed = [{ plaintext: '', context: 'YQ==' }, { plaintext: '' }];
    expect(await refused('encrypt/batch', { batch_input: mixed })).toBe(
      'context should be set either in all the request blocks or in none',
    );
  });

  it('applies the version limits of the key, and refuses contradictory ones (E1.7)', async () => {
    await must('keys/rules');
    for (let n = 0; n < 3; n++) await must('keys/rules/rotate');
    const config = (body: object) => refused('keys/rules/config', body);
    expect(await config({ min_decryption_version: 5 })).toBe(
      'cannot set min decryption version of 5, latest key version is 4',
    );
    expect(await config({ min_encryption_version: 5 })).toBe(
      'cannot set min encryption version of 5, latest key version is 4',
    );
    expect(await config({ min_decryption_version: -1 })).toBe('min decryption version cannot be negative');
    expect(await config({ min_decryption_version: 3, min_encryption_version: 2 })).toContain(
      'must be greater than or equal to',
    );
    expect(await config({ auto_rotate_period: '1m' })).toBe(
      'auto rotate period must be 0 to disable or at least an hour',
    );
    expect(await refused('keys/rules/trim', { min_available_version: 2 })).toContain(
      'when minimum encryption version is not set',
    );
    await must('keys/rules/config', { min_decryption_version: 2, min_encryption_version: 3 });
    const encrypt = (key_version: number) => ({ plaintext: '', key_version });
    expect(await refused('encrypt/rules', encrypt(2))).toBe(
      'requested version for encryption is less than the minimum encryption key version',
    );
    expect(await refused('encrypt/rules', encrypt(5))).toBe(
      'requested version for encryption is higher than the latest key version',
    );
    expect(await refused('encrypt/rules', encrypt(-1))).toBe('requested version for encryption is negative');
    expect(await must('encrypt/rules', encrypt(3))).toMatchObject({ key_version: 3 });
    const trimmed = await must('keys/rules/trim', { min_available_version: 2 });
    expect(trimmed.min_available_version).toBe(2);
    expect(await refused('keys/rules/trim', { min_available_version: 1 })).toContain('cannot be decremented');
    expect(await config({ min_decryption_version: 1 })).toContain('min available version');
    const text = await config({ min_encryption_version: 0 });
    expect(text).toBe('min encryption version should not be less than min available version');
  });

  it('deletes a key only if its settings allow it, and soft-deletes one without losing it (E1.8)', async () => {
    await must('keys/gone');
    const { ciphertext } = await must('encrypt/gone', { plaintext: base64('x') });
    const refusal = await secrets.root.delete(at('keys/gone')).expect(400);
    expect(refusal.body.errors).toEqual(['error deleting policy gone: deletion is not allowed for this key']);
    const soft = await secrets.root.delete(at('keys/gone/soft-delete')).expect(200);
    expect(soft.body.data.soft_deleted).toBe(true);
    for (const path of ['encrypt/gone', 'decrypt/gone', 'rewrap/gone', 'keys/gone/rotate', 'datakey/plaintext/gone']) {
      expect(await refused(path, { plaintext: '', ciphertext })).toBe('refusing to use soft-deleted key');
    }
    await must('keys/gone/soft-delete-restore');
    expect(await must('decrypt/gone', { ciphertext })).toEqual({ plaintext: base64('x') });
    await must('keys/gone/config', { deletion_allowed: true });
    await secrets.root.delete(at('keys/gone')).expect(204);
    expect(await refused('decrypt/gone', { ciphertext })).toBe('encryption key not found');
    const absent = await secrets.root.delete(at('keys/gone')).expect(400);
    expect(absent.body.errors).toEqual(['error deleting policy gone: could not delete key; not found']);
  });

  it('generates data keys, in plaintext or only encrypted (E1.9)', async () => {
    await must('keys/data');
    for (const bits of [128, 256, 512]) {
      const made = await must('datakey/plaintext/data', { bits });
      expect(Buffer.from(made.plaintext, 'base64')).toHaveLength(bits / 8);
      expect(await must('decrypt/data', { ciphertext: made.ciphertext })).toEqual({ plaintext: made.plaintext });
    }
    expect(Object.keys(await must('datakey/wrapped/data')).sort()).toEqual(['ciphertext', 'key_version']);
    expect(await refused('datakey/wrapped/data', { bits: 100 })).toBe('invalid bit length');
  });

  it.each([
    ['keys/bad', { type: 'aes128-cmac' }, 'unknown key type aes128-cmac'],
    [
      'keys/bad',
      { type: 'rsa-2048', derived: true },
      'key derivation and convergent encryption not supported for keys of type rsa-2048',
    ],
    [
      'keys/bad',
      { type: 'ed25519', derived: true, convergent_encryption: true },
      'convergent encryption not supported for keys of type ed25519',
    ],
    ['keys/bad', { convergent_encryption: true }, 'convergent encryption requires derivation to be enabled'],
    ['keys/bad', { key_size: 64 }, 'key_size is not valid for algorithm aes256-gcm96'],
    ['keys/bad', { type: 'hmac', key_size: 31 }, 'invalid key size for HMAC key, must be between 32 and 512 bytes'],
    ['keys/bad', { auto_rotate_period: 59 }, 'auto rotate period must be 0 to disable or at least an hour'],
    ['decrypt/plain', {}, 'missing ciphertext to decrypt'],
    ['decrypt/plain', { ciphertext: 'x' }, 'invalid ciphertext: no prefix'],
    ['decrypt/plain', { ciphertext: 'vault:v1' }, 'invalid ciphertext: wrong number of fields'],
    ['decrypt/plain', { ciphertext: 'vault:vx:AAAA' }, 'invalid ciphertext: version number could not be decoded'],
    ['decrypt/plain', { ciphertext: 'vault:v9:AAAA' }, 'invalid ciphertext: version is too new'],
    ['decrypt/plain', { ciphertext: 'vault:v1:*' }, 'invalid ciphertext: could not decode base64'],
    ['decrypt/plain', { ciphertext: 'vault:v1:AAAA' }, 'invalid ciphertext length'],
    ['encrypt/plain', {}, 'missing plaintext to encrypt'],
    ['encrypt/pair', { plaintext: '' }, 'message encryption not supported for key type ecdsa-p256'],
  ])('refuses %s %j by name, and changes nothing (E1.10)', async (path, body, text) => {
    await must('keys/plain');
    await must('keys/pair', { type: 'ecdsa-p256' });
    expect(await refused(path, body)).toBe(text);
    await secrets.root.read(at('keys/bad')).expect(404);
  });

  it('decrypts nothing of another mount or namespace (E1.11)', async () => {
    await secrets.root.write('sys/mounts/transit-two', { type: 'transit' }).expect(204);
    await must('keys/apart');
    await secrets.root.write('transit-two/keys/apart').expect(200);
    const { ciphertext } = await must('encrypt/apart', { plaintext: base64('x') });
    const answer = await secrets.root.write('transit-two/decrypt/apart', { ciphertext }).expect(400);
    expect(answer.body.errors).toEqual(['cipher: message authentication failed']);
  });
});
