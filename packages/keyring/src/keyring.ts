import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';
import { NotAuthentic, UnknownKeyVersion } from './errors';
import { Nonces } from './nonces';
import { openWithSealKey, sealWithSealKey } from './seal-key';

/** Where a sealed value is stored. A value opens only at the place it was sealed for. */
export interface Cell {
  table: string;
  row: string;
  column: string;
}

const CIPHER = 'aes-256-gcm';
const TAG = { authTagLength: 16 };
const KEY_BYTES = 32;
const FORMAT = 1;
// A sealed value: format (1), key version (4), nonce (12), ciphertext, tag (16).
const VERSION_AT = 1;
const NONCE_AT = 5;
const TEXT_AT = 17;
const TAG_BYTES = 16;

/**
 * The keys of one service: versioned keys that encrypt values, and an index key for look-ups and derived keys. Each
 * value is bound to its table, row and column. Rotation never changes the index key. A keyring is stored only wrapped
 * with a seal key.
 */
export class Keyring {
  private readonly nonces = new Nonces();
  private readonly purposes = new Map<string, KeyObject>();
  private current: KeyObject;

  private constructor(
    private readonly keys: Map<number, KeyObject>,
    private indexKey: KeyObject | undefined,
    private newest: number,
  ) {
    this.current = keys.get(newest)!;
  }

  /** A new keyring with one random key and a random index key. */
  static create(): Keyring {
    return new Keyring(new Map([[1, newKey()]]), newKey(), 1);
  }

  /** Opens a wrapped keyring with the first seal key that fits. Throws `WrongSealKey`. */
  static unwrap(wrapped: Uint8Array, sealKeys: readonly Uint8Array[]): Keyring {
    const plain = openWithSealKey(wrapped, sealKeys);
    const keys = new Map<number, KeyObject>();
    let newest = 0;
    for (let at = KEY_BYTES; at < plain.length; at += 4 + KEY_BYTES) {
      newest = plain.readUInt32BE(at);
      keys.set(newest, createSecretKey(plain.subarray(at + 4, at + 4 + KEY_BYTES)));
    }
    const keyring = new Keyring(keys, createSecretKey(plain.subarray(0, KEY_BYTES)), newest);
    plain.fill(0);
    return keyring;
  }

  /** The keyring in the form in which it may be stored: all its keys, encrypted with the seal key. */
  wrap(sealKey: Uint8Array): Buffer {
    const parts = [this.index().export()];
    for (const [version, key] of this.keys) {
      const head = Buffer.allocUnsafe(4);
      head.writeUInt32BE(version);
      parts.push(head, key.export());
    }
    const plain = Buffer.concat(parts);
    const wrapped = sealWithSealKey(plain, sealKey);
    for (const part of [plain, ...parts]) part.fill(0);
    return wrapped;
  }

  /** The version of the key that encrypts new values. */
  get version(): number {
    return this.newest;
  }

  /** All versions held, oldest first. */
  get versions(): number[] {
    return [...this.keys.keys()];
  }

  /** Adds a new key for all later values and returns its version. Wrap and store the keyring before using it. */
  addVersion(): number {
    this.index();
    this.newest += 1;
    this.current = newKey();
    this.keys.set(this.newest, this.current);
    return this.newest;
  }

  /** Removes an old key. No value may still be encrypted with it. */
  dropVersion(version: number): void {
    if (version === this.newest) throw new Error('the key in use cannot be dropped');
    this.keys.delete(version);
  }

  /** Encrypts a value for one cell, under the newest key. */
  seal(plain: Uint8Array, at: Cell): Buffer<ArrayBuffer> {
    this.index();
    const nonce = this.nonces.next();
    const cipher = createCipheriv(CIPHER, this.current, nonce, TAG);
    cipher.setAAD(associatedData(at));
    const text = cipher.update(plain);
    cipher.final();
    const sealed = Buffer.allocUnsafe(TEXT_AT + text.length + TAG_BYTES);
    sealed[0] = FORMAT;
    sealed.writeUInt32BE(this.newest, VERSION_AT);
    nonce.copy(sealed, NONCE_AT);
    text.copy(sealed, TEXT_AT);
    cipher.getAuthTag().copy(sealed, TEXT_AT + text.length);
    return sealed;
  }

  /** Decrypts a value that was sealed for this cell. Throws `NotAuthentic` and `UnknownKeyVersion`. */
  open(sealed: Uint8Array, at: Cell): Buffer {
    const bytes = asBuffer(sealed);
    const version = this.versionOf(bytes);
    const key = this.keys.get(version);
    if (!key) throw new UnknownKeyVersion(version);
    const end = bytes.length - TAG_BYTES;
    const decipher = createDecipheriv(CIPHER, key, bytes.subarray(NONCE_AT, TEXT_AT), TAG);
    decipher.setAAD(associatedData(at));
    decipher.setAuthTag(bytes.subarray(end));
    const plain = decipher.update(bytes.subarray(TEXT_AT, end));
    try {
      decipher.final();
    } catch {
      plain.fill(0);
      throw new NotAuthentic(`the stored value of ${at.table}.${at.column} is not authentic`);
    }
    return plain;
  }

  /**
   * The key version that a value was sealed under, so that rotation finds the values to seal again. Throws
   * `NotAuthentic`.
   */
  versionOf(sealed: Uint8Array): number {
    if (sealed[0] !== FORMAT || sealed.length < TEXT_AT + TAG_BYTES) throw new NotAuthentic('not a sealed value');
    return asBuffer(sealed).readUInt32BE(VERSION_AT);
  }

  /**
   * HMAC-SHA256 of a value, to look it up without storing it. Each purpose has its own key, derived from the index key.
   * Purposes are constants in the code, so their keys are cached.
   */
  mac(purpose: string, data: string | Uint8Array): Buffer<ArrayBuffer> {
    const cached = this.purposes.get(purpose);
    const key = cached ?? createSecretKey(this.derive(`mac ${purpose}`));
    if (!cached) this.purposes.set(purpose, key);
    return createHmac('sha256', key).update(data).digest();
  }

  /** 32 bytes for one purpose, the same for the life of the keyring (HKDF-SHA256 under the index key). */
  derive(purpose: string): Buffer {
    return Buffer.from(hkdfSync('sha256', this.index(), '', `keystead ${purpose}`, KEY_BYTES));
  }

  /** Erases all keys, for example when a service is sealed. Every later use of the keyring throws. */
  destroy(): void {
    this.keys.clear();
    this.purposes.clear();
    this.indexKey = undefined;
  }

  private index(): KeyObject {
    if (!this.indexKey) throw new Error('the keyring was destroyed');
    return this.indexKey;
  }
}

function newKey(): KeyObject {
  const bytes = randomBytes(KEY_BYTES);
  const key = createSecretKey(bytes);
  bytes.fill(0);
  return key;
}

/**
 * The associated data of a cell. It is unambiguous, because table and column are constants without NUL, and the row
 * comes last.
 */
function associatedData(at: Cell): Buffer {
  return Buffer.from(`${at.table}\0${at.column}\0${at.row}`);
}

function asBuffer(bytes: Uint8Array): Buffer {
  return Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
