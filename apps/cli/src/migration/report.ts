/** What an import did or would do, and what it cannot. */
export class Report {
  readonly created: Record<string, number> = {};
  readonly present: Record<string, number> = {};
  readonly left: string[] = [];

  add(kind: string, count = 1): void {
    if (count > 0) this.created[kind] = (this.created[kind] ?? 0) + count;
  }

  /** It was there already: an earlier run made it, or somebody else. */
  skip(kind: string, count = 1): void {
    if (count > 0) this.present[kind] = (this.present[kind] ?? 0) + count;
  }

  /** Something that somebody must do by hand, in one sentence. */
  leave(sentence: string): void {
    this.left.push(sentence);
  }
}
