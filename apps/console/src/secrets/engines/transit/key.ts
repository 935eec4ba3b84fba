import type { TtlChoice } from '../ttl-field';

interface PairVersion {
  readonly public_key: string;
  readonly creation_time: string;
}

/** A key as the API shows it. */
export interface TransitKey {
  readonly name: string;
  readonly type: string;
  readonly latest_version: number;
  readonly min_available_version: number;
  readonly min_decryption_version: number;
  /** The oldest version that may encrypt; 0: encrypt with the newest by default. */
  readonly min_encryption_version: number;
  readonly deletion_allowed: boolean;
  readonly derived: boolean;
  readonly convergent_encryption?: boolean;
  readonly exportable: boolean;
  readonly auto_rotate_period: number;
  readonly imported_key: boolean;
  readonly imported_key_allow_rotation?: boolean;
  readonly soft_deleted: boolean;
  readonly supports_encryption: boolean;
  readonly supports_signing: boolean;
  /** Usable versions: the creation time in seconds, or an object with the creation time for a key pair. */
  readonly keys?: Readonly<Record<string, number | PairVersion>>;
}

/** A key type and its operations. */
export interface KeyTypeChoice {
  readonly value: string;
  /** Its purpose, in a few words. */
  readonly use: string;
  readonly sentence: string;
  readonly family: 'aead' | 'ed25519' | 'ecdsa' | 'rsa' | 'hmac';
}

const rsa = (bits: number, more: string): KeyTypeChoice => ({
  value: `rsa-${bits}`,
  use: 'encrypt and sign',
  sentence: `A pair of keys: others encrypt or verify with the public key. ${more}`,
  family: 'rsa',
});
const ecdsa = (curve: string, more: string): KeyTypeChoice => ({
  value: `ecdsa-${curve}`,
  use: 'sign',
  sentence: `Short signatures that every platform verifies. ${more}`,
  family: 'ecdsa',
});

/** The types of new keys. */
export const keyTypes: readonly KeyTypeChoice[] = [
  {
    value: 'aes256-gcm96',
    use: 'encrypt',
    sentence: 'Encrypts data of any length; the right choice for nearly all applications.',
    family: 'aead',
  },
  {
    value: 'aes128-gcm96',
    use: 'encrypt',
    sentence: 'Like aes256-gcm96, with a shorter key; for rules that require 128 bits.',
    family: 'aead',
  },
  {
    value: 'chacha20-poly1305',
    use: 'encrypt',
    sentence: 'Encrypts data of any length; fast on devices without AES in hardware.',
    family: 'aead',
  },
  {
    value: 'xchacha20-poly1305',
    use: 'encrypt',
    sentence: 'Like chacha20-poly1305, with longer nonces, so that one key can encrypt any number of messages.',
    family: 'aead',
  },
  {
    value: 'ed25519',
    use: 'sign',
    sentence: 'Fast, short signatures; the right choice if everyone who verifies them knows Ed25519.',
    family: 'ed25519',
  },
  ecdsa('p256', 'The usual curve.'),
  ecdsa('p384', 'For rules that require more than 128 bits of security.'),
  ecdsa('p521', 'The longest curve.'),
  rsa(2048, 'The shortest length that is still accepted everywhere.'),
  rsa(3072, 'About as strong as a symmetric key of 128 bits.'),
  rsa(4096, 'The longest; signing is slow.'),
  {
    value: 'hmac',
    use: 'HMAC only',
    sentence: 'Makes and verifies HMACs: proof that a message comes from someone who may use this key.',
    family: 'hmac',
  },
];

export const familyOf = ({ type }: Pick<TransitKey, 'type'>): KeyTypeChoice['family'] | undefined =>
  keyTypes.find(({ value }) => value === type)?.family;

/** Whether the key can be rotated. */
export const rotates = ({ imported_key, imported_key_allow_rotation }: TransitKey): boolean =>
  !imported_key || imported_key_allow_rotation === true;

/** The oldest version that may encrypt. */
export const encryptsFrom = ({ min_encryption_version: least, latest_version: latest }: TransitKey): number =>
  least === 0 ? latest : least;

/** Rotation periods to choose from, in seconds. */
export const rotationPeriods: readonly TtlChoice[] = [
  ['0', 'Never'],
  [`${30 * 86_400}`, 'Every 30 days'],
  [`${90 * 86_400}`, 'Every 90 days'],
  [`${365 * 86_400}`, 'Every year'],
];
