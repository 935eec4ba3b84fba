import { z } from 'zod';
import type { SecretKind } from '../../sdk/backend';
import type { BackgroundCall, MountView } from '../../sdk/call';
import { Globs } from '../../sdk/globs';
import { lifetime } from '../../sdk/lifetime';
import { path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { data, secret } from '../../sdk/reply';
import type { ConnectionRecord } from './config-record';
import type { Databases, Opened } from './databases';
import { type PasswordPolicies, usualPassword } from './passwords';
import { type Role, roles } from './role';
import { userName } from './user-name';

/** Users expire in the database shortly after their leases, which normally drop them. */
const graceMs = 5_000;

/** The data for dropping a user, even after its role is deleted. */
interface UserRecord {
  readonly name: string;
  readonly connection: string;
  readonly role: string;
  readonly revocation: readonly string[];
}

/** Creates a user. */
export const credsPath = (databases: Databases, policies: PasswordPolicies) =>
  path('creds/:name', {
    summary: 'Database users, created from a role.',
    params: { name: 'name-at' },
    read: {
      summary: 'Create a user. It is dropped when its lease ends.',
      operationId: 'generate-credentials',
      output: z.object({ username: z.string(), password: z.string() }),
      async run({ params: { name: roleName }, storage, caller, mount, nowMs }) {
        const role = await roles.require(storage, roleName, `unknown role: ${roleName}`);
        const opened = await allowed(databases, storage, mount, role.db_name, roleName);
        requireCreation(role, opened);
        const who = { displayName: caller.displayName, role: roleName };
        const name = userName(opened.config.username_template, opened.driver, who, nowMs);
        const password = await newPassword(policies, mount, role, opened);
        const { ttlSeconds } = lifetime({
          nowMs,
          issuedAtMs: nowMs,
          ttlSeconds: role.default_ttl,
          maxTtlSeconds: role.max_ttl,
          mount,
        });
        // Check first, to avoid recording an unnecessary intent.
        opened.check();
        const user: UserRecord = {
          name,
          connection: role.db_name,
          role: roleName,
          revocation: revocationOf(role, opened),
        };
        const intent = await storage.intent('user', { ...user });
        const words = { ...wordsOf(name, nowMs + ttlSeconds * 1000), password };
        try {
          await opened.call('create', role.creation_statements, words);
        } catch (error) {
          // If the rollback also fails, the recorded intent retries it.
          const undo = role.rollback_statements.length > 0 ? role.rollback_statements : user.revocation;
          await opened.call('remove', undo, wordsOf(name, nowMs)).then(
            () => intent.drop(),
            () => {},
          );
          throw error;
        }
        intent.settle();
        return secret('user', {
          data: { username: name, password },
          internal: { ...user },
          ttlSeconds: role.default_ttl,
          maxTtlSeconds: role.max_ttl,
          renewable: true,
        });
      },
    },
  });

/** Throws `invalid` if a role can never create a user. */
function requireCreation({ creation_statements: creation }: Role, { driver }: Opened): void {
  if (creation.length === 0 && driver.needsCreation) refuse('empty creation statements');
}

const revocationOf = (
  { creation_statements: creation, revocation_statements: revocation }: Role,
  { driver }: Opened,
) => (revocation.length > 0 ? revocation : (driver.revocationOf?.(creation) ?? []));

/** Dry run of a role: executes its statements and rolls them back, if the database can. */
export const rehearsalPath = (databases: Databases) =>
  path('roles/:name/dry-run', {
    summary: 'A dry run of a role.',
    params: { name: 'name-at' },
    write: {
      summary: 'Run the creation statements of a role and roll them back.',
      operationId: 'dry-run-role',
      output: z.object({ username: z.string(), rehearsed: z.boolean() }),
      async run({ params: { name: roleName }, storage, caller, mount, nowMs }) {
        const role = await roles.require(storage, roleName, `unknown role: ${roleName}`);
        const opened = await allowed(databases, storage, mount, role.db_name, roleName);
        requireCreation(role, opened);
        const who = { displayName: caller.displayName, role: roleName };
        const username = userName(opened.config.username_template, opened.driver, who, nowMs);
        const words = { ...wordsOf(username, nowMs + 60_000), password: usualPassword() };
        if (opened.rehearses) await opened.call('rehearse', role.creation_statements, words);
        return data({ username, rehearsed: opened.rehearses });
      },
    },
  });

/** Revokes and renews users. */
export const userSecret = (databases: Databases): SecretKind => ({
  revoke: (internal, call) => endUser(databases, internal, call),
  async renew(internal, { storage }) {
    const { role: name } = internal as unknown as UserRecord;
    const role = await roles.require(storage, name, `error during renew: could not find role with name "${name}"`);
    return { ttlSeconds: role.default_ttl, maxTtlSeconds: role.max_ttl };
  },
  async prolong(internal, { storage, mount }, expiresAtMs) {
    const { role: name, name: username, connection } = internal as unknown as UserRecord;
    const role = await roles.require(storage, name);
    // The connection of the user, even if the role has another connection by now.
    const { call } = await databases.open(storage, mount, connection);
    await call('renew', role.renew_statements, wordsOf(username, expiresAtMs));
  },
});

/** Drops a user that may have been created. */
export async function endUser(
  databases: Databases,
  user: Readonly<Record<string, unknown>>,
  { storage, mount, nowMs }: BackgroundCall,
): Promise<void> {
  const { name, connection, revocation } = user as unknown as UserRecord;
  const { call } = await databases.open(storage, mount, connection);
  await call('remove', revocation, wordsOf(name, nowMs));
}

/** Finds the connection of a role. Throws `invalid` if the connection does not allow the role. */
export async function allowed(
  databases: Databases,
  storage: BackgroundCall['storage'],
  mount: MountView,
  connection: string,
  role: string,
): Promise<Opened> {
  const opened = await databases.open(storage, mount, connection);
  requireAllowed(opened.config, role);
  return opened;
}

/** Throws `invalid` if a connection does not allow a role. */
export function requireAllowed({ allowed_roles: globs }: ConnectionRecord, role: string): void {
  const matcher = new Globs();
  if (!globs.some((glob) => matcher.fits(glob, role))) refuse(`"${role}" is not an allowed role`);
}

/** Generates a password by the policy of the role, or by the policy of its connection if the role has none. */
export async function newPassword(
  policies: PasswordPolicies,
  mount: MountView,
  { credential_config }: Pick<Role, 'credential_config'>,
  { config }: Opened,
): Promise<string> {
  const policy = credential_config.password_policy || config.password_policy;
  return policy ? policies.generate(mount, policy) : usualPassword();
}

function wordsOf(name: string, endMs: number) {
  // The time in the date format of PostgreSQL.
  const time = new Date(endMs + graceMs).toISOString().replace('T', ' ').slice(0, 19);
  return { name, username: name, expiration: `${time}+0000` };
}
