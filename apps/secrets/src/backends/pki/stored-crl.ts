import { randomUUID } from 'node:crypto';
import type { LongBody } from '../../sdk/reply';
import type { Storage } from '../../sdk/storage';

/** A complete CRL or a delta CRL. */
export type CrlKind = 'complete' | 'delta';

/** A CRL as stored: with its DER, or in parts below `folder`. */
type StoredCrl = { readonly der: string } | { readonly folder: string; readonly parts: number; readonly bytes: number };

/**
 * The size of a part: whole PEM lines and whole base64 groups. Parts are not cached, because they would evict all other
 * entries from the cache.
 */
const partBytes = 48 * 16_384;

const key = (authority: string, kind: CrlKind) => `crl-list/${authority}/${kind}`;

/** Parses a stored CRL. Earlier versions stored only the DER, without parts. */
function parse(text: string): StoredCrl {
  const stored = JSON.parse(text) as StoredCrl | string;
  return typeof stored === 'string' ? { der: stored } : stored;
}

/** A CRL in DER; undefined if there is none yet. */
export async function findCrl(storage: Storage, authority: string, kind: CrlKind): Promise<LongBody | undefined> {
  const stored = await storage.read(key(authority, kind), parse);
  if (stored === undefined) return undefined;
  if ('der' in stored) {
    const der = Buffer.from(stored.der, 'base64');
    return {
      bytes: der.length,
      async *parts() {
        yield der;
      },
    };
  }
  return {
    bytes: stored.bytes,
    async *parts() {
      for (let n = 0; n < stored.parts; n++) {
        const part = await storage.get(`${stored.folder}${n}`);
        if (part === undefined) throw new Error(`part ${n} of a CRL is missing`);
        yield Buffer.from(part, 'base64');
      }
    },
  };
}

/**
 * Stores a CRL within `tx`. The parts of a long CRL are stored before and outside `tx`. The commit of `tx` makes it the
 * CRL of its CA. Returns the folder of the CRL that it replaces, if it has one.
 */
export async function putCrl(
  storage: Storage,
  tx: Storage,
  of: { readonly authority: string; readonly kind: CrlKind; readonly number: number },
  der: readonly Buffer[],
): Promise<string | undefined> {
  const { authority, kind, number } = of;
  const before = await tx.read(key(authority, kind), parse);
  const replaced = before && 'folder' in before ? before.folder : undefined;
  const bytes = der.reduce((sum, part) => sum + part.length, 0);
  if (bytes <= partBytes) {
    tx.put(key(authority, kind), JSON.stringify({ der: Buffer.concat(der).toString('base64') } satisfies StoredCrl));
    return replaced;
  }
  // The CRL number is not unique: several nodes may build the same CRL, but only one is stored.
  const folder = `crl-part/${authority}/${kind}/${number} ${randomUUID()}/`;
  let parts = 0;
  for (const part of evenParts(der)) {
    const name = `${folder}${parts++}`;
    await storage.transaction(name, async (own) => own.put(name, part.toString('base64')));
  }
  tx.put(key(authority, kind), JSON.stringify({ folder, parts, bytes } satisfies StoredCrl));
  return replaced;
}

/** Deletes a CRL. */
export const deleteCrl = (tx: Storage, authority: string, kind: CrlKind): void => tx.delete(key(authority, kind));

/**
 * Deletes the parts of CRLs before this number, except the CRL that was just replaced, because it may still be read.
 */
export async function forgetOldParts(
  storage: Storage,
  authority: string,
  number: number,
  replaced: readonly (string | undefined)[],
): Promise<void> {
  const below = `crl-part/${authority}/`;
  for (const kind of await storage.list(below)) {
    for (const folder of await storage.list(below + kind)) {
      const prefix = below + kind + folder;
      if (Number.parseInt(folder, 10) >= number || replaced.includes(prefix)) continue;
      await storage.transaction(prefix, async (tx) => tx.deletePrefix(prefix));
    }
  }
}

/** The same bytes in parts of `partBytes`. */
function* evenParts(buffers: readonly Buffer[]): Generator<Buffer> {
  let parts: Buffer[] = [];
  let missing = partBytes;
  for (const buffer of buffers) {
    let rest = buffer;
    while (rest.length >= missing) {
      yield Buffer.concat([...parts, rest.subarray(0, missing)]);
      rest = rest.subarray(missing);
      [parts, missing] = [[], partBytes];
    }
    if (rest.length > 0) parts.push(rest);
    missing -= rest.length;
  }
  if (parts.length > 0) yield Buffer.concat(parts);
}
