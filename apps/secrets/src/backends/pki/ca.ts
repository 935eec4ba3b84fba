import { createHash, type KeyObject, randomUUID } from 'node:crypto';
import { publicDer } from '../../sdk/asn1';
import { certificatePem } from '../../sdk/pem';
import { findKept, keepKey } from '../../sdk/private-key';
import { refuse } from '../../sdk/refuse';
import type { Storage } from '../../sdk/storage';
import { maySignLists, type ReadCertificate, readCertificate } from './certificate';
import { type KeyType, kindOfKey } from './key-pair';
import type { UrlSet } from './url-set';

/** What an issuer may be used for. */
export const usages = ['crl-signing', 'issuing-certificates', 'ocsp-signing', 'read-only'] as const;
export type Usage = (typeof usages)[number];

/** A CA certificate. Fields shown in responses have the same names as there. */
export interface Issuer extends UrlSet {
  readonly issuer_id: string;
  readonly issuer_name: string;
  /** Empty if the mount does not have the key of the issuer. */
  readonly key_id: string;
  /** DER in base64. */
  readonly certificate: string;
  /** Issuer ids of the manual chain, this issuer first; if empty, the chain is computed. */
  readonly manual_chain: readonly string[];
  readonly leaf_not_after_behavior: string;
  readonly usage: readonly Usage[];
  readonly revocation_signature_algorithm: string;
  readonly enable_aia_url_templating: boolean;
  readonly revokedAtMs?: number;
}

/** A key of issuers; its private key is a separate entry. */
export interface CaKey {
  readonly key_id: string;
  readonly key_name: string;
  readonly key_type: KeyType;
  /** SPKI in base64. */
  readonly publicKey: string;
}

/** All issuers and keys of a mount. They are one entry, so that names, defaults and chains change together. */
export interface Ca {
  readonly issuers: Readonly<Record<string, Issuer>>;
  readonly keys: Readonly<Record<string, CaKey>>;
  readonly default_issuer: string;
  readonly default_key: string;
  readonly default_follows_latest_issuer: boolean;
}

const entry = 'ca';
const noCa: Ca = {
  issuers: {},
  keys: {},
  default_issuer: '',
  default_key: '',
  default_follows_latest_issuer: false,
};
const parse = JSON.parse as (text: string) => Ca;
const mostIssuers = 500;

/** The issuers and keys of the mount. */
export const findCa = async (storage: Storage): Promise<Ca> => (await storage.read(entry, parse)) ?? noCa;

/** Changes the issuers and keys, one change at a time. `change` may run more than once. */
export function changeCa(storage: Storage, change: (ca: Ca, tx: Storage) => Ca | Promise<Ca>): Promise<Ca> {
  return storage.transaction(entry, async (tx) => {
    const before = await findCa(tx);
    const after = await change(before, tx);
    if (after === before) return before;
    if (Object.keys(after.issuers).length > mostIssuers) refuse(`a mount has at most ${mostIssuers} issuers`);
    tx.put(entry, JSON.stringify(after));
    return after;
  });
}

/** A key to store. */
export interface NewKey {
  readonly info: CaKey;
  readonly key: KeyObject;
}

/** Gives a private key an id. */
export function newKey(key: KeyObject, name: string): NewKey {
  const publicKey = publicDer(key).toString('base64');
  return {
    info: { key_id: randomUUID(), key_name: name, key_type: kindOfKey(key).type, publicKey },
    key,
  };
}

/** Adds a key and links it to the issuers that lack it. The first key becomes the default. */
export function withKey(ca: Ca, tx: Storage, { info, key }: NewKey): Ca {
  const existing = keyRef(ca, info.key_name);
  if (info.key_name !== '' && existing) refuse('key name already in use');
  keepKey(tx, `key/${info.key_id}`, key);
  const issuers = Object.entries(ca.issuers).map(([id, issuer]) => {
    const fits = issuer.key_id === '' && publicKeyOf(issuer) === info.publicKey;
    return [id, fits ? { ...issuer, key_id: info.key_id } : issuer] as const;
  });
  const [firstId = ''] = issuers.find(([, { key_id }]) => key_id === info.key_id) ?? [];
  return {
    ...ca,
    issuers: Object.fromEntries(issuers),
    default_issuer: ca.default_issuer || firstId,
    keys: { ...ca.keys, [info.key_id]: info },
    default_key: ca.default_key || info.key_id,
  };
}

/** A new issuer with default settings. */
export function newIssuer(ca: Ca, der: Buffer, name: string, algorithm = ''): Issuer {
  const read = readCertificate(der);
  const publicKey = publicDer(read.publicKey).toString('base64');
  return {
    issuer_id: randomUUID(),
    issuer_name: name,
    key_id: Object.values(ca.keys).find((key) => key.publicKey === publicKey)?.key_id ?? '',
    certificate: der.toString('base64'),
    manual_chain: [],
    leaf_not_after_behavior: 'err',
    usage: maySignLists(read) ? usages : usages.filter((usage) => usage !== 'crl-signing'),
    revocation_signature_algorithm: algorithm,
    issuing_certificates: [],
    crl_distribution_points: [],
    delta_crl_distribution_points: [],
    ocsp_servers: [],
    enable_aia_url_templating: false,
  };
}

const parseMoment = JSON.parse as (text: string) => { readonly revokedAtMs: number };
const revokedKey = ({ certificate }: Issuer): string =>
  `revoked-issuer/${createHash('sha256').update(certificate).digest('base64url')}`;

/**
 * Revokes an issuer, so that it cannot issue. The revocation is recorded separately, so that the issuer is still
 * revoked if it is deleted and imported again.
 */
export function revokedIssuer(tx: Storage, issuer: Issuer, revokedAtMs: number): Issuer {
  tx.put(revokedKey(issuer), JSON.stringify({ revokedAtMs }));
  return { ...issuer, revokedAtMs, usage: issuer.usage.filter((one) => one !== 'issuing-certificates') };
}

/** An imported issuer, revoked if it was revoked before. */
export async function asRevokedBefore(tx: Storage, issuer: Issuer): Promise<Issuer> {
  const noted = await tx.read(revokedKey(issuer), parseMoment);
  return noted ? revokedIssuer(tx, issuer, noted.revokedAtMs) : issuer;
}

/** Adds an issuer. It becomes the default if there is no default, or if the default follows the latest issuer. */
export function withIssuer(ca: Ca, issuer: Issuer): Ca {
  const id = issuer.issuer_id;
  const isDefault = issuer.key_id !== '' && (ca.default_issuer === '' || ca.default_follows_latest_issuer);
  return { ...ca, issuers: { ...ca.issuers, [id]: issuer }, default_issuer: isDefault ? id : ca.default_issuer };
}

const nameRule = /^\w([\w.-]*\w)?$/;

/** Checks the name of an issuer or key. Throws `invalid` for reserved names. */
export function checkedName(name: string, what: 'issuer' | 'key'): string {
  const trimmed = name.trim();
  if (trimmed.toLowerCase() === 'default') refuse(`reserved keyword 'default' can not be used as ${what} name`);
  if (trimmed !== '' && !nameRule.test(trimmed)) refuse(`${what} name contained invalid characters`);
  return trimmed;
}

/** Finds an issuer by id or name, or the default one. */
export function issuerRef(ca: Ca, ref: string): Issuer | undefined {
  if (ref === 'default') return ca.issuers[ca.default_issuer];
  return Object.hasOwn(ca.issuers, ref)
    ? ca.issuers[ref]
    : Object.values(ca.issuers).find(({ issuer_name }) => ref !== '' && issuer_name === ref);
}

/** Like issuerRef, but throws `invalid` if the issuer does not exist. */
export function requireIssuer(ca: Ca, ref: string): Issuer {
  return issuerRef(ca, ref) ?? refuse(noIssuer(ref));
}

/** The message for an unknown issuer. */
export const noIssuer = (ref: string): string =>
  ref === 'default' ? 'no default issuer currently configured' : `unable to find PKI issuer for reference: ${ref}`;

/** Finds a key by id or name, or the default one. */
export function keyRef(ca: Ca, ref: string): CaKey | undefined {
  if (ref === 'default') return ca.keys[ca.default_key];
  return Object.hasOwn(ca.keys, ref)
    ? ca.keys[ref]
    : Object.values(ca.keys).find(({ key_name }) => ref !== '' && key_name === ref);
}

/** Like keyRef, but throws `invalid` if the key does not exist. */
export function requireKey(ca: Ca, ref: string): CaKey {
  const found = keyRef(ca, ref);
  if (found) return found;
  refuse(ref === 'default' ? 'no default key currently configured' : `unable to find PKI key for reference: ${ref}`);
}

const certificates = new WeakMap<Issuer, ReadCertificate>();

/** The parsed certificate of an issuer, cached. */
export function certificateOf(issuer: Issuer): ReadCertificate {
  let read = certificates.get(issuer);
  if (!read) {
    read = readCertificate(Buffer.from(issuer.certificate, 'base64'));
    certificates.set(issuer, read);
  }
  return read;
}

const pems = new WeakMap<Issuer, string>();

/** The certificate of an issuer as PEM, cached. */
export function issuerPem(issuer: Issuer): string {
  const pem = pems.get(issuer) ?? certificatePem(certificateOf(issuer).der);
  pems.set(issuer, pem);
  return pem;
}

const publicKeyOf = (issuer: Issuer): string => publicDer(certificateOf(issuer).publicKey).toString('base64');

/** The private key with this id. Throws `invalid` if there is none. */
export const privateKey = async (storage: Storage, id: string): Promise<KeyObject> =>
  (await findKept(storage, `key/${id}`)) ?? refuse(`unable to find PKI key for reference: ${id}`);
