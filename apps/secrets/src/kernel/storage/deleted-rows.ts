import type { Database } from './database';
import { prefixEnd } from './entries';
import * as sql from './statements';
import type { EntryKey, PrefixDelete } from './types';

/** The number of deleted rows from which a listing becomes slow. Fewer rows are not visited. */
const WORTH_A_LOOK = 200;
const AT_ONCE = 1000;
/**
 * The maximum number of waiting rows. If rows are deleted faster than they can be visited, the rest is left to listings
 * and to VACUUM.
 */
const MOST = 100_000;

/** Deleted keys and folders. */
interface Deleted {
  readonly keys: EntryKey[];
  readonly prefixes: PrefixDelete[];
}

const nothing = (): Deleted => ({ keys: [], prefixes: [] });

/**
 * Visits deleted rows once. In PostgreSQL an index entry of a deleted row stays until a query follows it and finds
 * nothing. The first listing of a folder would do this for all its deleted rows, so it is done here, in the background.
 * A visit helps only when no transaction can still see the row, so rows are visited one round after their deletion.
 */
export class DeletedRows {
  private looking = nothing();
  private settling = nothing();
  private fresh = nothing();

  constructor(private readonly database: Database) {}

  /** The number of keys and folders that must still be visited. */
  get waiting(): number {
    return [this.looking, this.settling, this.fresh].reduce(
      (sum, { keys, prefixes }) => sum + keys.length + prefixes.length,
      0,
    );
  }

  /** Records committed deletions. */
  note(keys: Iterable<EntryKey>, prefixes: readonly PrefixDelete[] = []): void {
    if (this.waiting >= MOST) return;
    for (const { mountId, path } of keys) this.fresh.keys.push({ mountId, path });
    this.fresh.prefixes.push(...prefixes);
  }

  /** Visits rows that were deleted before the last call. */
  async look(): Promise<void> {
    const { fresh } = this;
    const enough = fresh.keys.length >= WORTH_A_LOOK || fresh.prefixes.length > 0;
    this.looking = this.settling;
    this.settling = enough ? fresh : nothing();
    if (enough) this.fresh = nothing();
    try {
      await this.lookAt(this.looking);
    } finally {
      this.looking = nothing();
    }
  }

  private async lookAt({ keys, prefixes }: Deleted): Promise<void> {
    if (keys.length + prefixes.length === 0) return;
    await this.database.transaction(async (tx) => {
      // With another plan, the query would not visit the index entries one by one.
      await tx.query(sql.ONLY_INDEX_SCANS);
      for (let at = 0; at < keys.length; at += AT_ONCE) {
        const some = keys.slice(at, at + AT_ONCE);
        await tx.query(sql.LOOK_AT_ENTRIES, [some.map((one) => one.mountId), some.map((one) => one.path)]);
      }
      for (const { mountId, prefix } of prefixes) {
        await tx.query(sql.LOOK_AT_PREFIX, [mountId, prefix, prefixEnd(prefix)]);
      }
    });
  }
}
