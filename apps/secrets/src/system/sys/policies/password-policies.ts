import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import { generatePassword, parsePasswordPolicy } from '../../../kernel/policy/password-policy';
import { collection } from '../../../sdk/collection';
import { document, string } from '../../../sdk/fields';
import { type Path, path } from '../../../sdk/path';
import { data, empty, keys, missing } from '../../../sdk/reply';
import type { Storage } from '../../../sdk/storage';
import { decoded } from './policies';

const Stored = z.object({ policy: z.string() });
const policies = collection('password-policies/', Stored);

/** A password by a policy of this storage's namespace. Throws `invalid` if there is none. */
export async function passwordBy(storage: Storage, name: string): Promise<string> {
  const { policy } = await policies.require(storage, name, `no password policy found for ${JSON.stringify(name)}`);
  return generatePassword(parsePasswordPolicy(policy));
}

/** `sys/policies/password`: password policies, and generated passwords. */
export function passwordPolicyPaths(): Path[] {
  return [
    path('policies/password', {
      summary: 'The password policies of the namespace.',
      list: {
        summary: 'List the password policies.',
        operationId: 'policies-list-password-policies',
        output: z.object({ keys: z.array(z.string()) }),
        auditClear: 'all',
        run: async ({ storage }) => keys(await policies.list(storage)),
      },
    }),
    path('policies/password/:name', {
      summary: 'A password policy.',
      description: 'Length, and rules with the minimum number of characters of certain kinds.',
      exists: async ({ storage, params }) => (await policies.find(storage, params.name)) !== undefined,
      read: {
        summary: 'Read a password policy.',
        operationId: 'policies-read-password-policy',
        output: Stored,
        auditClear: 'all',
        async run({ storage, params }) {
          const found = await policies.find(storage, params.name);
          return found ? data({ policy: found.policy }) : missing;
        },
      },
      write: {
        summary: 'Create a password policy, or replace it.',
        operationId: 'policies-write-password-policy',
        input: z.object({
          policy: document(string()).optional().describe('The policy, in HCL or JSON; either may be in base64.'),
        }),
        auditClear: 'all',
        run({ storage, params, input }) {
          if (!input.policy) throw new Refusal('invalid', "'policy' parameter not supplied or empty");
          const text = decoded(input.policy);
          parsePasswordPolicy(text);
          policies.put(storage, params.name, { policy: text });
          return empty;
        },
      },
      delete: {
        summary: 'Delete a password policy. Also succeeds if it does not exist.',
        operationId: 'policies-delete-password-policy',
        run({ storage, params }) {
          policies.delete(storage, params.name);
          return empty;
        },
      },
    }),
    path('policies/password/:name/generate', {
      summary: 'Passwords that meet a policy.',
      read: {
        summary: 'Generate a password. It is not stored.',
        operationId: 'policies-generate-password-from-password-policy',
        output: z.object({ password: z.string() }),
        async run({ storage, params }) {
          const found = await policies.find(storage, params.name);
          return found ? data({ password: generatePassword(parsePasswordPolicy(found.policy)) }) : missing;
        },
      },
    }),
  ];
}
