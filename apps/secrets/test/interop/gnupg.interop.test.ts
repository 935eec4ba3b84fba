import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { keystead } from '../../../cli/test/run-keystead';
import { startSecrets } from '../start-secrets';

const installed = hasGnupg();
if (!installed) process.stderr.write('skipped: no gpg here, so no key shares are decrypted with GnuPG\n');
const withGnupg = installed ? describe : describe.skip;

// Key shares encrypted to keys of GnuPG, decrypted as their holders would.
withGnupg('key shares for holders with GnuPG', () => {
  const secrets = startSecrets();
  // Short, because the socket of its agent is in it.
  const home = mkdtempSync(path.join(tmpdir(), 'gpg-'));
  const gpg = (args: readonly string[], input?: Buffer) =>
    execFileSync(
      'gpg',
      ['--homedir', home, '--batch', '--quiet', '--pinentry-mode', 'loopback', '--passphrase', '', ...args],
      {
        input,
        stdio: ['pipe', 'pipe', 'pipe'],
      },
    );
  const decrypt = (hex: string) => gpg(['--decrypt'], Buffer.from(hex, 'hex')).toString();
  const holders: { name: string; print: string }[] = [];
  const binary = (print: string) => gpg(['--export', print]);
  const armoured = (print: string) => gpg(['--armor', '--export', print]);
  const file = (name: string, content: Buffer) => {
    const at = path.join(home, name);
    writeFileSync(at, content);
    return at;
  };

  beforeAll(() => {
    for (const [name, sign, encrypt] of [
      ['rsa', 'rsa3072', 'rsa3072'],
      ['cv25519', 'ed25519', 'cv25519'],
      ['nistp256', 'nistp256', 'nistp256'],
    ] as const) {
      gpg(['--quick-generate-key', `${name} <${name}@example.com>`, sign, 'cert', 'never']);
      const listed = gpg(['--list-keys', '--with-colons', `${name}@example.com`]).toString();
      const print = /^fpr:+([0-9A-F]{40}):/m.exec(listed)![1]!;
      gpg(['--quick-add-key', print, encrypt, 'encr', 'never']);
      holders.push({ name, print: print.toLowerCase() });
    }
  }, 120_000);
  afterAll(() => {
    execFileSync('gpgconf', ['--homedir', home, '--kill', 'all']);
    rmSync(home, { recursive: true, force: true });
  });

  const init = 'sys/rekey-recovery-key/init';
  const update = 'sys/rekey-recovery-key/update';
  const rekey = async (shares: readonly string[], body: object) => {
    const { nonce } = (await secrets.root.write(init, body).expect(200)).body;
    let last: Record<string, unknown> = {};
    for (const key of shares) last = (await secrets.root.write(update, { key, nonce }).expect(200)).body;
    return last as { nonce: string; keys: string[]; keys_base64: string[]; pgp_fingerprints: string[] };
  };
  let shares: string[] = [];

  it('are decrypted with RSA, Curve25519 and NIST keys, from the answer and from the backup', async () => {
    const prints = holders.map(({ print }) => print);
    const done = await rekey(secrets.recoveryKeys.slice(0, 3), {
      secret_shares: 3,
      secret_threshold: 2,
      pgp_keys: prints.map((print) => binary(print).toString('base64')),
      backup: true,
    });
    expect(done.pgp_fingerprints).toEqual(prints);
    shares = done.keys.map(decrypt);
    for (const share of shares) expect(share).toMatch(/^[0-9a-f]{66}$/);
    expect(done.keys_base64.map((text) => gpg(['--decrypt'], Buffer.from(text, 'base64')).toString())).toEqual(shares);
    const { body } = await secrets.root.read('sys/rekey/recovery-key-backup').expect(200);
    expect(body.nonce).toBe(done.nonce);
    expect(prints.map((print) => decrypt(body.keys[print]))).toEqual(shares);
    for (const key of shares) {
      const check = await secrets.root.write('sys/rekey-recovery-key/check', { key }).expect(200);
      expect(check.body.valid).toBe(true);
    }
  });

  it('are active once two holders have confirmed them', async () => {
    const done = await rekey(shares.slice(1), { secret_shares: 1, secret_threshold: 1 });
    expect(done.keys).toEqual([expect.stringMatching(/^[0-9a-f]{64}$/)]);
    shares = done.keys;
  });

  it('work through the command line with armoured and binary key files, and are verified with the decrypted shares', async () => {
    const [rsa, ecc] = holders as unknown as [{ print: string }, { print: string }];
    const files = [file('rsa.asc', armoured(rsa.print)), file('ecc.gpg', binary(ecc.print))];
    const { port } = secrets.server.address() as AddressInfo;
    const env = { HOME: home, SERVICE_ADDR: `http://127.0.0.1:${port}`, SERVICE_TOKEN: secrets.rootToken };
    const begin = ['--format', 'json', 'rekey', '--shares', '2', '--threshold', '2', '--backup', '--pgp-key', ...files];
    const begun = await keystead(begin, env, shares);
    const shown = JSON.parse(begun.printed) as { keys: string[]; pgp_fingerprints: string[] };
    expect(shown.pgp_fingerprints).toEqual([rsa.print, ecc.print]);
    const decrypted = shown.keys.map(decrypt);
    const verified = await keystead(['rekey'], env, decrypted);
    expect([verified.code, verified.said]).toEqual([0, expect.stringContaining('done')]);
    expect((await keystead(['rekey', 'check'], env, decrypted.slice(0, 1))).code).toBe(0);
    expect((await keystead(['rekey', 'check'], env, shares)).code).toBe(2);
    shares = decrypted;
  });

  it('a root token can be encrypted to a holder, too', async () => {
    const pgp_key = binary(holders[1]!.print).toString('base64');
    const { nonce } = (await secrets.anonymous.write('sys/generate-root/attempt', { pgp_key }).expect(200)).body;
    let last: Record<string, unknown> = {};
    for (const key of shares) {
      last = (await secrets.anonymous.write('sys/generate-root/update', { key, nonce }).expect(200)).body;
    }
    expect(last).toMatchObject({ complete: true, pgp_fingerprint: holders[1]!.print });
    const token = gpg(['--decrypt'], Buffer.from(String(last.encoded_token), 'base64')).toString();
    const self = await secrets.as(token).read('auth/token/lookup-self').expect(200);
    expect(self.body.data.policies).toEqual(['root']);
  });

  it('are refused for a key without an encryption subkey, and for a key in armour', async () => {
    gpg(['--quick-generate-key', 'signer <signer@example.com>', 'ed25519', 'cert', 'never']);
    const one = { secret_shares: 1, secret_threshold: 1 };
    const refused = async (key: Buffer) =>
      (await secrets.root.write(init, { ...one, pgp_keys: [key.toString('base64')] }).expect(400)).body.errors[0];
    expect(await refused(gpg(['--export', 'signer@example.com']))).toContain('no usable encryption key');
    expect(await refused(armoured(holders[0]!.print))).toContain('tag byte does not have MSB set');
  });
});

function hasGnupg(): boolean {
  try {
    execFileSync('gpg', ['--version'], { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}
