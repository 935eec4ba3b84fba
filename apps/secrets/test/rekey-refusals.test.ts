import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { generateKey } from 'openpgp';
import { startSecrets } from './start-secrets';

const at = (what: string, base = 'rekey-recovery-key') => `sys/${base}/${what}`;
const wrongShare = (x: number) => `${'ee'.repeat(32)}${x.toString(16).padStart(2, '0')}`;
const armour = Buffer.from('-----BEGIN PGP PUBLIC KEY BLOCK-----').toString('base64');
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/);

describe('refusals of a recovery rekey', () => {
  const secrets = startSecrets();
  const refuse = (what: string, body: object, text: string, verb: 'write' | 'put' = 'write') =>
    secrets.root[verb](at(what), body).expect(400, { errors: [text] });
  const start = async (more: object = {}) =>
    (await secrets.root.write(at('init'), { secret_shares: 3, secret_threshold: 2, ...more }).expect(200)).body;
  afterEach(() => secrets.root.delete(at('init')).expect(204));

  const config = (what: string) => `invalid recovery configuration: ${what}`;
  it.each([
    [{ secret_shares: 0, secret_threshold: 0 }, config('shares must be at least one')],
    [{ secret_shares: -1, secret_threshold: 1 }, config('shares must be at least one')],
    [{ secret_shares: 3 }, config('threshold must be at least one')],
    [{ secret_shares: 256, secret_threshold: 2 }, config('shares must be less than 256')],
    [
      { secret_shares: 1, secret_threshold: 1, pgp_keys: ['!'] },
      config('error decoding given PGP key: illegal base64 data at input byte 0'),
    ],
    [
      { secret_shares: 1, secret_threshold: 1, pgp_keys: [armour] },
      config('error parsing given PGP key: openpgp: invalid data: tag byte does not have MSB set'),
    ],
    // Backup and the number of keys are checked before the rest of the configuration.
    [
      { secret_shares: 0, backup: true },
      'cannot request a backup of the new keys without providing PGP keys for encryption',
    ],
    [{ secret_shares: 300, secret_threshold: 400, pgp_keys: ['!'] }, 'incorrect number of PGP keys for rekey'],
  ])('include starting with %j', async (body, text) => {
    await refuse('init', body, text);
    await refuse('init', body, text, 'put');
  });

  it('include fields of the wrong type, invalid JSON, and unknown verbs', async () => {
    const field = 'failed to decode JSON input: json: cannot unmarshal string into Go struct field';
    for (const secret_shares of ['many', '5']) {
      await refuse('init', { secret_shares }, `${field} RekeyRequest.secret_shares of type int`);
    }
    await refuse('init', { pgp_keys: 'a,b' }, `${field} RekeyRequest.pgp_keys of type []string`);
    await refuse('init', { backup: 'true' }, `${field} RekeyRequest.backup of type bool`);
    await refuse('update', { key: 7 }, `${field.replace('string', 'number')} RekeyUpdateRequest.key of type string`);
    const broken = await secrets.root.write(at('init'), '{bad').expect(400);
    expect(broken.body.errors).toEqual([expect.stringMatching(/^failed to decode JSON input: /)]);
    await secrets.root.list(at('init')).expect(405);
  });

  it('include starting while a rekey is in progress, after the configuration was checked', async () => {
    await start();
    await refuse('init', { secret_shares: 1, secret_threshold: 1 }, 'rekey already in progress');
    await refuse('init', { secret_shares: 1, secret_threshold: 2 }, config('threshold cannot be larger than shares'));
  });

  it('include a key that cannot encrypt', async () => {
    const { publicKey } = await generateKey({ type: 'ecc', userIDs: [{ name: 'a' }], subkeys: [], format: 'object' });
    const key = Buffer.from(publicKey.write()).toString('base64');
    const { body } = await secrets.root
      .write(at('init'), { secret_shares: 1, secret_threshold: 1, pgp_keys: [key] })
      .expect(400);
    expect(body.errors[0]).toContain('PGP key has no usable encryption key');
  });

  it('of a share come in this order: key, encoding, length, rekey, nonce, repetition', async () => {
    const share = secrets.recoveryKeys[0]!;
    const before = [
      [{}, "'key' must be specified in request body as JSON"],
      [{ key: '' }, "'key' must be specified in request body as JSON"],
      [{ key: 'zz' }, "'key' must be a valid hex or base64 string"],
      [{ key: 'aabb' }, 'key is shorter than minimum 16 bytes'],
      [{ key: 'aa'.repeat(34) }, 'key is longer than maximum 33 bytes'],
    ] as const;
    for (const [body, text] of [...before, [{ key: share }, 'no recovery rekey in progress']] as const)
      await refuse('update', body, text);
    for (const [body, text] of [...before, [{ key: share }, 'no rekey in progress']] as const)
      await refuse('verify', body, text);
    const { nonce } = await start();
    for (const [body, text] of before) await refuse('update', { ...body, nonce }, text);
    const other = `incorrect nonce supplied; nonce for this rekey operation is "${nonce}"`;
    await refuse('update', { key: share }, other);
    await refuse('update', { key: share, nonce: 'x' }, other);
    await refuse('verify', { key: share, nonce }, 'no rekey verification in progress');
    const given = await secrets.root.put(at('update'), { key: share, nonce }).expect(200);
    expect(given.body).toMatchObject({ progress: 1, started: true, nonce });
    const again = 'given key has already been provided during this rekey operation';
    await refuse('update', { key: share, nonce }, again);
    await refuse('update', { key: Buffer.from(share, 'hex').toString('base64'), nonce }, again);
    await secrets.root.read(at('update')).expect(400, { errors: ["'key' must be specified in request body as JSON"] });
  });

  it('of wrong shares at the threshold lose the progress, but keep nonce and rekey', async () => {
    const { nonce } = await start();
    for (const x of [1, 2]) await secrets.root.write(at('update'), { key: wrongShare(x), nonce }).expect(200);
    const text = 'recovery key verification failed: recovery key does not match submitted values';
    await refuse('update', { key: wrongShare(3), nonce }, text);
    expect((await secrets.root.read(at('init'))).body).toMatchObject({ started: true, nonce, progress: 0 });
  });

  it('include, in verification, old shares, other nonces, repetition, and wrong new shares, which change the nonce', async () => {
    await secrets.root.delete(at('verify')).expect(400, { errors: ['no rekey configuration found'] });
    const { nonce } = await start({ require_verification: true });
    let done = { verification_nonce: '', keys: [''] };
    for (const key of secrets.recoveryKeys.slice(0, 3)) {
      done = (await secrets.root.write(at('update'), { key, nonce }).expect(200)).body;
    }
    const pending = done.verification_nonce;
    await refuse(
      'update',
      { key: secrets.recoveryKeys[0], nonce },
      `rekey operation already finished; verification must be performed; nonce for the verification operation is "${pending}"`,
    );
    const key = done.keys[0];
    await refuse('verify', { key, nonce }, `incorrect nonce supplied; nonce for this verify operation is "${pending}"`);
    await secrets.root.write(at('verify'), { key, nonce: pending }).expect(200);
    await refuse('verify', { key, nonce: pending }, 'given key has already been provided during this verify operation');
    const text = 'rekey verification failed; incorrect key shares supplied';
    await refuse('verify', { key: wrongShare(9), nonce: pending }, text);
    const { body } = await secrets.root.read(at('verify')).expect(200);
    expect(body).toEqual({ nonce: uuid, started: true, t: 2, n: 3, progress: 0 });
    expect(body.nonce).not.toBe(pending);
  });

  it('the backup survives a rekey without a backup, and the next rekey with a backup replaces it', async () => {
    const backup = 'sys/rekey/recovery-key-backup';
    const holder = async () => {
      const { publicKey } = await generateKey({ type: 'ecc', userIDs: [{ name: 'h' }], format: 'object' });
      return Buffer.from(publicKey.write()).toString('base64');
    };
    let shares = secrets.recoveryKeys.slice(0, 3);
    const rekey = async (more: object) => {
      const { nonce } = await start({ secret_shares: 1, secret_threshold: 1, ...more });
      let last = { keys: [''], nonce: '' };
      for (const key of shares) last = (await secrets.root.write(at('update'), { key, nonce }).expect(200)).body;
      return last;
    };
    const plain = await rekey({});
    expect(plain.keys).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
    shares = plain.keys;
    const pair = await generateKey({ type: 'ecc', userIDs: [{ name: 'me' }], format: 'object' });
    const mine = Buffer.from(pair.publicKey.write()).toString('base64');
    const kept = await rekey({ secret_shares: 2, secret_threshold: 2, pgp_keys: [mine, mine], backup: true });
    const print = pair.publicKey.getFingerprint().toLowerCase();
    const { body } = await secrets.root.read(backup).expect(200);
    // The two shares for the same key are a list.
    expect(body.keys).toEqual({ [print]: kept.keys });
    expect(body.keys_base64[print]).toEqual(kept.keys.map((hex) => Buffer.from(hex, 'hex').toString('base64')));
    expect((await secrets.root.read(at('backup')).expect(200)).body.keys).toEqual(body.keys);
    const { readMessage, decrypt } = await import('openpgp');
    shares = await Promise.all(
      kept.keys.map(async (hex) => {
        const message = await readMessage({ binaryMessage: Buffer.from(hex, 'hex') });
        return (await decrypt({ message, decryptionKeys: pair.privateKey })).data as string;
      }),
    );
    shares = (await rekey({})).keys;
    expect((await secrets.root.read(backup).expect(200)).body.nonce).toBe(kept.nonce);
    const newer = await rekey({ pgp_keys: [await holder()], backup: true });
    expect((await secrets.root.read(backup).expect(200)).body.nonce).toBe(newer.nonce);
  });
});

describe('refusals of a root generation', () => {
  const secrets = startSecrets();
  const attempt = 'sys/generate-root/attempt';
  const update = 'sys/generate-root/update';

  it('include passwords of another length, a second attempt, and shares out of order', async () => {
    await secrets.anonymous
      .write(attempt, { otp: 'short' })
      .expect(400, { errors: ['OTP string has incorrect length'] });
    await secrets.anonymous.write(attempt, { pgp_key: '!' }).expect(400, /illegal base64 data at input byte 0/);
    await secrets.anonymous
      .write(update, { key: secrets.recoveryKeys[0], nonce: 'x' })
      .expect(400, { errors: ['no root generation in progress'] });
    const { nonce, otp_length } = (await secrets.anonymous.put(attempt, {}).expect(200)).body;
    expect(otp_length).toBe(26);
    const running = await secrets.anonymous.write(attempt).expect(400);
    expect(running.body.errors[0]).toContain('root generation already in progress');
    expect((await secrets.anonymous.read(attempt).expect(200)).body).toMatchObject({ started: true, nonce, otp: '' });
    for (const [body, text] of [
      [{ nonce }, "'key' must be specified in request body as JSON"],
      [{ key: 'zz', nonce }, "'key' must be a valid hex or base64 string"],
      [{ key: secrets.recoveryKeys[0], nonce: 'x' }, /^incorrect nonce supplied/],
    ] as const) {
      const refused = await secrets.anonymous.write(update, body).expect(400);
      expect(refused.body.errors[0]).toMatch(text);
    }
    await secrets.anonymous.write(update, { key: secrets.recoveryKeys[0], nonce }).expect(200);
    await secrets.anonymous.write(update, { key: secrets.recoveryKeys[0], nonce }).expect(400, /already been provided/);
    await secrets.anonymous.delete(attempt).expect(400, /start another one with a share/);
    await secrets.anonymous.write(attempt).expect(400, /already in progress/);
  });

  it('include all requests of strangers, who can neither begin, cancel, spoil nor delay an attempt of the holders', async () => {
    // A caller without shares was first, and keeps trying.
    const stranger = async () => {
      const { nonce } = (await secrets.anonymous.read(attempt)).body;
      const answers = await Promise.all([
        secrets.anonymous.delete(attempt),
        secrets.anonymous.write(attempt),
        secrets.anonymous.write(attempt, { key: wrongShare(1) }),
        ...Array.from({ length: 12 }, (_, at) => secrets.anonymous.write(update, { key: wrongShare(at + 1), nonce })),
      ]);
      for (const { status } of answers) expect([400, 429]).toContain(status);
    };
    const [first, second, third] = secrets.recoveryKeys as [string, string, string];
    const { nonce, otp } = (await secrets.anonymous.write(attempt, { key: first }).expect(200)).body;
    await stranger();
    let last: Record<string, unknown> = {};
    for (const key of [first, second, third]) {
      last = (await secrets.anonymous.write(update, { key, nonce }).expect(200)).body;
      if (!last.complete) await stranger();
    }
    const bytes = Buffer.from(String(last.encoded_token), 'base64').map((byte, at) => byte ^ otp.charCodeAt(at));
    await secrets.as(Buffer.from(bytes).toString()).read('sys/mounts').expect(200);
    // Anyone can cancel an attempt without a valid share.
    await secrets.anonymous.write(attempt).expect(200);
    await secrets.anonymous.delete(attempt).expect(204);
    await secrets.anonymous.delete(attempt).expect(204);
  });
});

describe('a seal by shares', () => {
  const secrets = startSecrets({ env: { SECRETS_SEAL: 'shamir' } });

  it('has no recovery keys, and refuses every request about them', async () => {
    const none = { errors: ['recovery rekeying not supported'] };
    const body = { secret_shares: 1, secret_threshold: 1 };
    await secrets.root.read(at('init')).expect(400, none);
    await secrets.root.write(at('init'), body).expect(400, none);
    await secrets.root.read(at('verify')).expect(400, none);
    await secrets.root.delete(at('verify')).expect(400, none);
    await secrets.root.write(at('verify'), { key: wrongShare(1) }).expect(400, none);
    await secrets.root.write(at('check'), { key: wrongShare(1) }).expect(400, none);
  });

  it('is rekeyed by the same steps, and unsealed only by the new shares', async () => {
    const config = 'invalid rekey seal configuration: threshold cannot be larger than shares';
    await secrets.root
      .write(at('init', 'rekey'), { secret_shares: 1, secret_threshold: 2 })
      .expect(400, { errors: [config] });
    const [old] = secrets.recoveryKeys as [string];
    await secrets.root
      .write(at('update', 'rekey'), { key: old, nonce: '' })
      .expect(400, { errors: ['no barrier rekey in progress'] });
    const { nonce } = (
      await secrets.root.write(at('init', 'rekey'), { secret_shares: 3, secret_threshold: 2 }).expect(200)
    ).body;
    await secrets.root
      .write(at('update', 'rekey'), { key: wrongShare(1), nonce })
      .expect(400, { errors: ['unseal key verification failed: unseal key does not match submitted values'] });
    const done = (await secrets.root.write(at('update', 'rotate/root'), { key: old, nonce }).expect(200)).body;
    const fresh = done.data.keys as string[];
    expect((await secrets.root.write(at('check', 'rekey'), { key: fresh[2] }).expect(200)).body.valid).toBe(true);
    expect((await secrets.root.write(at('check', 'rekey'), { key: old }).expect(200)).body.valid).toBe(false);
    await secrets.root.write('sys/seal').expect(204);
    await secrets.anonymous.write('sys/unseal', { key: old }).expect(200);
    const wrong = await secrets.anonymous.write('sys/unseal', { key: fresh[0] }).expect(400);
    expect(wrong.body.errors).toEqual([
      'unable to retrieve stored keys: invalid key: failed to decrypt keys from storage: cipher: message authentication failed',
    ]);
    expect((await secrets.anonymous.read('sys/seal-status')).body).toMatchObject({
      sealed: true,
      progress: 0,
      nonce: '',
    });
    const half = await secrets.anonymous.put('sys/unseal', { key: fresh[0] }).expect(200);
    expect(half.body).toMatchObject({ sealed: true, progress: 1, nonce: uuid, t: 2, n: 3 });
    await secrets.anonymous.write('sys/unseal', { key: fresh[2] }).expect(200);
    expect((await secrets.anonymous.write('sys/unseal', { key: fresh[2] }).expect(200)).body.sealed).toBe(false);
    await secrets.root.read('auth/token/lookup-self').expect(200);
  });
});

describe('the audit log of a rekey', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'audit-'));
  const file = path.join(folder, 'audit.log');
  afterAll(() => rmSync(folder, { recursive: true }));
  const secrets = startSecrets({ env: { SECRETS_AUDIT_FILE: file } });

  // If this failed, an attacker could try shares or get new ones without an audit line.
  it('contains every call, refusals included, and no share in plaintext', async () => {
    const { nonce } = (await secrets.root.write(at('init'), { secret_shares: 2, secret_threshold: 2 })).body;
    await secrets.root.write(at('init'), { secret_shares: 2, secret_threshold: 2 }).expect(400);
    await secrets.anonymous.write(at('update'), { key: secrets.recoveryKeys[0], nonce }).expect(403);
    await secrets.root.write(at('update'), { key: secrets.recoveryKeys[0], nonce: 'x' }).expect(400);
    await secrets.root.write(at('check'), { key: secrets.recoveryKeys[1] }).expect(200);
    let fresh: string[] = [];
    for (const key of secrets.recoveryKeys.slice(0, 3)) {
      fresh = (await secrets.root.write(at('update'), { key, nonce }).expect(200)).body.keys;
    }
    await secrets.root.read(at('verify')).expect(400);
    await secrets.root.delete(at('init')).expect(204);
    await secrets.anonymous.write('sys/generate-root/attempt').expect(200);
    await secrets.anonymous.write('sys/generate-root/update', { key: fresh[0], nonce: 'x' }).expect(400);
    const text = readFileSync(file, 'utf8');
    const lines = text
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line))
      .filter(({ type, request }) => type === 'response' && /^sys\/(rekey|generate)/.test(request.path));
    expect(lines.map(({ request, error }) => [request.path.slice(4), request.operation, error !== undefined])).toEqual([
      ['rekey-recovery-key/init', 'update', false],
      ['rekey-recovery-key/init', 'update', true],
      ['rekey-recovery-key/update', 'update', true],
      ['rekey-recovery-key/update', 'update', true],
      ['rekey-recovery-key/check', 'update', false],
      ['rekey-recovery-key/update', 'update', false],
      ['rekey-recovery-key/update', 'update', false],
      ['rekey-recovery-key/update', 'update', false],
      ['rekey-recovery-key/verify', 'read', true],
      ['rekey-recovery-key/init', 'delete', false],
      ['generate-root/attempt', 'update', false],
      ['generate-root/update', 'update', true],
    ]);
    for (const share of [...secrets.recoveryKeys, ...fresh]) {
      expect(text).not.toContain(share);
      expect(text).not.toContain(Buffer.from(share, 'hex').toString('base64'));
    }
  });
});
