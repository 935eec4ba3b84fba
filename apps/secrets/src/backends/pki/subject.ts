import { AttributeTypeAndValue, AttributeValue, Name, RelativeDistinguishedName } from '@peculiar/asn1-x509';
import { commaList } from '../../sdk/fields';
import { element, idElement, noteName, tags } from './der';

/** The parts of a subject besides its common name. */
export interface SubjectParts {
  readonly country: readonly string[];
  readonly organization: readonly string[];
  readonly ou: readonly string[];
  readonly locality: readonly string[];
  readonly province: readonly string[];
  readonly street_address: readonly string[];
  readonly postal_code: readonly string[];
}

const list = (what: string) => commaList().describe(`${what} of the subject.`);

/** Subject fields of requests and roles. */
export const subjectRows = {
  ou: [list('Organizational units'), [] as string[]],
  organization: [list('Organizations'), [] as string[]],
  country: [list('Countries'), [] as string[]],
  locality: [list('Localities'), [] as string[]],
  province: [list('Provinces'), [] as string[]],
  street_address: [list('Street addresses'), [] as string[]],
  postal_code: [list('Postal codes'), [] as string[]],
} as const;

const parts = [
  ['country', '2.5.4.6', 'C'],
  ['province', '2.5.4.8', 'ST'],
  ['locality', '2.5.4.7', 'L'],
  ['street_address', '2.5.4.9', 'STREET'],
  ['postal_code', '2.5.4.17', 'POSTALCODE'],
  ['organization', '2.5.4.10', 'O'],
  ['ou', '2.5.4.11', 'OU'],
] as const;
const commonNameId = '2.5.4.3';
const serialNumberId = '2.5.4.5';
const userId = '0.9.2342.19200300.100.1.1';
const shortNames: ReadonlyMap<string, string> = new Map([
  ...parts.map(([, id, name]) => [id, name] as const),
  [commonNameId, 'CN'],
  [serialNumberId, 'SERIALNUMBER'],
]);

const printable = /^[A-Za-z0-9 '()+,\-./:=?]*$/;

function attribute(type: string, text: string) {
  const isPrintable = printable.test(text);
  const value = new AttributeValue(isPrintable ? { printableString: text } : { utf8String: text });
  const encoded = element(isPrintable ? tags.printable : tags.utf8, [Buffer.from(text)]);
  return {
    item: new AttributeTypeAndValue({ type, value }),
    der: element(tags.sequence, [idElement(type), encoded]),
  };
}

/** A relative distinguished name with several attributes, in DER order; empty if there are no values. */
function relative(type: string, texts: readonly string[]) {
  if (texts.length === 0) return [];
  const attributes = [...new Set(texts)].map((text) => attribute(type, text));
  attributes.sort((a, b) => Buffer.compare(a.der, b.der));
  const set = new RelativeDistinguishedName(attributes.map(({ item }) => item));
  return [
    {
      set,
      der: element(
        tags.set,
        attributes.map(({ der }) => der),
      ),
    },
  ];
}

/** Builds a subject. */
export function subjectName(
  subject: SubjectParts,
  own: { readonly commonName: string; readonly serialNumber: string; readonly userIds: readonly string[] },
): Name {
  const sets = [
    ...parts.flatMap(([field, id]) => relative(id, subject[field])),
    ...relative(commonNameId, own.commonName === '' ? [] : [own.commonName]),
    ...relative(serialNumberId, own.serialNumber === '' ? [] : [own.serialNumber]),
    ...own.userIds.flatMap((text) => relative(userId, [text])),
  ];
  const der = element(
    tags.sequence,
    sets.map((one) => one.der),
  );
  return noteName(new Name(sets.map(({ set }) => set)), der);
}

const textsOf = (name: Name, id: string): string[] =>
  name.flatMap((set) => [...set].filter(({ type }) => type === id).map(({ value }) => value.toString()));

/** Common name, serial number and user ids of a subject; empty if absent. */
export function ownNames(name: Name): { commonName: string; serialNumber: string; userIds: string[] } {
  return {
    commonName: textsOf(name, commonNameId).at(-1) ?? '',
    serialNumber: textsOf(name, serialNumberId).at(-1) ?? '',
    userIds: textsOf(name, userId),
  };
}

/** A name as text, most specific part first. */
export const nameText = (name: Name): string =>
  [...name]
    .reverse()
    .map((set) => [...set].map(({ type, value }) => `${shortNames.get(type) ?? type}=${value.toString()}`).join('+'))
    .join(',');
