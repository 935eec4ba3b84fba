import { createHash, randomBytes } from 'node:crypto';
import { Refusal } from '@keystead/refusal';
import { z } from 'zod';
import type { Call } from '../../../sdk/call';
import { int, string } from '../../../sdk/fields';
import { operation, path } from '../../../sdk/path';
import { data } from '../../../sdk/reply';

const algorithms: Readonly<Record<string, string>> = {
  'sha2-224': 'sha224',
  'sha2-256': 'sha256',
  'sha2-384': 'sha384',
  'sha2-512': 'sha512',
  'sha3-224': 'sha3-224',
  'sha3-256': 'sha3-256',
  'sha3-384': 'sha3-384',
  'sha3-512': 'sha3-512',
};
const mostBytes = 128 * 1024;

const HashInput = z.object({
  input: string().optional().describe('Input, in base64.'),
  algorithm: string().optional().describe('sha2-224, sha2-256 (default), sha2-384, sha2-512, sha3-…'),
  format: string().optional().describe('hex (default) or base64.'),
});
const RandomInput = z.object({
  bytes: int().optional().describe('Number of bytes; 32 by default.'),
  format: string().optional().describe('base64 (default) or hex.'),
  source: string().optional().describe('platform, seal or all; all three use the same generator.'),
});

const hash = (operationId: string) =>
  operation<object, typeof HashInput>({
    summary: 'Hash data.',
    operationId,
    input: HashInput,
    output: z.object({ sum: z.string() }),
    run({ input, params }: Call<object, z.output<typeof HashInput>>) {
      const name = (params as { algorithm?: string }).algorithm ?? input.algorithm ?? 'sha2-256';
      const algorithm = Object.hasOwn(algorithms, name) ? algorithms[name] : undefined;
      if (!algorithm) throw new Refusal('invalid', `unsupported algorithm ${name}`);
      return data({ sum: createHash(algorithm).update(decode(input.input)).digest(formatOf(input.format, 'hex')) });
    },
  });

const random = (operationId: string) =>
  operation<object, typeof RandomInput>({
    summary: 'Generate random bytes.',
    operationId,
    input: RandomInput,
    output: z.object({ random_bytes: z.string() }),
    run({ input, params }: Call<object, z.output<typeof RandomInput>>) {
      const named = params as { source?: string; bytes?: string };
      // A single segment may be a source or a number of bytes.
      const lone = named.bytes === undefined && /^\d+$/.test(named.source ?? '') ? named.source : named.bytes;
      const source = lone === named.source ? undefined : (named.source ?? input.source);
      if (source !== undefined && !['', 'platform', 'seal', 'all'].includes(source)) {
        throw new Refusal(
          'invalid',
          `unsupported entropy source ${JSON.stringify(source)}; must be "platform" or "seal", or "all"`,
        );
      }
      const bytes = lone === undefined ? (input.bytes ?? 32) : Number(lone);
      if (!Number.isSafeInteger(bytes)) throw new Refusal('invalid', `error parsing url-set byte count: ${lone}`);
      if (bytes < 1) throw new Refusal('invalid', "'bytes' cannot be less than 1");
      if (bytes > mostBytes) throw new Refusal('invalid', `'bytes' should be less than ${mostBytes}`);
      return data({ random_bytes: randomBytes(bytes).toString(formatOf(input.format, 'base64')) });
    },
  });

/** Hashing and random bytes, for callers without a library for them. */
export const toolPaths = [
  path('tools/hash', { summary: 'Hashes data.', write: hash('generate-hash') }),
  path('tools/hash/:algorithm', { summary: 'Hashes data.', write: hash('generate-hash-with-algorithm') }),
  path('tools/random', { summary: 'Generates random bytes.', write: random('generate-random') }),
  path('tools/random/:source', { summary: 'Generates random bytes.', write: random('generate-random-with-source') }),
  path('tools/random/:source/:bytes', {
    summary: 'Generates random bytes.',
    write: random('generate-random-with-source-and-bytes'),
  }),
];

function decode(text: string | undefined): Buffer {
  const encoded = text ?? '';
  const bad = /[^A-Za-z0-9+/=]/.exec(encoded);
  if (bad || encoded.length % 4 !== 0) {
    throw new Refusal(
      'invalid',
      `unable to decode input as base64: illegal base64 data at input byte ${bad ? bad.index : encoded.length}`,
    );
  }
  return Buffer.from(encoded, 'base64');
}

function formatOf(format: string | undefined, usual: 'hex' | 'base64'): 'hex' | 'base64' {
  if (format === undefined || format === '') return usual;
  if (format === 'hex' || format === 'base64') return format;
  throw new Refusal('invalid', `unsupported encoding format ${format}; must be "hex" or "base64"`);
}
