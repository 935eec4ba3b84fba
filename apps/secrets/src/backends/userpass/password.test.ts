import { describe, expect, it } from '@jest/globals';
import { Passwords } from './password';

// Elsewhere the tests keep passwords that cost nothing.
describe('a kept password', () => {
  const passwords = new Passwords();

  it('cost what it should, has its own salt, and is found again in any spelling of its letters', async () => {
    const [hash, again] = await Promise.all([passwords.hash('caf\u00e9'), passwords.hash('caf\u00e9')]);
    expect(hash).toMatchObject({ algorithm: 'scrypt', cost: 16_384, blockSize: 8, parallelization: 5 });
    expect(hash.salt).not.toBe(again.salt);
    expect(hash.hash).not.toBe(again.hash);
    expect(await passwords.matches('cafe\u0301', hash)).toBe(true);
    expect(await passwords.matches('cafe', hash)).toBe(false);
    expect(await passwords.matches('', undefined)).toBe(false);
  });
});
