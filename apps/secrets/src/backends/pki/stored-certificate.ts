import { type Ending, endEntry, endFolder, listEnding, readEndKey } from '../../sdk/ending';
import type { Soon } from '../../sdk/soon';
import type { Page, Storage } from '../../sdk/storage';

/** A certificate that this mount issued or imported. */
export interface StoredCertificate {
  /** DER in base64. */
  readonly der: string;
  /** The CA whose CRLs list the certificate if it is revoked; empty if no issuer of the mount signed it. */
  readonly authority: string;
  readonly notAfterMs: number;
  readonly revokedAtMs?: number;
}

const prefix = 'cert/';
const parse = JSON.parse as (text: string) => StoredCertificate;

/** The stored certificate with this serial number. */
export const findCertificate = (storage: Storage, serial: string): Soon<StoredCertificate | undefined> =>
  storage.read(prefix + serial, parse);

/** Stores a certificate. Serial numbers are random and therefore unique. */
export function keepCertificate(storage: Storage, serial: string, certificate: StoredCertificate): void {
  storage.put(prefix + serial, JSON.stringify(certificate));
  storage.put(endEntry(certificate.notAfterMs, serial), 'true');
}

/** The stored certificates with these serial numbers. */
export async function findCertificates(
  storage: Storage,
  serials: readonly string[],
): Promise<ReadonlyMap<string, StoredCertificate>> {
  const found = await storage.getMany(serials.map((serial) => prefix + serial));
  return new Map([...found].map(([key, text]) => [key.slice(prefix.length), parse(text)]));
}

/** Changes a stored certificate, one change at a time. */
export function changeCertificate<C extends StoredCertificate | undefined>(
  storage: Storage,
  serial: string,
  change: (stored: StoredCertificate | undefined, tx: Storage) => C,
): Promise<C> {
  return storage.transaction(prefix + serial, async (tx) => {
    const before = await findCertificate(tx, serial);
    const after = change(before, tx);
    if (after !== before) tx.put(prefix + serial, JSON.stringify(after));
    return after;
  });
}

/** Deletes a certificate. */
export function forgetCertificate(storage: Storage, serial: string, { notAfterMs }: StoredCertificate): void {
  storage.delete(prefix + serial);
  storage.delete(endEntry(notAfterMs, serial));
}

/** Serial numbers of the stored certificates. */
export const listCertificates = (storage: Storage, page?: Page): Promise<string[]> => storage.list(prefix, page);

/** A page of serial numbers in order of expiry, and the position at which the next page begins. */
export async function listByEnd(storage: Storage, page: Page) {
  const keys = await storage.list(endFolder, page);
  return keys.map((key) => {
    const { name, endsAtMs } = readEndKey(key);
    return { key, serial: name, endsAtMs };
  });
}

/** Unrevoked certificates that expire in a time range, earliest first. */
export const listExpiring = (storage: Storage, range: Ending) =>
  listEnding(
    range,
    (page) => storage.list(endFolder, page),
    async (serials) => {
      const certificates = await findCertificates(storage, serials);
      return serials.flatMap((serial) => {
        const certificate = certificates.get(serial);
        return certificate && certificate.revokedAtMs === undefined ? [[serial, certificate] as const] : [];
      });
    },
  );
