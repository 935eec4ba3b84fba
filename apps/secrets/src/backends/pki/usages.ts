import { AsnConvert } from '@peculiar/asn1-schema';
import { type Extension, id_ce_extKeyUsage, id_ce_keyUsage, KeyUsage, KeyUsageFlags } from '@peculiar/asn1-x509';
import { arrayBuffer } from '../../sdk/asn1';
import { refuse } from '../../sdk/refuse';
import { element, idElement, tags } from './der';
import { extension } from './extension';

const keyUsages: ReadonlyMap<string, number> = new Map(
  Object.entries({
    digitalsignature: KeyUsageFlags.digitalSignature,
    contentcommitment: KeyUsageFlags.nonRepudiation,
    keyencipherment: KeyUsageFlags.keyEncipherment,
    dataencipherment: KeyUsageFlags.dataEncipherment,
    keyagreement: KeyUsageFlags.keyAgreement,
    certsign: KeyUsageFlags.keyCertSign,
    crlsign: KeyUsageFlags.cRLSign,
    encipheronly: KeyUsageFlags.encipherOnly,
    decipheronly: KeyUsageFlags.decipherOnly,
  }),
);

const extendedUsages: ReadonlyMap<string, string> = new Map(
  Object.entries({
    any: '2.5.29.37.0',
    serverauth: '1.3.6.1.5.5.7.3.1',
    clientauth: '1.3.6.1.5.5.7.3.2',
    codesigning: '1.3.6.1.5.5.7.3.3',
    emailprotection: '1.3.6.1.5.5.7.3.4',
    ipsecendsystem: '1.3.6.1.5.5.7.3.5',
    ipsectunnel: '1.3.6.1.5.5.7.3.6',
    ipsecuser: '1.3.6.1.5.5.7.3.7',
    timestamping: '1.3.6.1.5.5.7.3.8',
    ocspsigning: '1.3.6.1.5.5.7.3.9',
    microsoftservergatedcrypto: '1.3.6.1.4.1.311.10.3.3',
    netscapeservergatedcrypto: '2.16.840.1.113730.4.1',
  }),
);

const folded = (name: string) =>
  name
    .trim()
    .toLowerCase()
    .replace(/^(ext)?keyusage/, '');

/** Throws `invalid` for unknown key usages, instead of issuing without them. */
export function checkUsages(names: {
  readonly key_usage: readonly string[];
  readonly ext_key_usage: readonly string[];
}) {
  for (const name of names.key_usage) {
    if (!keyUsages.has(folded(name))) refuse(`key_usage: unknown key usage ${name}`);
  }
  for (const name of names.ext_key_usage) {
    if (!extendedUsages.has(folded(name))) refuse(`ext_key_usage: unknown extended key usage ${name}`);
  }
}

/** The key usage extension; none for an empty list. */
export function keyUsageExtension(names: readonly string[]): Extension[] {
  const bits = names.reduce((sum, name) => sum | (keyUsages.get(folded(name)) ?? 0), 0);
  return bits === 0 ? [] : [extension(id_ce_keyUsage, AsnConvert.serialize(new KeyUsage(bits)), true)];
}

/** Extended key usage settings of a role. */
export interface Purposes {
  readonly server_flag: boolean;
  readonly client_flag: boolean;
  readonly code_signing_flag: boolean;
  readonly email_protection_flag: boolean;
  readonly ext_key_usage: readonly string[];
  readonly ext_key_usage_oids: readonly string[];
}

type Usages = Purposes & { readonly key_usage: readonly string[] };
const extensionsOfRoles = new WeakMap<Usages, readonly Extension[]>();

/** The key usage and extended key usage extensions of a role. Cached: a role stays the same object until it changes. */
export function usageExtensions(role: Usages): readonly Extension[] {
  let extensions = extensionsOfRoles.get(role);
  if (!extensions) {
    extensions = [...keyUsageExtension(role.key_usage), ...purposeExtension(role)];
    extensionsOfRoles.set(role, extensions);
  }
  return extensions;
}

/** The extended key usage extension; none for no purposes. */
function purposeExtension(purposes: Purposes): Extension[] {
  const flags = [
    [purposes.server_flag, 'serverauth'],
    [purposes.client_flag, 'clientauth'],
    [purposes.code_signing_flag, 'codesigning'],
    [purposes.email_protection_flag, 'emailprotection'],
  ] as const;
  const named = [...flags.flatMap(([on, name]) => (on ? [name] : [])), ...purposes.ext_key_usage.map(folded)];
  const namedIds = [...extendedUsages].flatMap(([name, id]) => (named.includes(name) ? [id] : []));
  const ids = new Set([...namedIds, ...purposes.ext_key_usage_oids]);
  return ids.size === 0
    ? []
    : [extension(id_ce_extKeyUsage, arrayBuffer(element(tags.sequence, [...ids].map(idElement))))];
}
