import { AsnConvert } from '@peculiar/asn1-schema';
import {
  BaseCRLNumber,
  CRLNumber,
  type Extension,
  Extensions,
  id_ce_cRLNumber,
  id_ce_deltaCRLIndicator,
  type Name,
  Time,
} from '@peculiar/asn1-x509';
import { encoded } from '../../sdk/asn1';
import { identifierOf, type Signer, signWith } from '../../sdk/signature-algorithm';
import { wholeSeconds } from './certificate';
import { authorityKeyId, extension } from './extension';
import { serialBytes } from './serial';

/** A certificate in a list. */
export interface Revoked {
  readonly serial: string;
  readonly seconds: number;
}

/** A list to be signed. */
export interface CrlContent {
  readonly issuer: Name;
  readonly keyId: Buffer;
  readonly number: number;
  /** Of a short list, the number of the complete one that it adds to. */
  readonly baseNumber?: number;
  readonly thisUpdateMs: number;
  readonly nextUpdateMs: number;
  readonly revoked: readonly Revoked[];
  readonly extensions?: readonly Extension[];
}

const tags = { integer: 0x02, bits: 0x03, sequence: 0x30, extensions: 0xa0 } as const;

function element(tag: number, content: readonly Uint8Array[]): Buffer {
  const length = content.reduce((sum, part) => sum + part.length, 0);
  let size = Buffer.of(length);
  if (length >= 0x80) {
    const hex = length.toString(16);
    const bytes = Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
    size = Buffer.concat([Buffer.of(0x80 | bytes.length), bytes]);
  }
  return Buffer.concat([Buffer.of(tag), size, ...content]);
}

const time = (ms: number): Buffer => Buffer.from(AsnConvert.serialize(new Time(new Date(wholeSeconds(ms)))));

/** Signs a list of revoked certificates; its DER. Its entries are put together here: the library takes seconds for many. */
export async function makeCrl(content: CrlContent, { key, algorithm }: Signer): Promise<Buffer> {
  const identifier = encoded(identifierOf(algorithm));
  const times = new Map<number, Buffer>();
  const timeOf = (seconds: number): Buffer => {
    let der = times.get(seconds);
    if (!der) {
      der = time(seconds * 1000);
      times.set(seconds, der);
    }
    return der;
  };
  const entries = content.revoked.map(({ serial, seconds }) =>
    element(tags.sequence, [element(tags.integer, [serialBytes(serial)]), timeOf(seconds)]),
  );
  const { number, baseNumber } = content;
  const extensions = [
    ...authorityKeyId(content.keyId),
    extension(id_ce_cRLNumber, AsnConvert.serialize(new CRLNumber(number))),
    ...(baseNumber === undefined
      ? []
      : [extension(id_ce_deltaCRLIndicator, AsnConvert.serialize(new BaseCRLNumber(baseNumber)), true)]),
    ...(content.extensions ?? []),
  ];
  const list = element(tags.sequence, [
    element(tags.integer, [Buffer.of(1)]),
    identifier,
    encoded(content.issuer),
    time(content.thisUpdateMs),
    time(content.nextUpdateMs),
    ...(entries.length === 0 ? [] : [element(tags.sequence, entries)]),
    element(tags.extensions, [encoded(new Extensions(extensions))]),
  ]);
  const signature = await signWith(algorithm, key, list);
  return element(tags.sequence, [list, identifier, element(tags.bits, [Buffer.of(0), signature])]);
}
