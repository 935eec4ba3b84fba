import { type KeyObject, sign } from 'node:crypto';
import { publicRandom } from '../../sdk/public-random';
import { refuse } from '../../sdk/refuse';
import { signWithRsa } from '../../sdk/rsa-turns';
import { publicBlob, type SshPublicKey } from './public-key';
import { narrow, parts, sized, whole, wide } from './wire';

/** The content of a certificate to sign. */
export interface CertificateContent {
  readonly key: SshPublicKey;
  readonly kind: 'user' | 'host';
  readonly keyId: string;
  readonly principals: readonly string[];
  /** Epoch seconds. */
  readonly validAfter: number;
  readonly validBefore: number;
  readonly criticalOptions: Readonly<Record<string, string>>;
  readonly extensions: Readonly<Record<string, string>>;
}

const byBytes = ([one]: readonly [string, string], [other]: readonly [string, string]) =>
  Buffer.compare(Buffer.from(one), Buffer.from(other));

/** Encodes options, sorted by name as required; a non-empty value is a nested string. */
const packed = (options: Readonly<Record<string, string>>): Buffer =>
  sized(
    Buffer.concat(
      Object.entries(options)
        .sort(byBytes)
        .flatMap(([name, value]) => [sized(name), sized(value === '' ? '' : sized(value))]),
    ),
  );

/** Signs a certificate (OpenSSH, PROTOCOL.certkeys). `algorithm` applies to RSA keys. */
export async function makeCertificate(content: CertificateContent, signer: KeyObject, algorithm: string) {
  const { key, kind } = content;
  const [name, domain] = key.type.split('@');
  const type = `${name}-cert-v01@${domain ?? 'openssh.com'}`;
  const serial = publicRandom(8);
  // A certificate contains the encoded key without its type.
  const ofKey = key.blob.subarray(4 + key.type.length);
  const body = Buffer.concat([
    sized(type),
    sized(publicRandom(32)),
    ofKey,
    serial,
    narrow(kind === 'user' ? 1 : 2),
    sized(content.keyId),
    sized(Buffer.concat(content.principals.map((principal) => sized(principal)))),
    wide(BigInt(Math.max(0, content.validAfter))),
    wide(BigInt(content.validBefore)),
    packed(content.criticalOptions),
    packed(content.extensions),
    sized(''),
    sized(publicBlob(signer)),
  ]);
  const blob = Buffer.concat([body, sized(await signature(body, signer, algorithm))]);
  return { type, blob, serial: serial.readBigUInt64BE().toString(16) };
}

const rsaHashes: ReadonlyMap<string, string> = new Map([
  ['default', 'sha256'],
  ['ssh-rsa', 'sha1'],
  ['rsa-sha2-256', 'sha256'],
  ['rsa-sha2-512', 'sha512'],
]);

/** Values of `algorithm_signer`. */
export const signerNames = [...rsaHashes.keys()];

const ecHashes: ReadonlyMap<string, string> = new Map([
  ['nistp256', 'sha256'],
  ['nistp384', 'sha384'],
  ['nistp521', 'sha512'],
]);

async function signature(body: Buffer, signer: KeyObject, algorithm: string): Promise<Buffer> {
  const hash = rsaHashes.get(algorithm)!;
  if (signer.asymmetricKeyType === 'rsa') {
    const signature = await signWithRsa(hash, body, signer);
    return Buffer.concat([sized(algorithm === 'default' ? 'rsa-sha2-256' : algorithm), sized(signature)]);
  }
  if (algorithm !== 'default') refuse(`algorithm_signer ${algorithm} needs an issuer with an RSA key`);
  if (signer.asymmetricKeyType === 'ed25519') {
    return Buffer.concat([sized('ssh-ed25519'), sized(sign(null, body, signer))]);
  }
  const [type, curve] = parts(publicBlob(signer)) as [Buffer, Buffer];
  const pair = sign(ecHashes.get(curve.toString())!, body, { key: signer, dsaEncoding: 'ieee-p1363' });
  const half = pair.length / 2;
  return Buffer.concat([
    sized(type),
    sized(Buffer.concat([whole(pair.subarray(0, half)), whole(pair.subarray(half))])),
  ]);
}
