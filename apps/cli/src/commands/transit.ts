import { readFileSync, writeFileSync } from 'node:fs';
import type { CommandSpec } from '../command';
import type { Context } from '../context';
import { exitCodes, Problem } from '../problem';
import { printField } from './print';

interface TransitFlags {
  readonly mount: string;
  readonly context?: string;
  readonly associatedData?: string;
  readonly hashAlgorithm?: string;
  readonly out?: string;
}

const base64 = (bytes: string | Buffer): string => Buffer.from(bytes).toString('base64');
const file = 'input file; standard input if it is left out or -';
const shared = {
  '--mount <path>': { help: 'mount path of the transit engine', also: ['--mount-point'], default: 'transit' },
  '--context <text>': 'context of a derived key',
} as const;
const bound = { ...shared, '--associated-data <text>': 'text that the ciphertext is bound to' } as const;
const hashed = {
  ...shared,
  '--hash-algorithm <name>': 'hash algorithm for keys that sign a hash; sha2-256 by default',
} as const;

async function bytesOf({ ask }: Context, name = '-'): Promise<Buffer> {
  if (name === '-') return ask.bytes();
  try {
    return readFileSync(name);
  } catch {
    throw new Problem(`${name} cannot be read`);
  }
}

/** Calls an operation of a key. Returns the fields of the response. */
async function use(
  { client }: Context,
  flags: TransitFlags,
  at: string,
  body: object,
): Promise<Record<string, unknown>> {
  const { mount, context, associatedData, hashAlgorithm } = flags;
  const answer = await client.post(`${mount.replace(/^\/+|\/+$/g, '')}/${at}`, {
    ...body,
    context: context === undefined ? undefined : base64(context),
    associated_data: associatedData === undefined ? undefined : base64(associatedData),
    hash_algorithm: hashAlgorithm,
  });
  return answer.body?.data ?? {};
}

/** `transit …`: encrypts and signs files and text with keys that stay in the service. */
export const transitCommands: readonly CommandSpec[] = [
  {
    name: 'transit encrypt',
    help: 'Encrypt a file or a string with a key.',
    args: { '<key>': 'name of the key', '[file]': file },
    flags: bound,
    examples: ['transit encrypt orders notes.txt', 'transit encrypt -mount=team/transit -context=tenant-7 orders'],
    async run(context, flags: TransitFlags, key: string, from?: string) {
      const plaintext = base64(await bytesOf(context, from));
      printField(context, await use(context, flags, `encrypt/${key}`, { plaintext }), 'ciphertext');
    },
  },
  {
    name: 'transit decrypt',
    help: 'Decrypt a ciphertext with its key.',
    args: { '<key>': 'name of the key', '[file]': `${file}; it holds the ciphertext` },
    flags: {
      ...bound,
      '--out <file>': 'write it to this file, which only you can read; needed for bytes that are not text',
    },
    examples: ['transit decrypt orders notes.enc', 'transit decrypt -out=logo.png orders logo.enc'],
    async run(context, flags: TransitFlags, key: string, from?: string) {
      const ciphertext = String(await bytesOf(context, from)).trim();
      const { plaintext } = await use(context, flags, `decrypt/${key}`, { ciphertext });
      const bytes = Buffer.from(String(plaintext), 'base64');
      if (flags.out !== undefined) writeFileSync(flags.out, bytes, { mode: 0o600 });
      else if (bytes.equals(Buffer.from(bytes.toString())))
        printField(context, { plaintext: String(bytes) }, 'plaintext');
      else throw new Problem('the plaintext is not text: name a file with -out');
    },
  },
  {
    name: 'transit sign',
    help: 'Sign a file or a string with a key.',
    args: { '<key>': 'name of the key', '[file]': file },
    flags: hashed,
    examples: ['transit sign releases app.tar.gz'],
    async run(context, flags: TransitFlags, key: string, from?: string) {
      printField(
        context,
        await use(context, flags, `sign/${key}`, { input: base64(await bytesOf(context, from)) }),
        'signature',
      );
    },
  },
  {
    name: 'transit verify',
    help: 'Verify a signature; the exit code says whether it is valid.',
    args: { '<key>': 'name of the key', '<signature>': 'the signature, as printed by `transit sign`', '[file]': file },
    flags: hashed,
    examples: ['transit verify releases vault:v1:MEUC… app.tar.gz'],
    async run(context, flags: TransitFlags, key: string, signature: string, from?: string) {
      const input = base64(await bytesOf(context, from));
      const { valid } = await use(context, flags, `verify/${key}`, { input, signature });
      if (valid !== true) throw new Problem('the signature is not valid', exitCodes.refused);
      context.output.note('the signature is valid');
    },
  },
];
