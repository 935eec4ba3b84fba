import { hash } from 'node:crypto';

/**
 * What the last few thousand short texts were turned into, the least used ones forgotten first. The texts themselves are
 * not kept: they are secrets, and would outlive their owner.
 *
 * Two generations of plain maps, which is cheaper than keeping an order: a text that is asked for moves to the young
 * one; when that is full it becomes the old one, and the old one is dropped. Texts longer than `longest` are not kept.
 */
export class Remembered {
  private young = new Map<string, string>();
  private old = new Map<string, string>();

  constructor(
    private readonly size: number,
    private readonly longest: number,
  ) {}

  get(text: string): string | undefined {
    if (text.length > this.longest) return undefined;
    const key = hash('sha256', text, 'base64');
    const recent = this.young.get(key);
    if (recent !== undefined) return recent;
    const older = this.old.get(key);
    if (older !== undefined) this.keep(key, older);
    return older;
  }

  set(text: string, value: string): void {
    if (text.length <= this.longest) this.keep(hash('sha256', text, 'base64'), value);
  }

  private keep(key: string, value: string): void {
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
