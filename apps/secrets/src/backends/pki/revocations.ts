import { setImmediate } from 'node:timers/promises';
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

/** Whether a revocation is not yet in a complete CRL. */
export const isUnlisted = async (storage: Storage, authority: string, revoked: Revoked): Promise<boolean> =>
  (await storage.get(added(authority) + nameOf(revoked))) !== undefined;

/** Revocations of a CA since its last complete CRL, by their names. */
export const listAdded = (storage: Storage, authority: string): Promise<string[]> => storage.list(added(authority));

/** Whether there are revocations since the last complete CRL. */
export const hasAdded = async (storage: Storage, authority: string): Promise<boolean> =>
  (await storage.list(added(authority), { limit: 1 })).length > 0;

/** How many revocations are read, encoded or deleted before other requests run. */
const pageSize = 1000;

/** Records that a complete CRL includes the first page of these revocations. Returns the rest, for the next call. */
export function noteListed(storage: Storage, authority: string, listed: readonly string[]): readonly string[] {
  for (const name of listed.slice(0, pageSize)) storage.delete(added(authority) + name);
  return listed.slice(pageSize);
}

/** Reads long lists in pages and lets other requests run after each page. */
export async function* inPages<T>(items: readonly T[]): AsyncGenerator<T[]> {
  for (let at = 0; at < items.length; at += pageSize) {
    yield items.slice(at, at + pageSize);
    await setImmediate();
  }
}

/** The revocations of these names, in pages. */
export async function* readPages(names: readonly string[]): AsyncGenerator<Revoked[]> {
  for await (const page of inPages(names)) yield page.map(readName);
}

/** All revocations of a CA, in pages. */
export async function* listRevoked(storage: Storage, authority: string): AsyncGenerator<Revoked[]> {
  let after: string | undefined;
  for (;;) {
    const names = await storage.list(all, { after, limit: pageSize });
    yield names.map(readName).filter((one) => one.authority === authority);
    after = names.at(-1);
    if (names.length < pageSize) return;
  }
}

/** A page of revoked serial numbers. */
export async function listRevokedSerials(
  storage: Storage,
  { after, limit }: { readonly after?: string; readonly limit?: number },
): Promise<string[]> {
  // The `~` sorts after all names that begin with this serial number.
  const names = await storage.list(all, { after: after && `${after} ~`, limit });
  return names.map((name) => readName(name).serial);
}
