import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { StoredLogin } from '../../sdk/backend';
import type { Errand } from '../../sdk/call';
import { collection } from '../../sdk/collection';
import { secretString } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { type Login, login } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { loginParams, withinCidrs } from '../../sdk/token-params';
import type { Passwords } from './password';
import { usernameRule, users } from './user';

const Lockout = z.object({ failures: z.number(), sinceMs: z.number(), lockedUntilMs: z.number() });
const lockouts = collection('lockout/', Lockout);

/** Failures in a row that lock a user, how long they count, and how long the lock holds. */
const maxFailures = 5;
const failureWindowMs = 15 * 60_000;
const lockMs = 15 * 60_000;

/** Login with name and password. */
export function loginPath(passwords: Passwords) {
  return path('login/:username', {
    summary: 'Logs a user in.',
    auth: 'none',
    params: { username: usernameRule },
    write: {
      summary: 'Log in with a password.',
      input: z.object({ password: secretString().optional().describe('The password.') }),
      async run({ params, input, storage, caller, mount, nowMs }) {
        const username = params.username.toLowerCase();
        if (!input.password) throw new Refusal('invalid', 'missing password');
        const user = await users.find(storage, username);
        const lockout = user && (await lockouts.find(storage, username));
        // The password is judged all the same, so that the time taken tells nothing.
        const right = await passwords.matches(input.password, user?.passwordHash);
        // A lock answers like a wrong password: only users that exist can be locked, and nobody shall learn who they are.
        const locked = lockout !== undefined && lockout.lockedUntilMs > nowMs;
        if (!user || !right || locked) {
          if (user && !locked) await countFailure(storage, username, nowMs);
          throw new Refusal('invalid', 'invalid username or password');
        }
        if (!withinCidrs(caller.address, user.token_bound_cidrs)) throw new Refusal('denied', 'permission denied');
        if (lockout) lockouts.delete(storage, username);
        return login({
          policies: [],
          ...loginParams(user),
          alias: { name: username },
          displayName: `${mount.path.replace(/^auth\/|\/$/g, '').replaceAll('/', '-')}-${username}`,
          metadata: { username },
          internal: { username, policies: user.token_policies },
        });
      },
    },
  });
}

/** The login as it would be now. Throws where the user is gone or holds other policies than the token. */
export async function renewLogin({ internal }: StoredLogin, { storage }: Errand): Promise<Partial<Login>> {
  const user = await users.find(storage, String(internal.username));
  if (!user) throw new Refusal('invalid', 'user does not exist any more');
  const before = [...((internal.policies as string[] | undefined) ?? [])].sort();
  if (JSON.stringify(before) !== JSON.stringify([...user.token_policies].sort())) {
    throw new Refusal('invalid', 'policies have changed, not renewing');
  }
  return loginParams(user);
}

/** Committed by itself, because the login it belongs to is refused. */
async function countFailure(storage: Storage, username: string, nowMs: number): Promise<void> {
  await storage.transaction(`lockout/${username}`, async (tx) => {
    const before = await lockouts.find(tx, username);
    const counts = before !== undefined && nowMs - before.sinceMs < failureWindowMs && before.lockedUntilMs <= nowMs;
    const failures = counts && before.failures < maxFailures ? before.failures + 1 : 1;
    const sinceMs = counts ? before.sinceMs : nowMs;
    const lockedUntilMs = failures >= maxFailures ? nowMs + lockMs : 0;
    lockouts.put(tx, username, { failures, sinceMs, lockedUntilMs });
  });
}
