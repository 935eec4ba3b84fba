import { AsnConvert } from '@peculiar/asn1-schema';
import { type Extension, type GeneralName, id_ce_subjectAltName, SubjectAlternativeName } from '@peculiar/asn1-x509';
import ipaddr from 'ipaddr.js';
import { arrayBuffer, encoded } from '../../sdk/asn1';
import { refuse } from '../../sdk/refuse';
import { element, tags } from './der';
import { extension } from './extension';
import { generalName, type OtherNameText, otherNameIn } from './other-name';
import { requireAscii } from './url-set';

/** The subject alternative names of a certificate. */
export interface AlternativeNames {
  readonly dns: readonly string[];
  readonly emails: readonly string[];
  readonly addresses: readonly string[];
  readonly uris: readonly string[];
  readonly others: readonly OtherNameText[];
}

const noNames: AlternativeNames = { dns: [], emails: [], addresses: [], uris: [], others: [] };

/** The extension for these names, if there are any. The extension must be critical if the subject is empty. */
export function alternativeNames(names: AlternativeNames, critical: boolean): Extension[] {
  const texts = (tag: number, list: readonly string[]) =>
    list.map((text) => element(tag, [Buffer.from(requireAscii(text, 'alternative name'), 'latin1')]));
  const all = [
    ...names.others.map((other) => encoded(generalName(other))),
    ...texts(tags.host, names.dns),
    ...texts(tags.mail, names.emails),
    ...names.addresses.map((text) => element(tags.address, [Buffer.from(ipaddr.parse(text).toByteArray())])),
    ...texts(tags.uri, names.uris),
  ];
  if (all.length === 0) return [];
  return [extension(id_ce_subjectAltName, arrayBuffer(element(tags.sequence, all)), critical)];
}

/** The names in the extension of a CSR or certificate. Skips name types that roles cannot check. */
export function namesIn(extensions: readonly Extension[] | undefined): AlternativeNames {
  const found = extensions?.find(({ extnID }) => extnID === id_ce_subjectAltName);
  if (!found) return noNames;
  const all = [...AsnConvert.parse(found.extnValue.buffer, SubjectAlternativeName)];
  const texts = (of: (name: GeneralName) => string | undefined) => all.flatMap((name) => of(name) ?? []);
  return {
    dns: texts(({ dNSName }) => dNSName),
    emails: texts(({ rfc822Name }) => rfc822Name),
    addresses: texts(({ iPAddress }) => iPAddress).map(readAddress),
    uris: texts(({ uniformResourceIdentifier }) => uniformResourceIdentifier),
    others: all.flatMap(({ otherName }) => (otherName ? [otherNameIn(otherName)] : [])),
  };
}

/** An IP address in canonical form. Throws `invalid`. */
export function readAddress(text: string): string {
  if (text.includes('%') || !(ipaddr.IPv4.isValidFourPartDecimal(text) || ipaddr.IPv6.isValid(text))) {
    refuse(`the value ${JSON.stringify(text)} is not a valid IP address`);
  }
  return ipaddr.process(text).toString();
}
