import { describe, expect, it } from '@jest/globals';
import { Passwords } from './password';

// Elsewhere the tests keep passwords that cost nothing.
describe('a kept password', () => {
  const passwords = new Passwords();

  it('cost what it should, has its own salt, and is found again in any spelling of its letters', async () => {
    const [kept, again] = await Promise.all([passwords.hash('caf\u00e9'), passwords.hash('caf\u00e9')]);
    expect(kept).toMatchObject({ algorithm: 'scrypt', cost: 16_384, blockSize: 8, parallelization: 5 });
    expect(kept.salt).not.toBe(again.salt);
    expect(kept.hash).not.toBe(again.hash);
    expect(await passwords.matches('cafe\u0301', kept)).toBe(true);
    expect(await passwords.matches('cafe', kept)).toBe(false);
    expect(await passwords.matches('', undefined)).toBe(false);
  });
});
