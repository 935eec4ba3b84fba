import { describe, expect, it } from '@jest/globals';
import { Passwords } from './password';

// Other tests use password hashes that cost nothing.
describe('a stored password', () => {
  const passwords = new Passwords();

  it('has the configured cost and its own salt, and matches in any Unicode form', async () => {
    const [hash, again] = await Promise.all([passwords.hash('caf\u00e9'), passwords.hash('caf\u00e9')]);
    expect(hash).toMatchObject({ algorithm: 'scrypt', cost: 16_384, blockSize: 8, parallelization: 5 });
    expect(hash.salt).not.toBe(again.salt);
    expect(hash.hash).not.toBe(again.hash);
    expect(await passwords.matches('cafe\u0301', hash)).toBe(true);
    expect(await passwords.matches('cafe', hash)).toBe(false);
    expect(await passwords.matches('', undefined)).toBe(false);
  });
});
