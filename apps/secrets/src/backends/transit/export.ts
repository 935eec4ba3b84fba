import { z } from 'zod';
import { announced, string } from '../../sdk/fields';
import { operation, path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { data, missing } from '../../sdk/reply';
import { chainText } from './certificates';
import { acceptedVersions, findKey, type TransitKey, usable } from './key';
import { encrypts, kindOf, signs } from './key-type';
import { materialOf, rawPublicKey } from './material';

const kinds = ['encryption-key', 'signing-key', 'hmac-key', 'public-key', 'certificate-chain'] as const;
const formats = ['', 'raw', 'der', 'pem'] as const;

type ExportKind = (typeof kinds)[number];
type ExportFormat = (typeof formats)[number];
const includes = <T extends string>(all: readonly T[], text: string): text is T =>
  (all as readonly string[]).includes(text);

const ExportInput = z.object({
  format: announced(string(), { default: '', enum: [...formats] })
    .optional()
    .describe('der and pem: key pairs as PKCS#8. Default: the usual format of the key type.'),
});

type ExportParams = { readonly kind: string; readonly name: string; readonly version?: string };

const exportOperation = operation<ExportParams, typeof ExportInput>({
  summary: 'Export versions of an exportable key, or public keys of any key pair.',
  stepUp: true,
  input: ExportInput,
  output: z.object({ name: z.string(), type: z.string(), keys: z.record(z.string(), z.string()) }),
  async run({ input, params, storage }) {
    const { kind, name } = params;
    const format = input.format ?? '';
    if (!includes(kinds, kind)) refuse(`invalid export type: ${kind}`);
    if (!includes(formats, format)) refuse(`invalid format: ${format}`);
    const found = await findKey(storage, name);
    if (!found) return missing;
    if (!found.exportable && kind !== 'public-key' && kind !== 'certificate-chain') {
      refuse('private key material is not exportable');
    }
    const key = usable(found);
    checkKind(key, kind);
    const numbers = versionsOf(key, params.version);
    if (kind === 'public-key' && !signs(key.type)) refuse(`unknown key type ${key.type} for export type public-key`);
    const texts = numbers.map((number) => [number, exported(key, number, kind, format)]);
    return data({ name, type: key.type, keys: Object.fromEntries(texts) });
  },
});

function checkKind({ type }: TransitKey, kind: ExportKind): void {
  if (kind === 'encryption-key' && !encrypts(type)) refuse('encryption not supported for the key');
  if (kind === 'signing-key' && !signs(type)) refuse('signing not supported for the key');
  if (kind === 'certificate-chain' && !signs(type)) {
    refuse('certificate chain not supported for keys that do not support signing');
  }
}

/** The requested versions: a single version, the latest version, or all accepted versions. */
export function versionsOf(key: TransitKey, requestedVersion: string | undefined): readonly number[] {
  const accepted = acceptedVersions(key);
  if (requestedVersion === undefined) return accepted;
  // Only one spelling per version, so that path policies cannot be bypassed.
  if (requestedVersion !== 'latest' && !/^(0|[1-9]\d{0,8})$/.test(requestedVersion)) refuse('invalid key version');
  const number = requestedVersion === 'latest' ? key.latest_version : Number(requestedVersion);
  if (number < key.min_decryption_version) refuse('version for export is below minimum decryption version');
  return accepted.includes(number) ? [number] : refuse('version does not exist or cannot be found');
}

/** A version as base64 or PEM; empty if only its public key was imported. */
function exported(key: TransitKey, number: number, kind: ExportKind, format: ExportFormat): string {
  if (kind === 'certificate-chain') {
    return chainText(key, number) || refuse('selected key version does not have a certificate chain imported');
  }
  const material = materialOf(key, number);
  const { family } = kindOf(key.type);
  const isPair = family === 'rsa' || family === 'ecdsa';
  const encoded = format === 'der' || format === 'pem';
  if ((kind === 'hmac-key' || family === 'aead') && encoded) {
    refuse('unknown format for HMAC key; supported values are `` or `raw`');
  }
  if (kind === 'hmac-key') return key.versions[number]!.hmacKey;
  if (family === 'aead') return key.versions[number]!.key!;
  if (isPair && format === 'raw') {
    refuse(
      `unknown key format for ${family === 'rsa' ? 'rsa' : 'ec'} key; supported values are \`\`, \`der\`, or \`pem\``,
    );
  }
  if (kind === 'public-key') {
    if (!isPair && !encoded) return rawPublicKey(material.publicKey).toString('base64');
    if (format === 'der') return material.publicKey.export({ format: 'der', type: 'spki' }).toString('base64');
    return pemText(family, material.publicKey.export({ format: 'pem', type: 'spki' }));
  }
  const { privateKey } = material;
  if (!privateKey) return '';
  if (format === 'der') return privateKey.export({ format: 'der', type: 'pkcs8' }).toString('base64');
  if (format === 'pem') return pemText(family, privateKey.export({ format: 'pem', type: 'pkcs8' }));
  if (!isPair) return material.bothHalves().toString('base64');
  return pemText(family, privateKey.export({ format: 'pem', type: family === 'rsa' ? 'pkcs1' : 'sec1' } as never));
}

/** Clients expect a final line end for RSA keys only. */
const pemText = (family: string, pem: string | Buffer): string =>
  family === 'rsa' ? String(pem) : String(pem).trimEnd();

/** Export keys. */
export const exportPaths = [
  path('export/:kind/:name', {
    summary: 'Exports a key.',
    read: { ...exportOperation, operationId: 'export-key' },
  }),
  path('export/:kind/:name/:version', {
    summary: 'Exports one version of a key.',
    params: { version: 'segment' },
    read: { ...exportOperation, operationId: 'export-key-version' },
  }),
];
