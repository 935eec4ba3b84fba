import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { newPublicKey } from '../../secrets/test/pgp-key';
import { startSecrets } from '../../secrets/test/start-secrets';
import { keystead } from './run-keystead';

// Starting complete services is slow on a busy machine.
jest.setTimeout(120_000);

const home = mkdtempSync(join(tmpdir(), 'keystead-generate-root-'));
afterAll(() => rmSync(home, { recursive: true, force: true }));

describe('keystead operator generate-root', () => {
  const secrets = startSecrets();
  const run = (args: string[], typed: string[] = [], env: Record<string, string> = {}) =>
    keystead(
      [...args],
      {
        HOME: home,
        SERVICE_ADDR: `http://127.0.0.1:${(secrets.server.address() as AddressInfo).port}`,
        ...env,
      },
      typed,
    );
  const generate = (args: string[], typed: string[] = []) => run(['operator', 'generate-root', ...args], typed);
  const shares = () => secrets.recoveryKeys.slice(0, 3);
  const tokenIn = (printed: string) => /^root token +(\S+)$/m.exec(printed)?.[1] ?? '';
  const fieldIn = (name: string, printed: string) => new RegExp(`^${name} +(\\S+)$`, 'm').exec(printed)?.[1] ?? '';
  const isRoot = async (token: string) => {
    const { printed } = await run(['token', 'lookup', '--format', 'json'], [], { SERVICE_TOKEN: token });
    return printed !== '' && JSON.parse(printed).data.policies[0] === 'root';
  };
  beforeEach(async () => {
    const { printed } = await generate(['--status']);
    if (/^started +true$/m.test(printed)) await generate(['--cancel']);
  });

  it('guides a person who has lost every root token to a new one', async () => {
    const before = await run(['token', 'revoke', '--self'], [], { SERVICE_TOKEN: secrets.rootToken });
    expect(before.code).toBe(0);
    const walked = await generate([], shares());
    expect([walked.code, walked.said]).toEqual([0, expect.stringContaining('2 of 3 shares')]);
    const token = tokenIn(walked.printed);
    expect(await isRoot(token)).toBe(true);
    // No share is printed, and the one-time password is no longer needed.
    for (const share of shares()) expect(walked.said + walked.printed).not.toContain(share);
    expect((await generate(['--status'])).printed).toMatch(/^started +false$/m);
    const json = await run(['--format', 'json', 'operator', 'generate-root'], shares());
    expect(await isRoot(JSON.parse(json.printed).token)).toBe(true);
  });

  it('lets several people enter their shares on their own machines, and only the initiator read the token', async () => {
    const begun = await generate(['--init']);
    const nonce = fieldIn('nonce', begun.printed);
    const otp = fieldIn('one-time password', begun.printed);
    expect([begun.code, nonce, otp]).toEqual([0, expect.stringMatching(/^[0-9a-f-]{36}$/), expect.stringMatching(/./)]);
    // Each holder gives one share; when input ends, the attempt stays, and the output says how to continue.
    for (const share of shares().slice(0, 2)) {
      const given = await generate(['--nonce', nonce], [share]);
      expect([given.code, given.said]).toEqual([1, expect.stringContaining(`generate-root --nonce ${nonce}`)]);
    }
    expect((await generate(['--status'])).printed).toMatch(/^shares +2 of 3 shares$/m);
    const last = await generate(['--nonce', nonce], shares().slice(2));
    const encoded = fieldIn('encoded token', last.printed);
    expect([last.code, tokenIn(last.printed)]).toEqual([0, '']);
    const read = await generate(['--decode', encoded], [otp]);
    expect(await isRoot(tokenIn(read.printed))).toBe(true);
    for (const wrong of ['x', `${otp.slice(1)}\u00fc`]) {
      const { code, said } = await generate(['--decode', encoded], [wrong]);
      expect([code, said]).toEqual([1, expect.stringContaining('do not match')]);
    }
  });

  it('explains what to do if an attempt is running, has been replaced, or has been cancelled', async () => {
    const nonce = fieldIn('nonce', (await generate(['--init'])).printed);
    const second = await generate([], shares());
    expect([second.code, second.printed, second.said]).toEqual([2, '', expect.stringContaining(`--nonce ${nonce}`)]);
    const other = await generate(['--nonce', '00000000-0000-4000-8000-000000000000'], shares());
    expect([other.code, other.said]).toEqual([2, expect.stringContaining('there is no attempt')]);
    expect((await generate(['--cancel', '--nonce', nonce])).code).toBe(0);
    expect((await generate(['--nonce', nonce], shares())).code).toBe(2);
    expect((await generate(['--init', '--cancel'])).code).toBe(1);
  });

  it('creates no token from wrong shares, and explains how to continue', async () => {
    const wrong = secrets.recoveryKeys[3]!.replace(/[0-9a-f]/g, (digit) => (digit === '0' ? '1' : '0'));
    const walked = await generate([], [...shares().slice(0, 2), wrong]);
    expect([walked.code, walked.printed]).toEqual([2, '']);
    expect(walked.said).toContain('--cancel cancels it');
  });

  it('encrypts the token to a key instead of a one-time password', async () => {
    const file = join(home, 'key.asc');
    writeFileSync(file, await newPublicKey());
    // The previous attempt has a valid share, so only a holder of a share can start another.
    expect((await generate(['--cancel'])).code).not.toBe(0);
    const walked = await generate(['--replace', '--pgp-key', file], [shares()[0]!, ...shares()]);
    expect([walked.code, tokenIn(walked.printed)]).toEqual([0, '']);
    expect(Buffer.from(fieldIn('encoded token', walked.printed), 'base64').length).toBeGreaterThan(100);
    expect(walked.said).toContain('gpg --decrypt');
  });
});
