import { readdirSync, readFileSync } from 'node:fs';
import { stat } from 'node:fs/promises';
import os from 'node:os';
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

  (process.platform === 'linux' ? it : it.skip)('of RSA is made by a thread that gives way to all others', async () => {
    await makeRsaKey(2048);
    // The nineteenth value of a thread's status; the second, its name, may hold spaces.
    const nice = readdirSync('/proc/self/task').map((thread) => {
      const [, values = ''] = readFileSync(`/proc/self/task/${thread}/stat`, 'utf8').split(/\) /);
      return Number(values.split(' ')[16]);
    });
    expect(new Set(nice)).toEqual(new Set([os.getPriority(), os.constants.priority.PRIORITY_BELOW_NORMAL]));
  });
});
