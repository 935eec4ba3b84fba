import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { olderName } from '../../sdk/fields';
import { type Path, path } from '../../sdk/path';
import { data, missing } from '../../sdk/reply';
import { settleTokenParams } from '../../sdk/token-params';
import { type AppRole, changeRole, putRole, roleFields, roleFolds, roleMissing, roleOf } from './role';

const shapes: ReadonlyMap<string, z.ZodType> = new Map(Object.entries(roleFields.input.shape));

/** The field of the role behind each endpoint, by the endpoint's name. */
const settable: Readonly<Record<string, keyof typeof roleFields.defaults>> = {
  policies: 'token_policies',
  'bind-secret-id': 'bind_secret_id',
  'secret-id-num-uses': 'secret_id_num_uses',
  'secret-id-ttl': 'secret_id_ttl',
  'secret-id-bound-cidrs': 'secret_id_bound_cidrs',
  'bound-cidr-list': 'secret_id_bound_cidrs',
  'token-bound-cidrs': 'token_bound_cidrs',
  period: 'token_period',
  'token-num-uses': 'token_num_uses',
  'token-ttl': 'token_ttl',
  'token-max-ttl': 'token_max_ttl',
};
/** Fields with different names at the endpoint and in the role. */
const olderNames: ReadonlyMap<string, string> = new Map(
  Object.entries({
    policies: 'policies',
    period: 'period',
    'bound-cidr-list': 'bound_cidr_list',
  }),
);

/** One endpoint per field of a role, to read, change or reset only this field. */
export function roleFieldPaths(): Path[] {
  return [...Object.entries(settable).map(([endpoint, field]) => fieldPath(endpoint, field)), localPath()];
}

function fieldPath(endpoint: string, field: keyof typeof roleFields.defaults): Path {
  const older = olderNames.get(endpoint);
  const schema = shapes.get(field)!.optional();
  const input = z.object(
    older === undefined ? { [field]: schema } : { [field]: schema, [older]: olderName(shapes.get(field)!, field) },
  );
  return path(`role/:role_name/${endpoint}` as 'role/:role_name/policies', {
    folds: roleFolds,
    summary: `The field ${field} of a role.`,
    read: {
      summary: `Read ${field} of a role.`,
      output: z.looseObject({}),
      async run(call) {
        const role = await roleOf(call);
        if (!role) return missing;
        return data({ [field]: role[field], ...(older !== undefined && { [older]: role[field] }) });
      },
    },
    write: {
      summary: `Change ${field} of a role.`,
      input,
      run(call) {
        return changeRole(call, async (storage, role) => {
          if (!role) throw roleMissing(call);
          const fields = call.input as Record<string, unknown>;
          const value = fields[field] ?? (older === undefined ? undefined : fields[older]);
          if (value === undefined)
            throw new Refusal('invalid', `missing ${field}`, [{ path: [field], message: 'required' }]);
          const changed = { ...role, [field]: value } as AppRole;
          putRole(storage, settleTokenParams(changed, { [field]: value }));
        });
      },
    },
    delete: {
      summary: `Reset ${field} of a role to its default.`,
      run(call) {
        return changeRole(call, async (storage, role) => {
          if (role) putRole(storage, { ...role, [field]: roleFields.defaults[field] } as AppRole);
        });
      },
    },
  });
}

function localPath(): Path {
  return path('role/:role_name/local-secret-ids', {
    folds: roleFolds,
    summary: 'Whether the secret IDs of a role belong to this installation only.',
    read: {
      summary: 'Read local_secret_ids of a role.',
      output: z.object({ local_secret_ids: z.boolean() }),
      async run(call) {
        const role = await roleOf(call);
        return role ? data({ local_secret_ids: role.local_secret_ids }) : missing;
      },
    },
  });
}
