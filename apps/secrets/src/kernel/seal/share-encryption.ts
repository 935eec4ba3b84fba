import { Refusal } from '@keystead/refusal';
import { createMessage, encrypt, type PublicKey, readKey, type Subkey } from 'openpgp';

/** An OpenPGP key to encrypt a share to. */
export interface ShareKey {
  /** 40 lower-case hexadecimal digits. */
  readonly fingerprint: string;
  readonly key: PublicKey;
}

/** Reads keys given as base64 of the binary form. Throws `invalid`; the message begins with `prefix`. */
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
  const problem = tooCostly(key);
  if (problem) throw new Refusal('invalid', `${prefix}: PGP key has no usable encryption key: ${problem}`);
  try {
    await key.getEncryptionKey();
  } catch (error) {
    throw new Refusal('invalid', `${prefix}: PGP key has no usable encryption key: ${(error as Error).message}`);
  }
  return { fingerprint: key.getFingerprint().toLowerCase(), key };
}

/** Algorithms whose signatures are verified natively, without loops over numbers that the sender chooses. */
const quick = new Set(['rsaEncryptSign', 'rsaEncrypt', 'rsaSign', 'ed25519', 'x25519']);
const quickCurves = new Set(['nistP256', 'nistP384', 'nistP521', 'ed25519Legacy', 'curve25519Legacy']);
const mostBits = 8192;
const mostExponentBytes = 8;
const mostSignatures = 64;

/**
 * The reason why a key is refused without a check; undefined if the check is fast. A check verifies the owner's
 * signatures in the key, which can take minutes for a key of a few kilobytes, and callers without a token may send
 * keys.
 */
function tooCostly(key: PublicKey): string | undefined {
  const parts: (PublicKey | Subkey)[] = [key, ...key.subkeys];
  for (const part of parts) {
    const { algorithm, bits, curve } = part.getAlgorithmInfo();
    if (curve === undefined ? !quick.has(algorithm) : !quickCurves.has(curve)) {
      return `${curve ?? algorithm} keys are not supported`;
    }
    const { e: exponent } = part.keyPacket.publicParams as { e?: Uint8Array };
    if ((bits ?? 0) > mostBits || (exponent?.length ?? 0) > mostExponentBytes) {
      return `keys of more than ${mostBits} bits are not supported`;
    }
  }
  const { directSignatures } = key as PublicKey & { readonly directSignatures: readonly unknown[] };
  const signatures = [
    ...directSignatures,
    ...key.revocationSignatures,
    ...key.users.flatMap((user) => [...user.selfCertifications, ...user.revocationSignatures]),
    ...key.subkeys.flatMap((subkey) => [...subkey.bindingSignatures, ...subkey.revocationSignatures]),
  ];
  return signatures.length > mostSignatures ? `it has more than ${mostSignatures} self-signatures` : undefined;
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
