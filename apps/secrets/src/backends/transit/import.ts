import { randomBytes } from 'node:crypto';
import { z } from 'zod';
import { announced, bool, duration, int, secretString, string } from '../../sdk/fields';
import { path } from '../../sdk/path';
import { refuse } from '../../sdk/refuse';
import { data, empty } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';
import { type Brought, hashFunction, readImported } from './imported-key';
import { changeKey, findKey, type KeyVersion, requireKey, type TransitKey, withVersion } from './key';
import { isKeyType, kindOf } from './key-type';
import { checkDerivation, checkPeriod, plainKey } from './make-key';
import { type Material, makeVersion, materialOfVersion } from './material';

const at = 'wrapping-key';
const wrappingType = 'rsa-4096';
const parse = JSON.parse as (text: string) => KeyVersion;

/** The wrapping key pair for imports; generated at first use. */
async function wrappingPair(storage: Storage, nowMs: number): Promise<Material> {
  const found = await storage.read(at, parse);
  if (found) return materialOfVersion(wrappingType, found);
  const generated = await makeVersion(wrappingType, 0, nowMs);
  const stored = await storage.transaction(at, async (tx) => {
    const first = await tx.read(at, parse);
    if (!first) tx.put(at, JSON.stringify(generated));
    return first ?? generated;
  });
  return materialOfVersion(wrappingType, stored);
}

const sizeOf = ({ key }: KeyVersion): number => Buffer.from(key!, 'base64').length;

/** Reads the public wrapping key. */
export const wrappingKeyPath = path('wrapping_key', {
  summary: 'The wrapping key for imports.',
  read: {
    summary: 'Read the public key that wraps keys for import. It never changes.',
    operationId: 'read-wrapping-key',
    output: z.object({ public_key: z.string() }),
    async run({ storage, nowMs }) {
      const { publicKey } = await wrappingPair(storage, nowMs);
      return data({ public_key: publicKey.export({ format: 'pem', type: 'spki' }) });
    },
  },
});

const broughtFields = {
  ciphertext: secretString()
    .optional()
    .describe(
      'In base64: an AES key encrypted with the wrapping key (RSA-OAEP), followed by the key to import, wrapped with that AES key.',
    ),
  public_key: string().optional().describe('Public key (PEM), to import a key that can only verify or encrypt.'),
  hash_function: hashFunction,
};

/** Imports a key. */
export const importPath = path('keys/:name/import', {
  summary: 'Imports keys.',
  write: {
    summary: 'Import a key under a new name.',
    operationId: 'import-key',
    stepUp: true,
    input: z.object({
      ...broughtFields,
      type: announced(string(), { default: 'aes256-gcm96' }).optional().describe('Type of the key.'),
      allow_rotation: bool().optional().describe('Allow the service to rotate the key.'),
      derived: bool().optional().describe('Derive a separate key from the context of each request.'),
      convergent_encryption: bool()
        .optional()
        .describe('Must be false: imported keys cannot use convergent encryption.'),
      exportable: bool().optional().describe('Allow the key to be exported; cannot be undone.'),
      allow_plaintext_backup: bool().optional().describe('Allow a plaintext backup of the key; cannot be undone.'),
      auto_rotate_period: duration().optional().describe('Time after which the key is rotated. 0: never.'),
    }),
    async run({ input, params, storage, nowMs }) {
      const { type = 'aes256-gcm96', allow_rotation = false, auto_rotate_period = 0, ...options } = input;
      if (options.convergent_encryption) refuse('import cannot be used on keys with convergent encryption enabled');
      if (auto_rotate_period > 0 && !allow_rotation) {
        refuse('allow_rotation must be set to true if auto-rotation is enabled');
      }
      checkPeriod(auto_rotate_period);
      if (!isKeyType(type)) refuse(`unknown key type: ${type}`);
      if (await findKey(storage, params.name)) refuse(existing);
      const { derived = false, exportable = false, allow_plaintext_backup = false } = options;
      const rules = { derived, exportable, allow_plaintext_backup, auto_rotate_period };
      const key = { ...plainKey, ...rules, type, imported_key: true, imported_key_allow_rotation: allow_rotation };
      checkDerivation(key);
      const version = await bring(storage, key, options, nowMs);
      const key_size = type === 'hmac' ? sizeOf(version) : 0;
      await changeKey(storage, params.name, (found) => {
        if (found) refuse(existing);
        return withVersion({ ...key, key_size }, version);
      });
      return empty;
    },
  },
});

const existing =
  'the import path cannot be used with an existing key; use import-version to rotate an existing imported key';

async function bring(storage: Storage, key: TransitKey, input: Brought, nowMs: number): Promise<KeyVersion> {
  const { privateKey } = await wrappingPair(storage, nowMs);
  const read = readImported(key.type, input, privateKey!);
  if (key.derived && !read.key) refuse('a derived key needs its private key');
  const hmacKey = kindOf(key.type).family === 'hmac' ? read.key! : randomBytes(32).toString('base64');
  return { ...read, hmacKey, createdAtMs: nowMs };
}

/** Imports another version of a key, or the private key of a version. */
export const importVersionPath = path('keys/:name/import_version', {
  summary: 'Imports versions of imported keys.',
  write: {
    summary: 'Import a new version of an imported key, or the private key of an existing version.',
    operationId: 'import-key-version',
    stepUp: true,
    input: z.object({
      ...broughtFields,
      version: int().optional().describe('Version to which this private key belongs. Default: a new version.'),
    }),
    async run({ input, params, storage, nowMs }) {
      const absent = `no key found with name ${params.name}; to import a new key, use the import/ endpoint`;
      const before = checkImported(await requireKey(storage, params.name, absent));
      const importedVersion = await bring(storage, before, input, nowMs);
      await changeKey(storage, params.name, (key) => {
        if (key?.type !== before.type) refuse(absent);
        checkImported(key);
        if (input.version !== undefined) return completed(key, input.version, importedVersion);
        const newest = key.versions[key.latest_version]!;
        const completes = !newest.key && importedVersion.key && newest.publicKey === importedVersion.publicKey;
        if (completes) return completed(key, key.latest_version, importedVersion);
        const size = key.type === 'hmac' ? { key_size: sizeOf(importedVersion) } : undefined;
        return withVersion({ ...key, ...size }, importedVersion);
      });
      return empty;
    },
  },
});

function checkImported(key: TransitKey): TransitKey {
  return key.imported_key ? key : refuse('the import_version endpoint can only be used with an imported key');
}

/** Adds the private key to a version. */
function completed(key: TransitKey, number: number, importedVersion: KeyVersion): TransitKey {
  const version = key.versions[number] ?? refuse('no such key version');
  if (!version.publicKey) refuse('provided type does not support importing key versions');
  if (version.key) refuse('private key imported, key version cannot be updated');
  if (!importedVersion.key) refuse('cannot add a public key to a key version that already has a public key set');
  if (version.publicKey !== importedVersion.publicKey)
    refuse('the private key does not belong to the public key of the version');
  return { ...key, versions: { ...key.versions, [number]: { ...version, key: importedVersion.key } } };
}
