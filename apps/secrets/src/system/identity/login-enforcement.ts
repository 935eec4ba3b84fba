import { z } from 'zod';
import type { Mfa } from '../../kernel/mfa/mfa';
import type { Enforcement } from '../../kernel/mfa/types';
import type { Namespaces } from '../../kernel/namespaces/namespaces';
import { commaList, idList } from '../../sdk/fields';
import { type Path, path } from '../../sdk/path';
import { data, empty, keys, missing } from '../../sdk/reply';
import { enforcementOutput, listOutput } from './outputs';

const EnforcementInput = z.object({
  mfa_method_ids: idList()
    .optional()
    .describe('IDs of MFA methods; a login must pass one of them. Required for a new enforcement.'),
  auth_method_accessors: commaList().optional().describe('Accessors of auth mounts to whose logins it applies.'),
  auth_method_types: commaList().optional().describe('Types of auth mounts to whose logins it applies.'),
  identity_group_ids: idList().optional().describe('IDs of groups to whose members it applies.'),
  identity_entity_ids: idList().optional().describe('IDs of entities to which it applies.'),
});

/** The second factors that logins need. Spec: TOTP MFA method. */
export function loginEnforcementPaths({ enforcements }: Mfa, namespaces: Namespaces): Path[] {
  const show = (enforcement: Enforcement) => {
    const { id = '', path: at = '' } = namespaces.find(enforcement.namespaceId) ?? {};
    return {
      auth_method_accessors: enforcement.authMethodAccessors,
      auth_method_types: enforcement.authMethodTypes,
      id: enforcement.id,
      identity_entity_ids: enforcement.entityIds,
      identity_group_ids: enforcement.groupIds,
      mfa_method_ids: enforcement.methodIds,
      name: enforcement.name,
      namespace_id: id,
      namespace_path: at,
    };
  };
  return [
    path('mfa/login-enforcement', {
      summary: 'Login enforcements.',
      list: {
        summary: 'List the login enforcements.',
        output: listOutput,
        async run({ namespace }) {
          const found = await enforcements.list(namespace.uuid);
          return keys(
            found.map(({ name }) => name),
            Object.fromEntries(found.map((enforcement) => [enforcement.name, show(enforcement)])),
          );
        },
      },
    }),
    path('mfa/login-enforcement/:name', {
      summary: 'A login enforcement: which logins require which MFA methods.',
      read: {
        summary: 'Read a login enforcement.',
        output: enforcementOutput,
        async run({ namespace, params }) {
          const found = await enforcements.find(namespace.uuid, params.name);
          return found ? data(show(found)) : missing;
        },
      },
      write: {
        summary: 'Create a login enforcement, or change some of its fields.',
        input: EnforcementInput,
        async run({ input, namespace, params }) {
          await enforcements.write(namespace.uuid, params.name, {
            methodIds: input.mfa_method_ids,
            authMethodAccessors: input.auth_method_accessors,
            authMethodTypes: input.auth_method_types,
            groupIds: input.identity_group_ids,
            entityIds: input.identity_entity_ids,
          });
          return empty;
        },
      },
      delete: {
        summary: 'Delete a login enforcement. Also succeeds if it does not exist.',
        async run({ namespace, params }) {
          await enforcements.delete(namespace.uuid, params.name);
          return empty;
        },
      },
    }),
  ];
}
