import { hash } from 'node:crypto';

/**
 * A cache of the hashes of a few thousand recently used strings. The strings themselves are not stored, because they
 * are secrets and would stay in memory longer than needed. Two generations of plain maps are cheaper than an LRU order:
 * a used string moves to the young map; when that is full, it becomes the old map, and the former old map is dropped.
 * Strings longer than `longest` are not cached.
 */
export class Remembered {
  private recent = new Map<string, string>();
  private old = new Map<string, string>();

  constructor(
    private readonly size: number,
    private readonly longest: number,
  ) {}

  /** The hash of a string, from `compute` if it is not cached. */
  of(text: string, compute: () => string): string {
    if (text.length > this.longest) return compute();
    const key = hash('sha256', text, 'base64');
    const recent = this.recent.get(key);
    if (recent !== undefined) return recent;
    const value = this.old.get(key) ?? compute();
    this.keep(key, value);
    return value;
  }

  private keep(key: string, value: string): void {
    if (this.recent.size >= this.size) {
      this.old = this.recent;
      this.recent = new Map();
    }
    this.recent.set(key, value);
  }

  clear(): void {
    this.recent.clear();
    this.old.clear();
  }
}
