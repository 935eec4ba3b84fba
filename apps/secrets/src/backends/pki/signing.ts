import { createHash } from 'node:crypto';
import type { Name } from '@peculiar/asn1-x509';
import { publicDer } from '../../sdk/asn1';
import { refuse } from '../../sdk/refuse';
import { algorithmFor, type Signer } from '../../sdk/signature-algorithm';
import type { Storage } from '../../sdk/storage';
import { type Ca, certificateOf, findCa, type Issuer, issuerRef, noIssuer, privateKey, type Usage } from './ca';
import { isSignedBy, keyIdOf, type ReadCertificate } from './certificate';
import { chainOf } from './chain';
import type { StoredCertificate } from './stored-certificate';
import type { UrlSet } from './url-set';
import { urlsFor } from './urls';

/** An issuer that is ready to sign. */
export interface ReadyIssuer {
  readonly issuer: Issuer;
  readonly certificate: ReadCertificate;
  readonly name: Name;
  readonly chain: readonly Issuer[];
  readonly urls: UrlSet;
  /** Authority key identifier of its signatures. */
  readonly keyId: Buffer;
  signer(signatureBits: number, usePss: boolean): Signer;
}

/** Loads an issuer for issuing. Throws `invalid` if the issuer does not exist or may not issue. */
export async function readyIssuer(storage: Storage, ref: string): Promise<ReadyIssuer> {
  const ca = await findCa(storage);
  const issuer = issuerRef(ca, ref) ?? refuse(`could not fetch the CA certificate (was one set?): ${noIssuer(ref)}`);
  requireUsage(issuer, 'issuing-certificates', 'error fetching CA certificate: ');
  const key = await keyFor(storage, issuer);
  const certificate = certificateOf(issuer);
  return {
    issuer,
    certificate,
    name: certificate.tbs.subject,
    chain: chainOf(ca, issuer),
    urls: await urlsFor(storage, issuer),
    keyId: authorityKeyOf(certificate),
    signer: (bits, usePss) => ({ key, algorithm: algorithmFor(key, bits, usePss) }),
  };
}

/** Throws `invalid` if the issuer lacks a usage. */
export function requireUsage({ issuer_id: id, issuer_name: name, usage }: Issuer, required: Usage, before = ''): void {
  if (usage.includes(required)) return;
  const only = [...usage].sort().join(',');
  refuse(
    `${before}error while attempting to use issuer ${id}: requested usage ${required} for issuer ${name === '' ? `id:${id}` : `/ id:${id} name:${name}`} but only had usage ${only}`,
  );
}

/** The private key of an issuer. Throws `invalid` if the mount does not have it. */
export async function keyFor(storage: Storage, issuer: Issuer) {
  const { issuer_id: id } = issuer;
  if (issuer.key_id === '') refuse(`while fetching issuer ${id}: it has no key in this mount`);
  return privateKey(storage, issuer.key_id);
}

/** The authority key identifier: taken from the CA certificate, otherwise computed from its key. */
export const authorityKeyOf = ({ subjectKeyId, publicKey }: ReadCertificate): Buffer =>
  subjectKeyId.length > 0 ? subjectKeyId : keyIdOf(publicDer(publicKey));

const authorities = new WeakMap<ReadCertificate, string>();

/** Identifies a CA: issuers with the same subject and key are one CA and share CRLs. */
export function authorityOf(certificate: ReadCertificate): string {
  let authority = authorities.get(certificate);
  if (authority === undefined) {
    const { subject, keyBits } = certificate;
    authority = createHash('sha256').update(subject).update(keyBits).digest('hex').slice(0, 32);
    authorities.set(certificate, authority);
  }
  return authority;
}

/** Finds an issuer of a CA. */
export const issuerOf = (ca: Ca, authority: string): Issuer | undefined =>
  Object.values(ca.issuers).find((issuer) => authorityOf(certificateOf(issuer)) === authority);

/** When a certificate was revoked. A self-signed issuer is on no CRL, so its revocation is in its own record. */
export const whenRevoked = (ca: Ca, { der, revokedAtMs }: StoredCertificate): number | undefined =>
  revokedAtMs ?? Object.values(ca.issuers).find(({ certificate }) => certificate === der)?.revokedAtMs;

/** The CA that signed a certificate; empty if the CA is not in the mount. */
export function authorityAbove(ca: Ca, one: ReadCertificate): string {
  const issuer = Object.values(ca.issuers).find((above) => isSignedBy(one, certificateOf(above)));
  return issuer ? authorityOf(certificateOf(issuer)) : '';
}
