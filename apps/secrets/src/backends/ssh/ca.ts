import { type KeyObject, randomUUID } from 'node:crypto';
import { findKept, keepKey } from '../../sdk/private-key';
import { refuse } from '../../sdk/refuse';
import type { Storage } from '../../sdk/storage';
import { publicLine } from './public-key';

/** A CA key; fields have the names of the API. */
export interface SshIssuer {
  readonly issuer_id: string;
  readonly issuer_name: string;
  /** In `authorized_keys` format. */
  readonly public_key: string;
}

/** The issuers of a mount, without private keys. They are one entry, so that names and the default change together. */
export interface SshCa {
  readonly issuers: Readonly<Record<string, SshIssuer>>;
  readonly default_issuer: string;
}

const entry = 'ca';
const noCa: SshCa = { issuers: {}, default_issuer: '' };
const parse = JSON.parse as (text: string) => SshCa;
const mostIssuers = 500;
const keyEntry = (id: string): string => `key/${id}`;

/** The issuers of the mount. */
export const findCa = async (storage: Storage): Promise<SshCa> => (await storage.read(entry, parse)) ?? noCa;

/** Changes the issuers, one change at a time; `change` may run more than once. */
export function changeCa(storage: Storage, change: (ca: SshCa, tx: Storage) => SshCa): Promise<SshCa> {
  return storage.transaction(entry, async (tx) => {
    const before = await findCa(tx);
    const after = change(before, tx);
    if (after !== before) tx.put(entry, JSON.stringify(after));
    return after;
  });
}

/** Normalizes a reference; `default` is recognized in any case. */
export const folded = (ref: string): string => (ref.trim().toLowerCase() === 'default' ? 'default' : ref.trim());

/** Finds an issuer by id or name, or the default one. */
export function issuerRef({ issuers, default_issuer }: SshCa, ref: string): SshIssuer | undefined {
  if (ref === 'default') return issuers[default_issuer];
  if (Object.hasOwn(issuers, ref)) return issuers[ref];
  return Object.values(issuers).find(({ issuer_name }) => ref !== '' && issuer_name === ref);
}

/** Like issuerRef, but throws `invalid` if the issuer does not exist. */
export const requireIssuer = (ca: SshCa, ref: string): SshIssuer =>
  issuerRef(ca, ref) ??
  refuse(ref === 'default' ? 'no default issuer currently configured' : `unable to find issuer for reference: ${ref}`);

/** The private key of an issuer. */
export const signingKey = async (storage: Storage, id: string): Promise<KeyObject> =>
  (await findKept(storage, keyEntry(id))) ?? refuse(`ssh issuer id '${id}' does not exist`);

/**
 * Adds an issuer. It becomes the default if requested or if it is the first. If the key already exists, nothing is
 * changed and `existed` is true.
 */
export async function addIssuer(
  storage: Storage,
  key: KeyObject,
  issuer_name: string,
  isDefault: boolean,
): Promise<{ readonly issuer: SshIssuer; readonly existed: boolean }> {
  const newIssuer: SshIssuer = { issuer_id: randomUUID(), issuer_name, public_key: publicLine(key) };
  const { issuers } = await changeCa(storage, (ca, tx) => {
    if (issuer_name !== '' && issuerRef(ca, issuer_name)) refuse('issuer name already in use');
    if (withKey(ca, newIssuer.public_key)) return ca;
    const all = { ...ca.issuers, [newIssuer.issuer_id]: newIssuer };
    if (Object.keys(all).length > mostIssuers) refuse(`a mount has at most ${mostIssuers} issuers`);
    keepKey(tx, keyEntry(newIssuer.issuer_id), key);
    const first = Object.keys(ca.issuers).length === 0;
    return { issuers: all, default_issuer: isDefault || first ? newIssuer.issuer_id : ca.default_issuer };
  });
  const issuer = issuers[newIssuer.issuer_id];
  return issuer
    ? { issuer, existed: false }
    : { issuer: withKey({ issuers, default_issuer: '' }, newIssuer.public_key)!, existed: true };
}

const withKey = ({ issuers }: SshCa, line: string): SshIssuer | undefined =>
  Object.values(issuers).find(({ public_key }) => public_key === line);

/** Removes an issuer and deletes its key. */
export function withoutIssuer(ca: SshCa, tx: Storage, id: string): SshCa {
  const { [id]: _gone, ...issuers } = ca.issuers;
  tx.delete(keyEntry(id));
  return { issuers, default_issuer: ca.default_issuer === id ? '' : ca.default_issuer };
}

const nameRule = /^\w([\w.-]*\w)?$/;

/** Checks the name of an issuer. Throws `invalid` for reserved names. */
export function checkedName(name: string): string {
  const trimmed = name.trim();
  if (trimmed === '') refuse('expected non-empty issuer name');
  if (trimmed.toLowerCase() === 'default') refuse("reserved keyword 'default' can not be used as issuer name");
  if (!nameRule.test(trimmed)) refuse('issuer name contained invalid characters');
  return trimmed;
}
