import { z } from 'zod';
import { chainText } from './certificates';
import { acceptedVersions, type TransitKey } from './key';
import { derives, encrypts, kindOf, signs } from './key-type';
import { ed25519Key, materialOf, rawPublicKey } from './material';

const moment = z.object({ time: z.string(), version: z.int() }).optional();

/** Schema of a key in responses. */
export const keyOutput = z.looseObject({
  name: z.string(),
  type: z.string(),
  latest_version: z.int(),
  min_available_version: z.int(),
  min_decryption_version: z.int(),
  min_encryption_version: z.int(),
  deletion_allowed: z.boolean(),
  derived: z.boolean(),
  exportable: z.boolean(),
  allow_plaintext_backup: z.boolean(),
  auto_rotate_period: z.int(),
  imported_key: z.boolean(),
  soft_deleted: z.boolean(),
  supports_encryption: z.boolean(),
  supports_decryption: z.boolean(),
  supports_signing: z.boolean(),
  supports_derivation: z.boolean(),
  backup_info: moment,
  restore_info: moment,
  keys: z.record(z.string(), z.unknown()).optional(),
});

/** A key as responses show it, without secrets. A derived key shows the public key for `context`. */
export function showKey(name: string, key: TransitKey, context: Buffer = Buffer.alloc(0)): Record<string, unknown> {
  const { versions, convergent_encryption, imported_key_allow_rotation, key_size, ...shown } = key;
  const { family } = kindOf(key.type);
  const each = (show: (number: number) => unknown) =>
    Object.fromEntries(acceptedVersions(key).map((number) => [number, show(number)]));
  return {
    name,
    ...shown,
    supports_encryption: encrypts(key.type),
    supports_decryption: encrypts(key.type),
    supports_signing: signs(key.type),
    supports_derivation: derives(key.type),
    ...(key_size !== 0 && { key_size }),
    ...(key.imported_key && { imported_key_allow_rotation }),
    ...(key.derived && { kdf: 'hkdf_sha256', convergent_encryption }),
    // -1 means that each version has its own value. The value is 3 for all versions that this service generated.
    ...(convergent_encryption && { convergent_encryption_version: -1 }),
    ...(family === 'aead' && { keys: each((number) => Math.floor(versions[number]!.createdAtMs / 1000)) }),
    ...(signs(key.type) && { keys: each((number) => showPair(key, number, context)) }),
  };
}

function showPair(key: TransitKey, number: number, context: Buffer) {
  const kind = kindOf(key.type);
  return {
    name: kind.family === 'ecdsa' ? kind.curve : key.type,
    public_key: publicKeyText(key, number, context),
    creation_time: new Date(key.versions[number]!.createdAtMs).toISOString(),
    certificate_chain: chainText(key, number),
  };
}

/** The public key of a version: PEM, or base64 of the 32 bytes for Ed25519. */
function publicKeyText(key: TransitKey, number: number, context: Buffer): string {
  const material = materialOf(key, number);
  if (key.type !== 'ed25519') return material.publicKey.export({ format: 'pem', type: 'spki' }) as string;
  if (!key.derived) return rawPublicKey(material.publicKey).toString('base64');
  return context.length === 0 ? '' : rawPublicKey(ed25519Key(material.derive(context, 32))).toString('base64');
}
