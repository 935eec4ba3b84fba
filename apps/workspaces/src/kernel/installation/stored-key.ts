import { newSigningKey, publicJwk, type SigningAlgorithm, type SigningKey } from '@keystead/auth';
import type { Keyring } from '@keystead/keyring';

/** A signing key as a setting stores it: the private half encrypted, the public half as the key set shows it. */
export interface StoredKey {
  readonly kid: string;
  readonly createdAtMs: number;
  readonly jwk: Record<string, unknown>;
  readonly sealed: string;
}

const cell = (setting: string, kid: string) => ({ table: 'setting', row: `${setting}/${kid}`, column: 'sealed' });

/** A new key for a setting. */
export async function newStoredKey(
  keyring: Keyring,
  setting: string,
  nowMs: number,
  algorithm?: SigningAlgorithm,
): Promise<StoredKey> {
  const key = await newSigningKey(nowMs, algorithm);
  const sealed = keyring.seal(Buffer.from(key.privatePem), cell(setting, key.kid)).toString('base64');
  return { kid: key.kid, createdAtMs: nowMs, jwk: publicJwk(key), sealed };
}

/** The key of a setting, to sign with. */
export function openedKey(keyring: Keyring, setting: string, { kid, createdAtMs, sealed }: StoredKey): SigningKey {
  return {
    kid,
    createdAtMs,
    privatePem: keyring.open(Buffer.from(sealed, 'base64'), cell(setting, kid)).toString('utf8'),
  };
}
