import { stat } from 'node:fs/promises';
import { describe, expect, it } from '@jest/globals';
import { makeCurveKey, makeRsaKey } from './index';

describe('a generated key pair', () => {
  it.each([
    ['ed25519', { asymmetricKeyType: 'ed25519' }],
    ['secp384r1', { asymmetricKeyType: 'ec', asymmetricKeyDetails: { namedCurve: 'secp384r1' } }],
  ])('has the curve %s', async (curve, expected) => {
    expect(await makeCurveKey(curve)).toMatchObject({ type: 'private', ...expected });
  });

  it('of RSA has the requested size, and leaves threads free for files and database logins', async () => {
    let made = 0;
    // More than there are threads for keys.
    const keys = Array.from({ length: 5 }, async () => {
      const key = await makeRsaKey(3072);
      made += 1;
      return key;
    });
    await stat(__filename);
    expect(made).toBe(0);
    for (const key of await Promise.all(keys)) {
      expect(key).toMatchObject({ type: 'private', asymmetricKeyDetails: { modulusLength: 3072 } });
    }
  });
});
