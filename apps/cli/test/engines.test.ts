import { X509Certificate } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { startOpenSsl } from '../../secrets/test/openssl';
import { startSecrets } from '../../secrets/test/start-secrets';
import { keystead } from './run-keystead';

describe('commands of engines', () => {
  const secrets = startSecrets();
  const openssl = startOpenSsl();
  const folder = mkdtempSync(join(tmpdir(), 'keystead-engines-test-'));
  const file = (name: string) => join(folder, name);
  afterAll(() => rmSync(folder, { recursive: true }));
  beforeAll(async () => {
    await secrets.root.write('sys/mounts/team/transit', { type: 'transit' }).expect(204);
    await secrets.root.write('team/transit/keys/notes', { derived: true }).expect(200);
    await secrets.root.write('team/transit/keys/releases', { type: 'ed25519' }).expect(200);
    await secrets.root.write('sys/mounts/pki', { type: 'pki' }).expect(204);
    await secrets.root.write('pki/root/generate/internal', { common_name: 'Root', key_type: 'ec' }).expect(200);
    await secrets.root.write('pki/roles/web', { allow_any_name: true, key_type: 'ec' }).expect(200);
    writeFileSync(file('bytes'), Buffer.from([0, 255, 1, 254]));
  });
  const run = (line: readonly string[], typed: string[] = []) =>
    keystead(
      [...line],
      {
        HOME: folder,
        SERVICE_ADDR: `http://127.0.0.1:${(secrets.server.address() as AddressInfo).port}`,
        SERVICE_TOKEN: secrets.rootToken,
      },
      typed,
    );
  const must = async (line: readonly string[], typed?: string[]) => {
    const { code, printed, said } = await run(line, typed);
    expect([code, said]).toEqual([0, code === 0 ? said : '']);
    return printed;
  };
  const transit = ['-mount=team/transit'];

  it('encrypt and decrypt strings and files, each with its context', async () => {
    const context = [...transit, '-context=tenant 7', '-associated-data=row 1'];
    const ciphertext = await must(['transit', 'encrypt', ...context, 'notes'], ['hello']);
    expect(ciphertext).toMatch(/^vault:v1:/);
    expect(await must(['transit', 'decrypt', ...context, 'notes'], [ciphertext])).toBe('hello\n');
    const other = await run(['transit', 'decrypt', ...transit, '-context=tenant 8', 'notes'], [ciphertext]);
    expect([other.code, other.said]).toEqual([2, expect.stringContaining('message authentication failed')]);
    writeFileSync(file('encrypted'), await must(['transit', 'encrypt', ...context, 'notes', file('bytes')]));
    const onScreen = await run(['transit', 'decrypt', ...context, 'notes', file('encrypted')]);
    expect([onScreen.code, onScreen.said]).toEqual([1, expect.stringContaining('-out')]);
    await must(['transit', 'decrypt', ...context, `-out=${file('again')}`, 'notes', file('encrypted')]);
    expect(readFileSync(file('again'))).toEqual(readFileSync(file('bytes')));
    expect(statSync(file('again')).mode & 0o777).toBe(0o600);
  });

  it('sign, and report by the exit code whether a signature is valid', async () => {
    const signature = await must(['transit', 'sign', ...transit, 'releases', file('bytes')]);
    await must(['transit', 'verify', ...transit, 'releases', signature, file('bytes')]);
    expect((await run(['transit', 'verify', ...transit, 'releases', signature], ['other'])).code).toBe(2);
    expect((await run(['transit', 'sign', ...transit, 'releases', file('absent')])).said).toContain('cannot be read');
  });

  it('issue, sign, list and revoke certificates', async () => {
    await must(['pki', 'issue', `-out=${file('a')}`, 'web', 'common_name=a.example.com', 'ttl=1h']);
    const [leaf, issuer] = readFileSync(file('a.pem'), 'utf8').split(/(?=-----BEGIN)/);
    expect(new X509Certificate(leaf!).checkIssued(new X509Certificate(issuer!))).toBe(true);
    expect(statSync(file('a.key')).mode & 0o777).toBe(0o600);
    expect(openssl.run('pkey', '-in', file('a.key'), '-pubout')).toBe(
      String(new X509Certificate(leaf!).publicKey.export({ type: 'spki', format: 'pem' })),
    );
    writeFileSync(file('b.csr'), openssl.request({ subject: '/CN=b.example.com' }).csr);
    await must(['pki', 'sign', `-out=${file('b')}`, 'web', file('b.csr'), 'ttl=1h']);
    expect(await must(['pki', 'list'])).toMatch(/b\.example\.com/);
    expect(await must(['pki', 'revoke', file('b.pem')])).toMatch(/state +revoked/);
    const serial = new X509Certificate(leaf!).serialNumber;
    expect(JSON.parse(await must(['pki', 'revoke', '-format=json', serial])).data.state).toBe('revoked');
    expect((await secrets.root.list('pki/certs/revoked').expect(200)).body.data.keys).toHaveLength(2);
    const refused = await run(['pki', 'issue', 'absent', 'common_name=x']);
    expect([refused.code, refused.said]).toEqual([2, expect.stringContaining('unknown role: absent')]);
  });
});
