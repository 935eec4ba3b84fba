import { LRUCache } from 'lru-cache';

const LARGEST_BYTES = 64 * 1024 * 1024;
const OPEN = '{"data":';

/**
 * A cache of serialized resources. The key contains everything on which the text depends: type, id, revisions,
 * permissions of the caller. Each resource is stored as the bytes of a document that shows only this resource.
 *
 * Stale entries need not be removed: a change raises a revision, so the old text is never looked up again.
 */
export class Fragments {
  private readonly documents = new LRUCache<string, Buffer>({
    maxSize: LARGEST_BYTES,
    sizeCalculation: (bytes, key) => bytes.length + key.length,
  });

  private readonly pages = new WeakMap<object, number>();
  private pageCount = 0;

  get(key: string): Buffer | undefined {
    return this.documents.get(key);
  }

  /** Stores the text of a resource; returns its document. */
  set(key: string, text: string): Buffer {
    const document = Buffer.from(`${OPEN}${text}}`);
    this.store(key, document);
    return document;
  }

  store(key: string, document: Buffer): void {
    this.documents.set(key, document);
  }

  /**
   * The key of a list's document. `depends` is everything that the document depends on besides the items. Undefined at
   * the first call with an array of items, because most arrays are passed only once.
   */
  pageKey(items: object, depends: string): string | undefined {
    const page = this.pages.get(items);
    if (page === undefined) this.pages.set(items, this.pageCount++);
    return page === undefined ? undefined : `${page} ${depends}`;
  }
}

/** The resource in a document, as bytes of its text. */
export const resourceIn = (document: Buffer): Buffer => document.subarray(OPEN.length, -1);

const LIST = Buffer.from(`${OPEN}[`);
const COMMA = Buffer.from(',');

/** The bytes of a document that shows several resources. `rest` is the remaining text with its closing brackets. */
export function listDocument(documents: readonly Buffer[], rest: string): Buffer {
  const parts: Buffer[] = [LIST];
  for (const [index, document] of documents.entries()) {
    if (index > 0) parts.push(COMMA);
    parts.push(resourceIn(document));
  }
  parts.push(Buffer.from(rest === '{}' ? ']}' : `],${rest.slice(1)}`));
  return Buffer.concat(parts);
}
