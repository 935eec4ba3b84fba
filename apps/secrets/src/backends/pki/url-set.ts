import { commaList } from '../../sdk/fields';
import { refuse } from '../../sdk/refuse';

/** Where clients find an issuer, its lists and its responders. */
export interface UrlSet {
  readonly issuing_certificates: readonly string[];
  readonly crl_distribution_points: readonly string[];
  readonly delta_crl_distribution_points: readonly string[];
  readonly ocsp_servers: readonly string[];
}

/** The fields of it, in requests and answers. */
export const urlRows = {
  issuing_certificates: [commaList().describe('Addresses of the issuer’s certificate.'), [] as string[]],
  crl_distribution_points: [commaList().describe('Addresses of its list of revoked certificates.'), [] as string[]],
  delta_crl_distribution_points: [commaList().describe('Addresses of its delta list.'), [] as string[]],
  ocsp_servers: [commaList().describe('Its OCSP responders.'), [] as string[]],
} as const;

/** Their names. */
export const urlNames = Object.keys(urlRows) as (keyof UrlSet)[];

/** None. */
export const noUrls: UrlSet = {
  issuing_certificates: [],
  crl_distribution_points: [],
  delta_crl_distribution_points: [],
  ocsp_servers: [],
};

/** Throws `invalid` for other text than URLs; with templates, once they are filled in. */
export function checkUrls(urls: UrlSet, templates: boolean): void {
  for (const name of urlNames) {
    for (const text of urls[name]) {
      requireAscii(text, name);
      const filled = templates ? text.replace(/\{\{\s*\w+\s*\}\}/g, 'http://x.test') : text;
      if (URL.canParse(filled) || (templates && filled !== text)) continue;
      refuse(`invalid URL found in Authority Information Access (AIA) parameter ${name}: ${text}`);
    }
  }
}

const ascii = /^[\x20-\x7e]*$/;

/**
 * The same text. Throws `invalid` if it holds anything but printable ASCII, which addresses in certificates are made of.
 */
export const requireAscii = (text: string, field: string): string =>
  ascii.test(text) ? text : refuse(`${field}: ${JSON.stringify(text)} has characters other than printable ASCII`);
