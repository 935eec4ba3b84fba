import type { Readable } from 'node:stream';
import type { Keyring } from '@keystead/keyring';
import { LRUCache } from 'lru-cache';
import type { Database } from '../database/database';
import { readBlobAtOnce } from './blobs';

/** The maximum number of bytes of all kept blobs together, and of a single kept blob. */
const mostBytes = 32 * 1024 * 1024;
const largestBytes = 2 * 1024 * 1024;
/** How long a blob is kept after its last read. */
const keptMs = 10 * 60_000;

/**
 * Caches small blobs that are downloaded often, decrypted and decompressed. A blob never changes, so the cache is never
 * stale. For each request, the rows that refer to a blob determine who may read it and whether it is still in use.
 */
export class KeptBlobs {
  private readonly cache = new LRUCache<string, Buffer>({
    maxSize: mostBytes,
    sizeCalculation: (bytes, id) => bytes.length + id.length,
    ttl: keptMs,
    ttlAutopurge: true,
    updateAgeOnGet: true,
  });
  /** Reads in progress. Simultaneous readers of a blob that is not cached share one read. */
  private readonly underWay = new Map<string, Promise<Buffer | undefined>>();

  constructor(
    private readonly db: Database,
    private readonly keyring: Keyring,
  ) {}

  /** The bytes of a blob, as a stream if it is large; undefined if the blob does not exist. */
  async read(id: string): Promise<Readable | Buffer | undefined> {
    const found = this.cache.get(id) ?? (await this.underWay.get(id));
    if (found !== undefined) return found;
    const reading = readBlobAtOnce(this.db, this.keyring, id, largestBytes);
    const whole = reading.then((bytes) => (Buffer.isBuffer(bytes) ? bytes : undefined));
    this.underWay.set(id, whole);
    try {
      const bytes = await whole;
      if (bytes !== undefined) this.cache.set(id, bytes);
    } finally {
      this.underWay.delete(id);
    }
    return reading;
  }
}
