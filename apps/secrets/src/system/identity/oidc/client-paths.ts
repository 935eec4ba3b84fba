import { isPlainAddress, mintToken, randomBase62 } from '@keystead/auth';
import { z } from 'zod';
import { stillThere } from '../../../sdk/collection';
import { announced, bool, commaList, duration, string } from '../../../sdk/fields';
import { PageInput, pageOf } from '../../../sdk/paging';
import { path } from '../../../sdk/path';
import { data, empty, keys, missing } from '../../../sdk/reply';
import type { Storage } from '../../../sdk/storage';
import { findAssignment } from './assignments';
import { clientNames, clients, type OidcClient } from './clients';
import { requireRing } from './key-ring';
import { defaultKeyName, findKey } from './named-keys';
import { distinct, refuse, settle } from './settings';

const dayInSeconds = 24 * 3600;
const types = ['confidential', 'public'] as const;

const Input = z.object({
  redirect_uris: commaList()
    .optional()
    .describe('Redirect URIs, which must match exactly. The port of http addresses on loopback may differ.'),
  assignments: commaList()
    .optional()
    .describe(
      'Assignments of entities that may sign in. `allow_all` allows all entities. Without an assignment, no entity can sign in.',
    ),
  key: announced(string(), { default: defaultKeyName })
    .optional()
    .describe('The key that signs its ID tokens; cannot be changed later.'),
  id_token_ttl: announced(duration(), { default: '24h' })
    .optional()
    .describe('Lifetime of ID tokens; at most the verification_ttl of the key.'),
  access_token_ttl: announced(duration(), { default: '24h' }).optional().describe('Lifetime of access tokens.'),
  client_type: announced(string(), { default: 'confidential', enum: types })
    .optional()
    .describe('confidential: has a client secret. public: has none and must use PKCE. Cannot be changed later.'),
  authorization_code: bool().optional().describe('Must be true: no other flow is supported.'),
  client_credentials: bool().optional().describe('Must be false: machines log in with an auth method.'),
});
type Input = z.output<typeof Input>;

const texts = z.array(z.string());
const shown = {
  redirect_uris: texts,
  assignments: texts,
  key: z.string(),
  id_token_ttl: z.int(),
  access_token_ttl: z.int(),
  client_type: z.string(),
  client_id: z.string(),
};

/** The applications that people sign in to. */
export const clientPaths = [
  path('oidc/client', {
    summary: 'OIDC clients: the applications that users sign in to.',
    list: {
      summary: 'List the clients. Client secrets are not shown.',
      input: PageInput,
      output: z.object({ keys: texts, key_info: z.record(z.string(), z.object(shown)) }),
      async run({ input, storage }) {
        const names = await clients.list(storage, pageOf(input));
        const found = await stillThere(names, (name) => clients.find(storage, name));
        return keys(
          found.map(([name]) => name),
          Object.fromEntries(found.map(([name, client]) => [name, withoutSecret(client)])),
        );
      },
    },
  }),
  path('oidc/client/:name', {
    summary: 'An OIDC client: an application that users sign in to.',
    exists: async ({ params, storage }) => (await clients.find(storage, params.name)) !== undefined,
    read: {
      summary: 'Read a client, including its client secret.',
      stepUp: true,
      output: z.object({ ...shown, client_secret: z.string().optional() }),
      async run({ params, storage }) {
        const found = await clients.find(storage, params.name);
        if (!found) return missing;
        const { client_secret } = found;
        return data({ ...withoutSecret(found), ...(client_secret && { client_secret }) });
      },
    },
    write: {
      summary: 'Create a client, or change some of its fields.',
      input: Input,
      async run({ params: { name }, input, storage, nowMs }) {
        const { client, key } = await settle(storage, async (tx) => {
          const before = await clients.find(tx, name);
          const client = changed(before, input);
          await checkAssignments(tx, client.assignments);
          const key = (await findKey(tx, client.key)) ?? refuse(`key ${JSON.stringify(client.key)} does not exist`);
          if (client.id_token_ttl > key.verification_ttl) {
            refuse("a client's id_token_ttl cannot be greater than the verification_ttl of the key it references");
          }
          clients.put(tx, name, client);
          if (!before) clientNames.put(tx, client.client_id, { name });
          return { client, key };
        });
        await requireRing(storage, client.key, key, nowMs);
        return empty;
      },
    },
    delete: {
      summary: 'Delete a client. Its codes and tokens become invalid. Also succeeds if it does not exist.',
      async run({ params: { name }, storage }) {
        await settle(storage, async (tx) => {
          const found = await clients.find(tx, name);
          if (!found) return;
          clients.delete(tx, name);
          clientNames.delete(tx, found.client_id);
        });
        return empty;
      },
    },
  }),
];

function withoutSecret({ client_secret: _secret, ...rest }: OidcClient): Omit<OidcClient, 'client_secret'> {
  return rest;
}

function changed(before: OidcClient | undefined, input: Input): OidcClient {
  if (input.authorization_code === false) refuse('authorization_code cannot be false: no other flow is supported');
  if (input.client_credentials) refuse('client_credentials is not supported: machines log in with an auth method');
  const key = input.key ?? before?.key ?? defaultKeyName;
  if (before && key !== before.key) refuse('key modification is not allowed');
  const type = input.client_type ?? before?.client_type ?? 'confidential';
  if (before && type !== before.client_type) refuse('client_type modification is not allowed');
  if (!isType(type)) return refuse(`invalid client_type ${JSON.stringify(type)}`);
  const redirect_uris = distinct(input.redirect_uris ?? before?.redirect_uris ?? []);
  const wrong = redirect_uris.find((uri) => !isPlainAddress(uri) || scripts.test(uri));
  if (wrong !== undefined) refuse(`redirect_uris: ${JSON.stringify(wrong)} is not a valid redirect URI`);
  return {
    redirect_uris,
    assignments: distinct(input.assignments ?? before?.assignments ?? []),
    key,
    id_token_ttl: input.id_token_ttl ?? before?.id_token_ttl ?? dayInSeconds,
    access_token_ttl: input.access_token_ttl ?? before?.access_token_ttl ?? dayInSeconds,
    client_type: type,
    client_id: before?.client_id ?? randomBase62(32),
    client_secret: before?.client_secret ?? (type === 'confidential' ? mintToken('hvo_secret_', 64) : ''),
  };
}

/** Schemes that a browser would execute instead of opening. */
const scripts = /^(?:javascript|data|vbscript|blob|file|about):/i;

const isType = (text: string): text is OidcClient['client_type'] => types.some((type) => type === text);

async function checkAssignments(tx: Storage, names: readonly string[]): Promise<void> {
  for (const name of names) {
    if (!(await findAssignment(tx, name))) refuse(`assignment ${JSON.stringify(name)} does not exist`);
  }
}
