import { randomUUID } from 'node:crypto';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { combineShares, type SealKeys } from '@keystead/keyring';
import { freshDatabase, type TestDatabase } from '@keystead/testing';
import { createMessage, decrypt, generateKey, readKey, readMessage, readPrivateKey } from 'openpgp';
import pg from 'pg';
import { until } from '../../../test/fresh-storage';
import { StorageKernel } from '../storage/storage';
import { add, newWriteSet } from '../storage/write-set';
import { RootGeneration } from './generate-root';
import { Rekey, type RekeyRequest, type RekeyResult } from './rekey';
import { Rotation } from './rotation';
import { Seal, type SealOptions } from './seal';
import { sealedColumns } from './sealed-columns';

const mountId = randomUUID();
const key = (fill: number) => Buffer.alloc(32, fill);
/** The share with a different first byte. */
const changed = (share: string) => `${share.startsWith('00') ? '11' : '00'}${share.slice(2)}`;
let database: TestDatabase;
let running: Node[] = [];
let crash: string | undefined;

interface Node {
  storage: StorageKernel;
  seal: Seal;
  rotation: Rotation;
}

async function node(options: Partial<SealOptions> & { keys?: () => SealKeys } = {}): Promise<Node> {
  const storage = new StorageKernel({
    url: database.url,
    maxConnections: 4,
    fault: (name) => {
      if (name === crash) throw new Error(`stopped at ${name}`);
    },
  });
  const seal = new Seal(storage, { type: 'auto', sealKeys: options.keys ?? (() => ({ current: key(1) })), ...options });
  const rotation = new Rotation(storage, seal);
  const parts = { storage, seal, rotation };
  running.push(parts);
  await storage.start();
  await seal.start();
  return parts;
}

async function fresh() {
  database = await freshDatabase('secrets');
}

async function put({ storage }: Node, path: string, value: string) {
  const set = newWriteSet();
  add(set, 'puts', { mountId, path, value: Buffer.from(value) });
  await storage.committer.commit(set);
}
const read = async ({ storage }: Node, path: string) =>
  (await storage.entries.read({ mountId, path }))?.value.toString();
const init = async ({ seal }: Node, shares = 5, threshold = 3) =>
  (await seal.init({ shares, threshold }, () => undefined)).shares.map((share) => share.toString('hex'));

async function end() {
  await Promise.all(running.map(({ storage }) => storage.stop()));
  running = [];
  await database.drop();
}

describe('an auto seal', () => {
  beforeAll(fresh);
  afterAll(end);

  it('unseals itself at every start, without storing the recovery key', async () => {
    const first = await node();
    expect(await first.seal.status()).toMatchObject({ initialised: false, sealed: true, recoverySeal: true });
    const shares = await init(first);
    expect(shares).toHaveLength(5);
    for (const share of shares) expect(share).toMatch(/^[0-9a-f]{66}$/);
    await put(first, 'kept', 'yes');
    const second = await node();
    expect(await read(second, 'kept')).toBe('yes');
    // If this failed, anyone who reads the database could unseal, rekey and make root tokens.
    const recovery = await combineShares(shares.slice(0, 3).map((share) => Buffer.from(share, 'hex')));
    const client = new pg.Client(database.url);
    await client.connect();
    const { rows } = await client.query('SELECT s.*::text AS row FROM seal s');
    await client.end();
    expect(JSON.stringify(rows)).not.toContain(recovery.toString('hex'));
    await expect(first.seal.init({ shares: 1, threshold: 1 }, () => undefined)).rejects.toThrow(
      'Service is already initialized',
    );
  });

  it('is sealed on all nodes within a second and unsealed with recovery shares at any', async () => {
    const [first, second] = running as [Node, Node];
    const generation = new Rekey(first.storage, first.seal, 'recovery');
    // New shares, because this test does not have those of the first test.
    await first.storage.committer.transaction(async () => {});
    expect(await generation.status()).toMatchObject({ started: false, required: 3 });
    await second.seal.seal();
    expect(second.seal.sealed).toBe(true);
    await until(() => first.seal.sealed);
    await expect(read(first, 'kept')).rejects.toMatchObject({ kind: 'sealed' });
    const third = await node();
    expect(third.seal.sealed).toBe(true);
  });

  it('accepts only the right shares, and discards wrong ones', async () => {
    await end();
    await fresh();
    const first = await node();
    const shares = await init(first);
    const other = await node();
    await first.seal.seal();
    await until(() => other.seal.sealed);
    expect(await other.seal.unseal(shares[0]!)).toMatchObject({ progress: 1, sealed: true, threshold: 3 });
    expect((await other.seal.unseal(shares[0]!)).progress).toBe(1);
    expect((await other.seal.resetUnseal()).progress).toBe(0);
    for (const share of [shares[0]!, shares[1]!]) await other.seal.unseal(share);
    await expect(other.seal.unseal(changed(shares[2]!))).rejects.toMatchObject({ kind: 'invalid' });
    expect((await other.seal.status()).progress).toBe(0);
    await expect(other.seal.unseal('no share')).rejects.toThrow("'key' must be a valid hex or base64 string");
    for (const share of shares.slice(2)) await other.seal.unseal(share);
    expect(other.seal.sealed).toBe(false);
    await until(() => !first.seal.sealed);
    expect(await other.seal.unseal(shares[0]!)).toMatchObject({ sealed: false, progress: 0 });
  });

  it('migrates to a new seal key: opened with the previous one, wrapped with the current one', async () => {
    const [first] = running as [Node];
    await put(first, 'kept', 'still');
    const changed = await node({ keys: () => ({ current: key(2), previous: key(1) }) });
    expect(await read(changed, 'kept')).toBe('still');
    const single = await node({ keys: () => ({ current: key(2) }) });
    expect(await read(single, 'kept')).toBe('still');
    await expect(node({ keys: () => ({ current: key(3) }) })).rejects.toThrow('the seal key does not open');
  });

  it('is initialised once under simultaneous requests', async () => {
    await end();
    await fresh();
    const nodes = await Promise.all([node(), node(), node()]);
    const tries = await Promise.allSettled(nodes.map((one) => init(one)));
    expect(tries.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await until(() => nodes.every(({ seal }) => !seal.sealed));
    await put(nodes[0]!, 'same', 'keys');
    expect(await read(nodes[1]!, 'same')).toBe('keys');
  });
});

describe('a Shamir seal', () => {
  beforeAll(fresh);
  afterAll(end);
  const shamir = { type: 'shamir', sealKeys: undefined } as const;

  it('stays sealed at start until each node gets its shares', async () => {
    const first = await node(shamir);
    const shares = await init(first, 3, 2);
    await put(first, 'kept', 'yes');
    const second = await node(shamir);
    expect(await second.seal.status()).toMatchObject({ type: 'shamir', sealed: true, threshold: 2, shares: 3 });
    await second.seal.unseal(shares[2]!);
    expect(await second.seal.unseal(Buffer.from(shares[0]!, 'hex').toString('base64'))).toMatchObject({
      sealed: false,
    });
    expect(await read(second, 'kept')).toBe('yes');
    await second.rotation.rotate();
    await put(second, 'after', 'rotation');
    await until(async () => (await first.rotation.keyStatus()).term === 2);
    expect(await read(first, 'after')).toBe('rotation');
  });

  it('gets new shares by a rekey', async () => {
    const [first] = running as [Node];
    await end();
    await fresh();
    expect(first).toBeDefined();
    const opened = await node(shamir);
    const old = await init(opened, 3, 2);
    await put(opened, 'kept', 'yes');
    const rekey = new Rekey(opened.storage, opened.seal, 'barrier');
    const { nonce } = await rekey.start({
      shares: 2,
      threshold: 2,
      pgpKeys: [],
      backup: false,
      requireVerification: false,
    });
    await rekey.update(old[0]!, nonce);
    const result = await rekey.update(old[1]!, nonce);
    const fresher = 'keys' in result ? result.keys.map((one) => one.toString('hex')) : [];
    expect(fresher).toHaveLength(2);
    const again = await node(shamir);
    await again.seal.unseal(old[0]!);
    await expect(again.seal.unseal(old[1]!)).rejects.toMatchObject({ kind: 'invalid' });
    await again.seal.unseal(fresher[0]!);
    expect((await again.seal.unseal(fresher[1]!)).sealed).toBe(false);
    expect(await read(again, 'kept')).toBe('yes');
    await opened.rotation.rotate();
  });

  it('refuses invalid counts', async () => {
    await end();
    await fresh();
    const one = await node(shamir);
    for (const [shares, threshold, message] of [
      [0, 0, 'shares must be at least one'],
      [3, 0, 'threshold must be at least one'],
      [256, 2, 'shares must be less than 256'],
      [2, 3, 'threshold cannot be larger than shares'],
      [3, 1, 'threshold must be greater than one for multiple shares'],
    ] as const) {
      await expect(one.seal.init({ shares, threshold }, () => undefined)).rejects.toThrow(message);
    }
    const [share] = await init(one, 1, 1);
    expect(share).toMatch(/^[0-9a-f]{64}$/);
  });
});

describe('rotating the key', () => {
  beforeAll(fresh);
  afterAll(end);
  afterEach(() => {
    crash = undefined;
  });

  it('encrypts new values with the new key at once, and old ones in the background, in every table', async () => {
    const first = await node();
    await init(first);
    const second = await node();
    for (let index = 0; index < 1200; index += 100) {
      await Promise.all(Array.from({ length: 100 }, (_, at) => put(first, `row/${index + at}`, `v${index + at}`)));
    }
    await put(first, 'row/0', 'rewritten');
    const status = await first.rotation.rotate();
    expect(status.term).toBe(2);
    await put(first, 'new', 'x');
    await until(async () => (await first.rotation.progress())?.running === false);
    expect((await first.rotation.progress())!.done).toBeGreaterThanOrEqual(1200);
    const client = new pg.Client(database.url);
    await client.connect();
    const { rows } = await client.query(`SELECT DISTINCT substring(sealed FROM 2 FOR 4) AS version FROM entry`);
    await client.end();
    expect(rows.map((row) => row.version.readUInt32BE(0))).toEqual([2]);
    for (const one of [first, second]) {
      one.storage.changes.applyAll();
      expect(await read(one, 'row/0')).toBe('rewritten');
      expect(await read(one, 'row/777')).toBe('v777');
      expect(await read(one, 'new')).toBe('x');
    }
    const restarted = await node();
    expect(await read(restarted, 'row/1199')).toBe('v1199');
  });

  it('knows every sealed column of the schema', async () => {
    const client = new pg.Client(database.url);
    await client.connect();
    const { rows } = await client.query(
      `SELECT table_name, column_name FROM information_schema.columns
        WHERE table_schema = 'public' AND data_type = 'bytea' AND column_name LIKE 'sealed%' ORDER BY 1, 2`,
    );
    await client.end();
    const listed = sealedColumns.map(({ table, column }) => `${table}.${column}`).sort();
    expect(listed).toEqual(rows.map((row) => `${row.table_name}.${row.column_name}`).sort());
  });
});

describe('generating a root token from shares', () => {
  beforeAll(fresh);
  afterAll(end);

  it('returns it encoded with a one-time password, for enough shares', async () => {
    const one = await node();
    const shares = await init(one);
    const other = await node();
    const minted: string[] = [];
    const mint = () => {
      minted.push(`s.${String(minted.length).repeat(24)}`);
      return minted.at(-1)!;
    };
    const here = new RootGeneration(one.storage, one.seal, mint);
    const there = new RootGeneration(other.storage, other.seal, mint);
    await expect(here.start({ otp: 'short' })).rejects.toThrow('OTP string has incorrect length');
    const { otp, nonce, otpLength } = await here.start({});
    expect(otp).toHaveLength(otpLength);
    await expect(there.start({})).rejects.toThrow('root generation already in progress');
    expect(await there.status()).toMatchObject({ started: true, progress: 0, required: 3, otp: '' });
    await here.update(shares[0]!, nonce);
    await expect(there.update(shares[0]!, nonce)).rejects.toThrow('already been provided');
    expect(await there.update(shares[1]!, nonce)).toMatchObject({ progress: 2, complete: false });
    await expect(here.update(shares[2]!, randomUUID())).rejects.toThrow(`operation is "${nonce}"`);
    const result = await here.update(shares[2]!, nonce);
    expect(result.complete).toBe(true);
    const bytes = Buffer.from(result.encodedToken, 'base64').map((byte, at) => byte ^ otp.charCodeAt(at));
    expect(Buffer.from(bytes).toString()).toBe(minted[0]);
    expect(await there.status()).toMatchObject({ started: false, progress: 0 });
  });

  it('refuses wrong shares and limits their rate', async () => {
    const [one] = running as [Node];
    const generation = new RootGeneration(one.storage, one.seal, () => {
      throw new Error('must not be made');
    });
    const { nonce } = await generation.start({});
    const wrong = ['aa', 'bb', 'cc'].map((byte, at) => `${byte.repeat(32)}0${at + 1}`);
    for (const share of wrong) await expect(generation.update(share, nonce)).rejects.toThrow('verification failed');
    const hurry = await Promise.allSettled(Array.from({ length: 60 }, () => generation.update(wrong[0]!, 'no nonce')));
    const kinds = hurry.map((one) => (one.status === 'rejected' ? (one.reason as { kind?: string }).kind : ''));
    expect(new Set(kinds)).toEqual(new Set(['invalid', 'limited']));
    expect(kinds.filter((kind) => kind === 'invalid').length).toBeLessThan(30);
    expect(await generation.status()).toMatchObject({ started: true, progress: 0 });
    await generation.cancel();
    expect(await generation.status()).toMatchObject({ started: false });
  });
});

describe('a recovery rekey', () => {
  beforeAll(fresh);
  afterAll(end);
  let shares: string[];
  let one: Rekey;
  let two: Rekey;
  const request = (more: Partial<RekeyRequest> = {}): RekeyRequest => ({
    shares: 3,
    threshold: 2,
    pgpKeys: [],
    backup: false,
    requireVerification: false,
    ...more,
  });
  const keysOf = (result: object) =>
    'keys' in result ? (result.keys as Buffer[]).map((one) => one.toString('hex')) : [];

  beforeAll(async () => {
    const first = await node();
    shares = await init(first);
    const second = await node();
    one = new Rekey(first.storage, first.seal, 'recovery');
    two = new Rekey(second.storage, second.seal, 'recovery');
  });

  it('is idle at first and shows the counts of the current shares', async () => {
    expect(await one.status()).toEqual({
      nonce: '',
      started: false,
      threshold: 0,
      shares: 0,
      progress: 0,
      required: 3,
      pgpFingerprints: null,
      backup: false,
      verificationRequired: false,
      verificationNonce: undefined,
    });
    await expect(one.verifyStatus()).rejects.toThrow('no rekey configuration found');
    await expect(one.update(shares[0]!, '')).rejects.toThrow('no recovery rekey in progress');
    await expect(one.verify(shares[0]!, '')).rejects.toThrow('no rekey in progress');
    await one.cancel();
  });

  it.each([
    [{ backup: true }, 'cannot request a backup of the new keys without providing PGP keys for encryption'],
    [{ pgpKeys: ['aaaa'] }, 'incorrect number of PGP keys for rekey'],
    [{ shares: 0 }, 'invalid recovery configuration: shares must be at least one'],
    [{ threshold: 0 }, 'invalid recovery configuration: threshold must be at least one'],
    [{ threshold: 4 }, 'invalid recovery configuration: threshold cannot be larger than shares'],
    [{ threshold: 1 }, 'invalid recovery configuration: threshold must be greater than one for multiple shares'],
    [{ shares: 256 }, 'invalid recovery configuration: shares must be less than 256'],
    [{ shares: 1, threshold: 1, pgpKeys: ['!!!!'] }, 'illegal base64 data at input byte 0'],
    [
      { shares: 1, threshold: 1, pgpKeys: [Buffer.from('-----BEGIN').toString('base64')] },
      'tag byte does not have MSB set',
    ],
  ])('refuses %j', async (more, message) => {
    await expect(one.start(request(more))).rejects.toThrow(message);
    expect((await one.status()).started).toBe(false);
  });

  it('checks nonce, encoding, length and repetition of every share', async () => {
    const { nonce } = await one.start(request());
    await expect(two.start(request())).rejects.toThrow('rekey already in progress');
    await expect(one.update('zz', nonce)).rejects.toThrow('must be a valid hex or base64 string');
    await expect(one.update('aabb', nonce)).rejects.toThrow('key is shorter than minimum 16 bytes');
    await expect(one.update('aa'.repeat(34), nonce)).rejects.toThrow('key is longer than maximum 33 bytes');
    await expect(one.update(shares[0]!, 'other')).rejects.toThrow(
      `incorrect nonce supplied; nonce for this rekey operation is "${nonce}"`,
    );
    expect(await one.update(shares[0]!, nonce)).toMatchObject({ progress: 1, started: true });
    await expect(two.update(shares[0]!, nonce)).rejects.toThrow('given key has already been provided');
    expect(await two.status()).toMatchObject({ progress: 1, nonce });
    await one.update(shares[1]!, nonce);
    await expect(one.update(`${'ee'.repeat(32)}77`, nonce)).rejects.toThrow('recovery key verification failed');
    expect(await one.status()).toMatchObject({ progress: 0, nonce, started: true });
    await two.cancel();
    expect((await one.status()).started).toBe(false);
  });

  it('issues new shares; the old ones become invalid at once', async () => {
    const { nonce } = await one.start(request());
    await one.update(shares[0]!, nonce);
    await two.update(shares[1]!, nonce);
    const result = await one.update(shares[2]!, nonce);
    expect(result).toMatchObject({ nonce, verificationRequired: false, pgpFingerprints: null });
    const fresher = keysOf(result);
    expect(await two.status()).toMatchObject({ started: false, required: 2 });
    const again = await one.start(request());
    await one.update(shares[3]!, again.nonce);
    await expect(one.update(shares[4]!, again.nonce)).rejects.toThrow('does not match');
    await one.cancel();
    shares = fresher;
  });

  it('accepts one of two last shares entered at the same time', async () => {
    const { nonce } = await one.start(request());
    await one.update(shares[0]!, nonce);
    const tries = await Promise.allSettled([one.update(shares[1]!, nonce), two.update(shares[2]!, nonce)]);
    const winners = tries.filter((one) => one.status === 'fulfilled');
    expect(winners).toHaveLength(1);
    shares = keysOf((winners[0] as PromiseFulfilledResult<object>).value);
    expect(shares).toHaveLength(3);
  });

  it('waits for the new shares if verification was requested', async () => {
    const { nonce } = await one.start(request({ requireVerification: true }));
    expect(await one.verifyStatus()).toEqual({ nonce: '', started: false, threshold: 2, shares: 3, progress: 0 });
    await one.update(shares[0]!, nonce);
    const result = await one.update(shares[1]!, nonce);
    const pending = (result as { verificationNonce: string }).verificationNonce;
    const fresher = keysOf(result);
    expect(await two.status()).toMatchObject({ started: true, progress: 0, verificationNonce: pending, nonce });
    await expect(one.update(shares[0]!, nonce)).rejects.toThrow(
      `rekey operation already finished; verification must be performed; nonce for the verification operation is "${pending}"`,
    );
    expect(await two.verify(fresher[0]!, pending)).toMatchObject({ progress: 1 });
    await expect(two.verify(fresher[0]!, pending)).rejects.toThrow(
      'already been provided during this verify operation',
    );
    const reset = await one.restartVerify();
    expect(reset).toMatchObject({ started: true, progress: 0, threshold: 2, shares: 3 });
    expect(reset.nonce).not.toBe(pending);
    await expect(one.verify(fresher[0]!, pending)).rejects.toThrow(
      `nonce for this verify operation is "${reset.nonce}"`,
    );
    await one.verify(fresher[0]!, reset.nonce);
    await expect(one.verify(`${'ee'.repeat(32)}77`, reset.nonce)).rejects.toThrow(
      'rekey verification failed; incorrect key shares supplied',
    );
    const changed = await one.verifyStatus();
    expect(changed).toMatchObject({ progress: 0, started: true });
    expect(changed.nonce).not.toBe(reset.nonce);
    await one.verify(fresher[0]!, changed.nonce);
    expect(await two.verify(fresher[1]!, changed.nonce)).toEqual({ nonce: changed.nonce, complete: true });
    await expect(one.verifyStatus()).rejects.toThrow('no rekey configuration found');
    shares = fresher;
    const check = await one.start(request());
    await one.update(shares[1]!, check.nonce);
    shares = keysOf(await one.update(shares[2]!, check.nonce));
    expect(shares).toHaveLength(3);
  });

  it('keeps the old shares valid when cancelled during verification', async () => {
    const { nonce } = await one.start(request({ requireVerification: true }));
    await one.update(shares[0]!, nonce);
    await one.update(shares[1]!, nonce);
    await one.cancel();
    const { nonce: again } = await one.start(request());
    await one.update(shares[0]!, again);
    shares = keysOf(await one.update(shares[1]!, again));
    expect(shares).toHaveLength(3);
  });

  it('encrypts shares to the given keys, and stores them on request', async () => {
    const { publicKey, privateKey } = await generateKey({
      type: 'ecc',
      userIDs: [{ name: 'a holder' }],
      format: 'object',
    });
    const text = Buffer.from(publicKey.write()).toString('base64');
    const fingerprint = (await readKey({ binaryKey: publicKey.write() })).getFingerprint().toLowerCase();
    const { nonce, pgpFingerprints } = await one.start(request({ pgpKeys: [text, text, text], backup: true }));
    expect(pgpFingerprints).toEqual([fingerprint, fingerprint, fingerprint]);
    await one.update(shares[0]!, nonce);
    const result = await one.update(shares[1]!, nonce);
    const open = async (message: Buffer) => {
      const decryptionKeys = await readPrivateKey({ binaryKey: privateKey.write() });
      const { data } = await decrypt({ message: await readMessage({ binaryMessage: message }), decryptionKeys });
      return data as string;
    };
    const messages = (result as RekeyResult).keys;
    shares = await Promise.all(messages.map(open));
    for (const share of shares) expect(share).toMatch(/^[0-9a-f]{66}$/);
    const backup = (await two.findBackup())!;
    expect(backup.nonce).toBe(nonce);
    expect(backup.keys.get(fingerprint)!.map((one) => one.toString('hex'))).toEqual(
      messages.map((one) => one.toString('hex')),
    );
    await two.deleteBackup();
    expect(await one.findBackup()).toBeUndefined();
    expect(await createMessage({ text: '' })).toBeDefined();
    const check = await one.start(request());
    await one.update(shares[0]!, check.nonce);
    expect(keysOf(await one.update(shares[2]!, check.nonce))).toHaveLength(3);
  });

  it('is refused by a seal without recovery keys', async () => {
    const [first] = running as [Node];
    const barrier = new Rekey(first.storage, first.seal, 'barrier');
    await expect(barrier.status()).rejects.toThrow('barrier rekeying not supported');
  });
});
