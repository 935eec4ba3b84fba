import { type Backend, backend } from '../../sdk/backend';
import {
  configListPath,
  configPath,
  resetPath,
  resumeRootRotation,
  rotateRootPath,
  rotateRootsWhenDue,
  verifyPath,
} from './config';
import { credsPath, endUser, rehearsalPath, userSecret } from './creds';
import type { Databases } from './databases';
import type { PasswordPolicies } from './passwords';
import { roleListPath, rolePath } from './role';
import { rotateWhenDue } from './rotation';
import { sessionsPath } from './sessions';
import { rotateRolePath, staticCredsPath, staticRoleListPath, staticRolePath } from './static-role';

/** Dependencies of the engine. */
export interface DatabaseParts {
  readonly databases: Databases;
  readonly policies: PasswordPolicies;
}

/**
 * Users of databases: created from roles and dropped with their leases, or existing users whose passwords are rotated.
 */
export const database = (parts: DatabaseParts): Backend => {
  const { databases, policies } = parts;
  return backend({
    type: 'database',
    outside: true,
    kind: 'secret',
    summary: 'Creates database users on demand, and rotates the passwords of existing ones.',
    paths: [
      configListPath,
      configPath(databases),
      verifyPath(databases),
      sessionsPath(databases),
      resetPath(databases),
      rotateRootPath(databases, policies),
      roleListPath,
      rolePath,
      rehearsalPath(databases),
      credsPath(databases, policies),
      staticRoleListPath,
      staticRolePath(parts),
      staticCredsPath,
      rotateRolePath(parts),
    ],
    secrets: { user: userSecret(databases) },
    // A failing static role does not delay the rotation of configured users.
    async tick(call) {
      let [role, root]: (number | undefined)[] = [];
      try {
        role = await rotateWhenDue(parts, call);
      } finally {
        root = await rotateRootsWhenDue(databases, policies, call);
      }
      return Math.min(role ?? Number.POSITIVE_INFINITY, root ?? Number.POSITIVE_INFINITY);
    },
    undo: {
      user: (user, call) => endUser(databases, user, call),
      root: ({ name }, call) => resumeRootRotation(databases, String(name), call),
    },
  });
};
