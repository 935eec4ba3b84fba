import { createHash, randomBytes, randomUUID } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { collection } from '../../sdk/collection';
import { bool, commaList, duration, int, olderName, string } from '../../sdk/fields';
import { type Path, path } from '../../sdk/path';
import { namesPath } from '../../sdk/records';
import { data, empty, missing, type Reply } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { checkCidrs, isGiven, loginFields, settleTokenParams, showTokenParams } from '../../sdk/token-params';
import { removeAllSecretIds } from './secret-ids';

/** The fields of a role that a client sets. */
export const roleFields = loginFields({
  bind_secret_id: [bool().describe('Whether a login needs a secret ID.'), true],
  secret_id_bound_cidrs: [commaList().describe('CIDR blocks from which secret IDs can be used to log in.'), []],
  secret_id_num_uses: [int().describe('Number of logins with a secret ID; 0 is unlimited.'), 0],
  secret_id_ttl: [duration().describe('Lifetime of secret IDs; 0 is unlimited.'), 0],
  local_secret_ids: [
    bool().describe('Secret IDs belong to this installation only. Can only be set when the role is created.'),
    false,
  ],
});
const RoleInput = roleFields.input.extend({
  role_id: string().optional().describe('The role ID; random by default.'),
  bound_cidr_list: olderName(commaList(), 'secret_id_bound_cidrs'),
});

/** A role as stored. */
export type AppRole = z.output<typeof roleFields.input> & {
  readonly uuid: string;
  readonly name: string;
  readonly roleId: string;
  /** The hash key for the role's secret ids; the record is sealed. */
  readonly hashKey: string;
};

const roleOutput = roleFields.output.extend({ secret_id_bound_cidrs: z.array(z.string()).nullable() });

/** Roles by lower-case name. */
export const roles = collection('role/', z.custom<AppRole>());
const roleNames = collection('role-id/', z.string());
const indexKey = (roleId: string) => createHash('sha256').update(roleId).digest('hex');

/** The role of a role id. */
export async function findByRoleId(storage: Storage, roleId: string): Promise<AppRole | undefined> {
  const name = await roleNames.find(storage, indexKey(roleId));
  const role = name === undefined ? undefined : await roles.find(storage, name);
  return role?.roleId === roleId ? role : undefined;
}

/** In a path, role names ignore case. */
export const roleFolds = { role_name: 'case' } as const;

/** The role of a call's URL. */
export const roleOf = (call: { params: { role_name: string }; storage: Storage }) =>
  roles.find(call.storage, call.params.role_name);

/** Like `roleOf`, but throws if the role does not exist. */
export async function requireRole(call: { params: { role_name: string }; storage: Storage }): Promise<AppRole> {
  const role = await roleOf(call);
  if (!role) throw roleMissing(call);
  return role;
}

/** The refusal of a call for a missing role. */
export const roleMissing = (call: { params: { role_name: string } }) =>
  new Refusal('invalid', `role ${JSON.stringify(call.params.role_name)} does not exist`);

/** Changes the role of a call's URL, if it exists. Changes of one role run one after the other. */
export function changeRole(
  call: { params: { role_name: string }; storage: Storage },
  change: (storage: Storage, role: AppRole | undefined) => Promise<void>,
): Promise<Reply> {
  return call.storage.transaction(`role/${call.params.role_name}`, async (storage) => {
    await change(storage, await roleOf({ params: call.params, storage }));
    return empty;
  });
}

/** Checks a role as a whole, and stores it. */
export function putRole(storage: Storage, role: AppRole): void {
  if (role.secret_id_num_uses < 0) throw new Refusal('invalid', 'secret_id_num_uses cannot be negative');
  checkCidrs(role.secret_id_bound_cidrs);
  if (!role.bind_secret_id && role.secret_id_bound_cidrs.length === 0 && role.token_bound_cidrs.length === 0) {
    throw new Refusal('invalid', 'at least one constraint should be enabled on the role');
  }
  roles.put(storage, role.name, role);
}

/** Changes the role id of a role. Call it in a transaction. Throws if another role has the id. */
async function changeRoleId(storage: Storage, role: AppRole, roleId: string): Promise<AppRole> {
  if (roleId.length > 4_096) throw new Refusal('invalid', 'role_id is longer than 4096 characters');
  const holder = await roleNames.find(storage, indexKey(roleId));
  if (holder !== undefined && holder !== role.name) throw new Refusal('conflict', 'role_id already in use');
  if (role.roleId !== '' && role.roleId !== roleId) roleNames.delete(storage, indexKey(role.roleId));
  roleNames.put(storage, indexKey(roleId), role.name);
  return { ...role, roleId };
}

/** Roles: `role`, `role/:role_name` and its role id. */
export function rolePaths(): Path[] {
  return [
    namesPath('role', roles, { summary: 'The roles of this method.', list: 'List the roles.' }),
    path('role/:role_name', {
      folds: roleFolds,
      summary: 'A role: how machines log in, and the settings of their tokens.',
      stored: roleOf,
      read: {
        summary: 'Read a role.',
        output: roleOutput,
        async run(call) {
          const role = await roleOf(call);
          return role ? data(shownRole(role)) : missing;
        },
      },
      write: {
        summary: 'Create a role, or change some of its fields.',
        input: RoleInput,
        update: 'merge',
        defaults: roleFields.defaults,
        run: writeRole,
      },
      delete: {
        summary: 'Delete a role and its secret IDs. Also succeeds if it does not exist.',
        async run(call) {
          const role = await roleOf(call);
          if (!role) return empty;
          roles.delete(call.storage, role.name);
          roleNames.delete(call.storage, indexKey(role.roleId));
          removeAllSecretIds(call.storage, role);
          return empty;
        },
      },
    }),
    path('role/:role_name/role-id', {
      folds: roleFolds,
      summary: 'The role ID of a role.',
      read: {
        summary: 'Read the role ID.',
        output: z.object({ role_id: z.string() }),
        async run(call) {
          const role = await roleOf(call);
          return role ? data({ role_id: role.roleId }) : missing;
        },
      },
      write: {
        summary: 'Change the role ID.',
        input: z.object({ role_id: string().optional().describe('The new role ID.') }),
        run(call) {
          const { role_id: roleId } = call.input;
          return changeRole(call, async (storage, role) => {
            if (!role) throw roleMissing(call);
            if (!roleId) throw new Refusal('invalid', 'missing role_id');
            putRole(storage, await changeRoleId(storage, role, roleId));
          });
        },
      },
    }),
  ];
}

async function writeRole(call: Call<{ role_name: string }, z.output<typeof RoleInput>> & { stored: unknown }) {
  const { role_id: roleId, bound_cidr_list: olderCidrs, ...merged } = call.input;
  const before = call.stored as AppRole | undefined;
  if (before && before.local_secret_ids !== merged.local_secret_ids) {
    throw new Refusal('invalid', 'local_secret_ids can only be modified during role creation');
  }
  const params = settleTokenParams(merged, call.fields);
  const name = call.params.role_name;
  const identity = before ?? { uuid: randomUUID(), name, roleId: '', hashKey: randomBytes(32).toString('base64') };
  const useOlder = olderCidrs !== undefined && !isGiven(call.fields, 'secret_id_bound_cidrs', merged);
  let role: AppRole = {
    ...params,
    ...(useOlder && { secret_id_bound_cidrs: olderCidrs }),
    uuid: identity.uuid,
    name: identity.name,
    roleId: identity.roleId,
    hashKey: identity.hashKey,
  };
  const nextRoleId = roleId || identity.roleId || randomUUID();
  if (nextRoleId !== role.roleId) role = await changeRoleId(call.storage, role, nextRoleId);
  putRole(call.storage, role);
  return empty;
}

function shownRole(role: AppRole): Record<string, unknown> {
  return {
    bind_secret_id: role.bind_secret_id,
    local_secret_ids: role.local_secret_ids,
    secret_id_bound_cidrs: role.secret_id_bound_cidrs.length > 0 ? role.secret_id_bound_cidrs : null,
    secret_id_num_uses: role.secret_id_num_uses,
    secret_id_ttl: role.secret_id_ttl,
    ...showTokenParams(role),
  };
}
