import type { Call } from '../../sdk/call';
import { path } from '../../sdk/path';
import { namesPath } from '../../sdk/records';
import { data, empty, missing } from '../../sdk/reply';
import { findCa, issuerRef } from './ca';
import { checkedRole, type Role, roleFields, roles } from './role';

async function keepRole(call: Pick<Call, 'storage'> & { warn(text: string): void }, name: string, input: Role) {
  const role = checkedRole(input);
  if (input.no_store && input.generate_lease) {
    call.warn(
      'mutually exclusive values no_store=true and generate_lease=true were both specified; no_store=true takes priority',
    );
  }
  if (role.generate_lease) {
    call.warn(
      "it is encouraged to disable generate_lease and rely on PKI's native capabilities when possible; this option can cause instance-wide issues with large numbers of issued certificates",
    );
  }
  if (!issuerRef(await findCa(call.storage), role.issuer_ref)) {
    call.warn(
      role.issuer_ref === 'default'
        ? 'Issuing Certificate was set to default, but no default issuing certificate (configurable at /config/issuers) is currently set'
        : `Issuing Certificate was set to ${role.issuer_ref} but no issuing certificate currently has that name`,
    );
  }
  roles.put(call.storage, name, role);
  return data(role);
}

export const rolePaths = [
  namesPath('roles', roles, { summary: 'The roles of this mount.', list: 'List the names of the roles.' }),
  path('roles/:name', {
    summary: 'A role: which certificates may be requested.',
    stored: ({ params, storage }) => roles.find(storage, params.name),
    read: {
      summary: 'Read a role.',
      operationId: 'read-role',
      output: roleFields.output,
      async run({ params, storage }) {
        const role = await roles.find(storage, params.name);
        return role ? data(role) : missing;
      },
    },
    write: {
      summary: 'Write a role. Omitted fields are reset to their defaults.',
      operationId: 'write-role',
      update: 'replace',
      defaults: roleFields.defaults,
      input: roleFields.input,
      output: roleFields.output,
      run: (call) => keepRole(call, call.params.name, call.input),
    },
    patch: {
      summary: 'Change some fields of a role; omitted fields keep their values.',
      operationId: 'patch-role',
      update: 'merge',
      defaults: roleFields.defaults,
      input: roleFields.input,
      output: roleFields.output,
      run: async (call) => (call.stored === undefined ? missing : keepRole(call, call.params.name, call.input)),
    },
    delete: {
      summary: 'Delete a role. Its certificates stay valid.',
      operationId: 'delete-role',
      run({ params, storage }) {
        roles.delete(storage, params.name);
        return empty;
      },
    },
  }),
];
