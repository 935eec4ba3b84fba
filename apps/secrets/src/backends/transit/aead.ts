import { type CipherGCMTypes, createCipheriv, createDecipheriv, createSecretKey, type KeyObject } from 'node:crypto';
import { refuse } from '../../sdk/refuse';
import type { KeyKind } from './key-type';

type Aead = Extract<KeyKind, { family: 'aead' }>;

const tagBytes = 16;

/** Encrypts; returns nonce, ciphertext and tag. Node takes 12 µs longer with the key as bytes than as a key object. */
export function seal(kind: Aead, key: KeyObject, nonce: Buffer, plaintext: Buffer, associated: Buffer): Buffer {
  const [innerKey, innerNonce] = inner(kind, key, nonce);
  const cipher = createCipheriv(kind.cipher as CipherGCMTypes, innerKey, innerNonce, { authTagLength: tagBytes });
  if (associated.length > 0) cipher.setAAD(associated, { plaintextLength: plaintext.length });
  return Buffer.concat([nonce, cipher.update(plaintext), cipher.final(), cipher.getAuthTag()]);
}

/** Decrypts. For any fault the error says only that authentication failed. */
export function open(kind: Aead, key: KeyObject, sealed: Buffer, associated: Buffer): Buffer {
  if (sealed.length < kind.nonceBytes) refuse('invalid ciphertext length');
  if (sealed.length < kind.nonceBytes + tagBytes) fail(kind);
  const [innerKey, innerNonce] = inner(kind, key, sealed.subarray(0, kind.nonceBytes));
  const decipher = createDecipheriv(kind.cipher as CipherGCMTypes, innerKey, innerNonce, { authTagLength: tagBytes });
  const text = sealed.subarray(kind.nonceBytes, -tagBytes);
  decipher.setAuthTag(sealed.subarray(-tagBytes));
  if (associated.length > 0) decipher.setAAD(associated, { plaintextLength: text.length });
  const plaintext = decipher.update(text);
  try {
    return Buffer.concat([plaintext, decipher.final()]);
  } catch {
    return fail(kind);
  }
}

function fail({ cipher }: Aead): never {
  refuse(`${cipher.startsWith('aes') ? 'cipher' : 'chacha20poly1305'}: message authentication failed`);
}

/** Key and nonce of the underlying cipher: for XChaCha20, the key is derived with the start of the nonce. */
function inner(kind: Aead, key: KeyObject, nonce: Buffer): [KeyObject, Buffer] {
  if (kind.nonceBytes === 12) return [key, nonce];
  return [hchacha20(key, nonce.subarray(0, 16)), Buffer.concat([Buffer.alloc(4), nonce.subarray(16)])];
}

const constants = Buffer.from('expand 32-byte k', 'latin1');

/** HChaCha20 (draft-irtf-cfrg-xchacha): the ChaCha20 block function, with its final addition subtracted here. */
function hchacha20(key: KeyObject, input: Buffer): KeyObject {
  const block = createCipheriv('chacha20', key, input).update(Buffer.alloc(64));
  const subkey = Buffer.alloc(32);
  for (let at = 0; at < 16; at += 4) {
    subkey.writeUInt32LE((block.readUInt32LE(at) - constants.readUInt32LE(at)) >>> 0, at);
    subkey.writeUInt32LE((block.readUInt32LE(48 + at) - input.readUInt32LE(at)) >>> 0, 16 + at);
  }
  return createSecretKey(subkey);
}
