import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { StoredLogin } from '../../sdk/backend';
import type { BackgroundCall, Call } from '../../sdk/call';
import { secretString } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { type Login, type LoginReply, login } from '../../sdk/reply';
import { loginParams, withinCidrs } from '../../sdk/token-params';
import type { Passwords } from './password';
import { type User, usernameParam, users } from './user';

/** Login with name and password. */
export function loginPath(passwords: Passwords) {
  return path('login/:username', {
    summary: 'Logs a user in.',
    auth: 'none',
    ...usernameParam,
    write: {
      summary: 'Log in with a password.',
      input: z.object({ password: secretString().optional().describe('The password.') }),
      judges: 'password',
      async run(call) {
        const { params, input, storage } = call;
        const { username } = params;
        const { password } = input;
        if (!password) throw new Refusal('invalid', 'missing password');
        // Unknown names are counted and checked like others, so neither the response nor its time reveals which users
        // exist.
        const user = await call.guess(username, async () => {
          const found = await users.find(storage, username);
          const right = await passwords.matches(password, found?.passwordHash);
          return right ? found : undefined;
        });
        if (!user) throw new Refusal('invalid', 'invalid username or password');
        return loginOf(call, username, user);
      },
    },
  });
}

/** The login of a user who has proven who they are. Throws `denied` for an address that may not log in. */
export function loginOf({ caller, mount }: Pick<Call, 'caller' | 'mount'>, username: string, user: User): LoginReply {
  if (!withinCidrs(caller.address, user.token_bound_cidrs)) throw new Refusal('denied', 'permission denied');
  return login({
    ...loginParams(user),
    alias: { name: username },
    displayName: `${mount.path.replace(/^auth\/|\/$/g, '').replaceAll('/', '-')}-${username}`,
    metadata: { username },
    internal: { username, policies: user.token_policies },
  });
}

/** The current result of a login. Throws if the user was deleted or has other policies than the token. */
export async function renewLogin({ internal }: StoredLogin, { storage }: BackgroundCall): Promise<Partial<Login>> {
  const user = await users.find(storage, String(internal.username));
  if (!user) throw new Refusal('invalid', 'user no longer exists');
  const before = [...((internal.policies as string[] | undefined) ?? [])].sort();
  if (JSON.stringify(before) !== JSON.stringify([...user.token_policies].sort())) {
    throw new Refusal('invalid', 'policies have changed, not renewing');
  }
  return loginParams(user);
}
