import { createPrivateKey, createPublicKey, type JsonWebKey, X509Certificate } from 'node:crypto';
import { ExactNumber, jsonText, parseExact } from '@keystead/envelope';
import { isObject } from '../../sdk/coerce';
import { refuse } from '../../sdk/refuse';
import { checkPair, readSymmetric } from './imported-key';
import { type KeyVersion, rotates, type TransitKey } from './key';
import { type KeyType, kindOf } from './key-type';
import { checkDerivation, plainKey } from './make-key';
import { materialOf, rawPublicKey, versionOfPair } from './material';

// The backup format of existing clients: base64 JSON, with key pair numbers in decimal.

const numbers: Readonly<Record<KeyType, number>> = {
  'aes256-gcm96': 0,
  'ecdsa-p256': 1,
  ed25519: 2,
  'rsa-2048': 3,
  'rsa-4096': 4,
  'chacha20-poly1305': 5,
  'ecdsa-p384': 6,
  'ecdsa-p521': 7,
  'aes128-gcm96': 8,
  'rsa-3072': 9,
  hmac: 10,
  'xchacha20-poly1305': 11,
};

type BackupFields = Readonly<Record<string, unknown>>;
const nanoseconds = 1e9;
const hkdf = 1;
const convergentVersion = 3;

/** Writes the backup of a key with all versions. */
export function backupText(name: string, key: TransitKey): string {
  const entry = (number: number) => entryOf(key, number);
  const policy = {
    name,
    key_size: key.key_size,
    keys: Object.fromEntries(Object.keys(key.versions).map((number) => [number, entry(Number(number))])),
    derived: key.derived,
    kdf: key.derived ? hkdf : 0,
    convergent_encryption: key.convergent_encryption,
    convergent_version: key.convergent_encryption ? -1 : 0,
    exportable: key.exportable,
    min_decryption_version: key.min_decryption_version,
    min_encryption_version: key.min_encryption_version,
    latest_version: key.latest_version,
    archive_version: key.latest_version,
    archive_min_version: 0,
    min_available_version: key.min_available_version,
    deletion_allowed: key.deletion_allowed,
    type: numbers[key.type],
    backup_info: key.backup_info ?? null,
    restore_info: key.restore_info ?? null,
    allow_plaintext_backup: key.allow_plaintext_backup,
    version_template: '',
    storage_prefix: '',
    auto_rotate_period: key.auto_rotate_period * nanoseconds,
    Imported: key.imported_key,
    AllowImportedKeyRotation: key.imported_key_allow_rotation,
    soft_deleted: key.soft_deleted,
  };
  const archived = Array.from({ length: key.latest_version + 1 }, (_, number) =>
    key.versions[number] ? entry(number) : {},
  );
  return Buffer.from(jsonText({ policy, archived_keys: { keys: archived } })).toString('base64');
}

function entryOf(key: TransitKey, number: number): BackupFields {
  const { hmacKey, createdAtMs, certificates, ...version } = key.versions[number]!;
  const common = {
    hmac_key: hmacKey,
    time: new Date(createdAtMs).toISOString(),
    creation_time: Math.floor(createdAtMs / 1000),
    convergent_version: key.convergent_encryption ? convergentVersion : 0,
    certificate_chain: certificates ?? null,
  };
  const { family } = kindOf(key.type);
  if (family === 'aead' || family === 'hmac') return { ...common, key: version.key };
  const material = materialOf(key, number);
  const { privateKey, publicKey } = material;
  if (family === 'ed25519') {
    const public_key = rawPublicKey(publicKey).toString('base64');
    return { ...common, public_key, key: privateKey && material.bothHalves().toString('base64') };
  }
  const jwk = (privateKey ?? publicKey).export({ format: 'jwk' });
  if (family === 'ecdsa') {
    const public_key = publicKey.export({ format: 'pem', type: 'spki' });
    return { ...common, public_key, ec_x: decimal(jwk.x), ec_y: decimal(jwk.y), ec_d: jwk.d && decimal(jwk.d) };
  }
  const shared = { N: decimal(jwk.n), E: decimal(jwk.e) };
  if (!privateKey) return { ...common, rsa_public_key: shared };
  return { ...common, rsa_key: { ...shared, D: decimal(jwk.d), Primes: [decimal(jwk.p), decimal(jwk.q)] } };
}

const decimal = (text: string | undefined): ExactNumber =>
  new ExactNumber(BigInt(`0x${Buffer.from(text!, 'base64url').toString('hex')}`).toString());

const bad = (): never => refuse('backup is not a backup of a supported key');

/** Parses a backup. Throws `invalid` if it is malformed or a key does not match its type. */
export function parseBackup(text: string): { name: string; key: TransitKey } {
  let parsed: unknown;
  try {
    parsed = parseExact(Buffer.from(text, 'base64').toString('utf8'));
  } catch {
    return bad();
  }
  if (!isObject(parsed) || !isObject(parsed.policy)) return bad();
  const { policy } = parsed;
  const [type] = (Object.keys(numbers) as KeyType[]).filter((name) => numbers[name] === policy.type);
  if (!type) return bad();
  const flag = (name: string) => policy[name] === true;
  const whole = (name: string): number => {
    const value = policy[name] ?? 0;
    return Number.isSafeInteger(value) && Number(value) >= 0 ? Number(value) : bad();
  };
  const derived = flag('derived');
  const convergent = flag('convergent_encryption');
  if ((derived && policy.kdf !== hkdf) || (convergent && policy.convergent_version !== -1)) return bad();
  const key: TransitKey = {
    ...plainKey,
    type,
    derived,
    convergent_encryption: convergent,
    exportable: flag('exportable'),
    allow_plaintext_backup: flag('allow_plaintext_backup'),
    auto_rotate_period: Math.floor(whole('auto_rotate_period') / nanoseconds),
    deletion_allowed: flag('deletion_allowed'),
    soft_deleted: flag('soft_deleted'),
    imported_key: flag('Imported'),
    imported_key_allow_rotation: flag('AllowImportedKeyRotation'),
    key_size: whole('key_size'),
    latest_version: whole('latest_version'),
    min_available_version: whole('min_available_version'),
    min_decryption_version: Math.max(whole('min_decryption_version'), 1),
    min_encryption_version: whole('min_encryption_version'),
    ...(isObject(policy.backup_info) && { backup_info: momentIn(policy.backup_info) }),
  };
  checkDerivation(key);
  const versions = versionsIn(parsed, key);
  const { latest_version: latest } = key;
  const isWhole = versions[latest] && Math.max(key.min_decryption_version, key.min_encryption_version) <= latest;
  if (!isWhole || (key.auto_rotate_period > 0 && !rotates(key))) return bad();
  return { name: typeof policy.name === 'string' ? policy.name : '', key: { ...key, versions } };
}

function momentIn({ time, version }: BackupFields): NonNullable<TransitKey['backup_info']> {
  const isMoment = Number.isFinite(Date.parse(String(time))) && Number.isSafeInteger(version);
  return isMoment ? { time: String(time), version: Number(version) } : bad();
}

function versionsIn({ policy, archived_keys }: BackupFields, key: TransitKey): Record<string, KeyVersion> {
  const archived = isObject(archived_keys) && Array.isArray(archived_keys.keys) ? archived_keys.keys : [];
  const current = isObject(policy) && isObject(policy.keys) ? policy.keys : {};
  const versions: Record<string, KeyVersion> = {};
  for (let number = Math.max(key.min_available_version, 1); number <= key.latest_version; number++) {
    if (number - key.min_available_version > mostVersions) return bad();
    const entry: unknown = current[String(number)] ?? archived[number];
    if (isObject(entry) && entry.hmac_key) versions[number] = versionIn(entry, key);
  }
  return versions;
}

/** Limits the work that a forged backup can cause. */
const mostVersions = 100_000;

function versionIn(entry: BackupFields, key: TransitKey): KeyVersion {
  const createdAtMs = Date.parse(String(entry.time));
  if (!Number.isFinite(createdAtMs)) return bad();
  if (key.convergent_encryption && entry.convergent_version !== convergentVersion) return bad();
  const hmacKey = String(entry.hmac_key);
  const { family } = kindOf(key.type);
  if (family === 'aead' || family === 'hmac') {
    const own = readSymmetric(key.type, Buffer.from(String(entry.key), 'base64')).toString('base64');
    return { key: own, hmacKey: family === 'hmac' ? own : hmacKey, createdAtMs };
  }
  try {
    const jwk = jwkIn(entry, key.type);
    const pair = jwk.d ? createPrivateKey({ key: jwk, format: 'jwk' }) : createPublicKey({ key: jwk, format: 'jwk' });
    const certificates = Array.isArray(entry.certificate_chain) ? entry.certificate_chain.map(String) : undefined;
    for (const der of certificates ?? []) new X509Certificate(Buffer.from(der, 'base64'));
    return { ...versionOfPair(checkPair(key.type, pair)), hmacKey, createdAtMs, ...(certificates && { certificates }) };
  } catch {
    return bad();
  }
}

function jwkIn(entry: BackupFields, type: KeyType): JsonWebKey {
  const kind = kindOf(type);
  if (kind.family === 'ed25519') {
    const own = typeof entry.key === 'string' ? Buffer.from(entry.key, 'base64') : undefined;
    const x = own ? own.subarray(32) : Buffer.from(String(entry.public_key), 'base64');
    const d = own && { d: own.subarray(0, 32).toString('base64url') };
    return { kty: 'OKP', crv: 'Ed25519', x: x.toString('base64url'), ...d };
  }
  if (kind.family === 'ecdsa') {
    const fixed = (name: string) => urlOf(wholeNumber(entry[name]), kind.fieldBytes);
    const d = entry.ec_d != null && { d: fixed('ec_d') };
    return { kty: 'EC', crv: kind.curve, x: fixed('ec_x'), y: fixed('ec_y'), ...d };
  }
  const rsa = (isObject(entry.rsa_key) ? entry.rsa_key : entry.rsa_public_key) as BackupFields;
  const shared = { kty: 'RSA', n: urlOf(wholeNumber(rsa.N)), e: urlOf(wholeNumber(rsa.E)) };
  if (rsa.D == null) return shared;
  const d = wholeNumber(rsa.D);
  const [p, q] = (rsa.Primes as unknown[]).map(wholeNumber) as [bigint, bigint];
  const crt = { p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) };
  return { ...shared, d: urlOf(d), ...Object.fromEntries(Object.entries(crt).map(([name, n]) => [name, urlOf(n)])) };
}

/** The maximum number of decimal digits, which no supported RSA key reaches. */
const longestDigits = 1300;

function wholeNumber(value: unknown): bigint {
  const text = String(value);
  return /^\d+$/.test(text) && text.length < longestDigits ? BigInt(text) : bad();
}

function urlOf(number: bigint, bytes = 0): string {
  const hex = number.toString(16);
  return Buffer.from(hex.padStart(Math.max(bytes * 2, hex.length + (hex.length % 2)), '0'), 'hex').toString(
    'base64url',
  );
}

/** The inverse of `a` modulo `m`, by Euclid. */
function inverse(a: bigint, m: bigint): bigint {
  let [r0, r1, s0, s1] = [m, a % m, 0n, 1n];
  while (r1 !== 0n) {
    const quotient = r0 / r1;
    [r0, r1] = [r1, r0 - quotient * r1];
    [s0, s1] = [s1, s0 - quotient * s1];
  }
  return ((s0 % m) + m) % m;
}
