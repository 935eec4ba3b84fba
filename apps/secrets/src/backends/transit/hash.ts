import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { announced, int, string } from '../../sdk/fields';
import { operation, path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { data } from '../../sdk/reply';
import { batch, type Item, itemsOf, workOn } from './batch';
import { hashes, hashOf } from './hash-name';
import { makeHmac } from './hmac-text';
import { requireKey } from './key';
import { inputBytes } from './sign';

const algorithm = announced(string(), { default: 'sha2-256', enum: [...hashes.keys()] })
  .optional()
  .describe('Hash algorithm.');
const input = string().optional().describe('Input, in base64.');

const HmacInput = z.object({
  input,
  algorithm,
  key_version: announced(int(), { default: 0 }).optional().describe('Version of the key. Default: the newest.'),
  batch_input: batch(),
});

const hmacOperation = operation<{ readonly name: string; readonly urlalgorithm?: string }, typeof HmacInput>({
  summary: 'Generate the HMAC of an input or a batch of inputs.',
  largeBody: true,
  input: HmacInput,
  output: z.object({ hmac: z.string().optional(), batch_results: z.array(z.looseObject({})).optional() }),
  async run({ input: sent, params, storage }) {
    const key = await requireKey(storage, params.name, 'encryption key not found');
    const { key_version: requestedVersion = 0, batch_input } = sent;
    if (requestedVersion !== 0 && requestedVersion < key.min_encryption_version) {
      refuse('cannot generate HMAC: version is too old (disallowed by policy)');
    }
    if (requestedVersion < 0) refuse('key version does not exist (cannot be negative)');
    if (requestedVersion > key.latest_version)
      refuse(`key version does not exist; latest key version is ${key.latest_version}`);
    const name = params.urlalgorithm ?? sent.algorithm ?? 'sha2-256';
    const hash = hashes.get(name) ?? refuse(`unsupported algorithm ${JSON.stringify(name)}`);
    const items = itemsOf(batch_input, { input: sent.input });
    const work = (item: Item) => ({
      hmac: makeHmac(key, requestedVersion || key.latest_version, hash, inputBytes(item, 'missing input for HMAC')),
    });
    return (await workOn(batch_input, items, work)).reply;
  },
});

const HashInput = z.object({
  input,
  algorithm,
  format: announced(string(), { default: 'hex', enum: ['hex', 'base64'] })
    .optional()
    .describe('Encoding of the response.'),
});

const hashOperation = operation<{ readonly urlalgorithm?: string }, typeof HashInput>({
  summary: 'Hash an input.',
  largeBody: true,
  input: HashInput,
  output: z.object({ sum: z.string() }),
  run({ input: sent, params }) {
    const name = params.urlalgorithm ?? sent.algorithm ?? 'sha2-256';
    const bytes = inputBytes(sent, 'input missing');
    const hash = (name !== 'sha1' && hashes.get(name)) || refuse(`unsupported algorithm ${name}`);
    return data({ sum: hashOf(hash, bytes).toString(formatOf(sent.format ?? 'hex')) });
  },
});

function formatOf(format: string): 'hex' | 'base64' {
  if (format === 'hex' || format === 'base64') return format;
  refuse(`unsupported encoding format ${format}; must be "hex" or "base64"`);
}

const sources = ['platform', 'seal', 'all'];
const mostRandomBytes = 128 * 1024;

const RandomInput = z.object({
  bytes: announced(int(), { default: 32, minimum: 1, maximum: mostRandomBytes })
    .optional()
    .describe('Number of bytes.'),
  format: announced(string(), { default: 'base64', enum: ['hex', 'base64'] })
    .optional()
    .describe('Encoding of the response.'),
  source: announced(string(), { default: 'platform', enum: sources })
    .optional()
    .describe('platform, seal or all; all three use the platform’s random generator.'),
});

const randomOperation = operation<{ readonly source?: string; readonly urlbytes?: string }, typeof RandomInput>({
  summary: 'Generate random bytes.',
  input: RandomInput,
  output: z.object({ random_bytes: z.string() }),
  run({ input: sent, params }) {
    const count = Number(params.urlbytes ?? sent.bytes ?? 32);
    if (!(count >= 1)) refuse("'bytes' cannot be less than 1");
    if (count > mostRandomBytes) refuse(`'bytes' should be less than ${mostRandomBytes}`);
    const format = formatOf(sent.format ?? 'base64');
    const source = params.source ?? sent.source ?? 'platform';
    if (!sources.includes(source)) {
      refuse(`unsupported entropy source ${source}; must be "platform" or "seal", or "all"`);
    }
    return data({ random_bytes: randomBytes(count).toString(format) });
  },
});

const number = /^(?:0|[1-9]\d{0,8})$/;

/** Hashes, HMACs and random bytes. */
export const hashPaths = [
  path('hmac/:name', {
    summary: 'Generates HMACs with a key.',
    write: { ...hmacOperation, operationId: 'generate-hmac' },
  }),
  path('hmac/:name/:urlalgorithm', {
    summary: 'Generates HMACs with a key and the hash algorithm in the path.',
    write: { ...hmacOperation, operationId: 'generate-hmac-with-algorithm' },
  }),
  path('hash', { summary: 'Hashes without a key.', write: { ...hashOperation, operationId: 'hash' } }),
  path('hash/:urlalgorithm', {
    summary: 'Hashes with the hash algorithm in the path.',
    write: { ...hashOperation, operationId: 'hash-with-algorithm' },
  }),
  path('random', { summary: 'Generates random bytes.', write: { ...randomOperation, operationId: 'generate-random' } }),
  path('random/:urlbytes', {
    summary: 'Generates the number of random bytes in the path.',
    params: { urlbytes: number },
    write: { ...randomOperation, operationId: 'generate-random-with-bytes' },
  }),
  path('random/:source/:urlbytes', {
    summary: 'Generates random bytes from the source in the path.',
    params: { urlbytes: number },
    write: { ...randomOperation, operationId: 'generate-random-with-source-and-bytes' },
  }),
  path('random/:source', {
    summary: 'Generates random bytes from the source in the path.',
    params: { source: /^[a-zA-Z]\w*$/ },
    write: { ...randomOperation, operationId: 'generate-random-with-source' },
  }),
];
