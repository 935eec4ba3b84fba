import { hash } from 'node:crypto';
import { isLost } from '../storage/committer';
import type { StorageKernel } from '../storage/storage';
import type { AuditedRequest } from './audit';

interface ReadTrailDeps {
  readonly storage: Pick<StorageKernel, 'database' | 'clock' | 'background' | 'standbyLag'>;
  /** The audit line of a prepared request. */
  readonly line: (request: AuditedRequest) => string;
  /** This node records reads. */
  readonly recording: boolean;
  /** How long reads are kept. */
  readonly days: number;
}

/** The reads of an hour by one token, from one address, of one path. */
interface NotedReads {
  readonly id: Buffer;
  readonly hour: number;
  readonly firstMs: number;
  lastMs: number;
  times: number;
  readonly namespace: string;
  readonly path: string;
  readonly entityId: string;
  /** The audit line of the first read. */
  readonly entry: string;
}

/** A search for reads; omitted criteria match any. */
export interface ReadQuery {
  /** The path inside its namespace. With a final slash, it matches everything below the path. */
  readonly path?: string;
  /** The namespace's path, with a final slash; empty for the root namespace. */
  readonly namespace?: string;
  readonly entityId?: string;
  /** Epoch milliseconds, both inclusive. */
  readonly sinceMs?: number;
  readonly untilMs?: number;
  readonly limit: number;
  /** Where to continue. */
  readonly after?: ReadPlace;
}

/** The position of the last row that was returned. */
export interface ReadPlace {
  readonly firstMs: number;
  /** Hex. */
  readonly id: string;
}

/** Reads as recorded. */
export interface FoundReads extends ReadPlace {
  readonly lastMs: number;
  readonly times: number;
  readonly namespace: string;
  readonly path: string;
  readonly entry: Readonly<Record<string, unknown>>;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const writeMs = 1000;
const hasMany = 1000;
/**
 * Above this number of waiting reads, or above `mostWaitingLength` characters of their audit lines, further reads are
 * counted but not recorded.
 */
const mostWaiting = 20_000;
const mostWaitingLength = 32 * 1024 * 1024;
const rowsAtOnce = 500;
const deletedAtOnce = 5000;
/** Longer paths are truncated, because the rows of an index have a limited length. */
const longestPath = 500;

/**
 * Who read which secret, in a table. Reads are noted in memory and written together about once a second, so they do not
 * wait for the database. If the process dies, the reads of the last second are lost. The audit devices have every read.
 */
export class ReadTrail {
  /** Reads that this node did not record, because too many were waiting. */
  dropped = 0;
  private waiting = new Map<string, NotedReads>();
  /** The length of their audit lines. */
  private waitingLength = 0;
  private lastWrite: Promise<unknown> = Promise.resolve();

  constructor(private readonly parts: ReadTrailDeps) {
    const { storage, recording } = parts;
    if (storage.standbyLag) return;
    storage.background.every('audit-reads-old', hourMs, () => this.forgetOld());
    if (!recording) return;
    storage.background.every('audit-reads', writeMs, async () => {
      await this.write();
      return undefined;
    });
  }

  get recording(): boolean {
    return this.parts.recording;
  }

  get days(): number {
    return this.parts.days;
  }

  /** Notes a successful read, whose audit line is prepared. */
  note(request: AuditedRequest): void {
    const { caller, namespace, path, address, fields, declared } = request;
    // Batch tokens have no accessor.
    const token = caller?.accessor || caller?.token;
    if (!this.recording || !caller || !token) return;
    const { background, clock } = this.parts.storage;
    const nowMs = clock.now();
    const hour = Math.floor(nowMs / hourMs);
    // Unknown fields are ignored, because they would only create more rows.
    let version = '';
    for (const name in fields) if (declared?.has(name)) version += `\n${name}=${fields[name]}`;
    // The strings of many distinct reads would take much memory, and one of the strings may be a token.
    const key = hash('sha256', `${hour}\n${namespace.id}\n${path}\n${token}\n${address}${version}`, 'hex');
    const existing = this.waiting.get(key);
    if (existing) {
      existing.times++;
      existing.lastMs = nowMs;
      return;
    }
    if (this.isFull) {
      this.dropped++;
      return;
    }
    const entry = this.parts.line(request);
    this.waitingLength += entry.length;
    this.waiting.set(key, {
      id: Buffer.from(key, 'hex'),
      hour,
      firstMs: nowMs,
      lastMs: nowMs,
      times: 1,
      namespace: namespace.path,
      path: path.slice(0, longestPath),
      entityId: caller.entityId,
      entry,
    });
    if (this.waiting.size === hasMany) background.wake('audit-reads');
  }

  /** Writes the waiting reads, after a write in progress. Also called before the process ends. */
  write(): Promise<void> {
    const write = this.lastWrite.then(() => this.writeWaiting());
    this.lastWrite = write.catch(() => undefined);
    return write;
  }

  private async writeWaiting(): Promise<void> {
    const noted = this.waiting;
    if (noted.size === 0) return;
    this.waiting = new Map();
    this.waitingLength = 0;
    // Written in a fixed order, so that nodes cannot deadlock on each other's rows.
    const remaining = [...noted].sort(([, a], [, b]) => a.id.compare(b.id));
    try {
      while (remaining.length > 0) {
        await this.insert(remaining.slice(0, rowsAtOnce).map(([, reads]) => reads));
        remaining.splice(0, rowsAtOnce);
      }
    } catch (error) {
      if (isLost(error)) this.putBack(remaining);
      else this.dropped += remaining.reduce((sum, [, { times }]) => sum + times, 0);
      throw error;
    }
  }

  /** Finds rows, newest first. */
  async search(query: ReadQuery): Promise<FoundReads[]> {
    const values: unknown[] = [];
    const where: string[] = [];
    const add = (condition: (place: string) => string, value: unknown) => {
      values.push(value);
      where.push(condition(`$${values.length}`));
    };
    const { path, namespace, entityId, sinceMs, untilMs, after, limit } = query;
    if (path?.endsWith('/')) add((placeholder) => `path LIKE ${placeholder}`, `${path.replace(/[\\%_]/g, '\\$&')}%`);
    else if (path !== undefined) add((placeholder) => `path = ${placeholder}`, path.slice(0, longestPath));
    if (namespace !== undefined) add((placeholder) => `namespace = ${placeholder}`, namespace);
    if (entityId !== undefined) add((placeholder) => `entity_id = ${placeholder}`, entityId);
    // A row covers at most one hour, so rows that begin earlier than this end before `sinceMs`.
    if (sinceMs !== undefined) {
      add((placeholder) => `first_ms > ${placeholder}::bigint`, sinceMs - hourMs);
      add((placeholder) => `last_ms >= ${placeholder}::bigint`, sinceMs);
    }
    if (untilMs !== undefined) add((placeholder) => `first_ms <= ${placeholder}::bigint`, untilMs);
    if (after !== undefined) {
      values.push(after.firstMs, Buffer.from(after.id, 'hex'));
      where.push(`(first_ms, id) < ($${values.length - 1}::bigint, $${values.length})`);
    }
    values.push(limit);
    const { rows } = await this.parts.storage.database.query<FoundRow>(
      `SELECT id, first_ms, last_ms, times, namespace, path, entry FROM audit_read
        ${where.length > 0 ? `WHERE ${where.join(' AND ')}` : ''}
        ORDER BY first_ms DESC, id DESC LIMIT $${values.length}`,
      values,
    );
    return rows.map((row) => ({
      id: row.id.toString('hex'),
      firstMs: Number(row.first_ms),
      lastMs: Number(row.last_ms),
      times: Number(row.times),
      namespace: row.namespace,
      path: row.path,
      entry: JSON.parse(row.entry) as Record<string, unknown>,
    }));
  }

  private async insert(reads: readonly NotedReads[]): Promise<void> {
    await this.parts.storage.database.query(INSERT, [
      reads.map(({ id }) => id),
      reads.map(({ hour }) => hour),
      reads.map(({ firstMs }) => firstMs),
      reads.map(({ lastMs }) => lastMs),
      reads.map(({ times }) => times),
      reads.map(({ namespace }) => namespace),
      reads.map(({ path }) => path),
      reads.map(({ entityId }) => entityId),
      reads.map(({ entry }) => entry),
    ]);
  }

  /** Reads that could not be written wait for the next attempt. */
  private putBack(remaining: readonly (readonly [string, NotedReads])[]): void {
    for (const [key, reads] of remaining) {
      const newer = this.waiting.get(key);
      if (newer) this.waiting.set(key, { ...reads, times: reads.times + newer.times, lastMs: newer.lastMs });
      else if (this.isFull) this.dropped += reads.times;
      else {
        this.waiting.set(key, reads);
        this.waitingLength += reads.entry.length;
      }
    }
  }

  private get isFull(): boolean {
    return this.waiting.size >= mostWaiting || this.waitingLength >= mostWaitingLength;
  }

  private async forgetOld(): Promise<boolean> {
    const { clock, database } = this.parts.storage;
    const { rowCount } = await database.query(FORGET_OLD, [clock.now() - this.parts.days * dayMs, deletedAtOnce]);
    return rowCount === deletedAtOnce;
  }
}

interface FoundRow {
  id: Buffer;
  first_ms: string;
  last_ms: string;
  times: string;
  namespace: string;
  path: string;
  entry: string;
}

const INSERT = `INSERT INTO audit_read AS r (id, hour, first_ms, last_ms, times, namespace, path, entity_id, entry)
  SELECT * FROM unnest($1::bytea[], $2::int[], $3::bigint[], $4::bigint[], $5::bigint[], $6::text[], $7::text[], $8::text[], $9::text[])
  ON CONFLICT (id, hour) DO UPDATE
    SET times = r.times + excluded.times, last_ms = greatest(r.last_ms, excluded.last_ms)`;

const FORGET_OLD = `DELETE FROM audit_read WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM audit_read WHERE first_ms < $1 ORDER BY first_ms LIMIT $2))`;
