import { describe, expect, it } from '@jest/globals';
import { generateKey } from 'openpgp';
import { Client } from 'pg';
import { until } from './fresh-storage';
import { startSecrets } from './start-secrets';

const init = 'sys/rekey-recovery-key/init';
const update = 'sys/rekey-recovery-key/update';
const verify = 'sys/rekey-recovery-key/verify';
const uuid = expect.stringMatching(/^[0-9a-f-]{36}$/);

const idle = {
  nonce: '',
  started: false,
  t: 0,
  n: 0,
  progress: 0,
  required: 3,
  pgp_fingerprints: null,
  backup: false,
  verification_required: false,
};

describe('recovery rekey', () => {
  const secrets = startSecrets();
  let shares: readonly string[] = [];
  const given = () => (shares.length > 0 ? shares : secrets.recoveryKeys);
  const required = async () => (await secrets.root.read(init).expect(200)).body.required as number;
  const start = async (body: object = {}) =>
    (await secrets.root.write(init, { secret_shares: 3, secret_threshold: 2, ...body }).expect(200)).body;
  const give = async (nonce: string) => {
    const needed = await required();
    let last: Record<string, unknown> = {};
    for (const key of given().slice(0, needed))
      last = (await secrets.root.write(update, { key, nonce }).expect(200)).body;
    return last as { keys: string[]; keys_base64: string[]; verification_nonce: string };
  };

  it('answers the idle status with the counts of the current shares (S8.1, S8.2, S8.3, S8.4, S8.5, S8.6, S8.7, S8.8, S8.9, S18.1, SP.51)', async () => {
    await secrets.root.read(init).expect(200, idle);
    const { publicKey } = await generateKey({ type: 'ecc', userIDs: [{ name: 'a' }], format: 'object' });
    const print = publicKey.getFingerprint().toLowerCase();
    const pgp_keys = [1, 2, 3].map(() => Buffer.from(publicKey.write()).toString('base64'));
    const { nonce } = await start({ pgp_keys, backup: true, require_verification: true });
    await secrets.root.write(update, { key: given()[0], nonce }).expect(200);
    await secrets.root.read(init).expect(200, {
      ...{ nonce, started: true, t: 2, n: 3, progress: 1, required: 3, backup: true, verification_required: true },
      pgp_fingerprints: [print, print, print],
    });
    await secrets.root.delete(init).expect(204);
    await secrets.root.read(init).expect(200, idle);
  });

  it('needs a token with sudo, and the root namespace (SA.4)', async () => {
    await secrets.anonymous.read(init).expect(403);
    const limited = await secrets.withPolicy('path "sys/rekey*" { capabilities = ["read", "update"] }');
    await limited.read(init).expect(403);
    await secrets.root.write('sys/namespaces/team').expect(200);
    await secrets
      .as(secrets.rootToken, { 'X-Service-Namespace': 'team' })
      .read(init)
      .expect(400, { errors: ['operation unavailable in namespaces'] });
  });

  it.each([
    [
      { secret_shares: 2, secret_threshold: 3 },
      'invalid recovery configuration: threshold cannot be larger than shares',
    ],
    [{ secret_threshold: 2 }, 'invalid recovery configuration: shares must be at least one'],
    [
      { secret_shares: 3, secret_threshold: 1 },
      'invalid recovery configuration: threshold must be greater than one for multiple shares',
    ],
    [{ secret_shares: 2, secret_threshold: 2, pgp_keys: ['a'] }, 'incorrect number of PGP keys for rekey'],
    [
      { secret_shares: 2, secret_threshold: 2, backup: true },
      'cannot request a backup of the new keys without providing PGP keys for encryption',
    ],
  ])('refuses to start with %j (S23.8)', async (body, message) => {
    await secrets.root.write(init, body).expect(400, { errors: [message] });
    await secrets.root.read(init).expect(200, idle);
  });

  it('starts with a new nonce, one at a time, and is cancelled with all its progress (S14.1, S14.2, S14.5, S18.2, S18.3, S18.6, S24.9)', async () => {
    const status = await start();
    expect(status).toEqual({ ...idle, nonce: uuid, started: true, t: 2, n: 3 });
    await secrets.root
      .write(init, { secret_shares: 1, secret_threshold: 1 })
      .expect(400, { errors: ['rekey already in progress'] });
    const { body } = await secrets.root.write(update, { key: given()[0], nonce: status.nonce }).expect(200);
    expect(body).toEqual({ ...status, progress: 1 });
    await secrets.root.delete(init).expect(204);
    await secrets.root.read(init).expect(200, idle);
    expect((await start()).nonce).not.toBe(status.nonce);
    await secrets.root.delete(init).expect(204);
    await secrets.root.delete(init).expect(204);
  });

  it('refuses shares with another nonce and names the right one (S23.9)', async () => {
    const { nonce } = await start();
    await secrets.root
      .write(update, { key: given()[0], nonce: 'other' })
      .expect(400, { errors: [`incorrect nonce supplied; nonce for this rekey operation is "${nonce}"`] });
    await secrets.root
      .write(update, { nonce })
      .expect(400, { errors: ["'key' must be specified in request body as JSON"] });
    await secrets.root.read(update).expect(400);
    await secrets.root.delete(init).expect(204);
  });

  it('issues new shares at the threshold; they are valid at once (S8.6, S14.3, S9.1, S9.2, S9.3, S9.4, S9.5, S9.6, S9.7)', async () => {
    const { nonce } = await start();
    const done = await give(nonce);
    expect(done).toEqual({
      nonce,
      complete: true,
      keys: [0, 1, 2].map(() => expect.stringMatching(/^[0-9a-f]{66}$/)),
      keys_base64: done.keys.map((key) => Buffer.from(key, 'hex').toString('base64')),
      pgp_fingerprints: null,
      backup: false,
      verification_required: false,
    });
    await secrets.root.read(init).expect(200, { ...idle, required: 2 });
    const again = await start();
    await secrets.root.write(update, { key: given()[0], nonce: again.nonce }).expect(200);
    await secrets.root
      .write(update, { key: given()[1], nonce: again.nonce })
      .expect(400, { errors: ['recovery key verification failed: recovery key does not match submitted values'] });
    await secrets.root.delete(init).expect(204);
    shares = done.keys;
  });

  it('changes nothing before the new shares were verified (S14.4, S14.6, S14.7, S14.8, S18.7, S18.8, S18.9, S9.8, SP.13, SP.29, SP.51)', async () => {
    await secrets.root.read(verify).expect(400, { errors: ['no rekey configuration found'] });
    const { nonce } = await start({ require_verification: true });
    await secrets.root.read(verify).expect(200, { nonce: '', started: false, t: 2, n: 3, progress: 0 });
    const done = await give(nonce);
    expect(done).toMatchObject({ complete: true, verification_required: true, verification_nonce: uuid });
    const pending = done.verification_nonce;
    expect((await secrets.root.read(init)).body).toMatchObject({
      started: true,
      progress: 0,
      verification_nonce: pending,
    });
    const key = done.keys[0];
    await secrets.root
      .write(verify, { key, nonce: pending })
      .expect(200, { nonce: pending, started: true, t: 2, n: 3, progress: 1 });
    await secrets.root.read(verify).expect(200, { nonce: pending, started: true, t: 2, n: 3, progress: 1 });
    const { body: reset } = await secrets.root.delete(verify).expect(200);
    expect(reset).toEqual({ nonce: uuid, started: true, t: 2, n: 3, progress: 0 });
    expect(reset.nonce).not.toBe(pending);
    await secrets.root.write(verify, { key, nonce: reset.nonce }).expect(200);
    await secrets.root
      .write(verify, { key: done.keys[2], nonce: reset.nonce })
      .expect(200, { nonce: reset.nonce, complete: true });
    shares = done.keys;
    await secrets.root.read(init).expect(200, { ...idle, required: 2 });
  });

  it('keeps the current shares when cancelled during verification (S9.4, S9.7, S9.8, S14.9)', async () => {
    const { nonce } = await start({ require_verification: true });
    const pending = await give(nonce);
    expect(pending).toMatchObject({ nonce, verification_required: true });
    expect((await secrets.root.read(verify).expect(200)).body.nonce).toBe(pending.verification_nonce);
    await secrets.root.delete(init).expect(204);
    const again = await start();
    shares = (await give(again.nonce)).keys;
    expect(shares).toHaveLength(3);
  });

  it('keeps encrypted shares when asked, until they are deleted (S9.1-S9.6, S18.4, S18.5, SP.30, SP.59)', async () => {
    const backup = 'sys/rekey/recovery-key-backup';
    await secrets.root.read(backup).expect(400, { errors: ['no backed-up keys found'] });
    const made = await Promise.all(
      ['a', 'b'].map((name) => generateKey({ type: 'ecc', userIDs: [{ name }], format: 'object' })),
    );
    const keys = made.map(({ publicKey }) => Buffer.from(publicKey.write()).toString('base64'));
    const prints = made.map(({ publicKey }) => publicKey.getFingerprint().toLowerCase());
    const { nonce, pgp_fingerprints } = await start({ secret_shares: 2, pgp_keys: keys, backup: true });
    expect(pgp_fingerprints).toEqual(prints);
    const done = await give(nonce);
    expect(done).toMatchObject({ nonce, complete: true, backup: true, pgp_fingerprints: prints });
    expect(done.keys_base64).toEqual(done.keys.map((key) => Buffer.from(key, 'hex').toString('base64')));
    const { body } = await secrets.root.read(backup).expect(200);
    const byPrint = Object.fromEntries(prints.map((print, at) => [print, done.keys[at]]));
    expect(body).toMatchObject({ nonce, keys: byPrint, data: { nonce, keys: byPrint } });
    const client = new Client({ connectionString: secrets.database.url });
    await client.connect();
    const { rows } = await client.query("SELECT sealed FROM setting WHERE name = 'core/recovery-keys-backup'");
    await client.end();
    expect(rows).toHaveLength(1);
    await secrets.root.delete(backup).expect(204);
    await secrets.root.read(backup).expect(400);
    await secrets.root.delete(backup).expect(204);
  });

  it('works the same with envelopes under sys/rotate, and does not exist for the other kind of seal', async () => {
    const { body } = await secrets.root.read('sys/rotate/recovery/init').expect(200);
    expect(body.data).toMatchObject({ started: false, required: 2 });
    await secrets.root.read('sys/rekey/init').expect(400, { errors: ['barrier rekeying not supported'] });
    // Reading the status does not start a rekey.
    const other = (await secrets.root.read('sys/rotate/root/init').expect(200)).body.data;
    expect(other).toMatchObject({ started: false, nonce: '', progress: 0, required: 0 });
    await secrets.root
      .write('sys/rotate/root/init', { secret_shares: 1, secret_threshold: 1 })
      .expect(400, { errors: ['barrier rekeying not supported'] });
  });
});

describe('the check of a share', () => {
  const secrets = startSecrets();
  const check = 'sys/rekey-recovery-key/check';
  const ask = async (key: string) => (await secrets.root.write(check, { key }).expect(200)).body;
  const wrong = `${'ee'.repeat(32)}07`;

  it('shows whether a share is still valid, and uses nothing up', async () => {
    const [one, two] = secrets.recoveryKeys as [string, string];
    expect(await ask(one)).toEqual({ valid: true, t: 3, n: 5 });
    expect(await ask(Buffer.from(two, 'hex').toString('base64'))).toEqual({ valid: true, t: 3, n: 5 });
    expect(await ask(wrong)).toEqual({ valid: false, t: 3, n: 5 });
    await secrets.root.read(init).expect(200, idle);
    await secrets.root.write(init, { secret_shares: 1, secret_threshold: 1 }).expect(200);
    expect(await ask(one)).toMatchObject({ valid: true });
    expect((await secrets.root.read(init)).body).toMatchObject({ started: true, progress: 0 });
    await secrets.root.delete(init).expect(204);
  });

  it('checks the current shares: new ones once they were verified, old ones no longer', async () => {
    const old = secrets.recoveryKeys;
    const { nonce } = (
      await secrets.root.write(init, { secret_shares: 3, secret_threshold: 2, require_verification: true })
    ).body;
    for (const key of old.slice(0, 2)) await secrets.root.write(update, { key, nonce }).expect(200);
    const done = (await secrets.root.write(update, { key: old[2], nonce }).expect(200)).body;
    expect(await ask(done.keys[0])).toMatchObject({ valid: false });
    expect(await ask(old[4]!)).toMatchObject({ valid: true });
    for (const key of done.keys.slice(0, 2))
      await secrets.root.write(verify, { key, nonce: done.verification_nonce }).expect(200);
    for (const key of done.keys) expect(await ask(key)).toEqual({ valid: true, t: 2, n: 3 });
    expect(await ask(old[4]!)).toEqual({ valid: false, t: 2, n: 3 });
  });

  it.each([
    [{}, "'key' must be specified in request body as JSON"],
    [{ key: 'zz' }, "'key' must be a valid hex or base64 string"],
    [{ key: 'aabb' }, 'key is shorter than minimum 16 bytes'],
    [{ key: 'aa'.repeat(34) }, 'key is longer than maximum 33 bytes'],
  ])('refuses %j', async (body, message) => {
    await secrets.root.write(check, body).expect(400, { errors: [message] });
  });

  it('needs sudo in the root namespace, and exists only for its kind of seal', async () => {
    const [key] = secrets.recoveryKeys;
    await secrets.anonymous.write(check, { key }).expect(403);
    const limited = await secrets.withPolicy(`path "${check}" { capabilities = ["update"] }`);
    await limited.write(check, { key }).expect(403);
    await secrets.root.write('sys/rekey/check', { key }).expect(400, { errors: ['barrier rekeying not supported'] });
    expect((await secrets.root.write('sys/rotate/recovery/check', { key }).expect(200)).body.data).toHaveProperty(
      'valid',
    );
  });

  it('reports that shares are older than the check, and checks the next ones', async () => {
    const client = new Client({ connectionString: secrets.database.url });
    await client.connect();
    await client.query("DELETE FROM setting WHERE name = 'key-share-marks'");
    await client.end();
    const { body } = await secrets.root.write(check, { key: wrong }).expect(400);
    expect(body.errors).toEqual(['the current shares were created before this check existed; rekey to enable it']);
  });

  // If this failed, a caller with this right could try shares as fast as the machine answers.
  it('is slow for callers who ask repeatedly', async () => {
    // On a slow machine it takes more calls until they are limited.
    await until(async () => {
      const answers = await Promise.all(Array.from({ length: 60 }, () => secrets.root.write(check, { key: wrong })));
      const limited = answers.find(({ status }) => status === 429);
      if (limited) expect(limited.body).toEqual({ errors: ['too many attempts; wait a moment'] });
      return limited !== undefined;
    });
  });
});

describe('key rotation', () => {
  const secrets = startSecrets();

  it('adds a new key and shows its progress; existing data stays readable', async () => {
    await secrets.root.write('cubbyhole/a', { b: 'c' }).expect(204);
    const before = (await secrets.root.read('sys/key-status').expect(200)).body;
    expect(before).toMatchObject({ term: 1, data: { term: 1 } });
    await secrets.root.write('sys/rotate').expect(204);
    expect((await secrets.root.read('sys/key-status').expect(200)).body.term).toBe(2);
    const progress = (await secrets.root.read('sys/rotate/progress').expect(200)).body.data;
    expect(progress).toMatchObject({ running: expect.any(Boolean), values: expect.any(Number) });
    expect((await secrets.root.read('cubbyhole/a').expect(200)).body.data).toEqual({ b: 'c' });
  });
});

describe('a root token from shares', () => {
  const secrets = startSecrets();

  it('is issued to enough holders, without any token, encoded with a one-time password', async () => {
    const attempt = 'sys/generate-root/attempt';
    const { body: idleAttempt } = await secrets.anonymous.read(attempt).expect(200);
    expect(idleAttempt).toMatchObject({ started: false, required: 3, otp: '', otp_length: 26 });
    const { body } = await secrets.anonymous.write(attempt).expect(200);
    const { otp, nonce } = body;
    let last: Record<string, unknown> = {};
    for (const key of secrets.recoveryKeys.slice(0, 3)) {
      last = (await secrets.anonymous.write('sys/generate-root/update', { key, nonce }).expect(200)).body;
    }
    expect(last).toMatchObject({ complete: true, progress: 3 });
    const disguised = Buffer.from(last.encoded_token as string, 'base64');
    const token = Buffer.from(disguised.map((byte, at) => byte ^ (otp as string).charCodeAt(at))).toString();
    const { body: self } = await secrets.as(token).read('auth/token/lookup-self').expect(200);
    expect(self.data.policies).toEqual(['root']);
    await secrets.anonymous.delete(attempt).expect(204);
  });
});
