import { Refusal } from '@keystead/refusal';
import type { Globs } from '../../sdk/globs';
import { type Certificate, textOf } from './certificate';

const oid = /^[0-2](?:\.(?:0|[1-9][0-9]{0,38})){1,32}$/;

/**
 * The requirements of a role for certificates, and the metadata of its tokens. Lists of names contain patterns; an
 * empty list requires nothing.
 */
export interface Constraints {
  readonly allowed_names: readonly string[];
  readonly allowed_common_names: readonly string[];
  readonly allowed_dns_sans: readonly string[];
  readonly allowed_email_sans: readonly string[];
  readonly allowed_uri_sans: readonly string[];
  readonly allowed_organizational_units: readonly string[];
  readonly required_extensions: readonly string[];
  readonly allowed_metadata_extensions: readonly string[];
}

/** An extension that a role requires. */
interface Required {
  readonly id: string;
  /** Whether the value is compared with the hexadecimal form of the extension's DER instead of its text. */
  readonly isHex: boolean;
  readonly glob: string;
}

/** Throws `invalid` for extensions that a role can neither require nor copy to metadata. */
export function checkExtensions(role: Constraints): void {
  role.required_extensions.forEach((text, at) => {
    if (readRequired(text) !== undefined) return;
    throw new Refusal('invalid', `number ${at + 1} of required_extensions is neither oid:value nor hex:oid:value`);
  });
  role.allowed_metadata_extensions.forEach((text, at) => {
    if (oid.test(text)) return;
    throw new Refusal('invalid', `number ${at + 1} of allowed_metadata_extensions is not an object identifier`);
  });
}

function readRequired(text: string): Required | undefined {
  const isHex = text.startsWith('hex:');
  const rest = isHex ? text.slice(4) : text;
  const at = rest.indexOf(':');
  const id = rest.slice(0, at);
  if (at < 0 || !oid.test(id)) return undefined;
  const glob = rest.slice(at + 1);
  return { id, isHex, glob: isHex ? glob.toLowerCase() : glob };
}

/** Whether a certificate has the names and extensions that a role requires. */
export function meetsConstraints(certificate: Certificate, role: Constraints, compare: Globs): boolean {
  const { commonName, organizationalUnits, names, extensions } = certificate;
  const has = (globs: readonly string[], texts: readonly string[]) =>
    globs.length === 0 || globs.some((glob) => texts.some((text) => compare.fits(glob, text)));
  const carries = ({ id, isHex, glob }: Required) => {
    const extension = extensions.get(id);
    return (
      extension !== undefined && compare.fits(glob, isHex ? extension.value.toString('hex') : (textOf(extension) ?? ''))
    );
  };
  return (
    has(role.allowed_names, [commonName, ...names.dns, ...names.emails]) &&
    has(role.allowed_common_names, [commonName]) &&
    has(role.allowed_dns_sans, names.dns) &&
    has(role.allowed_email_sans, names.emails) &&
    has(role.allowed_uri_sans, names.uris) &&
    has(role.allowed_organizational_units, organizationalUnits) &&
    role.required_extensions.every((text) => {
      const required = readRequired(text);
      return required !== undefined && carries(required);
    })
  );
}

/** A token's metadata from the extensions of a certificate: their values by object identifier, with - for the dots. */
export function extensionMetadata({ extensions }: Certificate, role: Constraints): Record<string, string> {
  const values = role.allowed_metadata_extensions.flatMap((id) => {
    const extension = extensions.get(id);
    return extension === undefined ? [] : [[id.replaceAll('.', '-'), textOf(extension) ?? ''] as const];
  });
  return Object.fromEntries(values);
}
