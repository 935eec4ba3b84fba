import { announced, bool, commaList, duration, int, string } from '../../sdk/fields';
import { refuse } from '../../sdk/refuse';

const formats = ['pem', 'der', 'pem_bundle'];

/** Format fields of every certificate request. */
export const formatFields = {
  format: announced(string(), { default: 'pem', enum: formats })
    .optional()
    .describe('pem, der (in base64), or pem_bundle: private key, certificate and chain in one string.'),
};

/** Format of the private key in the response. */
export const keyFormatFields = {
  private_key_format: announced(string(), { default: 'der', enum: ['', 'der', 'pem', 'pkcs8'] })
    .optional()
    .describe('pkcs8, or der: the usual format of the key type.'),
};

/** The requested format. Throws `invalid` if it is unknown. */
export function formatOf({ format = 'pem' }: { readonly format?: string }): string {
  return formats.includes(format)
    ? format
    : refuse('the "format" path parameter must be "pem", "der", or "pem_bundle"');
}

/** Name and lifetime fields of a request. */
export const nameFields = {
  common_name: string().optional().describe('The common name. It is also added to the alternative names.'),
  alt_names: commaList().optional().describe('Subject alternative names: DNS names and email addresses.'),
  ip_sans: commaList().optional().describe('Addresses.'),
  uri_sans: commaList().optional().describe('URIs.'),
  other_sans: commaList().optional().describe('Other subject alternative names: OID;UTF8:TEXT.'),
  serial_number: string()
    .optional()
    .describe('Serial number in the subject, not the serial number of the certificate.'),
  exclude_cn_from_sans: bool().optional().describe('Do not add the common name to the subject alternative names.'),
  ttl: duration().optional().describe('Lifetime of the certificate.'),
  not_after: string().optional().describe('Expiry of the certificate in RFC 3339, instead of ttl.'),
  not_before: string().optional().describe('Time from which the certificate is valid, in RFC 3339.'),
};

/** Further fields for leaf certificates. */
export const leafFields = {
  user_ids: commaList().optional().describe('User IDs in the subject.'),
  remove_roots_from_chain: bool().optional().describe('Leave root certificates out of the CA chain.'),
};

/** Key fields, for roles that allow any key. */
export const openKeyFields = {
  key_type: announced(string(), { enum: ['rsa', 'ec', 'ed25519'] })
    .optional()
    .describe('Type of the key, for roles with key_type any.'),
  key_bits: int().optional().describe('Size of the key, for roles with key_type any.'),
};
