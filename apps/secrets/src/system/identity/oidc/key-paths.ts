import { type SigningAlgorithm, signingAlgorithms } from '@keystead/auth';
import { z } from 'zod';
import type { Collection } from '../../../sdk/collection';
import { announced, commaList, duration, string } from '../../../sdk/fields';
import { path } from '../../../sdk/path';
import { data, empty, keys, missing } from '../../../sdk/reply';
import type { Storage } from '../../../sdk/storage';
import { clients } from './clients';
import { deleteRing, requireRing, turn } from './key-ring';
import { defaultKeyName, findKey, type NamedKey, namedKeys, newNamedKey } from './named-keys';
import { roles } from './roles';
import { allOf, distinct, refuse, requireUnused, settle, withName } from './settings';

const Input = z.object({
  algorithm: announced(string(), { default: 'RS256', enum: signingAlgorithms })
    .optional()
    .describe('Signature algorithm of the tokens.'),
  rotation_period: announced(duration(), { default: '24h' })
    .optional()
    .describe('Time between rotations of the key; at least a minute.'),
  verification_ttl: announced(duration(), { default: '24h' })
    .optional()
    .describe('How long tokens can be verified after their key was rotated; at most ten times the rotation_period.'),
  allowed_client_ids: commaList()
    .optional()
    .describe('Client IDs of the roles and clients that may use the key; * for all.'),
});
type Input = z.output<typeof Input>;

const Output = z.object({
  algorithm: z.string(),
  allowed_client_ids: z.array(z.string()),
  rotation_period: z.int(),
  verification_ttl: z.int(),
});

/** The keys that sign the tokens of roles and clients. */
export const keyPaths = [
  path('oidc/key', {
    summary: 'The keys that sign identity tokens.',
    list: {
      summary: 'List the keys.',
      output: z.object({ keys: z.array(z.string()) }),
      run: async ({ storage }) => keys(withName(await namedKeys.list(storage), defaultKeyName)),
    },
  }),
  path('oidc/key/:name', {
    summary: 'A key that signs identity tokens.',
    exists: async ({ params, storage }) => (await findKey(storage, params.name)) !== undefined,
    read: {
      summary: 'Read the settings of a key.',
      output: Output,
      async run({ params, storage }) {
        const found = await findKey(storage, params.name);
        return found ? data(found) : missing;
      },
    },
    write: {
      summary: 'Create a key, or change some of its fields. A new algorithm generates new keys.',
      input: Input,
      async run({ params: { name }, input, storage, nowMs }) {
        const key = await settle(storage, async (tx) => {
          const changed = changedKey((await findKey(tx, name)) ?? newNamedKey, input);
          await checkUsers(tx, name, changed);
          namedKeys.put(tx, name, changed);
          return changed;
        });
        await requireRing(storage, name, key, nowMs);
        return empty;
      },
    },
    delete: {
      summary: 'Delete a key. Refused while a role or a client uses it.',
      async run({ params: { name }, storage }) {
        if (name === defaultKeyName) refuse(`deletion of key ${JSON.stringify(name)} not allowed`);
        await settle(storage, async (tx) => {
          requireUnused('key', name, 'roles', await usersOf(tx, roles, name));
          requireUnused('key', name, 'clients', await usersOf(tx, clients, name));
          namedKeys.delete(tx, name);
          deleteRing(tx, name);
        });
        return empty;
      },
    },
  }),
  path('oidc/key/:name/rotate', {
    summary: 'Rotates a key.',
    write: {
      summary: 'Rotate a key at once.',
      input: z.object({
        verification_ttl: duration()
          .optional()
          .describe('How long tokens of the current key can still be verified. Default: verification_ttl of the key.'),
      }),
      async run({ params: { name }, input, storage, nowMs }) {
        const key = await findKey(storage, name);
        if (!key) return refuse(`no named key found at ${JSON.stringify(name)}`);
        await turn(storage, name, key, nowMs, { verificationTtl: input.verification_ttl });
        return empty;
      },
    },
  }),
];

function changedKey(before: NamedKey, input: Input): NamedKey {
  const algorithm = input.algorithm ?? before.algorithm;
  if (!isAlgorithm(algorithm)) return refuse(`unknown signing algorithm ${JSON.stringify(algorithm)}`);
  const rotation_period = input.rotation_period ?? before.rotation_period;
  const verification_ttl = input.verification_ttl ?? before.verification_ttl;
  if (rotation_period < 60) refuse('rotation_period must be at least one minute');
  if (verification_ttl > 10 * rotation_period) refuse('verification_ttl cannot be longer than 10x rotation_period');
  const allowed_client_ids = distinct(input.allowed_client_ids ?? before.allowed_client_ids);
  return { algorithm, allowed_client_ids, rotation_period, verification_ttl };
}

/**
 * Refuses a verification TTL below the token TTL of a role or client that uses the key, because tokens must be
 * verifiable as long as they are valid.
 */
async function checkUsers(tx: Storage, name: string, { verification_ttl: ttl }: NamedKey): Promise<void> {
  const why = (who: string) =>
    `unable to update key ${JSON.stringify(name)} because it is currently referenced by one or more ${who} greater than ${ttl} seconds`;
  if ((await allOf(tx, roles)).some(([, role]) => role.key === name && role.ttl > ttl)) {
    refuse(why('roles with a token ttl'));
  }
  if ((await allOf(tx, clients)).some(([, client]) => client.key === name && client.id_token_ttl > ttl)) {
    refuse(why('clients with an id_token_ttl'));
  }
}

async function usersOf<T extends { readonly key: string }>(tx: Storage, kind: Collection<T>, key: string) {
  return (await allOf(tx, kind)).filter(([, user]) => user.key === key).map(([name]) => name);
}

const isAlgorithm = (text: string): text is SigningAlgorithm => signingAlgorithms.some((one) => one === text);
