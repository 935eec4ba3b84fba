import type { Certificate } from './certificate';
import { isStrongAlgorithm, isStrongKey } from './signature';

/** A certificate is not trusted. The message contains the reason and is sent to the client. */
export class Unverified extends Error {
  override readonly name = 'Unverified';
}

/** Certificates from the client's own up to a trusted one. */
export type Chain = readonly Certificate[];

const clientAuthentication = '1.3.6.1.5.5.7.3.2';
const anyPurpose = '2.5.29.37.0';
/** The maximum length of a chain. Real chains are shorter. This also limits the work for one client. */
const deepest = 8;
const mostSignatures = 60;
const mostChains = 10;

/** Extensions that are supported or have no effect here: policies have no effect unless constraints refer to them. */
const understood: ReadonlySet<string> = new Set([
  '2.5.29.15', // key usage
  '2.5.29.17', // alternative names
  '2.5.29.19', // basic constraints
  '2.5.29.32', // policies
  '2.5.29.37', // extended key usage
]);
const nameConstraints = '2.5.29.30';

/** Whether a certificate is meant for client authentication. */
export function isForClients({ purposes }: Certificate): boolean {
  return purposes === undefined || purposes.includes(clientAuthentication) || purposes.includes(anyPurpose);
}

/**
 * Whether the certificate `issuer` issued a certificate: compares the issuer name and verifies the signature, but
 * nothing else.
 */
export function isIssuedBy(certificate: Certificate, issuer: Certificate): boolean {
  if (!issuer.subject.equals(certificate.issuer)) return false;
  try {
    return certificate.x509.checkIssued(issuer.x509) && certificate.x509.verify(issuer.key);
  } catch {
    return false;
  }
}

/** Throws `Unverified` for a certificate that no client may use, from any issuer. */
export function checkClient(certificate: Certificate, nowMs: number): void {
  const trouble = troubleOf(certificate, nowMs);
  if (trouble !== undefined) throw new Unverified(`certificate ${trouble}`);
}

/**
 * The chains from a client's certificate to trusted certificates, through `sent` if needed. Every signature is verified
 * by the rules of RFC 5280 for clients. `trusted` are CAs, which need not be roots. Unsupported constraints (of names
 * or policies) are refused. Throws `Unverified` if no chain is valid, with the reason if only one thing is missing.
 */
export function chainsOf(leaf: Certificate, sent: Chain, trusted: Chain, nowMs: number): Chain[] {
  const found: Chain[] = [];
  let reason: string | undefined;
  let remainingSignatures = mostSignatures;
  const signs = (issuer: Certificate, certificate: Certificate): boolean => {
    if (!issuer.subject.equals(certificate.issuer)) return false;
    if (--remainingSignatures < 0) throw new Unverified('too many certificates of the same name');
    return isIssuedBy(certificate, issuer);
  };
  const climb = (chain: Chain): void => {
    if (found.length >= mostChains) return;
    const last = chain.at(-1)!;
    for (const issuer of candidates(last, trusted, chain)) {
      if (!signs(issuer, last)) continue;
      const fullChain = [...chain, issuer];
      const trouble = troubleOfChain(fullChain, nowMs);
      if (trouble === undefined) found.push(fullChain);
      else reason ??= trouble;
    }
    if (chain.length >= deepest) return;
    for (const issuer of candidates(last, sent, chain)) {
      if (signs(issuer, last)) climb([...chain, issuer]);
    }
  };
  climb([leaf]);
  if (found.length === 0 && reason !== undefined) throw new Unverified(`certificate ${reason}`);
  return found;
}

const candidates = (last: Certificate, among: Chain, chain: Chain): Certificate[] =>
  among.filter((one) => one.subject.equals(last.issuer) && !chain.some(({ der }) => der.equals(one.der)));

function troubleOfChain(chain: Chain, nowMs: number): string | undefined {
  for (const [at, certificate] of chain.entries()) {
    const trouble =
      troubleOf(certificate, nowMs) ?? (at > 0 ? troubleOfAuthority(certificate, chain.slice(1, at)) : undefined);
    if (trouble !== undefined) return at === 0 ? trouble : `was issued by an authority whose certificate ${trouble}`;
    const isTrusted = at === chain.length - 1;
    if (!isTrusted && !isStrongAlgorithm(certificate.signatureAlgorithm))
      return 'is signed with a hash that can be forged';
  }
  return undefined;
}

function troubleOf(certificate: Certificate, nowMs: number): string | undefined {
  const { notBeforeMs, notAfterMs, key, extensions } = certificate;
  // NaN is not a time.
  if (!(nowMs >= notBeforeMs && nowMs <= notAfterMs)) return 'has expired or is not yet valid';
  if (!isStrongKey(key)) return 'has a key that is too weak';
  if (!isForClients(certificate)) return 'is not for client authentication';
  if (extensions.has(nameConstraints)) return 'constrains names, which is not supported';
  for (const [id, { critical }] of extensions) {
    if (critical && !understood.has(id)) return `has the critical extension ${id}, which is not supported`;
  }
  return undefined;
}

/**
 * Why a CA is not accepted in a chain; undefined if it is accepted. `below` are the CAs between this CA and the client.
 */
function troubleOfAuthority({ isAuthority, mayNotCertify, pathLength }: Certificate, below: Chain): string | undefined {
  if (!isAuthority || mayNotCertify) return 'is not a CA certificate';
  const counting = below.filter(({ subject, issuer }) => !subject.equals(issuer));
  if (pathLength !== undefined && counting.length > pathLength) return 'allows only a shorter chain';
  return undefined;
}
