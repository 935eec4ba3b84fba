import { randomBase62 } from '@keystead/auth';
import { z } from 'zod';
import { announced, document, duration, string } from '../../../sdk/fields';
import { PageInput, pageOf } from '../../../sdk/paging';
import { path } from '../../../sdk/path';
import { data, empty, keys, missing } from '../../../sdk/reply';
import { readTemplate } from './claims-template';
import { requireRing } from './key-ring';
import { findKey } from './named-keys';
import { roles } from './roles';
import { refuse, settle } from './settings';

const dayInSeconds = 24 * 3600;

const Input = z.object({
  key: string().optional().describe('The key that signs; it must exist. Required for a new role.'),
  template: document(string())
    .optional()
    .describe('Further claims, as JSON with directives such as {{identity.entity.name}}; also in base64.'),
  client_id: string().optional().describe('The audience of the tokens; made if none is given.'),
  ttl: announced(duration(), { default: '24h' })
    .optional()
    .describe('Lifetime of the tokens; at most the verification_ttl of the key.'),
});

const Output = z.object({ client_id: z.string(), key: z.string(), template: z.string(), ttl: z.int() });

/** What identity tokens are like that entities ask for themselves. */
export const rolePaths = [
  path('oidc/role', {
    summary: 'The roles of identity tokens.',
    list: {
      summary: 'List the roles.',
      input: PageInput,
      output: z.object({ keys: z.array(z.string()) }),
      run: async ({ input, storage }) => keys(await roles.list(storage, pageOf(input))),
    },
  }),
  path('oidc/role/:name', {
    summary: 'What identity tokens are like that entities ask for themselves.',
    exists: async ({ params, storage }) => (await roles.find(storage, params.name)) !== undefined,
    read: {
      summary: 'Read a role.',
      output: Output,
      async run({ params, storage }) {
        const found = await roles.find(storage, params.name);
        return found ? data(found) : missing;
      },
    },
    write: {
      summary: 'Create a role, or change what is named.',
      input: Input,
      async run({ params, input, storage, nowMs }) {
        const made = await settle(storage, async (tx) => {
          const before = await roles.find(tx, params.name);
          const key = input.key ?? before?.key ?? '';
          if (key === '') refuse('the key parameter is required');
          const template = input.template === undefined ? (before?.template ?? '') : readTemplate(input.template);
          const settings = (await findKey(tx, key)) ?? refuse(`cannot find key ${JSON.stringify(key)}`);
          const ttl = input.ttl ?? before?.ttl ?? dayInSeconds;
          if (ttl > settings.verification_ttl) {
            refuse("a role's token ttl cannot be longer than the verification_ttl of the key it references");
          }
          const client_id = (input.client_id ?? before?.client_id) || randomBase62(26);
          roles.put(tx, params.name, { client_id, key, template, ttl });
          return { key, settings };
        });
        await requireRing(storage, made.key, made.settings, nowMs);
        return empty;
      },
    },
    delete: {
      summary: 'Delete a role. Deleting an absent one succeeds.',
      run({ params, storage }) {
        roles.delete(storage, params.name);
        return empty;
      },
    },
  }),
];
