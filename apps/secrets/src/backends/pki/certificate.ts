import { createHash, type KeyObject, X509Certificate } from 'node:crypto';
import { AsnConvert } from '@peculiar/asn1-schema';
import {
  BasicConstraints,
  Certificate,
  type Extension,
  id_ce_basicConstraints,
  id_ce_keyUsage,
  id_ce_subjectKeyIdentifier,
  KeyUsage,
  KeyUsageFlags,
  type Name,
  SubjectKeyIdentifier,
  type TBSCertificate,
  Version,
} from '@peculiar/asn1-x509';
import { encoded } from '../../sdk/asn1';
import { refuse } from '../../sdk/refuse';
import { type Signer, signWith } from '../../sdk/signature-algorithm';
import { contentOf, element, extensionsElement, identifierElement, nameElement, tags, timeElement } from './der';
import { serialBytes, serialText } from './serial';

/** A parsed certificate. */
export interface ReadCertificate {
  readonly der: Buffer;
  readonly x509: X509Certificate;
  readonly tbs: TBSCertificate;
  /** In hexadecimal with colons. */
  readonly serial: string;
  readonly subject: Buffer;
  readonly issuer: Buffer;
  readonly publicKey: KeyObject;
  /** The bits of the public key; key identifiers are hashes of them. */
  readonly keyBits: Buffer;
  /** Empty if the certificate has none. */
  readonly subjectKeyId: Buffer;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly isCa: boolean;
  /** Path length constraint; undefined if there is none. */
  readonly pathLength: number | undefined;
  /** Undefined without a key usage extension. */
  readonly keyUsage: number | undefined;
}

/** Parses a DER certificate. Throws `invalid` with `what` in the message. */
export function readCertificate(der: Buffer, what = 'certificate'): ReadCertificate {
  try {
    return read(der);
  } catch {
    return refuse(`${what} could not be parsed as an X.509 certificate`);
  }
}

function read(der: Buffer): ReadCertificate {
  const x509 = new X509Certificate(der);
  const { tbsCertificate: tbs } = AsnConvert.parse(x509.raw, Certificate);
  const extension = <T>(id: string, type: new () => T): T | undefined => {
    const found = tbs.extensions?.find(({ extnID }) => extnID === id);
    return found && AsnConvert.parse(found.extnValue.buffer, type);
  };
  const basic = extension(id_ce_basicConstraints, BasicConstraints);
  return {
    der: x509.raw,
    x509,
    tbs,
    serial: serialText(Buffer.from(tbs.serialNumber)),
    subject: encoded(tbs.subject),
    issuer: encoded(tbs.issuer),
    publicKey: x509.publicKey,
    keyBits: Buffer.from(tbs.subjectPublicKeyInfo.subjectPublicKey),
    subjectKeyId: Buffer.from(
      extension(id_ce_subjectKeyIdentifier, SubjectKeyIdentifier)?.buffer ?? new ArrayBuffer(0),
    ),
    notBeforeMs: tbs.validity.notBefore.getTime().getTime(),
    notAfterMs: tbs.validity.notAfter.getTime().getTime(),
    isCa: basic?.cA ?? false,
    pathLength: basic?.cA ? basic.pathLenConstraint : undefined,
    keyUsage: extension(id_ce_keyUsage, KeyUsage)?.toNumber(),
  };
}

/** Whether the certificate may sign CRLs. */
export const maySignLists = ({ keyUsage }: ReadCertificate): boolean =>
  keyUsage === undefined || (keyUsage & KeyUsageFlags.cRLSign) !== 0;

/** Whether `above` signed the certificate. */
export const isSignedBy = (one: ReadCertificate, above: ReadCertificate): boolean =>
  above.isCa && one.issuer.equals(above.subject) && verifies(one.x509, above.publicKey);

export const isSelfSigned = (one: ReadCertificate): boolean =>
  one.issuer.equals(one.subject) && verifies(one.x509, one.publicKey);

function verifies(x509: X509Certificate, key: KeyObject): boolean {
  try {
    return x509.verify(key);
  } catch {
    return false;
  }
}

/** The key identifier of a public key (RFC 5280, 4.2.1.2). */
export function keyIdOf(spki: Buffer): Buffer {
  const { rest: bits } = contentOf(contentOf(spki).content);
  // The first byte is the number of unused bits, which is zero.
  return createHash('sha1').update(contentOf(bits).content.subarray(1)).digest();
}

/** A certificate to be signed. */
export interface CertificateContent {
  readonly serial: string;
  readonly subject: Name;
  readonly issuer: Name;
  /** The public key as SPKI. */
  readonly publicKey: Buffer;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly extensions: readonly Extension[];
}

/** Times in certificates are whole seconds. */
export const wholeSeconds = (ms: number): number => Math.floor(ms / 1000) * 1000;

/** Signs a certificate and returns its DER. */
export async function makeCertificate(content: CertificateContent, { key, algorithm }: Signer): Promise<Buffer> {
  const identifier = identifierElement(algorithm);
  const certified = element(tags.sequence, [
    element(tags.first, [element(tags.integer, [Buffer.of(Version.v3)])]),
    element(tags.integer, [serialBytes(content.serial)]),
    identifier,
    nameElement(content.issuer),
    element(tags.sequence, [timeElement(content.notBeforeMs), timeElement(content.notAfterMs)]),
    nameElement(content.subject),
    content.publicKey,
    element(tags.fourth, [extensionsElement(content.extensions)]),
  ]);
  const signature = await signWith(algorithm, key, certified);
  return element(tags.sequence, [certified, identifier, element(tags.bits, [Buffer.of(0), signature])]);
}
