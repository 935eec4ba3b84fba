import { createPrivateKey } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { publicDer } from '../../sdk/asn1';
import { formatKey, makeShownKey } from './key-pair';

const rules = { key_type: 'ec', key_bits: 256, signature_bits: 0 };

it('a key of P-256 is encoded as by OpenSSL, even if its number begins with zeros', async () => {
  // One number in 256 begins with a zero.
  for (let n = 0; n < 600; n++) {
    const made = await makeShownKey(rules);
    const key = createPrivateKey(formatKey(made, 'pem', 'der'));
    expect(made.der('sec1')).toEqual(key.export({ format: 'der', type: 'sec1' }));
    expect(made.der('pkcs8')).toEqual(key.export({ format: 'der', type: 'pkcs8' }));
    expect(made.publicKey).toEqual(publicDer(key));
  }
});

it.each([
  [{ key_type: 'ec', key_bits: 384 }, 'der', 'sec1', 'EC PRIVATE KEY'],
  [{ key_type: 'ec', key_bits: 256 }, 'pkcs8', 'pkcs8', 'PRIVATE KEY'],
  [{ key_type: 'ed25519', key_bits: 0 }, 'der', 'pkcs8', 'PRIVATE KEY'],
  [{ key_type: 'rsa', key_bits: 2048 }, 'der', 'pkcs1', 'RSA PRIVATE KEY'],
] as const)('formats a key of %o in form %s as OpenSSL does', async (kind, keyFormat, type, label) => {
  const pem = formatKey(await makeShownKey({ ...rules, ...kind }), 'pem', keyFormat);
  expect(pem).toContain(`-----BEGIN ${label}-----`);
  expect(`${pem}\n`).toBe(createPrivateKey(pem).export({ format: 'pem', type: type as 'pkcs8' }));
});
