import { badParameter } from './errors';
import type { Query } from './query';

/** One page of a list, counted from 1. */
export interface Page {
  number: number;
  size: number;
  offset: number;
  /** The item before the page, in the format of `cursorOf`; empty for the first page. If set, `number` is ignored. */
  after?: string;
}

/** The largest page; a request for more is cut to it. */
export const LARGEST_PAGE = 100;
const DEFAULT_SIZE = 20;
const LARGEST_NUMBER = 2_147_483;

function positive(query: Query, name: string): number | undefined {
  const text = query.entries.get(name);
  if (text === undefined) return undefined;
  const value = Number(text);
  if (!/^\d{1,15}$/.test(text) || value < 1) throw badParameter(name, `${name} must be a positive integer`);
  return value;
}

/**
 * The requested page. With `optional`, a request without both parameters requests the whole list (undefined). With
 * `cursors`, the request can name the item before the page instead of a page number. Spec: What the service does
 */
export function pageOf(query: Query, paging: 'always' | 'optional', cursors = false): Page | undefined {
  const number = positive(query, 'page[number]');
  const size = positive(query, 'page[size]');
  const after = cursors ? query.entries.get('page[after]')?.trim() : undefined;
  if (after !== undefined) {
    if (number !== undefined) throw badParameter('page[number]', 'page[number] cannot be combined with page[after]');
  } else if (number === undefined && size === undefined && paging === 'optional') return undefined;
  const page = { number: Math.min(number ?? 1, LARGEST_NUMBER), size: Math.min(size ?? DEFAULT_SIZE, LARGEST_PAGE) };
  return { ...page, offset: (page.number - 1) * page.size, ...(after !== undefined && { after }) };
}

/** `meta.pagination` of a page. */
export interface Pagination {
  'current-page': number;
  'page-size': number;
  'prev-page': number | null;
  'next-page': number | null;
  'total-pages': number;
  'total-count': number;
}

/** The numbers of a page out of `total`; an empty list has one page. */
export function pagination(page: Page, total: number): Pagination {
  const pages = Math.max(1, Math.ceil(total / page.size));
  return {
    'current-page': page.number,
    'page-size': page.size,
    'prev-page': page.number > 1 ? page.number - 1 : null,
    'next-page': page.number < pages ? page.number + 1 : null,
    'total-pages': pages,
    'total-count': total,
  };
}

/** Links of a paginated list; null for a page that does not exist. */
export interface PageLinks {
  self: string;
  first: string;
  prev: string | null;
  next: string | null;
  last: string;
}

/**
 * A position in a list, after an item. It includes the item's sort value, so it is found even if the item is deleted.
 */
export interface Cursor {
  readonly id: string;
  readonly key: string;
}

/** A position as the value of `page[after]`. */
export const cursorOf = ({ id, key }: Cursor): string => `${id}.${Buffer.from(key).toString('base64url')}`;

/**
 * The position in `page[after]`, which is a result of `cursorOf` or the id of an item; undefined for the start of the
 * list. `find` returns the sort value of an item. Throws `malformed` if the item does not exist.
 */
export async function cursorAt(
  after: string,
  find: (id: string) => Promise<string | undefined>,
): Promise<Cursor | undefined> {
  if (after === '') return undefined;
  const [id, sent] = after.split('.') as [string, string | undefined];
  const key = sent === undefined ? await find(id) : Buffer.from(sent, 'base64url').toString('utf8');
  if (key === undefined || key.includes('\0'))
    throw badParameter('page[after]', 'page[after] names no item of this list');
  return { id, key };
}

/** Links of a page that begins after an item; `next` is null if nothing follows. */
export function cursorLinks(url: string, query: Query, { size }: Page, next: Cursor | undefined) {
  const link = (after: string): string => {
    const all = new URLSearchParams([...query.entries]);
    all.set('page[after]', after);
    all.set('page[size]', String(size));
    return `${url}?${all}`;
  };
  return { self: link(query.entries.get('page[after]') ?? ''), next: next ? link(cursorOf(next)) : null };
}

/** Absolute links of a page: the request's other parameters are kept, brackets are percent-encoded. */
export function pageLinks(url: string, query: Query, page: Pagination): PageLinks {
  const others = new URLSearchParams();
  for (const [name, value] of query.entries) {
    if (name !== 'page[number]' && name !== 'page[size]') {
      others.append(name, value);
    }
  }
  const parameters = others.toString();
  const start = `${url}?${parameters === '' ? '' : `${parameters}&`}page%5Bnumber%5D=`;
  const end = `&page%5Bsize%5D=${page['page-size']}`;
  const link = (number: number): string => start + number + end;
  return {
    self: link(page['current-page']),
    first: link(1),
    prev: page['prev-page'] === null ? null : link(page['prev-page']),
    next: page['next-page'] === null ? null : link(page['next-page']),
    last: link(page['total-pages']),
  };
}
