import { LRUCache } from 'lru-cache';

const LARGEST_BYTES = 64 * 1024 * 1024;

/**
 * Serialized resources, remembered by everything that decides their text: type, id, revisions, what the caller may do.
 *
 * Nothing is ever dropped for being stale: a change moves a revision, and the old text is simply never asked for again.
 */
export class Fragments {
  private readonly texts = new LRUCache<string, string>({
    maxSize: LARGEST_BYTES,
    sizeCalculation: (text, key) => text.length + key.length,
  });
  private readonly documents = new LRUCache<string, Buffer>({
    maxSize: LARGEST_BYTES,
    sizeCalculation: (bytes, key) => bytes.length + key.length,
  });

  get(key: string): string | undefined {
    return this.texts.get(key);
  }

  set(key: string, text: string): void {
    this.texts.set(key, text);
  }

  /** The bytes of a document that shows only the resource. */
  document(key: string): Buffer | undefined {
    let bytes = this.documents.get(key);
    if (bytes === undefined) {
      const text = this.texts.get(key);
      if (text === undefined) return undefined;
      bytes = Buffer.from(`{"data":${text}}`);
      this.documents.set(key, bytes);
    }
    return bytes;
  }
}
