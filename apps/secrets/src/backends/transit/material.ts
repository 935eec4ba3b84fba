import {
  createHmac,
  createPrivateKey,
  createPublicKey,
  createSecretKey,
  type KeyObject,
  randomBytes,
  webcrypto,
} from 'node:crypto';
import { makeCurveKey, makeRsaKey } from '@keystead/auth';
import { refuse } from '../../sdk/refuse';
import { type KeyVersion, type TransitKey, tooOld } from './key';
import { checkHmacSize, type KeyType, kindOf } from './key-type';

const noBytes = Buffer.alloc(0);

/** The PKCS#8 header of an Ed25519 seed (RFC 8410). */
const seedHeader = Buffer.from('302e020100300506032b657004220420', 'hex');

/** The Ed25519 key pair of a 32-byte seed. */
export const ed25519Key = (seed: Buffer): KeyObject =>
  createPrivateKey({ key: Buffer.concat([seedHeader, seed]), format: 'der', type: 'pkcs8' });

/** The 32-byte public key of an Ed25519 key, private or public. */
export const rawPublicKey = (key: KeyObject): Buffer => Buffer.from(key.export({ format: 'jwk' }).x!, 'base64url');

/** Generates a version. Key pairs are generated off the main thread. */
export async function makeVersion(type: KeyType, keySize: number, createdAtMs: number): Promise<KeyVersion> {
  const kind = kindOf(type);
  const hmacKey = randomBytes(32).toString('base64');
  if (kind.family === 'hmac') {
    checkHmacSize(keySize);
    const key = randomBytes(keySize).toString('base64');
    return { key, hmacKey: key, createdAtMs };
  }
  if (kind.family === 'aead') return { key: randomBytes(kind.keyBytes).toString('base64'), hmacKey, createdAtMs };
  if (kind.family === 'ed25519') {
    return { ...versionOfPair(ed25519Key(randomBytes(32))), hmacKey, createdAtMs };
  }
  const pair = kind.family === 'rsa' ? makeRsaKey(kind.bits) : makeCurveKey(kind.curve);
  return { ...versionOfPair(await pair), hmacKey, createdAtMs };
}

/** The stored form of a private key, or of a public key if only that is known. */
export function versionOfPair(key: KeyObject): Pick<KeyVersion, 'key' | 'publicKey'> {
  const shared = key.type === 'private' ? createPublicKey(key as never) : key;
  const publicKey = shared.export({ format: 'der', type: 'spki' }).toString('base64');
  if (key.type !== 'private') return { publicKey };
  const der = key.export({ format: 'der', type: 'pkcs8' });
  const privateKey = key.asymmetricKeyType === 'ed25519' ? der.subarray(-32) : der;
  return { key: privateKey.toString('base64'), publicKey };
}

/** A version of a key, parsed and cached. */
export class Material {
  readonly secret: Buffer;
  readonly hmacKey: KeyObject;
  private pair: { readonly privateKey?: KeyObject; readonly publicKey: KeyObject } | undefined;
  private oaep: Promise<{ decrypt?: webcrypto.CryptoKey; encrypt: webcrypto.CryptoKey }> | undefined;
  private sealing: KeyObject | undefined;
  private extracted: KeyObject | undefined;

  constructor(
    private readonly type: KeyType,
    private readonly version: KeyVersion,
  ) {
    this.secret = version.key === undefined ? noBytes : Buffer.from(version.key, 'base64');
    this.hmacKey = createSecretKey(Buffer.from(version.hmacKey, 'base64'));
  }

  /** Undefined if only the public key was imported. */
  get privateKey(): KeyObject | undefined {
    return this.keys().privateKey;
  }

  get publicKey(): KeyObject {
    return this.keys().publicKey;
  }

  /** The key of an authenticated cipher. */
  get cipherKey(): KeyObject {
    this.sealing ??= createSecretKey(this.secret);
    return this.sealing;
  }

  /** The RSA keys for Web Crypto, which does not use the main thread. */
  oaepKeys(): NonNullable<typeof this.oaep> {
    this.oaep ??= importOaep(this.version);
    return this.oaep;
  }

  /**
   * HKDF with SHA-256 and without salt (RFC 5869). For an Ed25519 key, the input is both halves. The extracted key is
   * cached. `hkdfSync` refuses contexts above 1,024 bytes, which clients send.
   */
  derive(context: Buffer, bytes: number): Buffer {
    this.extracted ??= createSecretKey(createHmac('sha256', Buffer.alloc(32)).update(this.bothHalves()).digest());
    const blocks: Buffer[] = [];
    for (let n = 1; (n - 1) * 32 < bytes; n++) {
      const hmac = createHmac('sha256', this.extracted).update(blocks.at(-1) ?? noBytes);
      blocks.push(hmac.update(context).update(Buffer.of(n)).digest());
    }
    return Buffer.concat(blocks).subarray(0, bytes);
  }

  /** The seed and the public key of an Ed25519 key, as in exports and backups. For other types, the key. */
  bothHalves(): Buffer {
    return this.type === 'ed25519' ? Buffer.concat([this.secret, rawPublicKey(this.publicKey)]) : this.secret;
  }

  private keys() {
    if (this.pair) return this.pair;
    const { publicKey, key } = this.version;
    const shared = createPublicKey({ key: Buffer.from(publicKey!, 'base64'), format: 'der', type: 'spki' });
    const ownKey = () =>
      kindOf(this.type).family === 'ed25519'
        ? ed25519Key(this.secret)
        : createPrivateKey({ key: this.secret, format: 'der', type: 'pkcs8' });
    this.pair = { publicKey: shared, privateKey: key === undefined ? undefined : ownKey() };
    return this.pair;
  }
}

const oaepAlgorithm = { name: 'RSA-OAEP', hash: 'SHA-256' };

async function importOaep({ key, publicKey }: KeyVersion) {
  const { subtle } = webcrypto;
  const read = (format: 'pkcs8' | 'spki', text: string, use: 'encrypt' | 'decrypt') =>
    subtle.importKey(format, Buffer.from(text, 'base64'), oaepAlgorithm, false, [use]);
  return {
    encrypt: await read('spki', publicKey!, 'encrypt'),
    decrypt: key === undefined ? undefined : await read('pkcs8', key, 'decrypt'),
  };
}

const materials = new WeakMap<KeyVersion, Material>();

/** The material of a version. The caller must have checked its number. */
export const materialOf = (key: TransitKey, number: number): Material =>
  materialOfVersion(key.type, key.versions[number] ?? refuse(tooOld));

export function materialOfVersion(type: KeyType, version: KeyVersion): Material {
  let material = materials.get(version);
  if (!material) {
    material = new Material(type, version);
    materials.set(version, material);
  }
  return material;
}

/** Throws `invalid` without the context that derived keys need. */
export function requireContext(context: Buffer): Buffer {
  if (context.length > 0) return context;
  refuse(
    "missing 'context' for key derivation; the key was created using a derived key, which means additional, per-request information must be included in order to perform operations with the key",
  );
}
