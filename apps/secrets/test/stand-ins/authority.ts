import { createHash, generateKeyPairSync, type KeyObject, randomBytes, sign } from 'node:crypto';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AlgorithmIdentifier,
  AttributeTypeAndValue,
  AttributeValue,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate,
  ExtendedKeyUsage,
  Extension,
  Extensions,
  GeneralName,
  KeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  Name,
  RelativeDistinguishedName,
  SubjectAlternativeName,
  SubjectKeyIdentifier,
  SubjectPublicKeyInfo,
  TBSCertificate,
  Validity,
  Version,
} from '@peculiar/asn1-x509';

const clientAuth = '1.3.6.1.5.5.7.3.2';
export const serverAuth = '1.3.6.1.5.5.7.3.1';
const dayMs = 86_400_000;

/** Kinds of keys, and how they sign. */
const kinds = {
  'P-256': () => generateKeyPairSync('ec', { namedCurve: 'P-256' }),
  'P-192': () => generateKeyPairSync('ec', { namedCurve: 'prime192v1' }),
  RSA: () => generateKeyPairSync('rsa', { modulusLength: 2048 }),
  'RSA-1024': () => generateKeyPairSync('rsa', { modulusLength: 1024 }),
  Ed25519: () => generateKeyPairSync('ed25519'),
} as const;
const algorithms: Readonly<Record<string, readonly [string, string | null]>> = {
  ec: ['1.2.840.10045.4.3.2', 'sha256'],
  'ec/sha1': ['1.2.840.10045.4.1', 'sha1'],
  rsa: ['1.2.840.113549.1.1.11', 'sha256'],
  'rsa/sha1': ['1.2.840.113549.1.1.5', 'sha1'],
  ed25519: ['1.3.101.112', null],
};

/** Content of a certificate that differs from the default. */
export interface Wanted {
  readonly commonNames?: readonly string[];
  readonly units?: readonly string[];
  readonly dns?: readonly string[];
  readonly emails?: readonly string[];
  readonly uris?: readonly string[];
  readonly authority?: boolean;
  readonly pathLength?: number;
  /** Flags of KeyUsage; by default those of an authority, or of a client. */
  readonly usage?: number;
  /** By default client authentication; none at all with null. */
  readonly purposes?: readonly string[] | null;
  readonly fromMs?: number;
  readonly toMs?: number;
  readonly kind?: keyof typeof kinds;
  readonly keys?: Keys;
  readonly serial?: bigint;
  readonly hash?: 'sha1';
  /** Other extensions, by object identifier, in DER. */
  readonly extensions?: readonly { id: string; value: Buffer; critical?: boolean }[];
}

export interface Keys {
  readonly publicKey: KeyObject;
  readonly privateKey: KeyObject;
}

/** A certificate with its key. */
export class Issued {
  constructor(
    readonly der: Buffer,
    readonly keys: Keys,
    readonly subject: Name,
    readonly serial: bigint,
  ) {}

  get pem(): string {
    return pemOf('CERTIFICATE', this.der);
  }

  get keyPem(): string {
    return this.keys.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string;
  }

  get keyId(): Buffer {
    return keyIdOf(this.keys.publicKey);
  }

  /** Issues a certificate for a name. */
  issue(name: string, wanted: Wanted = {}): Issued {
    return make(name, wanted, this);
  }

  /** Signs with its key, as in certificates. */
  sign(content: Buffer, hash?: 'sha1'): { algorithm: AlgorithmIdentifier; signature: Buffer } {
    const type = `${this.keys.privateKey.asymmetricKeyType}${hash ? `/${hash}` : ''}`;
    const [algorithm, digest] = algorithms[type]!;
    return { algorithm: identifier(algorithm), signature: sign(digest, content, this.keys.privateKey) };
  }
}

/** A self-signed certificate. */
export const selfSigned = (name: string, wanted: Wanted = {}): Issued => make(name, wanted);
/** A root authority. */
export const root = (name: string, wanted: Wanted = {}): Issued => make(name, { authority: true, ...wanted });

export function pemOf(label: string, der: Buffer): string {
  const lines = der.toString('base64').match(/.{1,64}/g)!;
  return `-----BEGIN ${label}-----\n${lines.join('\n')}\n-----END ${label}-----\n`;
}

function make(name: string, wanted: Wanted, issuer?: Issued): Issued {
  const keys = wanted.keys ?? kinds[wanted.kind ?? 'P-256']();
  const serial = wanted.serial ?? BigInt(`0x7${randomBytes(8).toString('hex')}`);
  const subject = nameOf(wanted.commonNames ?? [name], wanted.units ?? []);
  const own = new Issued(Buffer.alloc(0), keys, subject, serial);
  const signer = issuer ?? own;
  const now = Date.now();
  const { algorithm } = signer.sign(Buffer.alloc(0), wanted.hash);
  const body = new TBSCertificate({
    version: Version.v3,
    serialNumber: bytes(numberBytes(serial)),
    signature: algorithm,
    issuer: signer.subject,
    validity: new Validity({
      notBefore: new Date(wanted.fromMs ?? now - dayMs),
      notAfter: new Date(wanted.toMs ?? now + 30 * dayMs),
    }),
    subject,
    subjectPublicKeyInfo: AsnConvert.parse(
      keys.publicKey.export({ type: 'spki', format: 'der' }),
      SubjectPublicKeyInfo,
    ),
    extensions: new Extensions(extensionsOf(wanted, own, signer)),
  });
  const { signature } = signer.sign(Buffer.from(AsnConvert.serialize(body)), wanted.hash);
  const whole = new Certificate({
    tbsCertificate: body,
    signatureAlgorithm: algorithm,
    signatureValue: bytes(signature),
  });
  return new Issued(Buffer.from(AsnConvert.serialize(whole)), keys, subject, serial);
}

function extensionsOf(wanted: Wanted, own: Issued, signer: Issued): Extension[] {
  const { authority = false, purposes = authority ? null : [clientAuth] } = wanted;
  const usual = authority ? KeyUsageFlags.keyCertSign | KeyUsageFlags.cRLSign : KeyUsageFlags.digitalSignature;
  const names = [
    ...(wanted.dns ?? []).map((dNSName) => new GeneralName({ dNSName })),
    ...(wanted.emails ?? []).map((rfc822Name) => new GeneralName({ rfc822Name })),
    ...(wanted.uris ?? []).map((uniformResourceIdentifier) => new GeneralName({ uniformResourceIdentifier })),
  ];
  const constraints = new BasicConstraints({ cA: authority, pathLenConstraint: wanted.pathLength });
  return [
    extension('2.5.29.19', constraints, true),
    extension('2.5.29.15', new KeyUsage(wanted.usage ?? usual), true),
    ...(purposes ? [extension('2.5.29.37', new ExtendedKeyUsage([...purposes]))] : []),
    ...(names.length > 0 ? [extension('2.5.29.17', new SubjectAlternativeName(names))] : []),
    extension('2.5.29.14', new SubjectKeyIdentifier(bytes(own.keyId))),
    extension('2.5.29.35', new AuthorityKeyIdentifier({ keyIdentifier: new KeyIdentifier(bytes(signer.keyId)) })),
    ...(wanted.extensions ?? []).map(
      ({ id, value, critical = false }) =>
        new Extension({ extnID: id, critical, extnValue: new OctetString(bytes(value)) }),
    ),
  ];
}

export const extension = (extnID: string, value: unknown, critical = false): Extension =>
  new Extension({ extnID, critical, extnValue: new OctetString(AsnConvert.serialize(value)) });

/** DER of a string in an extension. */
export const utf8 = (text: string): Buffer => Buffer.concat([Buffer.from([0x0c, text.length]), Buffer.from(text)]);

function nameOf(commonNames: readonly string[], units: readonly string[]): Name {
  const part = (type: string, text: string) =>
    new RelativeDistinguishedName([
      new AttributeTypeAndValue({ type, value: new AttributeValue({ utf8String: text }) }),
    ]);
  return new Name([
    ...units.map((unit) => part('2.5.4.11', unit)),
    ...commonNames.map((name) => part('2.5.4.3', name)),
  ]);
}

const identifier = (algorithm: string): AlgorithmIdentifier => new AlgorithmIdentifier({ algorithm });

const keyIdOf = (key: KeyObject): Buffer =>
  createHash('sha1')
    .update(key.export({ type: 'spki', format: 'der' }))
    .digest();

const numberBytes = (value: bigint): Buffer => {
  const hex = value.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
};

/** A copy, because the library takes whole buffers. */
export function bytes(from: Buffer): ArrayBuffer {
  return new Uint8Array(from).buffer;
}
