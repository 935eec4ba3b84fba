import { AsnConvert } from '@peculiar/asn1-schema';
import {
  BaseCRLNumber,
  CRLNumber,
  type Extension,
  id_ce_cRLNumber,
  id_ce_deltaCRLIndicator,
  type Name,
} from '@peculiar/asn1-x509';
import { type Signer, signWith } from '../../sdk/signature-algorithm';
import { element, extensionsElement, identifierElement, nameElement, tags, timeElement } from './der';
import { authorityKeyId, extension } from './extension';
import { serialBytes } from './serial';

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
  readonly revoked: readonly Revoked[];
  readonly extensions?: readonly Extension[];
}

/** Signs a CRL and returns its DER. */
export async function makeCrl(content: CrlContent, { key, algorithm }: Signer): Promise<Buffer> {
  const identifier = identifierElement(algorithm);
  const times = new Map<number, Buffer>();
  const timeOf = (seconds: number): Buffer => {
    let der = times.get(seconds);
    if (!der) {
      der = timeElement(seconds * 1000);
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
    nameElement(content.issuer),
    timeElement(content.thisUpdateMs),
    timeElement(content.nextUpdateMs),
    ...(entries.length === 0 ? [] : [element(tags.sequence, entries)]),
    element(tags.first, [extensionsElement(extensions)]),
  ]);
  const signature = await signWith(algorithm, key, list);
  return element(tags.sequence, [list, identifier, element(tags.bits, [Buffer.of(0), signature])]);
}
