import { prefixEnd } from './entry-rows';
import * as sql from './statements';
import type { ListPage, Tx } from './types';

/** The folder to list. */
interface Folder {
  readonly mountId: string;
  readonly prefix: string;
  readonly nowMs: number;
}

/** Rows read at a time, the first time and from then on. */
const FIRST_ROWS = 1000;
const ROWS = 5000;
/** Folders read at a time, if folders hold so much that reading their rows is wasteful. */
const SKIPPED = 100;
/** Reading rows is worthwhile if they yield one new name in this many. */
const WORTH = 8;

/**
 * Names directly under a folder, sorted bytewise: entries, and folders with a slash, each once.
 *
 * Reading rows in order costs a millisecond per thousand, and jumping from folder to folder twenty times that for each
 * name, however much lies in between. So rows are read as long as they yield names; otherwise folders are skipped.
 */
export async function listNames(database: Tx, folder: Folder, page: ListPage = {}): Promise<string[]> {
  const { mountId, prefix, nowMs } = folder;
  const limit = page.limit ?? Number.POSITIVE_INFINITY;
  const names: string[] = [];
  let start = page.after === undefined ? '' : behind(page.after);
  let rowsAtOnce = FIRST_ROWS;
  const values = (count: number) => [mountId, prefix, prefixEnd(prefix), prefix + start, count, nowMs];
  while (names.length < limit) {
    const pageSize = Math.min(limit - names.length, rowsAtOnce);
    const { rows } = await database.query<{ rest: string }>(sql.LIST_RANGE, values(pageSize));
    const before = names.length;
    for (const { rest } of rows) {
      const slash = rest.indexOf('/');
      const name = slash < 0 ? rest : rest.slice(0, slash + 1);
      if (name !== names.at(-1)) names.push(name);
    }
    if (rows.length < pageSize) break;
    start = behind(names.at(-1)!);
    rowsAtOnce = ROWS;
    if ((names.length - before) * WORTH >= rows.length) continue;
    const count = Math.min(limit - names.length, SKIPPED);
    if (count <= 0) break;
    const skipped = await database.query<{ name: string }>(sql.LIST_ENTRIES, values(count));
    for (const { name } of skipped.rows) names.push(name);
    if (skipped.rows.length < count) break;
    start = behind(names.at(-1)!);
  }
  return names;
}

/** Where a listing continues after a name: after the content of a folder, or right after an entry. */
const behind = (name: string): string => (name.endsWith('/') ? `${name.slice(0, -1)}0` : `${name}\u0001`);
