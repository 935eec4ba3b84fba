import { AsnConvert } from '@peculiar/asn1-schema';
import { AttributeValue, GeneralName, OtherName } from '@peculiar/asn1-x509';
import { refuse } from '../../sdk/refuse';
import { isOid } from './extension';

/** An otherName SAN. */
export interface OtherNameText {
  readonly oid: string;
  readonly text: string;
}

/** Parses `OID;UTF8:TEXT`. Throws `invalid` with `problem` in the message. */
export function readOtherName(text: string, problem = 'could not parse requested other SAN'): OtherNameText {
  const quoted = JSON.stringify(text);
  const semicolon = text.indexOf(';');
  if (semicolon < 0) refuse(`${problem}: expected a semicolon in other SAN ${quoted}`);
  const colon = text.indexOf(':', semicolon);
  if (colon < 0) refuse(`${problem}: expected a colon in other SAN ${quoted}`);
  if (!/^utf-?8$/i.test(text.slice(semicolon + 1, colon))) {
    refuse(`${problem}: only utf8 other SANs are supported; found non-supported type in other SAN ${quoted}`);
  }
  const oid = text.slice(0, semicolon);
  if (!isOid(oid)) refuse(`${problem}: ${JSON.stringify(oid)} is not an object identifier`);
  return { oid, text: text.slice(colon + 1) };
}

/** Encodes an otherName as a GeneralName. */
export function generalName({ oid, text }: OtherNameText): GeneralName {
  const value = AsnConvert.serialize(new AttributeValue({ utf8String: text }));
  return new GeneralName({ otherName: new OtherName({ typeId: oid, value }) });
}

/** Decodes an otherName of a CSR. Throws `invalid` unless it is a UTF-8 string. */
export function otherNameIn({ typeId: oid, value }: OtherName): OtherNameText {
  const text = readText(value);
  return text === undefined
    ? refuse(`could not parse requested other SAN: ${oid}: only utf8 other SANs are supported`)
    : { oid, text };
}

function readText(value: ArrayBuffer): string | undefined {
  try {
    return AsnConvert.parse(value, AttributeValue).utf8String;
  } catch {
    return undefined;
  }
}
