import { commaList } from '../../sdk/fields';
import { refuse } from '../../sdk/refuse';

/** URLs of an issuer certificate, its CRLs and its OCSP responders. */
export interface UrlSet {
  readonly issuing_certificates: readonly string[];
  readonly crl_distribution_points: readonly string[];
  readonly delta_crl_distribution_points: readonly string[];
  readonly ocsp_servers: readonly string[];
}

/** URL fields in requests and responses. */
export const urlRows = {
  issuing_certificates: [commaList().describe('URLs of the issuer’s certificate.'), [] as string[]],
  crl_distribution_points: [commaList().describe('URLs of the issuer’s CRL.'), [] as string[]],
  delta_crl_distribution_points: [commaList().describe('URLs of the issuer’s delta CRL.'), [] as string[]],
  ocsp_servers: [commaList().describe('URLs of the issuer’s OCSP responders.'), [] as string[]],
} as const;

const urlNames = Object.keys(urlRows) as (keyof UrlSet)[];

/** No URLs. */
export const noUrls: UrlSet = {
  issuing_certificates: [],
  crl_distribution_points: [],
  delta_crl_distribution_points: [],
  ocsp_servers: [],
};

const marks = /\{\{\s*(cluster_path|cluster_aia_path|issuer_id)\s*\}\}/g;

/** Whether certificates get any URL, apart from delta CRL URLs. */
export const hasUrls = (urls: UrlSet): boolean =>
  urls.issuing_certificates.length > 0 || urls.crl_distribution_points.length > 0 || urls.ocsp_servers.length > 0;

/**
 * Throws `invalid` unless all strings are URLs with a host. If templates are enabled, checks only for characters that
 * are invalid in URLs.
 */
export function checkUrls(urls: UrlSet, templates: boolean): void {
  for (const name of urlNames) for (const text of urls[name]) requireAscii(text, name);
  const bad = templates ? undefined : notUrl(urls);
  if (bad) refuse(`invalid URL found in Authority Information Access (AIA) parameter ${bad.name}: ${bad.text}`);
}

function notUrl(urls: UrlSet) {
  for (const name of urlNames) {
    const text = urls[name].find((one) => !URL.canParse(one) || new URL(one).host === '' || one.search(marks) !== -1);
    if (text !== undefined) return { name, text };
  }
  return undefined;
}

/** Values for URL templates; empty if unknown. */
export interface UrlTemplates {
  readonly cluster_path: string;
  readonly cluster_aia_path: string;
  readonly issuer_id: string;
}

const descriptions: Readonly<Record<keyof UrlTemplates, string>> = {
  cluster_path: 'local cluster address information (path)',
  cluster_aia_path: 'local cluster address information (aia_path)',
  issuer_id: 'an issuer_id for this operation',
};

/** The URLs with templates filled in, or an error message. */
export function filledUrls(urls: UrlSet, templates: UrlTemplates): UrlSet | string {
  const unknown = urlNames
    .flatMap((name) => urls[name].flatMap((text) => [...text.matchAll(marks)]))
    .map(([, name]) => name as keyof UrlTemplates)
    .find((name) => templates[name] === '');
  if (unknown) return `unable to template AIA URLs as we lack ${descriptions[unknown]}`;
  const fill = (text: string) => text.replace(marks, (_mark, name: keyof UrlTemplates) => templates[name]);
  const filled = Object.fromEntries(urlNames.map((name) => [name, urls[name].map(fill)])) as unknown as UrlSet;
  const bad = notUrl(filled);
  return bad ? `error validating templated ${bad.name}; invalid URI: ${bad.text}` : filled;
}

const ascii = /^[\x20-\x7e]*$/;

/**
 * Returns the text. Throws `invalid` unless it is printable ASCII, as URLs in certificates must be.
 */
export const requireAscii = (text: string, field: string): string =>
  ascii.test(text) ? text : refuse(`${field}: ${JSON.stringify(text)} has characters other than printable ASCII`);
