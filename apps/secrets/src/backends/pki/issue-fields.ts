import { announced, bool, commaList, duration, int, string } from '../../sdk/fields';
import { refuse } from '../../sdk/refuse';

const formats = ['pem', 'der', 'pem_bundle'];

/** Format fields of every certificate request. */
export const formatFields = {
  format: announced(string(), { default: 'pem', enum: formats })
    .optional()
    .describe('pem, der (in base64), or pem_bundle: key, certificate and chain in one text.'),
};

/** Format of the private key in the response. */
export const keyFormatFields = {
  private_key_format: announced(string(), { default: 'der', enum: ['', 'der', 'pem', 'pkcs8'] })
    .optional()
    .describe('pkcs8, or the usual form for the type of the key.'),
};

/** The requested format. Throws `invalid` if it is unknown. */
export function formatOf({ format = 'pem' }: { readonly format?: string }): string {
  return formats.includes(format)
    ? format
    : refuse('the "format" path parameter must be "pem", "der", or "pem_bundle"');
}

/** Name and lifetime fields of a request. */
export const nameFields = {
  common_name: string().optional().describe('The common name; it is an alternative name as well.'),
  alt_names: commaList().optional().describe('Alternative names: hosts and mail addresses.'),
  ip_sans: commaList().optional().describe('Addresses.'),
  uri_sans: commaList().optional().describe('URIs.'),
  other_sans: commaList().optional().describe('Other names: OID;UTF8:TEXT.'),
  serial_number: string().optional().describe('Serial number in the subject, not that of the certificate.'),
  exclude_cn_from_sans: bool().optional().describe('Do not add the common name to the alternative names.'),
  ttl: duration().optional().describe('How long it is valid.'),
  not_after: string().optional().describe('End of its validity, in RFC 3339, instead of ttl.'),
  not_before: string().optional().describe('Start of its validity, in RFC 3339.'),
};

/** Further fields for leaf certificates. */
export const leafFields = {
  user_ids: commaList().optional().describe('User ids in the subject.'),
  remove_roots_from_chain: bool().optional().describe('Leave root certificates out of the chain.'),
};

/** Key fields, for roles that allow any key. */
export const openKeyFields = {
  key_type: announced(string(), { enum: ['rsa', 'ec', 'ed25519'] })
    .optional()
    .describe('Type of the key, for roles with the type any.'),
  key_bits: int().optional().describe('Size of the key, for roles with the type any.'),
};
