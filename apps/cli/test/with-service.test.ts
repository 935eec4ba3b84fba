import { createHmac } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import pg from 'pg';
import { type Secrets, startSecrets } from '../../secrets/test/start-secrets';
import { keystead } from './run-keystead';

// Starting complete services is slow on a busy machine.
jest.setTimeout(120_000);

const home = mkdtempSync(join(tmpdir(), 'keystead-cli-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

function against(secrets: Secrets) {
  const address = () => `http://127.0.0.1:${(secrets.server.address() as AddressInfo).port}`;
  return (args: string[], typed: string[] = [], env: Record<string, string> = {}) =>
    keystead(args, { HOME: home, SERVICE_ADDR: address(), ...env }, typed);
}

interface Printed {
  data: Record<string, unknown>;
  auth: { accessor: string; client_token: string; lease_duration: number };
  keys: string[];
  recovery_keys: string[];
  root_token: string;
}

const json = (text: string) => JSON.parse(text) as Printed;

describe('the command line with a new service', () => {
  const run = against(startSecrets({ bare: true }));
  let made: Printed;

  it('reports that the service is not initialised, with the exit code of a sealed service', async () => {
    const { code, printed } = await run(['status']);
    expect(code).toBe(2);
    expect(printed).toMatch(/^initialised +false$/m);
  });

  it('initialises the service, and shows shares and root token once', async () => {
    const { code, printed, said } = await run(['init', '--shares', '3', '--threshold', '2', '--format', 'json']);
    expect(code).toBe(0);
    made = json(printed);
    expect(made.recovery_keys).toHaveLength(3);
    expect(said).toContain('Shown only once');
    expect((await run(['init'])).code).toBe(2);
  });

  it('seals the service, and unseals it with shares from standard input', async () => {
    const root = { SERVICE_TOKEN: made.root_token };
    expect((await run(['seal'], [], root)).code).toBe(0);
    expect((await run(['status'])).code).toBe(2);
    const first = await run(['unseal', '--once'], made.recovery_keys.slice(0, 1));
    expect(first.printed).toMatch(/^progress +1 of 2 shares$/m);
    expect((await run(['unseal', '--reset'])).printed).toMatch(/^progress +0 of 2 shares$/m);
    const opened = await run(['unseal'], made.recovery_keys.slice(1));
    expect(opened.code).toBe(0);
    expect((await run(['read', 'sys/mounts', '--format', 'json'], [], root)).code).toBe(0);
  });
});

describe('the command line', () => {
  const secrets = startSecrets();
  const run = against(secrets);
  const asRoot = () => ({ SERVICE_TOKEN: secrets.rootToken });

  describe('logging in', () => {
    beforeAll(async () => {
      await secrets.root.write('sys/auth/userpass', { type: 'userpass' }).expect(204);
      await secrets.root.write('auth/userpass/users/ada', { password: 'correct horse' }).expect(204);
    });

    it('stores the token in a file that only its owner can read, and deletes it', async () => {
      const file = join(home, '.keystead', 'token');
      expect((await run(['login', 'ada', '--method', 'userpass'], ['correct horse'])).code).toBe(0);
      expect(statSync(file).mode & 0o777).toBe(0o600);
      const { printed } = await run(['token', 'lookup', '--format', 'json']);
      expect(json(printed).data.display_name).toBe('userpass-ada');
      const token = readFileSync(file, 'utf8').trim();
      expect((await run(['logout'])).code).toBe(0);
      expect((await run(['token', 'lookup'], [], { SERVICE_TOKEN: token })).code).toBe(2);
      expect((await run(['token', 'lookup'])).code).toBe(2);
    });

    it('stores nothing if the password is wrong', async () => {
      const { code, said } = await run(['login', 'ada', '--method', 'userpass'], ['wrong']);
      expect(code).toBe(2);
      expect(said).toContain('invalid username or password');
      expect((await run(['token', 'lookup'])).code).toBe(2);
    });

    it('enrols a second factor and asks for its code', async () => {
      const { body } = await secrets.root.write('identity/mfa/method/totp', { issuer: 'Keystead' }).expect(200);
      const method = body.data.method_id as string;
      await secrets.root.write('sys/policies/acl/enrol', {
        policy: 'path "identity/mfa/method/totp/generate" { capabilities = ["update"] }',
      });
      await secrets.root.write('auth/userpass/users/ada', { password: 'correct horse', token_policies: ['enrol'] });
      await run(['login', 'ada', '--method', 'userpass'], ['correct horse']);
      const { printed } = await run(['mfa', 'enrol', method]);
      expect(printed).toMatch(/[█▀▄]/);
      const url = /otpauth:\S+/.exec(printed)?.[0] ?? '';
      expect((await run(['mfa', 'enrol', method])).code).toBe(2);
      await secrets.root
        .write('identity/mfa/login-enforcement/ada', { mfa_method_ids: [method], auth_method_types: ['userpass'] })
        .expect(204);
      expect((await run(['login', 'ada', '--method', 'userpass'], ['correct horse', '000000'])).code).toBe(2);
      expect((await run(['login', 'ada', '--method', 'userpass'], ['correct horse', passcode(url)])).code).toBe(0);
    });
  });

  it('writes text, JSON and files, reads fields, lists and deletes', async () => {
    const file = join(home, 'note.txt');
    writeFileSync(file, 'two\nlines');
    await run(['write', 'cubbyhole/walk/a', 'text=3', 'number:=3', `note=@${file}`, 'empty='], [], asRoot());
    const { printed } = await run(['read', 'cubbyhole/walk/a', '--format', 'json'], [], asRoot());
    expect(json(printed).data).toEqual({ text: '3', number: 3, note: 'two\nlines', empty: '' });
    expect((await run(['read', 'cubbyhole/walk/a', '--field', 'note'], [], asRoot())).printed).toBe('two\nlines');
    expect((await run(['read', 'cubbyhole/walk/a', '--field', 'nothing'], [], asRoot())).code).toBe(1);
    expect((await run(['list', 'cubbyhole/walk'], [], asRoot())).printed).toBe('a\n');
    expect((await run(['delete', 'cubbyhole/walk/a'], [], asRoot())).code).toBe(0);
    expect((await run(['list', 'cubbyhole/walk'], [], asRoot())).code).toBe(2);
    // If this failed, a value stored by another user could control the reader's terminal. Names never contain such
    // characters.
    await secrets.root.write('cubbyhole/odd/a%c2%9b2J', { note: 'x' }).expect(400);
    await secrets.root.write('cubbyhole/odd/a', { note: '\u001b[2J\u0007x\ny\u009b2J' }).expect(204);
    const odd = await run(['read', 'cubbyhole/odd/a'], [], asRoot());
    expect(odd.printed).toContain('\\x1b[2J\\x07x');
    expect(odd.printed).not.toMatch(/[\u001b\u0007\u009b]/);
  });

  it('creates, renews and revokes tokens by accessor', async () => {
    const made = json(
      (await run(['token', 'create', '--policy', 'default', '--ttl', '1h', '--format', 'json'], [], asRoot())).printed,
    );
    const { accessor, client_token } = made.auth;
    const renewed = await run(
      ['token', 'renew', '--accessor', accessor, '--increment', '30m', '--format', 'json'],
      [],
      asRoot(),
    );
    expect(json(renewed.printed).auth.lease_duration).toBe(1800);
    expect((await run(['token', 'lookup', '--accessor', accessor], [], asRoot())).printed).toContain('default');
    expect((await run(['token', 'revoke', '--accessor', accessor], [], asRoot())).code).toBe(0);
    expect((await run(['token', 'lookup'], [], { SERVICE_TOKEN: client_token })).code).toBe(2);
  });

  it('writes, prints, lists and deletes policies, and shows the position of a mistake', async () => {
    const file = join(home, 'policy.hcl');
    writeFileSync(file, 'path "a/*" { capabilities = ["read"] }\n');
    expect((await run(['policy', 'write', 'walk', file], [], asRoot())).code).toBe(0);
    expect((await run(['policy', 'read', 'walk'], [], asRoot())).printed).toContain('path "a/*"');
    expect((await run(['policy', 'list'], [], asRoot())).printed.split('\n')).toContain('walk');
    writeFileSync(file, 'path "a/*" { capabilities = ["raed"] }\n');
    const { code, said } = await run(['policy', 'write', 'walk', file], [], asRoot());
    expect(code).toBe(2);
    expect(said).toContain('raed');
    expect((await run(['policy', 'delete', 'walk'], [], asRoot())).code).toBe(0);
  });

  it('guides through a rekey, and continues its verification after an interruption', async () => {
    const [one, two, three] = secrets.recoveryKeys as [string, string, string];
    const right = await run(['rekey', 'check'], [three], asRoot());
    expect([right.code, right.printed]).toEqual([0, expect.stringMatching(/^still valid +true$/m)]);
    const args = ['rekey', '--shares', '2', '--threshold', '2'];
    const begun = await run(['--format', 'json', ...args], [one, two, three], asRoot());
    // Standard input ended before the new shares were verified: the old ones are still valid.
    expect(begun.code).toBe(1);
    const shown = json(begun.printed);
    expect(shown.keys).toHaveLength(2);
    expect((await run(['rekey', 'status'], [], asRoot())).printed).toMatch(/^started +true$/m);
    const verified = await run(args, shown.keys, asRoot());
    expect([verified.code, verified.said]).toEqual([0, expect.stringContaining('done')]);
    expect((await run(['rekey', 'status'], [], asRoot())).printed).toMatch(/^started +false$/m);
    expect((await run(['rekey', 'check'], [three], asRoot())).code).toBe(2);
    expect((await run(['rekey', 'check'], shown.keys.slice(1), asRoot())).code).toBe(0);
    expect((await run(['rekey', '-nonce=other'], [one], asRoot())).code).toBe(2);
    const init = await run(['--format', 'json', 'rekey', '-init', '-key-shares=2', '-key-threshold=2'], [], asRoot());
    expect(json(init.printed)).toMatchObject({ started: true, progress: 0 });
    expect((await run(['rekey', '-init'], [], asRoot())).code).toBe(2);
    expect((await run(['rekey', '-nonce=other'], [one], asRoot())).code).toBe(2);
    expect((await run(['rekey', '-status'], [], asRoot())).printed).toMatch(/^started +true$/m);
    const given = await run(['rekey', `-nonce=${JSON.parse(init.printed).nonce}`], shown.keys.slice(0, 1), asRoot());
    expect(given.said).toContain('1 of 2 shares');
    expect((await run(['rekey', '-cancel'], [], asRoot())).code).toBe(0);
    await run([...args, '--no-verify'], [], asRoot());
    expect((await run(['rekey'], [one, two], asRoot())).code).toBe(2);
    expect((await run(['rekey', 'cancel'], [], asRoot())).code).toBe(0);
  });
});

describe('the command line with an audit table', () => {
  const secrets = startSecrets({ env: { SECRETS_AUDIT_TABLE: 'on' } });
  const run = against(secrets);
  const asRoot = () => ({ SERVICE_TOKEN: secrets.rootToken });

  it('reports that the table is intact, and notices changed and removed rows', async () => {
    const heads = join(home, 'heads.json');
    await run(['write', 'cubbyhole/one', 'a=1'], [], asRoot());
    await run(['write', 'cubbyhole/two', 'a=2'], [], asRoot());
    const whole = await run(['audit', 'verify', '--heads', heads], [], asRoot());
    expect(whole.code).toBe(0);
    expect(whole.printed).toMatch(/^whole +true$/m);
    expect((await run(['audit', 'verify', '--heads', heads], [], asRoot())).code).toBe(0);
    await onDatabase(secrets.database.url, 'DELETE FROM audit_record');
    const emptied = await run(['audit', 'verify'], [], asRoot());
    expect([emptied.code, emptied.said]).toEqual([2, expect.stringContaining('nothing is recorded')]);
    const cut = await run(['audit', 'verify', '--heads', heads], [], asRoot());
    expect([cut.code, cut.said]).toEqual([2, expect.stringMatching(/\S/)]);
  });
});

describe('the command line without the audit table', () => {
  const secrets = startSecrets();
  const run = against(secrets);

  it('reports that nothing is recorded, with exit code 2', async () => {
    const { code, said } = await run(['audit', 'verify'], [], { SERVICE_TOKEN: secrets.rootToken });
    expect([code, said]).toEqual([2, expect.stringContaining('SECRETS_AUDIT_TABLE is off')]);
  });
});

async function onDatabase(url: string, sql: string): Promise<void> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(sql);
  await client.end();
}

function passcode(url: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';
  const secret = new URL(url).searchParams.get('secret') ?? '';
  const bits = [...secret].map((letter) => alphabet.indexOf(letter).toString(2).padStart(5, '0')).join('');
  const key = Buffer.from((bits.match(/.{8}/g) ?? []).map((byte) => Number.parseInt(byte, 2)));
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(BigInt(Math.floor(Date.now() / 30_000)));
  const hash = createHmac('sha1', key).update(counter).digest();
  const number = hash.readUInt32BE((hash[19] ?? 0) & 15) & 0x7fffffff;
  return String(number % 1_000_000).padStart(6, '0');
}
