import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { collection } from '../../sdk/collection';
import { anyCase, commaList, notRedirectable, olderName, secretString } from '../../sdk/fields';
import { type Path, path } from '../../sdk/path';
import { namesPath } from '../../sdk/records';
import { data, empty, missing } from '../../sdk/reply';
import { loginFields, settleTokenParams, showTokenParams } from '../../sdk/token-params';
import type { PasswordHash, Passwords } from './password';
import { deletePasskeys, inTurnOf } from './stored-passkeys';

const fields = loginFields<Record<never, never>>({});
const UserInput = fields.input.extend({
  password: notRedirectable(secretString())
    .optional()
    .describe('Required for a new user. If omitted, an existing user keeps the password.'),
});
const maxPasswordLength = 1_024;

/** A user as stored. */
export type User = z.output<typeof fields.input> & {
  readonly passwordHash: PasswordHash;
  /** Absent in users of earlier versions. */
  readonly createdAtMs?: number;
};

/** Users by lower-case name. */
export const users = collection('user/', z.custom<User>());

/** The rule for a user name in a path, whose case is ignored. */
export const usernameParam = { params: { username: /^\w(?:[\w.@+-]*\w)?$/ }, folds: { username: 'case' } } as const;

/** Users: `users`, `users/:username`, its password and its policies. */
export function userPaths(passwords: Passwords): Path[] {
  const changeUser = (call: Call<{ username: string }>, change: (user: User) => Partial<User>) =>
    call.storage.transaction(`users/${call.params.username}`, async (tx) => {
      const user = await users.require(tx, call.params.username, 'username does not exist');
      users.put(tx, call.params.username, { ...user, ...change(user) });
      return empty;
    });
  return [
    namesPath('users', users, { summary: 'The users of this method.', list: 'List the users.' }),
    path('users/:username', {
      summary: 'A user, and the settings of their tokens.',
      ...usernameParam,
      stored: (call) => users.find(call.storage, call.params.username),
      read: {
        summary: 'Read a user; the password is never shown.',
        output: fields.output,
        async run(call) {
          const user = await users.find(call.storage, call.params.username);
          return user ? data(showTokenParams(user)) : missing;
        },
      },
      write: {
        summary: 'Create a user, or change some fields of one.',
        stepUp: true,
        input: UserInput,
        update: 'merge',
        defaults: fields.defaults,
        async run(call) {
          const { password, ...sent } = call.input;
          const before = call.stored as User | undefined;
          if (!password && !before) throw new Refusal('invalid', 'missing password');
          const passwordHash = password ? await passwords.hash(checkPassword(password)) : before!.passwordHash;
          const createdAtMs = before ? before.createdAtMs : call.nowMs;
          const params = settleTokenParams(sent, call.fields);
          users.put(call.storage, call.params.username, { ...params, passwordHash, createdAtMs });
          if (password) await call.forgetGuesses(call.params.username);
          return empty;
        },
      },
      delete: {
        summary: 'Delete a user. Also succeeds if it does not exist.',
        async run(call) {
          const { username } = call.params;
          await inTurnOf(call.storage, username, async (tx) => {
            users.delete(tx, username);
            await deletePasskeys(tx, username);
          });
          await call.forgetGuesses(username);
          return empty;
        },
      },
    }),
    path('users/:username/password', {
      summary: 'The password of a user.',
      ...usernameParam,
      write: {
        operationId: 'reset-password',
        summary: 'Change the password of a user. Also unlocks a user who was locked after wrong passwords.',
        stepUp: true,
        input: z.object({ password: secretString().optional().describe('The new password.') }),
        async run(call) {
          const { password } = call.input;
          await users.require(call.storage, call.params.username, 'username does not exist');
          if (!password) throw new Refusal('invalid', 'missing password');
          const passwordHash = await passwords.hash(checkPassword(password));
          await call.forgetGuesses(call.params.username);
          return changeUser(call, () => ({ passwordHash }));
        },
      },
    }),
    path('users/:username/policies', {
      summary: 'The policies of a user.',
      ...usernameParam,
      write: {
        operationId: 'update-policies',
        summary: 'Change the policies of a user.',
        input: z.object({
          token_policies: anyCase(commaList()).optional().describe('Policies of the tokens.'),
          policies: olderName(anyCase(commaList()), 'token_policies'),
        }),
        run(call) {
          return changeUser(call, (user) => settleTokenParams({ ...user, ...definedOf(call.input) }, call.fields));
        },
      },
    }),
  ];
}

function checkPassword(password: string): string {
  if (password.length > maxPasswordLength) {
    throw new Refusal('invalid', `password is longer than ${maxPasswordLength} characters`);
  }
  return password;
}

function definedOf<T extends object>(input: T): Partial<T> {
  return Object.fromEntries(Object.entries(input).filter(([, value]) => value !== undefined)) as Partial<T>;
}
