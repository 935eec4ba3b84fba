import { describe, expect, it, jest } from '@jest/globals';
import type { Test } from 'supertest';
import { giveBack, succeed, takeAttempt } from '../src/resources/people/users/attempts';
import { resources } from '../src/resources/registry';
import { type Client, PASSWORD, resource, startWorkspaces } from './start-workspaces';

// Passwords cost processor time on purpose, and a busy machine has little.
jest.setTimeout(240_000);

const MINUTE = 60_000;
const allowed = 5;

describe('attempts to prove an identity', () => {
  let nowMs = Date.now();
  const workspaces = startWorkspaces({ now: () => nowMs });
  const signIn = (username: string, password: string, code?: string) =>
    workspaces.anyone.post('session', resource('sessions', { username, password, ...(code ? { code } : {}) }));
  const spellings = (name: string) => {
    const mixed = [...name].map((letter, i) => (i % 2 ? letter.toUpperCase() : letter)).join('');
    return [name, name.toUpperCase(), mixed].flatMap((one) => [one, `${one}@example.com`, `${one}@EXAMPLE.COM`]);
  };

  it('have one budget for an account under any name, one after the other', async () => {
    await workspaces.person('ada');
    const statuses: number[] = [];
    for (const name of spellings('ada')) statuses.push((await signIn(name, 'wrong')).status);
    expect(statuses).toEqual(statuses.map((_, i) => (i < allowed ? 401 : 429)));
    for (const name of spellings('ada')) await signIn(name, PASSWORD).expect(429);
    nowMs += MINUTE + 1;
    await signIn('ADA@example.com', PASSWORD).expect(201);
  });

  it('have one budget for an account under any name, all at once', async () => {
    await workspaces.person('bea');
    const names = spellings('bea').flatMap((name) => [name, name]);
    const answers = await Promise.all(names.map((name) => signIn(name, 'wrong')));
    const judged = answers.filter(({ status }) => status !== 429);
    expect(judged.map(({ status }) => status)).toEqual(judged.map(() => 401));
    expect(judged).toHaveLength(allowed);
  });

  it('do not lift a lock that started while a correct password was being checked', async () => {
    const { db, env } = workspaces.service;
    const take = () => takeAttempt(db, env.keyring, { userId: 'user-cleo' }, nowMs);
    const taken = [];
    for (let i = 0; i < allowed; i++) taken.push(await take());
    await giveBack(db, taken[1]!);
    await succeed(db, taken[2]!);
    await expect(take()).rejects.toThrow('Too many');
    nowMs += MINUTE + 1;
    await take();
  });

  it('are not counted if the password is right and the code is still missing', async () => {
    const dee = await workspaces.person('dee');
    const begun = await dee.post('account/two-factor', resource('two-factor', { password: PASSWORD })).expect(201);
    const { 'recovery-codes': codes } = begun.body.data.attributes;
    const { pool } = workspaces.service;
    await pool.query('UPDATE two_factor SET verified_at = now() WHERE user_id = $1', [dee.id]);
    for (let i = 0; i < 3 * allowed; i++) await signIn('dee', PASSWORD).expect(422);
    for (let i = 0; i < allowed - 1; i++) await signIn('dee', PASSWORD, '000000').expect(401);
    await signIn('dee', PASSWORD).expect(422);
    await signIn('dee', PASSWORD, codes[0]).expect(201);
    for (let i = 0; i < allowed; i++) await signIn('dee', PASSWORD, '000000').expect(401);
    // A request without a code does not shorten the lock.
    await signIn('dee', PASSWORD).expect(429);
    await signIn('dee@example.com', PASSWORD, codes[1]).expect(429);
  });

  /** How to send a wrong password or code to each operation that checks one. */
  const asked: Readonly<Record<string, (client: Client & { username: string }) => Test>> = {
    'POST /session': ({ username }) => signIn(username, 'wrong'),
    'PATCH /account/password': (client) =>
      client.patch(
        'account/password',
        resource('users', { current_password: 'wrong', password: PASSWORD, password_confirmation: PASSWORD }),
      ),
    'POST /account/two-factor': (client) =>
      client.post('account/two-factor', resource('two-factor', { password: 'wrong' })),
    'DELETE /account/two-factor': (client) =>
      client.delete('account/two-factor', resource('two-factor', { password: 'wrong' })),
    'POST /account/two-factor/actions/verify': (client) =>
      client.post('account/two-factor/actions/verify', resource('two-factor', { code: '000000' })),
  };
  /** Operations that set a password and check none. */
  const sets = ['POST /one-time-links/:secret', 'POST /admin/users'];

  it('are counted together by every operation that checks a password or a code', async () => {
    const looking = resources
      .flatMap(({ endpoints }) => endpoints)
      .filter(({ body }) =>
        /"(password|current_password|code|secret|pin)"/.test(JSON.stringify(body?.jsonSchema() ?? {})),
      )
      .filter(
        ({ path }) =>
          path.startsWith('/account') ||
          path.startsWith('/session') ||
          path.includes('links') ||
          path.includes('users'),
      )
      .map(({ method, path }) => `${method} ${path}`)
      .filter((name) => !sets.includes(name));
    expect(looking.sort()).toEqual(Object.keys(asked).sort());
    let number = 0;
    for (const [name, ask] of Object.entries(asked)) {
      const person = await workspaces.person(`eve-${++number}`);
      const statuses: number[] = [];
      for (let i = 0; i < allowed; i++) statuses.push((await ask(person)).status);
      const others = await Promise.all(Object.values(asked).map(async (other) => (await other(person)).status));
      const all = `${name}: ${statuses} then ${others}`;
      expect(all).toBe(
        `${name}: ${statuses.map(() => (name === 'POST /session' ? 401 : 422))} then ${others.map(() => 429)}`,
      );
      // Even the right password does not help now.
      const change = resource('users', {
        current_password: PASSWORD,
        password: 'long enough',
        password_confirmation: 'long enough',
      });
      await person.patch('account/password', change).expect(429);
      nowMs += MINUTE + 1;
      await person.patch('account/password', change).expect(200);
    }
  });

  it('get no more tries simultaneously than one after the other', async () => {
    for (const [name, ask] of Object.entries(asked)) {
      const person = await workspaces.person(`fay-${Object.keys(asked).indexOf(name)}`);
      const answers = await Promise.all(Array.from({ length: 15 }, () => ask(person)));
      expect([name, answers.filter(({ status }) => status !== 429).length]).toEqual([name, allowed]);
    }
  });
});
