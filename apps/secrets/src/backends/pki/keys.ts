import { z } from 'zod';
import { announced, int, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { data, empty, keys } from '../../sdk/reply';
import { type CaKey, changeCa, checkedName, findCa, keyRef, newKey, requireKey, withKey } from './ca';
import { keyIdOf } from './certificate';
import { checkedKeyRules, formatKey, makeKey, shownKeyOf } from './key-pair';

const keyOutput = z.object({ key_id: z.string(), key_name: z.string(), key_type: z.string() });
const show = ({ key_id, key_name, key_type }: CaKey) => ({ key_id, key_name, key_type });

/** List, read and change the keys of issuers. */
export const keyPaths = [
  path('keys', {
    summary: 'The keys of this mount.',
    list: {
      summary: 'List the IDs of the keys.',
      operationId: 'list-keys',
      output: z.object({ keys: z.array(z.string()), key_info: z.record(z.string(), z.unknown()) }),
      async run({ storage }) {
        const ca = await findCa(storage);
        const info = Object.values(ca.keys).map(({ key_id, key_name }) => [
          key_id,
          { key_name, is_default: key_id === ca.default_key },
        ]);
        return keys(Object.keys(ca.keys).sort(), Object.fromEntries(info));
      },
    },
  }),
  path('keys/generate/:kind', {
    summary: 'Generates a key.',
    write: {
      summary: 'Generate a key for issuers. Internal keys cannot be exported.',
      operationId: 'generate-key',
      stepUp: true,
      input: z.object({
        key_name: string().optional().describe('Name of the key.'),
        key_type: announced(string(), { default: 'rsa', enum: ['rsa', 'ec', 'ed25519'] })
          .optional()
          .describe('Type of the key.'),
        key_bits: int().optional().describe('Size of the key. 0: the default of the type.'),
      }),
      output: keyOutput.extend({ private_key: z.string().optional() }),
      async run({ input, params, storage }) {
        const { kind } = params;
        if (kind === 'kms') refuse('kms: keys in external systems are not supported');
        if (kind !== 'internal' && kind !== 'exported') refuse(`unknown export type: ${kind}`);
        const name = checkedName(input.key_name ?? '', 'key');
        if (name !== '' && keyRef(await findCa(storage), name)) refuse('key name already in use');
        const rules = checkedKeyRules({
          key_type: input.key_type ?? 'rsa',
          key_bits: input.key_bits ?? 0,
          signature_bits: 0,
        });
        if (rules.key_type === 'any') refuse('unknown key type any');
        const key = await makeKey(rules);
        const created = newKey(key, name);
        await changeCa(storage, (ca, tx) => withKey(ca, tx, created));
        return data({
          ...show(created.info),
          ...(kind === 'exported' && { private_key: formatKey(shownKeyOf(key), 'pem', 'der') }),
        });
      },
    },
  }),
  path('key/:ref', {
    summary: 'A key by ID or name, or the default key.',
    read: {
      summary: 'Read a key. The private key is not shown.',
      operationId: 'read-key',
      output: keyOutput.extend({ subject_key_id: z.string() }),
      async run({ params, storage }) {
        const key = requireKey(await findCa(storage), params.ref);
        const subject_key_id = keyIdOf(Buffer.from(key.publicKey, 'base64'))
          .toString('hex')
          .replace(/..(?=.)/g, '$&:');
        return data({ ...show(key), subject_key_id });
      },
    },
    write: {
      summary: 'Rename a key.',
      operationId: 'write-key',
      input: z.object({ key_name: string().optional().describe('Name of the key.') }),
      output: keyOutput,
      async run({ input, params, storage, warn }) {
        const name = checkedName(input.key_name ?? '', 'key');
        let id = '';
        const after = await changeCa(storage, (ca) => {
          const key = requireKey(ca, params.ref);
          id = key.key_id;
          const existing = name === '' ? undefined : keyRef(ca, name);
          if (existing && existing.key_id !== id) refuse('key name already in use');
          return { ...ca, keys: { ...ca.keys, [id]: { ...key, key_name: name } } };
        });
        if (name === '') warn(`Name successfully deleted, you will now need to reference this key by it's Id: ${id}`);
        return data(show(after.keys[id]!));
      },
    },
    delete: {
      summary: 'Delete a key permanently. Refused while an issuer uses it.',
      operationId: 'delete-key',
      stepUp: true,
      async run({ params, storage, warn }) {
        let wasDefault = false;
        let id = '';
        await changeCa(storage, (ca, tx) => {
          const key = keyRef(ca, params.ref);
          if (!key) return ca;
          id = key.key_id;
          const user = Object.values(ca.issuers).find(({ key_id }) => key_id === id);
          if (user) refuse(`Failed to Delete Key.  Key in Use by Issuer: ${user.issuer_id}`);
          const { [id]: _gone, ...remaining } = ca.keys;
          wasDefault = id === ca.default_key;
          tx.delete(`key/${id}`);
          return { ...ca, keys: remaining, default_key: wasDefault ? '' : ca.default_key };
        });
        if (wasDefault) {
          warn(
            `Deleted key ${id} (via key_ref ${params.ref}); this was configured as the default key. Operations without an explicit key will not work until a new default is configured.`,
          );
        }
        return empty;
      },
    },
  }),
  path('config/keys', {
    summary: 'The default key.',
    read: {
      summary: 'Read which key is the default.',
      operationId: 'read-keys-configuration',
      output: z.object({ default: z.string() }),
      run: async ({ storage }) => data({ default: (await findCa(storage)).default_key }),
    },
    write: {
      summary: 'Set the default key.',
      operationId: 'configure-keys',
      input: z.object({ default: string().optional().describe('Reference of the key.') }),
      output: z.object({ default: z.string() }),
      async run({ input, storage }) {
        const ref = input.default ?? '';
        if (ref === '' || ref === 'default') {
          refuse("Invalid key specification; must be non-empty and can't be 'default'.");
        }
        const ca = await changeCa(storage, (before) => ({ ...before, default_key: requireKey(before, ref).key_id }));
        return data({ default: ca.default_key });
      },
    },
  }),
];
