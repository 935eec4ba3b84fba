import type { Storage } from '../../sdk/storage';
import type { Revoked } from './crl';

// What is revoked is in the names of entries, so that a list of many is made without reading each of them.
const all = 'revoked/';
const added = (authority: string) => `added/${authority}/`;

const nameOf = ({ serial, seconds }: Revoked): string => `${serial} ${seconds}`;

function readName(name: string): Revoked & { readonly authority: string } {
  const [serial = '', seconds = '', authority = ''] = name.split(' ');
  return { serial, seconds: Number(seconds), authority };
}

/** Notes that a certificate of an authority is revoked, and that its lists do not say so yet. */
export function noteRevoked(storage: Storage, authority: string, revoked: Revoked): void {
  storage.put(`${all}${nameOf(revoked)} ${authority}`, 'true');
  storage.put(added(authority) + nameOf(revoked), 'true');
}

/** Forgets it again, because nothing has to say so any more. */
export function forgetRevoked(storage: Storage, authority: string, revoked: Revoked): void {
  storage.delete(`${all}${nameOf(revoked)} ${authority}`);
  storage.delete(added(authority) + nameOf(revoked));
}

/** True until a complete list says it. */
export const isUnlisted = async (storage: Storage, authority: string, revoked: Revoked): Promise<boolean> =>
  (await storage.get(added(authority) + nameOf(revoked))) !== undefined;

/** What was revoked of an authority since its last complete list. */
export const listAdded = async (storage: Storage, authority: string): Promise<Revoked[]> =>
  (await storage.list(added(authority))).map(readName);

/** Whether anything was. */
export const hasAdded = async (storage: Storage, authority: string): Promise<boolean> =>
  (await storage.list(added(authority), { limit: 1 })).length > 0;

/** Notes that a complete list says all of this. */
export function noteListed(storage: Storage, authority: string, listed: readonly Revoked[]): void {
  for (const one of listed) storage.delete(added(authority) + nameOf(one));
}

const pageSize = 5000;

/** Everything that is revoked of an authority. */
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

/** Serial numbers of a page of what is revoked. */
export async function listRevokedSerials(
  storage: Storage,
  { after, limit }: { readonly after?: string; readonly limit?: number },
): Promise<string[]> {
  // Behind all names that begin with this serial number.
  const names = await storage.list(all, { after: after && `${after} ~`, limit });
  return names.map((name) => readName(name).serial);
}
