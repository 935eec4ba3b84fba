import { Refusal } from '@keystead/refusal';
import { createMessage, encrypt, type PublicKey, readKey } from 'openpgp';

/** Somebody's OpenPGP key that a share will be encrypted to. */
export interface ShareKey {
  /** 40 lower-case hexadecimal digits. */
  readonly fingerprint: string;
  readonly key: PublicKey;
}

/** Reads keys given as base64 of the binary form. Throws `invalid`; `prefix` begins the message. */
export async function readShareKeys(texts: readonly string[], prefix: string): Promise<ShareKey[]> {
  const keys: ShareKey[] = [];
  for (const text of texts) keys.push(await readShareKey(text, prefix));
  return keys;
}

async function readShareKey(text: string, prefix: string): Promise<ShareKey> {
  const offset = text.search(/[^A-Za-z0-9+/=\r\n]/);
  if (offset >= 0 || text === '') {
    throw new Refusal(
      'invalid',
      `${prefix}: error decoding given PGP key: illegal base64 data at input byte ${Math.max(offset, 0)}`,
    );
  }
  const bytes = Buffer.from(text, 'base64');
  if (bytes.length === 0 || !(bytes[0]! & 0x80)) {
    throw new Refusal(
      'invalid',
      `${prefix}: error parsing given PGP key: openpgp: invalid data: tag byte does not have MSB set`,
    );
  }
  let key: PublicKey;
  try {
    key = (await readKey({ binaryKey: bytes })).toPublic();
  } catch (error) {
    throw new Refusal('invalid', `${prefix}: error parsing given PGP key: ${(error as Error).message}`);
  }
  try {
    await key.getEncryptionKey();
  } catch (error) {
    throw new Refusal('invalid', `${prefix}: PGP key has no usable encryption key: ${(error as Error).message}`);
  }
  return { fingerprint: key.getFingerprint().toLowerCase(), key };
}

/** Encrypts bytes, written as hexadecimal text, as a binary OpenPGP message. */
export async function encryptShare(share: Buffer, { key }: ShareKey): Promise<Buffer> {
  return encryptText(share.toString('hex'), { key });
}

/** Encrypts text as a binary OpenPGP message. */
export async function encryptText(text: string, { key }: Pick<ShareKey, 'key'>): Promise<Buffer> {
  const message = await createMessage({ binary: Buffer.from(text) });
  return Buffer.from((await encrypt({ message, encryptionKeys: key, format: 'binary' })) as Uint8Array);
}
