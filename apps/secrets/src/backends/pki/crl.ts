import { AsnConvert } from '@peculiar/asn1-schema';
import {
  BaseCRLNumber,
  CRLNumber,
  type Extension,
  id_ce_cRLNumber,
  id_ce_deltaCRLIndicator,
  type Name,
} from '@peculiar/asn1-x509';
import { type Signer, signParts } from '../../sdk/signature-algorithm';
import { element, extensionsElement, head, identifierElement, nameElement, tags, timeElement } from './der';
import { authorityKeyId, extension } from './extension';
import { positive } from './serial';

/** A revoked certificate in a CRL. */
export interface Revoked {
  readonly serial: string;
  readonly seconds: number;
}

/** A CRL to sign. */
export interface CrlContent {
  readonly issuer: Name;
  readonly keyId: Buffer;
  readonly number: number;
  /** For a delta CRL, the number of its complete CRL. */
  readonly baseNumber?: number;
  readonly thisUpdateMs: number;
  readonly nextUpdateMs: number;
  /** Entries are encoded in pages, each in a separate turn of the event loop. */
  readonly revoked: AsyncIterable<readonly Revoked[]>;
  readonly extensions?: readonly Extension[];
}

/** Signs a CRL and returns its DER, in parts. */
export async function makeCrl(content: CrlContent, { key, algorithm }: Signer): Promise<readonly Buffer[]> {
  const identifier = identifierElement(algorithm);
  const entries = await encodedEntries(content.revoked);
  const { number, baseNumber } = content;
  const extensions = [
    ...authorityKeyId(content.keyId),
    extension(id_ce_cRLNumber, AsnConvert.serialize(new CRLNumber(number))),
    ...(baseNumber === undefined
      ? []
      : [extension(id_ce_deltaCRLIndicator, AsnConvert.serialize(new BaseCRLNumber(baseNumber)), true)]),
    ...(content.extensions ?? []),
  ];
  const list = inSequence([
    element(tags.integer, [Buffer.of(1)]),
    identifier,
    nameElement(content.issuer),
    timeElement(content.thisUpdateMs),
    timeElement(content.nextUpdateMs),
    ...(entries.length === 0 ? [] : inSequence(entries)),
    element(tags.first, [extensionsElement(extensions)]),
  ]);
  const signature = await signParts(algorithm, key, list);
  return inSequence([...list, identifier, element(tags.bits, [Buffer.of(0), signature])]);
}

/** The entries of each page, in a buffer. */
async function encodedEntries(pages: CrlContent['revoked']): Promise<Buffer[]> {
  const encoded: Buffer[] = [];
  for await (const page of pages) if (page.length > 0) encoded.push(encodedPage(page));
  return encoded;
}

/**
 * The maximum length of an entry: a serial number of 40 bytes, a time of 15, and the headers of both and of the entry.
 */
const longestEntry = 64;

/** All entries are written into one buffer, because separate buffers for a million entries would fill the memory. */
function encodedPage(page: readonly Revoked[]): Buffer {
  const into = Buffer.allocUnsafe(page.length * longestEntry);
  const times = new Map<number, Buffer>();
  let at = 0;
  for (const { serial, seconds } of page) {
    const time = times.get(seconds) ?? timeElement(seconds * 1000);
    times.set(seconds, time);
    const start = at + 4;
    const end = start + into.write(positive(serial.replaceAll(':', '')), start, 'hex');
    // Every length is below 128, so it takes one byte.
    into.set([tags.sequence, 2 + end - start + time.length, tags.integer, end - start], at);
    into.set(time, end);
    at = end + time.length;
  }
  return Buffer.from(into.subarray(0, at));
}

/** An ASN.1 sequence with this content. The parts are not copied. */
const inSequence = (parts: readonly Buffer[]): Buffer[] => [
  head(
    tags.sequence,
    parts.reduce((sum, part) => sum + part.length, 0),
  ),
  ...parts,
];
