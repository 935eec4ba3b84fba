import { describe, expect, it } from '@jest/globals';
import { checkPassword, hashPassword } from './password';

// Other tests use passwords with hashes that cost nothing.
describe('a stored password', () => {
  it('has the required cost and its own salt, and matches any Unicode form of the same letters', async () => {
    const [kept, again] = await Promise.all([hashPassword('caf\u00e9'), hashPassword('caf\u00e9')]);
    expect(kept).toMatch(/^scrypt\$15\$8\$1\$/);
    expect(kept).not.toBe(again);
    expect(await checkPassword('cafe\u0301', kept)).toBe(true);
    expect(await checkPassword('cafe', kept)).toBe(false);
    expect(await checkPassword('', null)).toBe(false);
  });

  it('is checked for a few callers at once, and callers far back in the queue are refused', async () => {
    const cheap = `scrypt$5$8$1$${'A'.repeat(22)}==$${'A'.repeat(43)}=`;
    const checks = await Promise.allSettled(Array.from({ length: 600 }, () => checkPassword('guess', cheap)));
    const refused = checks.filter((check) => check.status === 'rejected').map(({ reason }) => reason);
    expect(refused).toHaveLength(600 - 514);
    expect(refused[0]).toMatchObject({ kind: 'limited', message: 'too many sign-ins at once; try again' });
  });
});
