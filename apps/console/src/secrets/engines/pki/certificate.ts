import { base64Of, bytesOf } from '../bytes';
import { childrenOf, type Element, elementsIn, hexOf } from './der';

/** The contents of a certificate. */
export interface CertificateContents {
  readonly pem: string;
  readonly der: Uint8Array<ArrayBuffer>;
  /** The subject, with the most specific part first. */
  readonly subject: string;
  /** The common name; if there is none, the subject. */
  readonly name: string;
  readonly issuer: string;
  readonly issuerName: string;
  readonly serial: string;
  readonly notBeforeMs: number;
  readonly notAfterMs: number;
  readonly keyType: string;
  /** Hosts, addresses, mail addresses and URIs. */
  readonly names: readonly string[];
}

/** The blocks of a PEM string, each with its bytes. */
export function pemBlocks(text: string): { readonly label: string; readonly der: Uint8Array<ArrayBuffer> }[] {
  return [...text.matchAll(/-----BEGIN ([A-Z0-9 ]+)-----([\s\S]*?)-----END \1-----/g)].flatMap(([, label, body]) => {
    const der = bytesOf(body!);
    return der === undefined ? [] : [{ label: label!, der }];
  });
}

/** Bytes as PEM. */
const pemOf = (der: Uint8Array, label: string): string =>
  `-----BEGIN ${label}-----\n${base64Of(der).replace(/.{64}(?=.)/g, '$&\n')}\n-----END ${label}-----\n`;

const nameParts: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '550403': 'CN',
    '550405': 'SERIALNUMBER',
    '550406': 'C',
    '550407': 'L',
    '550408': 'ST',
    '55040a': 'O',
    '55040b': 'OU',
  }),
);
const curves: ReadonlyMap<string, string> = new Map(
  Object.entries({
    '2a8648ce3d030107': 'EC P-256',
    '2b81040021': 'EC P-224',
    '2b81040022': 'EC P-384',
    '2b81040023': 'EC P-521',
  }),
);
const subjectAltName = '551d11';

/** Reads a certificate; undefined for other bytes. */
export function readCertificate(pem: string): CertificateContents | undefined {
  const [block] = pemBlocks(pem);
  if (block === undefined) return undefined;
  const { der } = block;
  const inside = (one: Element | undefined) => (one === undefined ? [] : childrenOf(der, one));
  const contentOf = ({ start, end }: Element) => der.subarray(start, end);
  const textOf = (one: Element) => new TextDecoder().decode(contentOf(one));
  const [whole] = elementsIn(der);
  const [tbs] = inside(whole);
  const fields = inside(tbs);
  // The first element is the version. Certificates of version 1 do not have it.
  const [serial, , issuer, validity, subject, key, ...more] = fields[0]?.tag === 0xa0 ? fields.slice(1) : fields;
  if (serial === undefined || key === undefined) return undefined;
  const partsOf = (name: Element | undefined) =>
    inside(name)
      .flatMap(inside)
      .flatMap((one) => {
        const [type, value] = inside(one);
        if (type === undefined || value === undefined) return [];
        const id = hexOf(contentOf(type));
        return [{ type: nameParts.get(id) ?? id, text: textOf(value) }];
      });
  const nameText = (name: Element | undefined) =>
    partsOf(name)
      .toReversed()
      .map(({ type, text }) => `${type}=${text}`)
      .join(', ');
  const commonName = (name: Element | undefined) =>
    partsOf(name).findLast(({ type }) => type === 'CN')?.text ?? nameText(name);
  const [notBefore, notAfter] = inside(validity).map((one) => timeOf(one.tag, textOf(one)));
  const [algorithm, publicKey] = inside(key);
  const [type, curve] = inside(algorithm).map((one) => hexOf(contentOf(one)));
  const keyTypeOf = () => {
    if (type === '2b6570') return 'Ed25519';
    if (type === '2a8648ce3d0201') return curves.get(curve ?? '') ?? 'EC';
    const [pair] = publicKey === undefined ? [] : elementsIn(der, publicKey.start + 1, publicKey.end);
    const [modulus] = inside(pair);
    return modulus === undefined ? 'RSA' : `RSA ${(modulus.end - modulus.start - 1) * 8}`;
  };
  const extensions = more
    .filter(({ tag }) => tag === 0xa3)
    .flatMap(inside)
    .flatMap(inside);
  const names = extensions.flatMap((extension) => {
    const [id, ...rest] = inside(extension);
    if (id === undefined || hexOf(contentOf(id)) !== subjectAltName) return [];
    return inside(rest.at(-1))
      .flatMap(inside)
      .flatMap((name) => {
        if ([0x81, 0x82, 0x86].includes(name.tag)) return [textOf(name)];
        return name.tag === 0x87 ? [addressOf(contentOf(name))] : [];
      });
  });
  return {
    pem: pemOf(der, 'CERTIFICATE'),
    der,
    subject: nameText(subject),
    name: commonName(subject),
    issuer: nameText(issuer),
    issuerName: commonName(issuer),
    serial: hexOf(contentOf(serial), ':').replace(/^00:(?=.)/, ''),
    notBeforeMs: notBefore ?? Number.NaN,
    notAfterMs: notAfter ?? Number.NaN,
    keyType: keyTypeOf(),
    names,
  };
}

const addressOf = (bytes: Uint8Array): string =>
  bytes.length === 4
    ? bytes.join('.')
    : (hexOf(bytes).match(/.{4}/g) ?? []).map((part) => part.replace(/^0{1,3}/, '')).join(':');

/** Converts a time of ASN.1 to epoch milliseconds. The year has two or four digits. */
function timeOf(tag: number, text: string): number {
  const [, year = '', ...rest] =
    (tag === 0x17 ? /^(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/ : /^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)Z$/).exec(
      text,
    ) ?? [];
  const whole = tag === 0x17 ? (Number(year) < 50 ? 2000 : 1900) + Number(year) : Number(year);
  const [month, day, hour, minute, second] = rest.map(Number);
  return Date.UTC(whole, (month ?? 0) - 1, day, hour, minute, second);
}

/** The next update time of a CRL, from its first bytes. */
export function nextUpdateOf(der: Uint8Array): number | undefined {
  const [list] = elementsIn(der);
  const [body] = list === undefined ? [] : childrenOf(der, list);
  const times = (body === undefined ? [] : childrenOf(der, body)).filter(({ tag }) => tag === 0x17 || tag === 0x18);
  const [, next] = times;
  return next === undefined
    ? undefined
    : timeOf(next.tag, new TextDecoder().decode(der.subarray(next.start, next.end)));
}
