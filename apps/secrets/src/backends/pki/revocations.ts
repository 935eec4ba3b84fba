import type { Storage } from '../../sdk/storage';
import type { Revoked } from './crl';

// Revocations are encoded in entry names, so that building a long CRL reads no entries.
const all = 'revoked/';
const added = (authority: string) => `added/${authority}/`;

const nameOf = ({ serial, seconds }: Revoked): string => `${serial} ${seconds}`;

function readName(name: string): Revoked & { readonly authority: string } {
  const [serial = '', seconds = '', authority = ''] = name.split(' ');
  return { serial, seconds: Number(seconds), authority };
}

/** Records that a certificate of a CA is revoked and not yet in its CRLs. */
export function noteRevoked(storage: Storage, authority: string, revoked: Revoked): void {
  storage.put(`${all}${nameOf(revoked)} ${authority}`, 'true');
  storage.put(added(authority) + nameOf(revoked), 'true');
}

/** Deletes the record of an expired certificate. */
export function forgetRevoked(storage: Storage, authority: string, revoked: Revoked): void {
  storage.delete(`${all}${nameOf(revoked)} ${authority}`);
  storage.delete(added(authority) + nameOf(revoked));
}

/** True until a complete CRL includes it. */
export const isUnlisted = async (storage: Storage, authority: string, revoked: Revoked): Promise<boolean> =>
  (await storage.get(added(authority) + nameOf(revoked))) !== undefined;

/** Revocations of a CA since its last complete CRL. */
export const listAdded = async (storage: Storage, authority: string): Promise<Revoked[]> =>
  (await storage.list(added(authority))).map(readName);

/** Whether there are any. */
export const hasAdded = async (storage: Storage, authority: string): Promise<boolean> =>
  (await storage.list(added(authority), { limit: 1 })).length > 0;

/** Records that a complete CRL includes these. */
export function noteListed(storage: Storage, authority: string, listed: readonly Revoked[]): void {
  for (const one of listed) storage.delete(added(authority) + nameOf(one));
}

const pageSize = 5000;

/** All revocations of a CA. */
export async function listRevoked(storage: Storage, authority: string): Promise<Revoked[]> {
  const found: Revoked[] = [];
  let after: string | undefined;
  for (;;) {
    const names = await storage.list(all, { after, limit: pageSize });
    for (const name of names) {
      const one = readName(name);
      if (one.authority === authority) found.push(one);
    }
    after = names.at(-1);
    if (names.length < pageSize) return found;
  }
}

/** A page of revoked serial numbers. */
export async function listRevokedSerials(
  storage: Storage,
  { after, limit }: { readonly after?: string; readonly limit?: number },
): Promise<string[]> {
  // Behind all names that begin with this serial number.
  const names = await storage.list(all, { after: after && `${after} ~`, limit });
  return names.map((name) => readName(name).serial);
}
