import type { BackgroundCall } from '../../sdk/call';
import { allowed, newPassword } from './creds';
import type { Databases } from './databases';
import type { PasswordPolicies } from './passwords';
import { dueAfter, dueStatic, missedWindow, nextUser, type StaticRole, staticRoles } from './static-record';

/** While a node attempts a rotation, no other node attempts it for this time. */
const claimMs = 60_000;
const firstPauseMs = 10_000;
const longestPauseMs = 600_000;

/** Dependencies of rotations. */
export interface RotationParts {
  readonly databases: Databases;
  readonly policies: PasswordPolicies;
}

/**
 * Rotates a password. The new password is stored before it is set in the database, and another attempt sets the same
 * password. So after a crash, either the old or the new password is valid, and both are known. Throws the database's
 * error; returns undefined if the role no longer exists.
 */
export async function rotateStatic(
  { databases, policies }: RotationParts,
  name: string,
  { storage, mount, nowMs }: BackgroundCall,
): Promise<StaticRole | undefined> {
  const found = await staticRoles.find(storage, name);
  if (!found) return undefined;
  let pending = found.pending;
  try {
    const opened = await allowed(databases, storage, mount, found.db_name, name);
    const password = await newPassword(policies, mount, found, opened);
    const claimed = await dueStatic.change(
      storage,
      name,
      (role) => role && { ...role, pending: role.pending ?? password, tryAtMs: nowMs + claimMs },
    );
    pending = claimed?.pending;
    if (!claimed || pending === undefined) return undefined;
    const set = (user: string, password: string) =>
      opened.call('setPassword', claimed.rotation_statements, { name: user, username: user, password });
    // A new role with two users rotates once as a test. This password is never returned.
    if (claimed.fresh && claimed.second_username !== '') {
      await set(claimed.second_username, await newPassword(policies, mount, found, opened));
    }
    await set(nextUser(claimed), pending);
  } catch (error) {
    // This happens even if the connection was deleted, because a role that stays due would block all others.
    await dueStatic.change(storage, name, (role) => {
      if (!role || role.pending !== pending) return undefined;
      const pauseMs = Math.min(firstPauseMs * 2 ** Math.min(role.failures, 20), longestPauseMs);
      return { ...role, failures: role.failures + 1, tryAtMs: nowMs + pauseMs };
    });
    throw error;
  }
  return dueStatic.change(storage, name, (role) => {
    if (!role || pending === undefined || role.pending !== pending) return undefined;
    const dueAtMs = dueAfter(role, nowMs);
    const { pending: _set, ...rest } = role;
    return {
      ...rest,
      active: nextUser(role),
      password: pending,
      rotatedAtMs: nowMs,
      dueAtMs,
      tryAtMs: dueAtMs,
      failures: 0,
      fresh: false,
    };
  });
}

async function rotateInWindow(parts: RotationParts, name: string, call: BackgroundCall): Promise<void> {
  const found = await staticRoles.find(call.storage, name);
  if (!found || missedWindow(found, call.nowMs) === undefined) {
    await rotateStatic(parts, name, call);
    return;
  }
  await dueStatic.change(call.storage, name, (role) => {
    const dueAtMs = role && missedWindow(role, call.nowMs);
    return dueAtMs === undefined ? undefined : { ...role!, dueAtMs, tryAtMs: dueAtMs };
  });
}

/**
 * Rotates the passwords that are due, and returns the next due time. Every node checks, and the node that moves the due
 * time in the database rotates.
 */
export const rotateWhenDue = (parts: RotationParts, call: BackgroundCall): Promise<number | undefined> =>
  dueStatic.forEach(call.storage, call.nowMs, (name) => rotateInWindow(parts, name, call));
