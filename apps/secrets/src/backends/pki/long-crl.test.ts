import { spawnSync } from 'node:child_process';
import { generateKeyPairSync, type KeyObject } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { withClient } from '@keystead/postgres';
import request from 'supertest';
import { startOpenSsl } from '../../../test/openssl';
import { startSecrets } from '../../../test/start-secrets';
import { algorithmNamed } from '../../sdk/signature-algorithm';
import type { Storage } from '../../sdk/storage';
import { readCertificate } from './certificate';
import { makeCrl, type Revoked } from './crl';
import { pemBlocks } from './pem';
import { inPages } from './revocations';
import { findCrl } from './stored-crl';

const { run, file } = startOpenSsl();
const certificateOf = (key: KeyObject): string => {
  const own = file(String(key.export({ type: 'pkcs8', format: 'pem' })));
  return run('req', '-x509', '-new', '-key', own, '-subj', '/CN=Any', '-days', '9');
};
const isSignedBy = (crl: string, certificate: string): boolean => {
  const args = ['crl', '-in', crl, '-noout', '-verify', '-CAfile', file(certificate)];
  return /^verify OK/m.test(spawnSync('openssl', args, { encoding: 'utf8' }).stderr);
};
const serialsIn = (crl: string): string[] =>
  [...run('crl', '-in', crl, '-noout', '-text').matchAll(/Serial Number: ([0-9A-F]+)/g)].map(([, hex]) => hex!);

describe('a long list of revoked certificates', () => {
  it.each([
    ['ECDSAWithSHA256', generateKeyPairSync('ec', { namedCurve: 'P-256' })],
    ['SHA256WithRSA', generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['SHA512WithRSAPSS', generateKeyPairSync('rsa', { modulusLength: 2048 })],
    ['Ed25519', generateKeyPairSync('ed25519')],
  ])('signed with %s is built in many turns of the event loop, and OpenSSL reads all of it', async (name, key) => {
    const count = 40_000;
    const revoked: Revoked[] = Array.from({ length: count }, (_one, n) => ({
      serial: `81:${(n + 2 ** 40).toString(16).padStart(12, '0').match(/../g)!.join(':')}`,
      seconds: 1_700_000_000 + n,
    }));
    const certificate = certificateOf(key.privateKey);
    let turns = 0;
    let done = false;
    const countTurns = () => {
      turns += 1;
      if (!done) setImmediate(countTurns);
    };
    countTurns();
    const parts = await makeCrl(
      {
        issuer: readCertificate(pemBlocks(certificate)[0]!.der).tbs.subject,
        keyId: Buffer.alloc(20, 1),
        number: 7,
        baseNumber: 5,
        thisUpdateMs: Date.UTC(2026, 0, 1),
        nextUpdateMs: Date.UTC(2050, 0, 1),
        revoked: inPages(revoked),
      },
      { key: key.privateKey, algorithm: algorithmNamed(name) },
    );
    done = true;
    expect(turns).toBeGreaterThan(count / 1000);
    const crl = file(Buffer.concat(parts));
    const serials = serialsIn(crl);
    expect(serials).toHaveLength(count);
    expect(serials.at(-1)!.toLowerCase()).toBe(revoked.at(-1)!.serial.replaceAll(':', ''));
    const text = run('crl', '-in', crl, '-noout', '-text');
    expect(text).toMatch(/Next Update: Jan {2}1 00:00:00 2050 GMT/);
    expect(text).toMatch(/Delta CRL Indicator: critical\s+5\n/);
    expect(isSignedBy(crl, certificate)).toBe(true);
    expect(isSignedBy(crl, certificateOf(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey))).toBe(false);
  });

  const secrets = startSecrets();
  const must = async (path: string, body: object = {}) => (await secrets.root.write(path, body).expect(200)).body.data;

  it('is stored and served in parts, in every form the same, and old parts are removed (E6.1)', async () => {
    await secrets.root.write('sys/mounts/long', { type: 'pki', config: { max_lease_ttl: '87600h' } }).expect(204);
    const root = await must('long/root/generate/internal', { common_name: 'Long', ttl: '87600h', key_type: 'ec' });
    await must('long/roles/a', { allow_any_name: true, key_type: 'ec' });
    const { serial_number } = await must('long/issue/a', { common_name: 'a.test' });
    await must('long/revoke', { serial_number });
    const query = <R extends object>(text: string) =>
      withClient(secrets.database.url, async (client) => (await client.query<R>(text)).rows);
    // CRLs are built from entry names only.
    await query(`INSERT INTO entry (mount_id, path, sealed)
      SELECT mount_id, format('revoked/%s %s %s', regexp_replace('01' || md5(n::text), '(..)(?!$)', '\\1:', 'g'),
                              1700000000 + n, split_part(path, ' ', 3)), sealed
        FROM entry, generate_series(1, 50000) n WHERE path LIKE 'revoked/%'`);
    const folders = async () =>
      (
        await query<{ folder: string }>(
          `SELECT DISTINCT split_part(path, '/', 4) AS folder FROM entry WHERE path LIKE 'crl-part/%'`,
        )
      ).map(({ folder }) => Number.parseInt(folder, 10));
    await must('long/crl/rotate');
    const der = await request(secrets.server).get('/v1/long/crl').responseType('blob').expect(200);
    expect(der.headers).toMatchObject({
      'content-type': 'application/pkix-crl',
      'content-length': String(der.body.length),
    });
    const { text: pem, headers } = await secrets.anonymous.read('long/crl/pem').expect(200);
    expect(headers['content-length']).toBe(String(pem.length));
    expect(pem.split('\n').every((line) => line.length <= 64)).toBe(true);
    expect(Buffer.from(pem.replace(/-----.*-----|\n/g, ''), 'base64').equals(der.body)).toBe(true);
    expect((await secrets.anonymous.read('long/issuer/default/crl').expect(200)).body.data.crl).toBe(pem);
    expect((await secrets.anonymous.read('long/cert/crl').expect(200)).body.data.certificate).toBe(pem);
    const crl = file(pem);
    expect(isSignedBy(crl, root.certificate)).toBe(true);
    const serials = serialsIn(crl);
    expect(new Set(serials).size).toBe(50_001);
    expect(serials).toContain(serial_number.replaceAll(':', '').toUpperCase());

    expect(await folders()).toEqual([3]);
    await must('long/crl/rotate');
    await must('long/crl/rotate');
    expect((await folders()).sort()).toEqual([4, 5]);
    // A CRL that is short again has no parts.
    await must('long/config/crl', { disable: true });
    await must('long/crl/rotate');
    expect(await folders()).toEqual([]);
    const short = file((await secrets.anonymous.read('long/crl/pem').expect(200)).text);
    expect(run('crl', '-in', short, '-noout', '-text')).toMatch(/No Revoked Certificates/);
  });

  it('is read in the older form of lists without parts', async () => {
    const older = { read: async <T>(_key: string, parse: (text: string) => T) => parse(JSON.stringify('AQID')) };
    const found = await findCrl(older as Storage, 'any', 'complete');
    expect(found?.bytes).toBe(3);
    for await (const part of found!.parts()) expect([...part]).toEqual([1, 2, 3]);
  });

  it('can still be read by a reader that began before the next one was stored', async () => {
    await must('long/config/crl', { disable: false });
    const size = Number((await secrets.anonymous.read('long/crl/pem').expect(200)).headers['content-length']);
    const { port } = secrets.server.address() as { port: number };
    const answer = await fetch(`http://127.0.0.1:${port}/v1/long/crl/pem`);
    const reader = answer.body!.getReader();
    const first = await reader.read();
    await must('long/crl/rotate');
    let read = first.value!.length;
    for (let next = await reader.read(); !next.done; next = await reader.read()) read += next.value.length;
    expect(read).toBe(size);
  });

  it('that was never finished leaves nothing behind once another is finished', async () => {
    const { body } = await secrets.root.read('sys/mounts/long').expect(200);
    await withClient(secrets.database.url, (client) =>
      client.query(
        `INSERT INTO entry (mount_id, path, sealed)
         SELECT mount_id, regexp_replace(path, '/[0-9]+ [^/]*/', '/3 left/'), sealed FROM entry
          WHERE mount_id = $1 AND path LIKE 'crl-part/%/0'
         ON CONFLICT DO NOTHING`,
        [body.data.uuid],
      ),
    );
    const left = () =>
      withClient(
        secrets.database.url,
        async (client) => (await client.query(`SELECT FROM entry WHERE path LIKE 'crl-part/%/3 left/%'`)).rowCount,
      );
    expect(await left()).toBeGreaterThan(0);
    await must('long/crl/rotate');
    expect(await left()).toBe(0);
  });
});
