import type { z } from 'zod';
import { collection } from '../../sdk/collection';
import { duration, keyValues, string, stringList } from '../../sdk/fields';
import type { Operation } from '../../sdk/path';
import { recordFields } from '../../sdk/record-fields';
import { namesPath, recordPath } from '../../sdk/records';
import { refuse } from '../../sdk/refuse';
import { empty } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { staticRoles } from './static-record';

/** The credential settings of both kinds of roles. */
const credentialRows = {
  db_name: [string().describe('The connection that the role uses.'), ''],
  credential_type: [string().describe('Kind of credential; only password is supported.'), 'password'],
  credential_config: [
    keyValues().describe('password_policy: a password policy to use instead of the connection’s.'),
    {},
  ],
} as const;

const statementsField = (text: string) => stringList().describe(text);

const roleFields = recordFields({
  db_name: credentialRows.db_name,
  creation_statements: [statementsField('Statements that create a user.'), []],
  revocation_statements: [statementsField('Statements that drop a user; empty for the default.'), []],
  rollback_statements: [
    statementsField('Statements that clean up after a failed creation; by default the revocation statements.'),
    [],
  ],
  renew_statements: [statementsField('Statements of a renewal; empty for the default.'), []],
  default_ttl: [duration().describe('Default lifetime of credentials. 0: the default of the mount.'), 0],
  max_ttl: [duration().describe('Maximum lifetime of credentials with renewals. 0: the maximum of the mount.'), 0],
  credential_type: credentialRows.credential_type,
  credential_config: credentialRows.credential_config,
});
export const roles = collection('role/', roleFields.input);
export type Role = z.output<typeof roleFields.input>;

/** Refuses unsupported credential types, and settings of other types. */
export function checkCredentials(type: string, config: Readonly<Record<string, string>>): void {
  if (!['password', 'rsa_private_key', 'client_certificate'].includes(type))
    refuse(`invalid credential_type "${type}"`);
  if (type !== 'password') refuse(`unsupported credential_type: "${type}"; only "password" is supported`);
  const unknown = Object.keys(config).find((name) => name !== 'password_policy');
  if (unknown !== undefined) refuse(`credential_config: ${unknown} is not known; there is password_policy`);
}

export const namesClash = 'Role and Static Role names must be unique';

/** Lists roles. */
export const roleListPath = namesPath('roles', roles, {
  summary: 'The roles of this mount.',
  list: 'List the names of the roles.',
});

/** Reads, writes and deletes a role. */
export const rolePath = recordPath('roles/:name', roles, {
  summary: 'A role: how users are created.',
  params: { name: 'name-at' },
  read: { summary: 'Read a role.', output: roleFields.output, show: (role) => role },
  write: {
    summary: 'Create a role, or change some of its fields.',
    update: 'merge',
    defaults: roleFields.defaults,
    input: roleFields.input,
    async run({ params, input, storage }) {
      if (input.db_name === '') refuse('database name is required');
      checkCredentials(input.credential_type, input.credential_config);
      if (await isStatic(storage, params.name)) refuse(namesClash);
      roles.put(storage, params.name, input);
      return empty;
    },
  } satisfies Operation<{ readonly name: string }, typeof roleFields.input, Role>,
  delete: 'Delete a role. Users created from it remain until their leases end.',
});

const isStatic = async (storage: Storage, name: string): Promise<boolean> =>
  (await staticRoles.find(storage, name)) !== undefined;
