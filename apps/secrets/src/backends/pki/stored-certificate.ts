import { type Ending, endKey, listEnding, readEndKey } from '../../sdk/ending';
import type { Page, Storage } from '../../sdk/storage';

/** A certificate that this mount issued or knows of. */
export interface StoredCertificate {
  /** DER in base64. */
  readonly der: string;
  /** Whose lists of revoked certificates it belongs to; empty if no issuer of the mount signed it. */
  readonly authority: string;
  readonly notAfterMs: number;
  readonly revokedAtMs?: number;
}

const prefix = 'cert/';
const ends = 'ends/';
const parse = JSON.parse as (text: string) => StoredCertificate;

/** The certificate of a serial number, if it is kept. */
export const findCertificate = (storage: Storage, serial: string): Promise<StoredCertificate | undefined> =>
  storage.read(prefix + serial, parse);

/** Keeps a certificate. Serial numbers are random: there is none of the same. */
export function keepCertificate(storage: Storage, serial: string, certificate: StoredCertificate): void {
  storage.put(prefix + serial, JSON.stringify(certificate));
  storage.put(ends + endKey(certificate.notAfterMs, serial), 'true');
}

/** The certificates of some serial numbers, of those that are kept. */
export async function findCertificates(
  storage: Storage,
  serials: readonly string[],
): Promise<ReadonlyMap<string, StoredCertificate>> {
  const found = await storage.getMany(serials.map((serial) => prefix + serial));
  return new Map([...found].map(([key, text]) => [key.slice(prefix.length), parse(text)]));
}

/** Decides about a certificate when it is its turn, and stores what `change` makes of it. */
export function changeCertificate<C extends StoredCertificate | undefined>(
  storage: Storage,
  serial: string,
  change: (kept: StoredCertificate | undefined, tx: Storage) => C,
): Promise<C> {
  return storage.transaction(prefix + serial, async (tx) => {
    const before = await findCertificate(tx, serial);
    const after = change(before, tx);
    if (after !== before) tx.put(prefix + serial, JSON.stringify(after));
    return after;
  });
}

/** Forgets a certificate. */
export function forgetCertificate(storage: Storage, serial: string, { notAfterMs }: StoredCertificate): void {
  storage.delete(prefix + serial);
  storage.delete(ends + endKey(notAfterMs, serial));
}

/** The serial numbers of the certificates that are kept. */
export const listCertificates = (storage: Storage, page?: Page): Promise<string[]> => storage.list(prefix, page);

/** Serial numbers of a page of certificates, in the order in which they end, and where the next page begins. */
export async function listByEnd(storage: Storage, page: Page) {
  const keys = await storage.list(ends, page);
  return keys.map((key) => {
    const { name, endsAtMs } = readEndKey(key);
    return { key, serial: name, endsAtMs };
  });
}

/** Certificates that expire in a range of time and are not revoked, earliest first. */
export const listExpiring = (storage: Storage, range: Ending) =>
  listEnding(
    range,
    (page) => storage.list(ends, page),
    async (serials) => {
      const kept = await findCertificates(storage, serials);
      return serials.flatMap((serial) => {
        const certificate = kept.get(serial);
        return certificate && certificate.revokedAtMs === undefined ? [[serial, certificate] as const] : [];
      });
    },
  );
