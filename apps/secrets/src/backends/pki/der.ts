import type { Extension, Name } from '@peculiar/asn1-x509';
import { encoded } from '../../sdk/asn1';
import { identifierOf, type SigningAlgorithm } from '../../sdk/signature-algorithm';

// Encoders for certificates and CRLs: the library takes milliseconds per certificate and seconds for a long CRL.

/** ASN.1 tags used here. */
export const tags = {
  boolean: 0x01,
  integer: 0x02,
  bits: 0x03,
  octets: 0x04,
  id: 0x06,
  utf8: 0x0c,
  printable: 0x13,
  utcTime: 0x17,
  generalizedTime: 0x18,
  sequence: 0x30,
  set: 0x31,
  keyId: 0x80,
  mail: 0x81,
  host: 0x82,
  uri: 0x86,
  address: 0x87,
  first: 0xa0,
  second: 0xa1,
  fourth: 0xa3,
} as const;

/** The header of an ASN.1 element: its tag and the length of its content. */
export function head(tag: number, length: number): Buffer {
  if (length < 0x80) return Buffer.of(tag, length);
  const hex = length.toString(16);
  const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
  return Buffer.concat([Buffer.of(tag, 0x80 | bytes.length), bytes]);
}

/** An ASN.1 element: tag, length and content. */
export function element(tag: number, content: readonly Uint8Array[]): Buffer {
  const length = content.reduce((sum, part) => sum + part.length, 0);
  return Buffer.concat([head(tag, length), ...content]);
}

/** The content of the first element of valid DER, and the bytes after it. */
export function contentOf(der: Buffer): { readonly content: Buffer; readonly rest: Buffer } {
  const first = der[1]!;
  const more = first < 0x80 ? 0 : first & 0x7f;
  const length = more === 0 ? first : der.readUIntBE(2, more);
  const start = 2 + more;
  return { content: der.subarray(start, start + length), rest: der.subarray(start + length) };
}

/** A time (RFC 5280, 4.1.2.5): whole seconds, with a two-digit year until 2049. */
export function timeElement(ms: number): Buffer {
  const digits = new Date(ms).toISOString().replace(/[-:T]|\.\d+/g, '');
  const year = Number(digits.slice(0, 4));
  const isShort = year >= 1950 && year < 2050;
  return element(isShort ? tags.utcTime : tags.generalizedTime, [Buffer.from(isShort ? digits.slice(2) : digits)]);
}

/** An object identifier. Throws if the text is not one. */
export function idElement(text: string): Buffer {
  const [first = 0n, second = 0n, ...rest] = text.split('.').map(BigInt);
  const bytes = [first * 40n + second, ...rest].flatMap((number) => {
    const digits = [Number(number & 127n)];
    for (let remaining = number >> 7n; remaining > 0n; remaining >>= 7n) digits.unshift(Number(remaining & 127n) | 128);
    return digits;
  });
  return element(tags.id, [Buffer.from(bytes)]);
}

/** The extensions of a certificate or CRL, in this order. */
export const extensionsElement = (extensions: readonly Extension[]): Buffer =>
  element(
    tags.sequence,
    extensions.map(({ extnID, critical, extnValue }) =>
      element(tags.sequence, [
        idElement(extnID),
        ...(critical ? [element(tags.boolean, [Buffer.of(0xff)])] : []),
        element(tags.octets, [new Uint8Array(extnValue.buffer)]),
      ]),
    ),
  );

const names = new WeakMap<Name, Buffer>();

/** A distinguished name. Cached, so that issuer names are encoded once. */
export function nameElement(name: Name): Buffer {
  let der = names.get(name);
  if (!der) {
    der = encoded(name);
    names.set(name, der);
  }
  return der;
}

/** Caches the encoding of a name, so that the library is not needed. */
export function noteName(name: Name, der: Buffer): Name {
  names.set(name, der);
  return name;
}

const identifiers = new WeakMap<SigningAlgorithm, Buffer>();

/** The algorithm identifier. Cached: there are only a few. */
export function identifierElement(algorithm: SigningAlgorithm): Buffer {
  let der = identifiers.get(algorithm);
  if (!der) {
    der = encoded(identifierOf(algorithm));
    identifiers.set(algorithm, der);
  }
  return der;
}
