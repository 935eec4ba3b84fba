import type { Random } from './random';

/** The latest distinct strings. Adding, picking and removing take constant time. */
export class Few {
  private readonly values: string[] = [];
  private readonly at = new Map<string, number>();
  private next = 0;

  constructor(private readonly most: number) {}

  add(value: string): void {
    if (this.at.has(value)) return;
    if (this.values.length < this.most) {
      this.at.set(value, this.values.push(value) - 1);
      return;
    }
    const place = this.next++ % this.most;
    this.at.delete(this.values[place]!);
    this.values[place] = value;
    this.at.set(value, place);
  }

  remove(value: string): void {
    const place = this.at.get(value);
    if (place === undefined) return;
    this.at.delete(value);
    const last = this.values.pop()!;
    if (place === this.values.length) return;
    this.values[place] = last;
    this.at.set(last, place);
  }

  pick(random: Random): string | undefined {
    return this.values.length === 0 ? undefined : random.pick(this.values);
  }
}
