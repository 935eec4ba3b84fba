import type { KeyObject } from 'node:crypto';
import type { z } from 'zod';
import { announced, bool, commaList, duration, int, string } from '../../sdk/fields';
import { refuse } from '../../sdk/refuse';
import type { Storage } from '../../sdk/storage';
import { type Ca, checkedName, findCa, issuerRef, keyRef, type NewKey, newKey, privateKey, requireKey } from './ca';
import { formatFields, formatOf, keyFormatFields, nameFields } from './issue-fields';
import { checkedKeyRules, kindOfKey, makeKey } from './key-pair';
import { type Role, roleFields } from './role';
import { subjectRows } from './subject';

const optional = <T extends z.ZodType>(row: readonly [T, unknown]) => row[0].optional();

/** Subject fields of requests. */
export const subjectFields = {
  ou: optional(subjectRows.ou),
  organization: optional(subjectRows.organization),
  country: optional(subjectRows.country),
  locality: optional(subjectRows.locality),
  province: optional(subjectRows.province),
  street_address: optional(subjectRows.street_address),
  postal_code: optional(subjectRows.postal_code),
};

/** Signature fields of requests, for RSA issuers. */
export const signatureFields = {
  signature_bits: int().optional().describe('Hash size of RSA signatures. 0: the default of the key.'),
  use_pss: bool().optional().describe('Use PSS for RSA signatures.'),
  not_before_duration: duration()
    .optional()
    .describe('How long before now the certificate becomes valid; 30 seconds by default.'),
};

/** Constraints on the CAs below the new CA. */
export const authorityFields = {
  max_path_length: int()
    .optional()
    .describe('Maximum path length: the number of intermediate CAs below this one. -1: no limit.'),
  permitted_dns_domains: commaList()
    .optional()
    .describe('DNS domains that certificates below this CA may have (name constraints).'),
};

/** Fields of a request for a new CA. */
export const generationFields = {
  ...nameFields,
  ...subjectFields,
  ...signatureFields,
  ...formatFields,
  ...keyFormatFields,
  key_type: announced(string(), { default: 'rsa', enum: ['rsa', 'ec', 'ed25519'] })
    .optional()
    .describe('Type of the key.'),
  key_bits: int().optional().describe('Size of the key. 0: the default of the type.'),
  key_name: string().optional().describe('Name of the new key.'),
  key_ref: string()
    .optional()
    .describe('With the kind existing: reference of the key to use. Default: the default key.'),
};

export const issuerNameField = { issuer_name: string().optional().describe('Name of the new issuer.') };

const anything = ['*'];

/** Fields of a CA request from which its role is built. */
export interface AskedAuthority {
  readonly ou?: readonly string[];
  readonly organization?: readonly string[];
  readonly country?: readonly string[];
  readonly locality?: readonly string[];
  readonly province?: readonly string[];
  readonly street_address?: readonly string[];
  readonly postal_code?: readonly string[];
  readonly signature_bits?: number;
  readonly use_pss?: boolean;
  readonly not_before_duration?: number;
}

/** The role that CA requests are checked against: it allows any name. */
export function authorityRole(request: AskedAuthority, key: { key_type: string; key_bits: number }): Role {
  const stated = Object.fromEntries(
    Object.keys(subjectRows).map((field) => [field, [...(request[field as keyof typeof subjectRows] ?? [])]]),
  );
  return checkedKeyRules({
    ...roleFields.defaults,
    ...stated,
    ...key,
    signature_bits: request.signature_bits ?? 0,
    use_pss: request.use_pss ?? false,
    not_before_duration: request.not_before_duration ?? roleFields.defaults.not_before_duration,
    allow_any_name: true,
    enforce_hostnames: false,
    require_cn: false,
    allowed_other_sans: anything,
    allowed_serial_numbers: anything,
    allowed_uri_sans: anything,
    allowed_user_ids: anything,
    cn_validations: ['disabled'],
  });
}

interface AskedKey extends AskedAuthority {
  readonly key_type?: string;
  readonly key_bits?: number;
  readonly key_name?: string;
  readonly key_ref?: string;
  readonly format?: string;
}

/** The key of a new CA. */
export interface AuthorityKey {
  readonly role: Role;
  readonly key: KeyObject;
  /** The key to store, if it was just generated. */
  readonly createdKey?: NewKey;
  readonly keyId: string;
  readonly isShown: boolean;
}

const kinds = ['internal', 'exported', 'existing', 'kms'];

/** Generates the key of a new CA, or finds the existing one that the request names. Throws `invalid`. */
export async function authorityKey(storage: Storage, kind: string, request: AskedKey): Promise<AuthorityKey> {
  if (!kinds.includes(kind)) {
    refuse('the "exported" path parameter must be "internal", "existing", exported" or "kms"');
  }
  if (kind === 'kms') refuse('kms: keys in external systems are not supported');
  formatOf(request);
  const ca = await findCa(storage);
  const name = checkedName(request.key_name ?? '', 'key');
  if (name !== '' && keyRef(ca, name)) refuse('key name already in use');
  if (kind === 'existing') {
    if (request.key_type !== undefined || request.key_bits !== undefined) {
      refuse(
        'invalid parameter for the kms/existing path parameter, key_type nor key_bits arguments can be set in this mode',
      );
    }
    const { key_id: keyId } = requireKey(ca, request.key_ref ?? 'default');
    const key = await privateKey(storage, keyId);
    const { type: key_type, bits: key_bits } = kindOfKey(key);
    return { role: authorityRole(request, { key_type, key_bits }), key, keyId, isShown: false };
  }
  const role = authorityRole(request, { key_type: request.key_type ?? 'rsa', key_bits: request.key_bits ?? 0 });
  if (role.key_type === 'any') refuse('unknown key type any');
  const key = await makeKey(role);
  const createdKey = newKey(key, name);
  return { role, key, createdKey, keyId: createdKey.info.key_id, isShown: kind === 'exported' };
}

/** Checks the name of a new issuer. Throws `invalid` if it is taken. */
export function freeIssuerName(ca: Ca, requestedName: string | undefined): string {
  if (requestedName !== undefined && requestedName.trim() === '') refuse('expected non-empty issuer name');
  const name = checkedName(requestedName ?? '', 'issuer');
  if (name !== '' && issuerRef(ca, name)) refuse('issuer name already in use');
  return name;
}
