import { AsnConvert, OctetString } from '@peculiar/asn1-schema';
import {
  AccessDescription,
  AuthorityInfoAccessSyntax,
  BasicConstraints,
  CertificatePolicies,
  CRLDistributionPoints,
  DisplayText,
  DistributionPoint,
  DistributionPointName,
  Extension,
  GeneralName,
  GeneralSubtree,
  GeneralSubtrees,
  id_ad_caIssuers,
  id_ad_ocsp,
  id_ce_authorityKeyIdentifier,
  id_ce_basicConstraints,
  id_ce_certificatePolicies,
  id_ce_cRLDistributionPoints,
  id_ce_freshestCRL,
  id_ce_nameConstraints,
  id_ce_subjectKeyIdentifier,
  id_pe_authorityInfoAccess,
  id_qt_csp,
  id_qt_unotice,
  NameConstraints,
  PolicyInformation,
  PolicyQualifierInfo,
  Qualifier,
  UserNotice,
} from '@peculiar/asn1-x509';
import { arrayBuffer } from '../../sdk/asn1';
import { refuse } from '../../sdk/refuse';
import { element, tags } from './der';
import { requireAscii, type UrlSet } from './url-set';

/** An extension of a certificate or CRL. */
export const extension = (extnID: string, value: ArrayBuffer, critical = false): Extension =>
  new Extension({ extnID, critical, extnValue: new OctetString(value) });

const serialize = (id: string, value: object, critical = false) => extension(id, AsnConvert.serialize(value), critical);

/** Whether the certificate is a CA, and its path length. */
export const basicConstraints = (cA: boolean, pathLenConstraint?: number): Extension =>
  serialize(id_ce_basicConstraints, new BasicConstraints({ cA, pathLenConstraint }), true);

/** Identifies the key of the certificate. */
export const subjectKeyId = (id: Buffer): Extension =>
  extension(id_ce_subjectKeyIdentifier, arrayBuffer(element(tags.octets, [id])));

/** Identifies the signing key; no extension for an empty id. */
export const authorityKeyId = (id: Buffer): Extension[] =>
  id.length === 0
    ? []
    : [extension(id_ce_authorityKeyIdentifier, arrayBuffer(element(tags.sequence, [element(tags.keyId, [id])])))];

const uri = (text: string) => new GeneralName({ uniformResourceIdentifier: text });

/** URLs of the issuer, its CRLs and its OCSP responders. */
export function urlExtensions(urls: UrlSet): Extension[] {
  const access = [
    ...urls.ocsp_servers.map((text) => new AccessDescription({ accessMethod: id_ad_ocsp, accessLocation: uri(text) })),
    ...urls.issuing_certificates.map(
      (text) => new AccessDescription({ accessMethod: id_ad_caIssuers, accessLocation: uri(text) }),
    ),
  ];
  return [
    ...(access.length === 0 ? [] : [serialize(id_pe_authorityInfoAccess, new AuthorityInfoAccessSyntax(access))]),
    ...distributionPoints(id_ce_cRLDistributionPoints, urls.crl_distribution_points),
    ...freshestCrl(urls.delta_crl_distribution_points),
  ];
}

/** URLs of the delta CRL. */
export const freshestCrl = (texts: readonly string[]): Extension[] => distributionPoints(id_ce_freshestCRL, texts);

function distributionPoints(id: string, texts: readonly string[]): Extension[] {
  if (texts.length === 0) return [];
  const points = texts.map(
    (text) => new DistributionPoint({ distributionPoint: new DistributionPointName({ fullName: [uri(text)] }) }),
  );
  return [serialize(id, new CRLDistributionPoints(points))];
}

/** The domains to which certificates below this CA are limited. */
export function permittedDomains(domains: readonly string[]): Extension[] {
  if (domains.length === 0) return [];
  const trees = domains.map((text) => new GeneralSubtree({ base: new GeneralName({ dNSName: text }) }));
  return [
    serialize(id_ce_nameConstraints, new NameConstraints({ permittedSubtrees: new GeneralSubtrees(trees) }), true),
  ];
}

const oid = /^[0-2](\.(0|[1-9]\d{0,38})){1,64}$/;

/** Whether a string is an object identifier. */
export const isOid = (text: string): boolean =>
  oid.test(text) && (text.startsWith('2.') || Number(text.split('.')[1]) < 40);

/** Certificate policies: each an OID, or a JSON object with a notice or CPS URL. */
export function policyExtension(texts: readonly string[]): Extension[] {
  if (texts.length === 0) return [];
  return [serialize(id_ce_certificatePolicies, new CertificatePolicies(texts.flatMap(policiesIn)))];
}

interface PolicyText {
  readonly oid?: unknown;
  readonly notice?: unknown;
  readonly cps?: unknown;
}

function policiesIn(text: string): PolicyInformation[] {
  if (isOid(text)) return [new PolicyInformation({ policyIdentifier: text })];
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch {
    refuse(`policy_identifiers: "${text}" is neither an object identifier nor JSON`);
  }
  return ([parsed].flat() as PolicyText[]).map((item) => {
    const { oid: id, notice, cps } = Object(item) as PolicyText;
    if (typeof id !== 'string' || !isOid(id)) refuse('policy_identifiers: "oid" must be an object identifier');
    const qualifiers = [
      ...(typeof notice === 'string' && notice !== ''
        ? [
            new PolicyQualifierInfo({
              policyQualifierId: id_qt_unotice,
              qualifier: AsnConvert.serialize(
                new UserNotice({ explicitText: new DisplayText({ utf8String: notice }) }),
              ),
            }),
          ]
        : []),
      ...(typeof cps === 'string' && cps !== ''
        ? [
            new PolicyQualifierInfo({
              policyQualifierId: id_qt_csp,
              qualifier: AsnConvert.serialize(new Qualifier({ cPSuri: requireAscii(cps, 'policy_identifiers') })),
            }),
          ]
        : []),
    ];
    return new PolicyInformation({
      policyIdentifier: id,
      policyQualifiers: qualifiers.length === 0 ? undefined : qualifiers,
    });
  });
}
