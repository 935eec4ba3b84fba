import { type KeyObject, X509Certificate } from 'node:crypto';
import { id_RSASSA_PSS, RsaSaPssParams } from '@peculiar/asn1-rsa';
import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  type AlgorithmIdentifier,
  AttributeValue,
  AuthorityInfoAccessSyntax,
  AuthorityKeyIdentifier,
  BasicConstraints,
  Certificate as CertificateSchema,
  ExtendedKeyUsage,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_extKeyUsage,
  id_ce_keyUsage,
  id_ce_subjectAltName,
  id_ce_subjectKeyIdentifier,
  id_pe_authorityInfoAccess,
  KeyUsage,
  KeyUsageFlags,
  type Name,
  SubjectAlternativeName,
} from '@peculiar/asn1-x509';

/** A parsed certificate. Nothing is verified. */
export interface Certificate {
  readonly der: Buffer;
  readonly x509: X509Certificate;
  /** In decimal. */
  readonly serial: string;
  /** As DER. */
  readonly subject: Buffer;
  readonly issuer: Buffer;
  /** The subject in comparable form, see `nameKey`. */
  readonly subjectName: string;
  readonly issuerName: string;
  /** The last common name in the subject; empty if there is none. */
  readonly commonName: string;
  readonly organizationalUnits: readonly string[];
  readonly names: AlternativeNames;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  /** Object identifier; for RSA-PSS followed by a slash and the hash's identifier. */
  readonly signatureAlgorithm: string;
  readonly key: KeyObject;
  /** The raw key in the certificate, without its type. */
  readonly keyBits: Buffer;
  readonly isAuthority: boolean;
  /** The path length: how many CAs may be below this one; undefined for any number. */
  readonly pathLength: number | undefined;
  /** True if its key usage forbids signing certificates. */
  readonly mayNotCertify: boolean;
  /** True if its key usage forbids signing revocation lists. */
  readonly mayNotSignLists: boolean;
  /** Addresses of OCSP responders. */
  readonly responders: readonly string[];
  /** Its extended key usages, by object identifier; undefined for any. */
  readonly purposes: readonly string[] | undefined;
  readonly subjectKeyId: Buffer;
  readonly authorityKeyId: Buffer;
  readonly extensions: ReadonlyMap<string, Extension>;
}

export interface AlternativeNames {
  readonly dns: readonly string[];
  readonly emails: readonly string[];
  readonly uris: readonly string[];
}

export interface Extension {
  readonly critical: boolean;
  /** DER. */
  readonly value: Buffer;
}

/** The input cannot be parsed as a certificate, or contradicts itself. */
export class BadCertificate extends Error {
  override readonly name = 'BadCertificate';
}

const commonNameId = '2.5.4.3';
const organizationalUnitId = '2.5.4.11';
/**
 * Control characters. Names must not contain them, because a parser that stops at the first NUL would see another name.
 */
const controls = /\p{Cc}/u;

/** Reads a certificate. Throws `BadCertificate`. */
export function readCertificate(der: Buffer): Certificate {
  try {
    return read(der);
  } catch (error) {
    throw error instanceof BadCertificate
      ? error
      : new BadCertificate('it is not an X.509 certificate', { cause: error });
  }
}

const begin = '-----BEGIN CERTIFICATE-----';
const end = '-----END CERTIFICATE-----';
/** The label of certificates with OpenSSL's extra trust settings. */
const unusual = /-----(BEGIN|END) (?:X509|TRUSTED) CERTIFICATE-----/g;

/**
 * The certificates (DER) in a PEM string, ignoring other text between them. Throws `BadCertificate` if a certificate is
 * broken, or there are more than `most`.
 */
export function certificatesIn(pem: string, most: number): Buffer[] {
  const pieces = pem.replace(unusual, '-----$1 CERTIFICATE-----').split(begin, most + 2);
  if (pieces.length > most + 1) throw new BadCertificate(`there are more than ${most}`);
  return pieces.slice(1).map((piece) => {
    try {
      return new X509Certificate(`${begin}${piece.slice(0, piece.indexOf(end))}${end}`).raw;
    } catch (error) {
      throw new BadCertificate('it is not an X.509 certificate', { cause: error });
    }
  });
}

function read(encoded: Buffer): Certificate {
  const x509 = new X509Certificate(encoded);
  const der = x509.raw;
  const { tbsCertificate: body, signatureAlgorithm } = AsnConvert.parse(der, CertificateSchema);
  if (body.signature.algorithm !== signatureAlgorithm.algorithm) throw new BadCertificate('it names two algorithms');
  const extensions = extensionsOf(body.extensions ?? []);
  const value = <T>(id: string, type: new () => T): T | undefined => {
    const extension = extensions.get(id);
    return extension && AsnConvert.parse(extension.value, type);
  };
  const constraints = value(id_ce_basicConstraints, BasicConstraints);
  const usage = value(id_ce_keyUsage, KeyUsage)?.toNumber();
  const mayNot = (flag: number) => usage !== undefined && (usage & flag) === 0;
  const purposes = value(id_ce_extKeyUsage, ExtendedKeyUsage);
  const alternatives = value(id_ce_subjectAltName, SubjectAlternativeName) ?? [];
  const texts = (kind: 'dNSName' | 'rfc822Name' | 'uniformResourceIdentifier') =>
    alternatives.flatMap((name) => (name[kind] === undefined ? [] : [name[kind]]));
  const names = { dns: texts('dNSName'), emails: texts('rfc822Name'), uris: texts('uniformResourceIdentifier') };
  const commonNames = attributesOf(body.subject, commonNameId);
  const organizationalUnits = attributesOf(body.subject, organizationalUnitId);
  const written = [...commonNames, ...organizationalUnits, ...Object.values(names).flat()];
  if (written.some((text) => controls.test(text))) throw new BadCertificate('it has control characters in its names');
  return {
    der,
    x509,
    serial: BigInt(`0x${x509.serialNumber}`).toString(),
    subject: Buffer.from(AsnConvert.serialize(body.subject)),
    issuer: Buffer.from(AsnConvert.serialize(body.issuer)),
    subjectName: nameKey(body.subject),
    issuerName: nameKey(body.issuer),
    commonName: commonNames.at(-1) ?? '',
    organizationalUnits,
    names,
    notBeforeMs: body.validity.notBefore.getTime().getTime(),
    notAfterMs: body.validity.notAfter.getTime().getTime(),
    signatureAlgorithm: algorithmOf(signatureAlgorithm),
    key: x509.publicKey,
    keyBits: Buffer.from(body.subjectPublicKeyInfo.subjectPublicKey),
    isAuthority: constraints?.cA === true,
    pathLength: constraints?.pathLenConstraint,
    mayNotCertify: mayNot(KeyUsageFlags.keyCertSign),
    mayNotSignLists: mayNot(KeyUsageFlags.cRLSign),
    responders: respondersIn(value(id_pe_authorityInfoAccess, AuthorityInfoAccessSyntax)),
    purposes: purposes && [...purposes],
    subjectKeyId: bytesOf(value(id_ce_subjectKeyIdentifier, OctetString)),
    authorityKeyId: bytesOf(value(id_ce_authorityKeyIdentifier, AuthorityKeyIdentifier)?.keyIdentifier),
    extensions,
  };
}

const bytesOf = (text: OctetString | undefined): Buffer => (text ? Buffer.from(text.buffer) : Buffer.alloc(0));

/** The object identifier of a signature algorithm; for RSA-PSS followed by a slash and the hash's identifier. */
export function algorithmOf({ algorithm, parameters }: AlgorithmIdentifier): string {
  if (algorithm !== id_RSASSA_PSS || !parameters) return algorithm;
  return `${algorithm}/${AsnConvert.parse(parameters, RsaSaPssParams).hashAlgorithm.algorithm}`;
}

function extensionsOf(
  list: readonly { extnID: string; critical: boolean; extnValue: OctetString }[],
): ReadonlyMap<string, Extension> {
  const found = new Map<string, Extension>();
  for (const { extnID, critical, extnValue } of list) {
    if (found.has(extnID)) throw new BadCertificate(`it has the extension ${extnID} twice`);
    found.set(extnID, { critical, value: Buffer.from(extnValue.buffer) });
  }
  return found;
}

function attributesOf(name: Name, id: string): string[] {
  return name.flatMap((part) => part.flatMap(({ type, value }) => (type === id ? [value.toString()] : [])));
}

const ocspAccess = '1.3.6.1.5.5.7.48.1';

function respondersIn(access: AuthorityInfoAccessSyntax | undefined): string[] {
  return (access ?? []).flatMap(({ accessMethod, accessLocation: { uniformResourceIdentifier: url } }) =>
    accessMethod === ocspAccess && url !== undefined && isServer(url) ? [url] : [],
  );
}

/** Whether a URL can be the address of an OCSP responder. */
export function isServer(url: string): boolean {
  return URL.canParse(url) && /^https?:$/.test(new URL(url).protocol) && new URL(url).username === '';
}

/**
 * A name in a form for comparisons, because CAs may write the same name in other case, with other spaces, or as another
 * string type.
 */
export function nameKey(name: Name): string {
  const plain = (text: string) => text.trim().replace(/\s+/g, ' ').toLowerCase();
  return JSON.stringify(name.map((part) => part.map(({ type, value }) => `${type}=${plain(value.toString())}`).sort()));
}

/** The text of an extension, of any string type; undefined for other content. */
export function textOf({ value }: Extension): string | undefined {
  try {
    const read = AsnConvert.parse(value, AttributeValue);
    const text = read.anyValue === undefined ? read.toString() : undefined;
    return text === undefined || controls.test(text) ? undefined : text;
  } catch {
    return undefined;
  }
}
