import type { Database } from '../storage/database';

/** A search for lines; omitted criteria match every line. */
export interface ChainQuery {
  /** Epoch milliseconds, both inclusive. */
  readonly sinceMs?: number;
  readonly untilMs?: number;
  /** Matches paths that begin with this string, inside their namespace. */
  readonly path?: string;
  /** The keyed hash of the accessor, as in the lines. */
  readonly accessor?: string;
  readonly requestId?: string;
  readonly operation?: string;
  readonly entityId?: string;
  readonly limit: number;
  /** Where to continue: the position of the last line that was returned or examined. */
  readonly after?: ChainPlace;
}

/** The position of a line: `line` counts the lines of a row from 0. */
export interface ChainPlace {
  readonly atMs: number;
  readonly chain: string;
  readonly sequence: number;
  readonly line: number;
}

/** A line of the table. */
export interface ChainLine extends ChainPlace {
  readonly entry: Readonly<Record<string, unknown>>;
}

/** Lines, newest first. */
export interface ChainPage {
  readonly lines: readonly ChainLine[];
  /** Absent if everything was searched. */
  readonly next?: ChainPlace;
}

interface ChainRow {
  chain: string;
  sequence: string;
  at_ms: string;
  /** Null if no line of the row can match. */
  entries: string | null;
}

interface Line {
  readonly request?: { readonly id?: string; readonly path?: string; readonly operation?: string };
  readonly auth?: { readonly accessor?: string; readonly entity_id?: string };
}

const rowsAtOnce = 500;
/**
 * The time after which a search returns with the lines that it has found. A table of several years is searched in
 * parts.
 */
const searchMs = 2_000;

/** Finds lines of the chained audit table, newest first. `searchMs`: how long one search may take. */
export async function searchChain(database: Database, query: ChainQuery, patienceMs = searchMs): Promise<ChainPage> {
  const untilMs = performance.now() + patienceMs;
  const lines: ChainLine[] = [];
  let after = query.after;
  for (;;) {
    const rows = await rowsBehind(database, query, after);
    for (const row of rows) {
      const place = { atMs: Number(row.at_ms), chain: row.chain, sequence: Number(row.sequence) };
      const all = row.entries === null ? [] : row.entries.split('\n');
      const isLast = after && after.chain === place.chain && after.sequence === place.sequence;
      const begin = isLast ? Math.min(after!.line, all.length) : all.length;
      for (let line = begin - 1; line >= 0; line--) {
        const entry = JSON.parse(all[line]!) as Line & Record<string, unknown>;
        if (!isMeant(entry, query)) continue;
        lines.push({ ...place, line, entry });
        if (lines.length === query.limit) return { lines, next: { ...place, line } };
      }
      after = { ...place, line: 0 };
    }
    if (rows.length < rowsAtOnce) return { lines };
    if (performance.now() >= untilMs) return { lines, next: after };
  }
}

async function rowsBehind(database: Database, query: ChainQuery, after: ChainPlace | undefined): Promise<ChainRow[]> {
  const { rows } = await database.query<ChainRow>(SEARCH, [
    query.sinceMs ?? 0,
    Math.min(query.untilMs ?? Number.MAX_SAFE_INTEGER, after?.atMs ?? Number.MAX_SAFE_INTEGER),
    after?.atMs ?? null,
    after?.chain ?? null,
    after?.sequence ?? null,
    after ? after.line > 0 : false,
    needlesOf(query),
    rowsAtOnce,
  ]);
  return rows;
}

/** Strings that a row must contain if one of its lines matches. The lines of such rows are then checked themselves. */
function needlesOf({ path, accessor, requestId, operation, entityId }: ChainQuery): string[] {
  const begin = (name: string, text: string) => `"${name}":${JSON.stringify(text).slice(0, -1)}`;
  return [
    ...(path ? [begin('path', path)] : []),
    ...(accessor ? [begin('accessor', accessor)] : []),
    ...(requestId ? [begin('id', requestId)] : []),
    ...(operation ? [begin('operation', operation)] : []),
    ...(entityId ? [begin('entity_id', entityId)] : []),
  ];
}

function isMeant({ request, auth }: Line, query: ChainQuery): boolean {
  return (
    (query.path === undefined || request?.path?.startsWith(query.path) === true) &&
    (query.accessor === undefined || auth?.accessor === query.accessor) &&
    (query.requestId === undefined || request?.id === query.requestId) &&
    (query.operation === undefined || request?.operation === query.operation) &&
    (query.entityId === undefined || auth?.entity_id === query.entityId)
  );
}

/**
 * $1 and $2 start and end time; $3, $4, $5 the row to continue from, $6 whether some of its lines are left; $7 needles.
 */
const SEARCH = {
  name: 'audit-chain-search',
  text: `SELECT chain, sequence, at_ms,
       CASE WHEN NOT EXISTS (SELECT FROM unnest($7::text[]) AS n (needle) WHERE strpos(entries, n.needle) = 0)
            THEN entries END AS entries
  FROM audit_record
 WHERE at_ms >= $1::bigint AND at_ms <= $2::bigint
   AND ($3::bigint IS NULL OR (at_ms, chain, sequence) < ($3::bigint, $4::uuid, $5::bigint)
        OR ($6 AND at_ms = $3 AND chain = $4::uuid AND sequence = $5::bigint))
 ORDER BY at_ms DESC, chain DESC, sequence DESC LIMIT $8`,
};
