import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { announced, bool, duration, int, string } from '../../sdk/fields';
import { PageInput, pageOf } from '../../sdk/paging';
import { path } from '../../sdk/path';
import { recordFields } from '../../sdk/record-fields';
import { refuse } from '../../sdk/refuse';
import { data, empty, keys, missing } from '../../sdk/reply';
import { decodeField } from './base64';
import {
  changeKey,
  findKey,
  listKeys,
  requireKey,
  rotated,
  rotates,
  type TransitKey,
  usable,
  withoutOldVersions,
} from './key';
import { isKeyType, keyTypes } from './key-type';
import { checkPeriod, createKey, plainKey } from './make-key';
import { makeVersion } from './material';
import { keyOutput, showKey } from './show-key';

/** Lists keys. */
export const keyListPath = path('keys', {
  summary: 'The keys of this mount.',
  list: {
    summary: 'List the names of the keys.',
    operationId: 'list-keys',
    input: PageInput,
    output: z.object({ keys: z.array(z.string()) }),
    run: async ({ input, storage }) => keys(await listKeys(storage, pageOf(input))),
  },
});

const createFields = recordFields({
  type: [announced(string(), { enum: Object.keys(keyTypes) }).describe('Type of the key.'), 'aes256-gcm96'],
  derived: [bool().describe('Derive a separate key from the context of each request.'), false],
  convergent_encryption: [
    bool().describe(
      'Use convergent encryption: the same plaintext with the same context gives the same ciphertext. Needs derived.',
    ),
    false,
  ],
  exportable: [bool().describe('Allow the key to be exported; cannot be undone.'), false],
  allow_plaintext_backup: [bool().describe('Allow a plaintext backup of the key; cannot be undone.'), false],
  auto_rotate_period: [duration().describe('Time after which the key is rotated. 0: never.'), 0],
  key_size: [int().describe('Length in bytes of a key of type hmac.'), 0],
});

/** Creates, reads and deletes a key. */
export const keyPath = path('keys/:name', {
  summary: 'A key: its versions and configuration.',
  read: {
    summary: 'Read a key. Private and symmetric keys are not shown.',
    operationId: 'read-key',
    input: z.object({
      context: string()
        .optional()
        .describe('Context in base64, to show the public key derived from it. Only for derived ed25519 keys.'),
    }),
    output: keyOutput,
    async run({ input, params, storage }) {
      const key = await findKey(storage, params.name);
      if (!key) return missing;
      const context = decodeField(input.context ?? '', 'failed to base64-decode context');
      return data(showKey(params.name, key, context));
    },
  },
  write: {
    summary: 'Create a key. Does not change an existing key.',
    operationId: 'create-key',
    update: 'replace',
    defaults: createFields.defaults,
    input: createFields.input,
    output: keyOutput,
    async run({ input, params, storage, nowMs }) {
      checkPeriod(input.auto_rotate_period);
      if (input.convergent_encryption && !input.derived) {
        refuse('convergent encryption requires derivation to be enabled');
      }
      const { type } = input;
      if (!isKeyType(type)) refuse(`unknown key type ${type}`);
      if (input.key_size !== 0 && type !== 'hmac') refuse(`key_size is not valid for algorithm ${type}`);
      const key = await createKey(storage, params.name, { ...plainKey, ...input, type }, nowMs);
      return data(showKey(params.name, key));
    },
  },
  delete: {
    summary: 'Delete a key permanently. Its ciphertexts can no longer be decrypted. The key must allow deletion.',
    operationId: 'delete-key',
    stepUp: true,
    async run({ params, storage }) {
      const problem = (text: string) => refuse(`error deleting policy ${params.name}: ${text}`);
      await changeKey(storage, params.name, (key) => {
        if (!key) return problem('could not delete key; not found');
        return key.deletion_allowed ? null : problem('deletion is not allowed for this key');
      });
      return empty;
    },
  },
});

const ConfigInput = z.object({
  min_decryption_version: int().optional().describe('Oldest version that can decrypt and verify.'),
  min_encryption_version: int().optional().describe('Oldest version that can encrypt and sign. 0: the newest version.'),
  deletion_allowed: bool().optional().describe('Allow the key to be deleted.'),
  exportable: bool().optional().describe('Allow the key to be exported; cannot be undone.'),
  allow_plaintext_backup: bool().optional().describe('Allow a plaintext backup of the key; cannot be undone.'),
  auto_rotate_period: duration().optional().describe('Time after which the key is rotated. 0: never.'),
});

/** Changes the configuration of a key. */
export const keyConfigurationPath = path('keys/:name/config', {
  summary: 'The configuration of a key.',
  write: {
    summary: 'Change the configuration of a key; omitted fields keep their values.',
    operationId: 'configure-key',
    stepUp: true,
    input: ConfigInput,
    output: keyOutput,
    async run({ input, params, storage, warn }) {
      if (input.min_decryption_version === 0) {
        warn('key versions start at 1: min_decryption_version was set to 1');
      }
      const changed = await changeKey(storage, params.name, (key) =>
        withRules(key ?? refuse(`no existing key named ${params.name} could be found`), input),
      );
      return data(showKey(params.name, changed));
    },
  },
});

/** Applies a configuration. Throws `invalid` if it contradicts itself or the key. */
function withRules(key: TransitKey, input: z.output<typeof ConfigInput>): TransitKey {
  const changes = Object.entries(input).filter(([, value]) => value !== undefined);
  const rules: TransitKey = { ...key, ...Object.fromEntries(changes) };
  const decryption = rules.min_decryption_version || 1;
  const { min_encryption_version: encryption, latest_version: latest } = rules;
  for (const [what, version] of [
    ['decryption', decryption],
    ['encryption', encryption],
  ] as const) {
    if (version < 0) refuse(`min ${what} version cannot be negative`);
    if (version > latest) refuse(`cannot set min ${what} version of ${version}, latest key version is ${latest}`);
  }
  if (encryption > 0 && encryption < decryption) {
    refuse(
      `cannot set min encryption/decryption values; min encryption version of ${encryption} must be greater than or equal to min decryption version of ${decryption}`,
    );
  }
  checkPeriod(rules.auto_rotate_period);
  if (key.min_available_version > encryption) {
    refuse('min encryption version should not be less than min available version');
  }
  if (key.min_available_version > decryption) {
    refuse('min decryption version should not be less then min available version');
  }
  return {
    ...rules,
    min_decryption_version: decryption,
    exportable: key.exportable || rules.exportable,
    allow_plaintext_backup: key.allow_plaintext_backup || rules.allow_plaintext_backup,
  };
}

/** Rotates a key. */
export const rotatePath = path('keys/:name/rotate', {
  summary: 'Rotates a key.',
  write: {
    summary: 'Rotate a key: add a version that encrypts and signs from now on.',
    operationId: 'rotate-key',
    output: keyOutput,
    async run({ params, storage, nowMs }) {
      const found = await requireKey(storage, params.name, 'key not found');
      const { type, key_size } = requireRotatable(params.name, found);
      const newVersion = await makeVersion(type, key_size, nowMs);
      const changed = await changeKey(storage, params.name, (key) => {
        // The key may have been deleted and created again with another type.
        if (key?.type !== type) refuse('key not found');
        return rotated(requireRotatable(params.name, usable(key)), newVersion);
      });
      return data(showKey(params.name, changed));
    },
  },
});

function requireRotatable(name: string, key: TransitKey): TransitKey {
  if (!rotates(key)) refuse(`imported key ${name} does not allow rotation within Vault`);
  return key;
}

/** Permanently removes old versions of a key. */
export const trimPath = path('keys/:name/trim', {
  summary: 'Removes old versions of a key.',
  write: {
    summary: 'Permanently remove all versions before a given version.',
    operationId: 'trim-key',
    stepUp: true,
    input: z.object({ min_available_version: int().optional().describe('Oldest version that is not removed.') }),
    output: keyOutput,
    async run({ input, params, storage }) {
      const least = input.min_available_version;
      const trimmed = await changeKey(storage, params.name, (key) => {
        if (!key) refuse('invalid key name');
        const about = 'minimum available version';
        if (least === undefined) refuse('missing min_available_version');
        if (least < key.min_available_version) refuse(`${about} cannot be decremented`);
        if (key.min_encryption_version === 0) {
          refuse(`${about} cannot be set when minimum encryption version is not set`);
        }
        if (least > key.min_encryption_version) {
          refuse(`${about} cannot be greater than minmum encryption version`);
        }
        if (least > key.min_decryption_version) {
          refuse(`${about} cannot be greater than minimum decryption version`);
        }
        if (least === 0) refuse(`${about} should be positive`);
        return withoutOldVersions({ ...key, min_available_version: least });
      });
      return data(showKey(params.name, trimmed));
    },
  },
});

/** Soft-delete and restore keys. */
export const softDeletePaths = [
  path('keys/:name/soft-delete', {
    summary: 'Disables a key.',
    delete: {
      summary: 'Disable a key until it is restored.',
      operationId: 'soft-delete-key',
      output: keyOutput,
      run: (call) => softDelete(call, true),
    },
  }),
  path('keys/:name/soft-delete-restore', {
    summary: 'Restores a disabled key.',
    write: {
      summary: 'Restore a disabled key.',
      operationId: 'restore-soft-deleted-key',
      output: keyOutput,
      run: (call) => softDelete(call, false),
    },
  }),
];

async function softDelete({ params: { name }, storage, warn }: Call<{ readonly name: string }>, soft_deleted: boolean) {
  const found = await findKey(storage, name);
  if (!found) return missing;
  if (found.soft_deleted === soft_deleted) {
    warn(soft_deleted ? 'key was already marked as soft deleted' : 'key was already restored');
  }
  const key = await changeKey(storage, name, (before) => ({ ...(before ?? refuse('key not found')), soft_deleted }));
  return data(showKey(name, key));
}
