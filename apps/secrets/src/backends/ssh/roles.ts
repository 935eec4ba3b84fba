import { z } from 'zod';
import { stillThere } from '../../sdk/collection';
import { PageInput, pageOf } from '../../sdk/paging';
import { path } from '../../sdk/path';
import { data, empty, keys, missing } from '../../sdk/reply';
import { checkedRole, roleFields, roles, showRole } from './role';
import { forgetZeroAddress } from './zero-address';

/** List, read, write and delete roles. */
export const rolePaths = [
  path('roles', {
    summary: 'The roles of this mount.',
    list: {
      summary: 'List the names of the roles.',
      operationId: 'list-roles',
      input: PageInput,
      output: z.object({ keys: z.array(z.string()), key_info: z.record(z.string(), z.unknown()) }),
      async run({ input, storage }) {
        const found = await stillThere(await roles.list(storage, pageOf(input)), (name) => roles.find(storage, name));
        const info = found.map(([name, { key_type, issuer_ref }]) => [
          name,
          key_type === 'ca' ? { key_type, issuer_ref } : { key_type },
        ]);
        return keys(
          found.map(([name]) => name),
          Object.fromEntries(info),
        );
      },
    },
  }),
  path('roles/:role', {
    summary: 'A role: which certificates or one-time passwords may be requested.',
    params: { role: 'name-at' },
    read: {
      summary: 'Read a role.',
      operationId: 'read-role',
      output: roleFields.output.partial(),
      async run({ params, storage }) {
        const role = await roles.find(storage, params.role);
        return role ? data(showRole(role)) : missing;
      },
    },
    write: {
      summary: 'Write a role. Omitted fields are reset to their defaults.',
      operationId: 'write-role',
      update: 'replace',
      defaults: roleFields.defaults,
      input: roleFields.input,
      run({ input, params, storage }) {
        roles.put(storage, params.role, checkedRole(input));
        return empty;
      },
    },
    delete: {
      summary: 'Delete a role. Its certificates stay valid.',
      operationId: 'delete-role',
      async run({ params, storage }) {
        await forgetZeroAddress(storage, params.role);
        roles.delete(storage, params.role);
        return empty;
      },
    },
  }),
];
