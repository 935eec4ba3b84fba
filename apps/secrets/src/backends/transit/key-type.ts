import { refuse } from '../../sdk/refuse';

/** The algorithm of a key type: an authenticated cipher, a signature scheme or a MAC. */
export type KeyKind =
  | { readonly family: 'aead'; readonly cipher: string; readonly keyBytes: number; readonly nonceBytes: number }
  | { readonly family: 'ed25519' }
  | { readonly family: 'ecdsa'; readonly curve: 'P-256' | 'P-384' | 'P-521'; readonly fieldBytes: number }
  | { readonly family: 'rsa'; readonly bits: number }
  | { readonly family: 'hmac' };

const aead = (cipher: string, keyBytes: number, nonceBytes = 12): KeyKind => ({
  family: 'aead',
  cipher,
  keyBytes,
  nonceBytes,
});

/** Key types by their names in requests and backups. */
export const keyTypes = {
  'aes128-gcm96': aead('aes-128-gcm', 16),
  'aes256-gcm96': aead('aes-256-gcm', 32),
  'chacha20-poly1305': aead('chacha20-poly1305', 32),
  'xchacha20-poly1305': aead('chacha20-poly1305', 32, 24),
  ed25519: { family: 'ed25519' },
  'ecdsa-p256': { family: 'ecdsa', curve: 'P-256', fieldBytes: 32 },
  'ecdsa-p384': { family: 'ecdsa', curve: 'P-384', fieldBytes: 48 },
  'ecdsa-p521': { family: 'ecdsa', curve: 'P-521', fieldBytes: 66 },
  'rsa-2048': { family: 'rsa', bits: 2048 },
  'rsa-3072': { family: 'rsa', bits: 3072 },
  'rsa-4096': { family: 'rsa', bits: 4096 },
  hmac: { family: 'hmac' },
} as const satisfies Readonly<Record<string, KeyKind>>;

export type KeyType = keyof typeof keyTypes;

export const kindOf = (type: KeyType): KeyKind => keyTypes[type];

export const isKeyType = (name: string): name is KeyType => Object.hasOwn(keyTypes, name);

export const encrypts = (type: KeyType): boolean => ['aead', 'rsa'].includes(kindOf(type).family);
export const signs = (type: KeyType): boolean => ['ed25519', 'ecdsa', 'rsa'].includes(kindOf(type).family);
export const derives = (type: KeyType): boolean => ['aead', 'ed25519'].includes(kindOf(type).family);

const hmacBytes = { least: 32, most: 512 };

export const isHmacSize = (bytes: number): boolean => bytes >= hmacBytes.least && bytes <= hmacBytes.most;

/** Refuses unsupported HMAC key sizes. */
export function checkHmacSize(bytes: number): void {
  if (isHmacSize(bytes)) return;
  refuse(`invalid key size for HMAC key, must be between ${hmacBytes.least} and ${hmacBytes.most} bytes`);
}
