import { createPublicKey, generateKeyPairSync, verify, X509Certificate } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { CertificationRequest } from '@peculiar/asn1-csr';
import { AsnConvert } from '@peculiar/asn1-schema';
import { startOpenSsl } from '../../../test/openssl';
import { root as rootOf } from '../../../test/stand-ins/authority';
import { startSecrets } from '../../../test/start-secrets';

const types = ['ed25519', 'ecdsa-p256', 'ecdsa-p384', 'ecdsa-p521', 'rsa-2048'];
const hashes: Readonly<Record<string, string | null>> = {
  ed25519: null,
  'ecdsa-p256': 'sha256',
  'ecdsa-p384': 'sha384',
  'ecdsa-p521': 'sha512',
  'rsa-2048': 'sha256',
};

describe('certificates of keys', () => {
  const secrets = startSecrets();
  const openssl = startOpenSsl();
  const at = (path: string) => `transit/${path}`;
  const must = async (path: string, body: object = {}) =>
    (await secrets.root.write(at(path), body).expect(200)).body.data;
  const refused = async (path: string, body: object = {}) =>
    (await secrets.root.write(at(path), body).expect(400)).body.errors[0];
  const read = async (path: string) => (await secrets.root.read(at(path)).expect(200)).body.data;
  const authority = rootOf('Acme Root');
  const spare = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
  /** Issues a certificate for a transit key. */
  const leafOf = async (name: string) => {
    const [pem] = Object.values((await read(`export/public-key/${name}/latest?format=pem`)).keys) as string[];
    return authority.issue('web', { keys: { publicKey: createPublicKey(pem!), privateKey: spare } });
  };

  beforeAll(async () => {
    await secrets.root.write('sys/mounts/transit', { type: 'transit' }).expect(204);
    for (const type of types) await must(`keys/${type}`, { type, exportable: true, allow_plaintext_backup: true });
  }, 60_000);

  it.each(types)('are requested with a CSR signed by %s, with the subject of a template (E3.10)', async (type) => {
    const template = openssl.request({ subject: '/O=Acme/CN=web' }).csr;
    for (const csr of [undefined, template]) {
      const made = await must(`keys/${type}/csr`, { csr });
      expect([made.name, made.type]).toEqual([type, type]);
      const der = Buffer.from(made.csr.replace(/-----.*-----|\n/g, ''), 'base64');
      const request = AsnConvert.parse(der, CertificationRequest);
      const spki = AsnConvert.serialize(request.certificationRequestInfo.subjectPKInfo);
      const key = createPublicKey({ key: Buffer.from(spki), format: 'der', type: 'spki' });
      const signed = Buffer.from(request.certificationRequestInfoRaw!);
      expect(verify(hashes[type]!, signed, key, Buffer.from(request.signature))).toBe(true);
      const subject = openssl.run('req', '-in', openssl.file(made.csr), '-noout', '-subject', '-nameopt', 'RFC2253');
      expect(subject.trim()).toBe(csr === undefined ? 'subject=' : 'subject=CN=web,O=Acme');
    }
  });

  it.each(types)('are stored with a version of %s, shown, exported and backed up (E3.11)', async (type) => {
    const leaf = await leafOf(type);
    const certificate_chain = leaf.pem + authority.pem;
    expect(await must(`keys/${type}/set-certificate`, { certificate_chain })).toEqual({
      name: type,
      type,
      certificate_chain,
    });
    const chain = `${leaf.pem}${authority.pem}`.trim();
    expect((await read(`keys/${type}`)).keys[1].certificate_chain).toBe(chain);
    expect((await read(`export/certificate-chain/${type}`)).keys).toEqual({ 1: chain });
    expect(new X509Certificate(chain).publicKey.asymmetricKeyType).toBe(leaf.keys.publicKey.asymmetricKeyType);
    const { backup } = await read(`backup/${type}`);
    await secrets.root.write(at(`restore/${type}-again`), { backup }).expect(204);
    expect((await read(`keys/${type}-again`)).keys[1].certificate_chain).toBe(chain);
  });

  it('are refused if they do not belong to the key, or are not a chain (E3.11)', async () => {
    const leaf = await leafOf('ecdsa-p256');
    const set = (certificate_chain: string, more: object = {}) =>
      refused('keys/ecdsa-p256/set-certificate', { certificate_chain, ...more });
    const failed = 'failed to persist certificate chain:';
    expect(await set('')).toBe('provided certificate chain did not contain any valid PEM encoded certificate');
    expect(await set('-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----')).toBe(
      'could not parse a certificate in the certificate chain',
    );
    expect(await set(authority.pem)).toBe(`${failed} certificate in the first element is not a valid leaf certificate`);
    expect(await set(leaf.pem + leaf.pem)).toBe(
      `${failed} certificate in the last element is not a valid CA certificate`,
    );
    expect(await set(leaf.pem + leaf.pem + authority.pem)).toBe(
      `${failed} could not validate if there is only one leaf certificate in the provided chain`,
    );
    expect(await set(authority.issue('other').pem)).toBe(
      `${failed} leaf certificate public key does not match the selected key version`,
    );
    expect(await set((await leafOf('ed25519')).pem)).toBe(
      `${failed} provided leaf certificate public key algorithm does not match the transit key type 'ecdsa-p256'`,
    );
    expect(await set(leaf.pem, { version: 2 })).toBe('no such key version');
    await must('keys/plain');
    await must('keys/derived', { type: 'ed25519', derived: true });
    for (const path of ['csr', 'set-certificate']) {
      expect(await refused(`keys/plain/${path}`)).toBe("key type 'aes256-gcm96' does not support signing");
      expect(await refused(`keys/derived/${path}`)).toBe('operation not supported for keys with derivation enabled');
      expect(await refused(`keys/none/${path}`)).toBe("key with provided name 'none' not found");
    }
    expect(await refused('keys/ecdsa-p256/csr', { csr: 'x' })).toBe('could not decode PEM CSR');
  });
});
