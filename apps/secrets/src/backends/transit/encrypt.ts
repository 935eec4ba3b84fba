import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import type { Call } from '../../sdk/call';
import { announced, bool, int, secretString, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { data } from '../../sdk/reply';
import { decodeBase64, decodeField } from './base64';
import {
  batch,
  checkContexts,
  type Item,
  itemsOf,
  partialFailureCode,
  partialFailureResponses,
  workOn,
  workOnAll,
} from './batch';
import { boundOf, checkEncrypts, decrypt, encrypt } from './cipher';
import { upsertDisabled } from './config-keys';
import { findKey, requireKey, type TransitKey, usable } from './key';
import { isKeyType, kindOf } from './key-type';
import { createKey, plainKey } from './make-key';

const notFound = 'encryption key not found';
const context = string().optional().describe('Context for key derivation, in base64. Required for derived keys.');
const associated = string()
  .optional()
  .describe('Associated data, in base64. It is authenticated with the plaintext and required again for decryption.');
const version = announced(int(), { default: 0 }).optional().describe('Version of the key. Default: the newest.');
const ciphertextOutput = z.object({
  ciphertext: z.string().optional(),
  key_version: z.int().optional(),
  batch_results: z.array(z.looseObject({})).optional(),
});

const EncryptInput = z.object({
  plaintext: secretString().optional().describe('Plaintext, in base64.'),
  context,
  associated_data: associated,
  key_version: version,
  type: announced(string(), { default: 'aes256-gcm96' })
    .optional()
    .describe('Type of the key, if it does not exist and is created.'),
  convergent_encryption: announced(bool(), { default: false })
    .optional()
    .describe(
      'Create a key with convergent encryption: the same plaintext with the same context gives the same ciphertext.',
    ),
  batch_input: batch(),
  partial_failure_response_code: partialFailureCode,
});

/** Encrypts; creates the key if it is missing and the caller may create it. */
export const encryptPath = path('encrypt/:name', {
  summary: 'Encrypts with a key.',
  exists: async ({ params, storage }) => (await findKey(storage, params.name)) !== undefined,
  write: {
    summary: 'Encrypt a plaintext or a batch of plaintexts. Creates the key if it does not exist.',
    operationId: 'encrypt',
    responses: partialFailureResponses,
    largeBody: true,
    input: EncryptInput,
    output: ciphertextOutput,
    async run(call) {
      const { batch_input, plaintext, key_version } = call.input;
      if (!batch_input && plaintext === undefined) refuse('missing plaintext to encrypt');
      const single = {
        plaintext,
        context: call.input.context,
        key_version,
        associated_data: call.input.associated_data,
      };
      const items = itemsOf(batch_input, single, 'plaintext');
      checkContexts(items);
      const key = await keyToEncrypt(call, items);
      return workOnAll(call, items, (item, at) =>
        encrypt(key, decodeBase64(item.plaintext!), boundOf(key, item, `[${at}].`), item.key_version ?? 0),
      );
    },
  },
});

async function keyToEncrypt(
  call: Call<{ readonly name: string }, z.output<typeof EncryptInput>>,
  items: readonly Item[],
): Promise<TransitKey> {
  const { params, input, storage, nowMs } = call;
  const found = await findKey(storage, params.name);
  if (found) return usable(found);
  if (await upsertDisabled(storage)) refuse(notFound);
  const type = input.type ?? 'aes256-gcm96';
  const derived = Boolean(items[0]!.context);
  const convergent_encryption = input.convergent_encryption ?? false;
  if (convergent_encryption && !derived) {
    refuse('convergent encryption requires derivation to be enabled, so context is required');
  }
  if (!isKeyType(type)) refuse(`unknown key type ${type}`);
  const { family } = kindOf(type);
  if (family === 'ecdsa') refuse(`key type ${type} not supported for this operation`);
  if (family !== 'aead') refuse(`unknown key type ${type}`);
  // Don't create a key for a request that cannot be encrypted.
  if (!input.batch_input) {
    decodeBase64(items[0]!.plaintext!);
    decodeBase64(items[0]!.context ?? '');
  }
  return createKey(storage, params.name, { ...plainKey, type, derived, convergent_encryption }, nowMs);
}

const DecryptInput = z.object({
  ciphertext: string().optional().describe('The ciphertext.'),
  context,
  associated_data: associated,
  batch_input: batch(),
  partial_failure_response_code: partialFailureCode,
});

const bytesOf = (key: TransitKey, item: Item, at: number) =>
  decrypt(key, item.ciphertext || refuse('missing ciphertext to decrypt'), boundOf(key, item, `[${at}].`));

export const decryptPath = path('decrypt/:name', {
  summary: 'Decrypts with a key.',
  write: {
    summary: 'Decrypt a ciphertext or a batch of ciphertexts.',
    operationId: 'decrypt',
    responses: partialFailureResponses,
    largeBody: true,
    input: DecryptInput,
    output: z.object({
      plaintext: z.string().optional(),
      batch_results: z.array(z.looseObject({})).optional(),
    }),
    async run(call) {
      const { batch_input, ...single } = call.input;
      if (!batch_input && !single.ciphertext) refuse('missing ciphertext to decrypt');
      const items = itemsOf(batch_input, single, 'ciphertext');
      checkContexts(items);
      const key = await requireKey(call.storage, call.params.name, notFound);
      const work = async (item: Item, at: number) => ({
        plaintext: (await bytesOf(key, item, at)).toString('base64'),
      });
      return workOnAll(call, items, work, { plaintext: '' });
    },
  },
});

const RewrapInput = z.object({
  ciphertext: string().optional().describe('The ciphertext.'),
  context,
  associated_data: associated,
  key_version: version,
  batch_input: batch(),
});

/** Re-encrypts with a newer version, without returning the plaintext. */
export const rewrapPath = path('rewrap/:name', {
  summary: 'Re-encrypts ciphertexts with the newest version of their key.',
  write: {
    summary: 'Re-encrypt a ciphertext or a batch of ciphertexts, with the newest version of the key by default.',
    operationId: 'rewrap',
    largeBody: true,
    input: RewrapInput,
    output: ciphertextOutput,
    async run({ input, params, storage }) {
      const { batch_input, ...single } = input;
      if (!batch_input && !single.ciphertext) refuse('missing ciphertext to decrypt');
      const items = itemsOf(batch_input, single);
      checkContexts(items);
      const key = await requireKey(storage, params.name, notFound);
      const work = async (item: Item, at: number) => {
        const plaintext = await bytesOf(key, item, at);
        return encrypt(key, plaintext, boundOf(key, item, `[${at}].`), item.key_version ?? 0);
      };
      return (await workOn(batch_input, items, work)).reply;
    },
  },
});

const keyBytes = new Map([
  [128, 16],
  [256, 32],
  [512, 64],
]);

const DatakeyInput = z.object({
  bits: announced(int(), { default: 256, enum: [...keyBytes.keys()] })
    .optional()
    .describe('Length of the data key in bits.'),
  context,
  associated_data: associated,
  key_version: version,
});

/** Generate data keys, encrypted with a transit key. */
export const datakeyPaths = (['plaintext', 'wrapped'] as const).map((form) =>
  path(`datakey/${form}/:name`, {
    summary: 'Generates data keys for use outside the service.',
    write: {
      summary:
        form === 'plaintext'
          ? 'Generate a data key. Returns it in plaintext and encrypted.'
          : 'Generate a data key. Returns it only encrypted.',
      operationId: `generate-data-key-${form}`,
      input: DatakeyInput,
      output: z.object({ ciphertext: z.string(), key_version: z.int(), plaintext: z.string().optional() }),
      async run({ input, params, storage }) {
        const { bits = 256, key_version = 0 } = input;
        const boundContext = decodeField(input.context ?? '', 'failed to base64-decode context');
        const key = await requireKey(storage, params.name, notFound);
        const dataKey = randomBytes(keyBytes.get(bits) ?? refuse('invalid bit length'));
        checkEncrypts(key, 'encryption');
        const bound = { ...boundOf(key, { associated_data: input.associated_data }, ''), context: boundContext };
        const wrapped = await encrypt(key, dataKey, bound, key_version);
        return data(form === 'plaintext' ? { ...wrapped, plaintext: dataKey.toString('base64') } : wrapped);
      },
    },
  }),
);
