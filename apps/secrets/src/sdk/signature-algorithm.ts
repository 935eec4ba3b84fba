import { constants, createSign, type KeyObject, sign } from 'node:crypto';
import { setImmediate } from 'node:timers/promises';
import { promisify } from 'node:util';
import { RsaSaPssParams } from '@peculiar/asn1-rsa';
import { AsnConvert } from '@peculiar/asn1-schema';
import { AlgorithmIdentifier } from '@peculiar/asn1-x509';
import { refuse } from './refuse';
import { signWithRsa } from './rsa-turns';

/** How a key signs. */
export interface SigningAlgorithm {
  /** The name that issuers show. */
  readonly name: string;
  readonly oid: string;
  /** Null if the algorithm determines the hash. */
  readonly hash: 'sha256' | 'sha384' | 'sha512' | null;
  readonly keyType: 'rsa' | 'ec' | 'ed25519';
  readonly isPss?: true;
}

const hashIds = {
  sha256: '2.16.840.1.101.3.4.2.1',
  sha384: '2.16.840.1.101.3.4.2.2',
  sha512: '2.16.840.1.101.3.4.2.3',
} as const;
const mgf1 = '1.2.840.113549.1.1.8';
const pss = '1.2.840.113549.1.1.10';

/** The supported algorithms. Their signatures cannot be forged. */
const algorithms: readonly SigningAlgorithm[] = [
  { name: 'SHA256WithRSA', oid: '1.2.840.113549.1.1.11', hash: 'sha256', keyType: 'rsa' },
  { name: 'SHA384WithRSA', oid: '1.2.840.113549.1.1.12', hash: 'sha384', keyType: 'rsa' },
  { name: 'SHA512WithRSA', oid: '1.2.840.113549.1.1.13', hash: 'sha512', keyType: 'rsa' },
  { name: 'SHA256WithRSAPSS', oid: pss, hash: 'sha256', keyType: 'rsa', isPss: true },
  { name: 'SHA384WithRSAPSS', oid: pss, hash: 'sha384', keyType: 'rsa', isPss: true },
  { name: 'SHA512WithRSAPSS', oid: pss, hash: 'sha512', keyType: 'rsa', isPss: true },
  { name: 'ECDSAWithSHA256', oid: '1.2.840.10045.4.3.2', hash: 'sha256', keyType: 'ec' },
  { name: 'ECDSAWithSHA384', oid: '1.2.840.10045.4.3.3', hash: 'sha384', keyType: 'ec' },
  { name: 'ECDSAWithSHA512', oid: '1.2.840.10045.4.3.4', hash: 'sha512', keyType: 'ec' },
  { name: 'Ed25519', oid: '1.3.101.112', hash: null, keyType: 'ed25519' },
];

/** The algorithm of a name, in upper or lower case. Throws `invalid` for an unknown name. */
export function algorithmNamed(name: string): SigningAlgorithm {
  const folded = name.toLowerCase().replace(/^pureed/, 'ed');
  const names = algorithms.map((one) => one.name.toLowerCase());
  return (
    algorithms[names.indexOf(folded)] ??
    refuse(`Unknown signature algorithm value: ${name} - valid values are ${names.join(', ')}`)
  );
}

const curveHashes = new Map([
  ['secp384r1', 'sha384'],
  ['secp521r1', 'sha512'],
]);

/** How a key signs: an elliptic curve determines the hash; for RSA, `bits` and `usePss` determine the algorithm. */
export function algorithmFor(key: KeyObject, bits = 0, usePss = false): SigningAlgorithm {
  const type = key.asymmetricKeyType;
  const matches = (one: SigningAlgorithm) => {
    if (one.keyType !== type) return false;
    if (type === 'rsa') return one.hash === `sha${bits || 256}` && (one.isPss ?? false) === usePss;
    return type !== 'ec' || one.hash === (curveHashes.get(key.asymmetricKeyDetails?.namedCurve ?? '') ?? 'sha256');
  };
  return algorithms.find(matches) ?? refuse(`keys of type ${type} cannot sign certificates`);
}

/** The encoding of the algorithm in signed objects. */
export function identifierOf({ oid, hash, keyType, isPss }: SigningAlgorithm): AlgorithmIdentifier {
  if (!isPss) return new AlgorithmIdentifier({ algorithm: oid, parameters: keyType === 'rsa' ? null : undefined });
  const hashAlgorithm = new AlgorithmIdentifier({ algorithm: hashIds[hash!], parameters: null });
  const maskGenAlgorithm = new AlgorithmIdentifier({
    algorithm: mgf1,
    parameters: AsnConvert.serialize(hashAlgorithm),
  });
  const parameters = new RsaSaPssParams({ hashAlgorithm, maskGenAlgorithm, saltLength: saltLength(hash!) });
  return new AlgorithmIdentifier({ algorithm: oid, parameters: AsnConvert.serialize(parameters) });
}

const saltLength = (hash: string): number => Number(hash.slice(3)) / 8;

const signAside = promisify<string | null, Buffer, Parameters<typeof sign>[2], Buffer>(sign);

/** Signs off the main thread, except on the smallest curves, which take 30 µs, less than the switch of threads. */
export async function signWith(
  { hash, keyType, isPss }: SigningAlgorithm,
  key: KeyObject,
  content: Buffer,
): Promise<Buffer> {
  if (keyType === 'ed25519' || (keyType === 'ec' && hash === 'sha256')) return sign(hash, content, key);
  if (keyType !== 'rsa') return signAside(hash, content, key);
  return signWithRsa(hash!, content, { key, ...paddingOf(hash!, isPss) });
}

const paddingOf = (hash: string, isPss = false) =>
  isPss ? { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: saltLength(hash) } : {};

/** The maximum number of bytes that are copied in one turn of the event loop. */
const shortBytes = 2 ** 20;

/** Signs content in parts; yields to other requests while it reads long content. */
export async function signParts(
  algorithm: SigningAlgorithm,
  key: KeyObject,
  parts: readonly Buffer[],
): Promise<Buffer> {
  const { hash, isPss } = algorithm;
  const bytes = parts.reduce((sum, part) => sum + part.length, 0);
  if (bytes <= shortBytes) return signWith(algorithm, key, Buffer.concat(parts));
  // Without a hash, the algorithm reads the whole content twice.
  if (hash === null) return signAside(hash, Buffer.concat(parts), key);
  const signature = createSign(hash);
  for (const part of parts) {
    signature.update(part);
    await setImmediate();
  }
  return signature.sign({ key, ...paddingOf(hash, isPss) });
}

/** A signer: a key and its algorithm. */
export interface Signer {
  readonly key: KeyObject;
  readonly algorithm: SigningAlgorithm;
}
