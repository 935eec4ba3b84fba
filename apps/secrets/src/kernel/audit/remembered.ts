/**
 * The last few thousand pairs of short texts, the least used ones forgotten first.
 *
 * Two generations: what is asked for moves to the young one; when that is full it becomes the old one, and what was old
 * is gone. Both lookups are plain maps, which is cheaper than keeping an order. Texts longer than `longest` are not kept.
 */
export class Remembered {
  private young = new Map<string, string>();
  private old = new Map<string, string>();

  constructor(
    private readonly size: number,
    private readonly longest: number,
  ) {}

  get(key: string): string | undefined {
    const known = this.young.get(key);
    if (known !== undefined) return known;
    const older = this.old.get(key);
    if (older !== undefined) this.set(key, older);
    return older;
  }

  set(key: string, value: string): void {
    if (key.length > this.longest) return;
    if (this.young.size >= this.size) {
      this.old = this.young;
      this.young = new Map();
    }
    this.young.set(key, value);
  }

  clear(): void {
    this.young.clear();
    this.old.clear();
  }
}
