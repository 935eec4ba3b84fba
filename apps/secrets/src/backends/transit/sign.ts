import { z } from 'zod';
import { announced, bool, int, olderName, string } from '../../sdk/fields';
import { operation, path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import type { Reply } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { decodeField } from './base64';
import { batch, type Item, itemsOf, workOn } from './batch';
import { hashes } from './hash-name';
import { verifyHmac } from './hmac-text';
import { requireKey, type TransitKey } from './key';
import { signs } from './key-type';
import { checkUnhashed, parseScheme, signInput, verifyInput } from './signature';

const hashNames = [...hashes.keys(), 'none'];

const schemeFields = {
  input: string().optional().describe('Input, in base64.'),
  context: string().optional().describe('Context for key derivation, in base64. Required for derived keys.'),
  hash_algorithm: announced(string(), { default: 'sha2-256', enum: hashNames })
    .optional()
    .describe('Hash algorithm. Keys of type ed25519 do not use it.'),
  algorithm: olderName(string(), 'hash_algorithm'),
  prehashed: announced(bool(), { default: false }).optional().describe('The input is already hashed.'),
  signature_algorithm: announced(string(), { default: 'pss', enum: ['pss', 'pkcs1v15'] })
    .optional()
    .describe('Signature algorithm of RSA keys.'),
  marshaling_algorithm: announced(string(), { default: 'asn1', enum: ['asn1', 'jws'] })
    .optional()
    .describe('Format of signatures: asn1 (DER), or jws as in JWTs.'),
  salt_length: announced(string(), { default: 'auto' })
    .optional()
    .describe(
      'Salt length of RSA-PSS signatures: auto for the maximum, hash for the length of the hash, or a number of bytes.',
    ),
};
const SignInput = z.object({
  ...schemeFields,
  key_version: announced(int(), { default: 0 }).optional().describe('Version of the key. Default: the newest.'),
  batch_input: batch(),
});
const VerifyInput = z.object({
  ...schemeFields,
  signature: string().optional().describe('The signature.'),
  hmac: string().optional().describe('The HMAC.'),
  batch_input: batch(),
});

type SignParams = { readonly name: string; readonly hash?: string };
type AskedScheme = z.output<z.ZodObject<typeof schemeFields>>;

/** The hash that a request names: in its path, in `hash_algorithm`, or in the older `algorithm`. */
const hashName = ({ hash }: SignParams, input: { hash_algorithm?: string; algorithm?: string }): string =>
  hash || input.hash_algorithm || input.algorithm || 'sha2-256';

const schemeOf = (params: SignParams, input: AskedScheme) =>
  parseScheme({
    hash_algorithm: hashName(params, input),
    marshaling_algorithm: input.marshaling_algorithm ?? 'asn1',
    signature_algorithm: input.signature_algorithm ?? '',
    salt_length: input.salt_length ?? 'auto',
    prehashed: input.prehashed ?? false,
  });

/** Decodes the input of an item; refuses with `absent` if it has none. */
export function inputBytes(item: Item, absent: string): Buffer {
  return decodeField(item.input ?? refuse(absent), (reason) => `unable to decode input as base64: ${reason}`);
}

const contextOf = (item: Item) => decodeField(item.context ?? '', 'failed to base64-decode context');

const batchOutput = z.array(z.looseObject({})).optional();

const signOperation = operation<SignParams, typeof SignInput>({
  summary: 'Sign an input or a batch of inputs.',
  largeBody: true,
  input: SignInput,
  output: z.object({
    signature: z.string().optional(),
    key_version: z.int().optional(),
    public_key: z.string().optional(),
    batch_results: batchOutput,
  }),
  async run({ input, params, storage }) {
    const scheme = schemeOf(params, input);
    const key = await requireKey(storage, params.name, 'signing key not found');
    if (!signs(key.type)) refuse(`key type ${key.type} does not support signing`);
    checkUnhashed(scheme);
    const { batch_input, context, key_version = 0 } = input;
    const items = itemsOf(batch_input, { input: input.input ?? '', context });
    const work = (item: Item) =>
      signInput(key, inputBytes(item, 'missing input'), contextOf(item), scheme, key_version);
    return (await workOn(batch_input, items, work, { key_version: 0 })).reply;
  },
});

const verifyOperation = operation<SignParams, typeof VerifyInput>({
  summary: 'Verify a signature or an HMAC, or a batch of either.',
  largeBody: true,
  input: VerifyInput,
  output: z.object({ valid: z.boolean().optional(), batch_results: batchOutput }),
  run: ({ input, params, storage }) => verifyAll(storage, params, input),
});

async function verifyAll(storage: Storage, params: SignParams, input: z.output<typeof VerifyInput>): Promise<Reply> {
  const { batch_input, signature, hmac, context } = input;
  const items = itemsOf(batch_input, { input: input.input ?? '', signature, hmac, context });
  const what = proofOf(items, batch_input !== undefined);
  const work =
    what === 'hmac' ? await hmacVerifier(storage, params, input) : await signatureVerifier(storage, params, input);
  const verified = async (item: Item) => ({ valid: await work(item) });
  return (await workOn(batch_input, items, verified, { valid: false })).reply;
}

/** Whether the request verifies signatures or HMACs. Throws if it mixes them. */
function proofOf(items: readonly Item[], several: boolean): 'signature' | 'hmac' {
  const has = (name: 'signature' | 'hmac') => items.some((item) => item[name] !== undefined);
  const [signatures, hmacs] = [has('signature'), has('hmac')];
  if (!several) {
    if (signatures && hmacs) refuse("provide one of 'signature' or 'hmac'");
    if (!signatures && !hmacs) refuse("neither a 'signature' nor an 'hmac' were given to verify");
  }
  if (signatures && hmacs) refuse("elements of batch_input must all provide 'signature' or all provide 'hmac'");
  if (!signatures && !hmacs) refuse("no batch_input elements have 'signature' or 'hmac'");
  const what = signatures ? 'signature' : 'hmac';
  if (items.some((item) => item[what] === undefined)) refuse(`some elements of batch_input are missing '${what}'`);
  return what;
}

async function signatureVerifier(storage: Storage, params: SignParams, input: z.output<typeof VerifyInput>) {
  const scheme = schemeOf(params, input);
  const key = await requireKey(storage, params.name, 'signature verification key not found');
  if (!signs(key.type)) refuse(`key type ${key.type} does not support verification`);
  checkUnhashed(scheme);
  return (item: Item) => verifyInput(key, inputBytes(item, 'missing input'), contextOf(item), scheme, item.signature!);
}

async function hmacVerifier(storage: Storage, params: SignParams, input: z.output<typeof VerifyInput>) {
  const key: TransitKey = await requireKey(storage, params.name, 'encryption key not found');
  const name = hashName(params, input);
  const hash = hashes.get(name) ?? refuse(`invalid hash algorithm ${JSON.stringify(name)}`);
  return (item: Item) => verifyHmac(key, hash, inputBytes(item, 'missing input'), item.hmac!);
}

/** Sign and verify. */
export const signPaths = [
  path('sign/:name', {
    summary: 'Signs with a key.',
    write: { ...signOperation, operationId: 'sign' },
  }),
  path('sign/:name/:hash', {
    summary: 'Signs with a key and the hash algorithm in the path.',
    write: { ...signOperation, operationId: 'sign-with-algorithm' },
  }),
  path('verify/:name', {
    summary: 'Verifies signatures and HMACs of a key.',
    write: { ...verifyOperation, operationId: 'verify' },
  }),
  path('verify/:name/:hash', {
    summary: 'Verifies signatures and HMACs of a key, with the hash algorithm in the path.',
    write: { ...verifyOperation, operationId: 'verify-with-algorithm' },
  }),
];
