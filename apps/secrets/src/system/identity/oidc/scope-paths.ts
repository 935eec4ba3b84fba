import { z } from 'zod';
import { collection } from '../../../sdk/collection';
import { document, string } from '../../../sdk/fields';
import { PageInput, pageOf } from '../../../sdk/paging';
import { path } from '../../../sdk/path';
import { data, empty, keys, missing } from '../../../sdk/reply';
import { readTemplate } from './claims-template';
import { providers } from './providers';
import { allOf, refuse, requireUnused, settle } from './settings';

const Scope = z.object({ template: z.string(), description: z.string() });

/** Claims that applications may request, by the name of their scope. */
export const scopes = collection('oidc/scope/', Scope);

/** The scope of every request: only the identity. */
export const openidScope = 'openid';

/** The claims that applications may request. */
export const scopePaths = [
  path('oidc/scope', {
    summary: 'The scopes that applications may request.',
    list: {
      summary: 'List the scopes.',
      input: PageInput,
      output: z.object({ keys: z.array(z.string()) }),
      run: async ({ input, storage }) => keys(await scopes.list(storage, pageOf(input))),
    },
  }),
  path('oidc/scope/:name', {
    summary: 'A scope: claims that applications may request.',
    exists: async ({ params, storage }) => (await scopes.find(storage, params.name)) !== undefined,
    read: {
      summary: 'Read a scope.',
      output: Scope,
      async run({ params, storage }) {
        const found = await scopes.find(storage, params.name);
        return found ? data(found) : missing;
      },
    },
    write: {
      summary: 'Create a scope, or change some of its fields.',
      input: z.object({
        template: document(string())
          .optional()
          .describe('Claims of the scope, as JSON with directives such as {{identity.entity.name}}; also in base64.'),
        description: string().optional().describe('Description of the scope.'),
      }),
      async run({ params: { name }, input, storage }) {
        if (name === openidScope) refuse(`the ${JSON.stringify(openidScope)} scope name is reserved`);
        await settle(storage, async (tx) => {
          const { template, description } = (await scopes.find(tx, name)) ?? { template: '', description: '' };
          scopes.put(tx, name, {
            template: input.template === undefined ? template : readTemplate(input.template),
            description: input.description ?? description,
          });
        });
        return empty;
      },
    },
    delete: {
      summary: 'Delete a scope. Refused while a provider supports it.',
      async run({ params: { name }, storage }) {
        await settle(storage, async (tx) => {
          const users = (await allOf(tx, providers)).filter(([, one]) => one.scopes_supported.includes(name));
          requireUnused(
            'scope',
            name,
            'providers',
            users.map(([user]) => user),
          );
          scopes.delete(tx, name);
        });
        return empty;
      },
    },
  }),
];
