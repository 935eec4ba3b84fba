/** Sentences kept of each kind; the rest is only counted, since it was printed already. */
const KEPT = 1_000;

/** What an import did or would do, what it cannot do, and what went wrong. */
export class Report {
  readonly created: Record<string, number> = {};
  readonly present: Record<string, number> = {};
  readonly left: string[] = [];
  readonly failed: string[] = [];
  leftCount = 0;
  failedCount = 0;
  private readonly missed = new Map<string, boolean>();

  /** `told` is called with every sentence as it comes. */
  constructor(private readonly print: (sentence: string) => void = () => {}) {}

  add(kind: string, count = 1): void {
    if (count > 0) this.created[kind] = (this.created[kind] ?? 0) + count;
  }

  /** It was there already: an earlier run made it, or another user. */
  skip(kind: string, count = 1): void {
    if (count > 0) this.present[kind] = (this.present[kind] ?? 0) + count;
  }

  /** Something that a person must do by hand, in one sentence. */
  leave(sentence: string): void {
    this.leftCount += 1;
    if (this.left.length < KEPT) this.left.push(sentence);
    this.print(`by hand: ${sentence}`);
  }

  /** Something that should have been copied and was not; another run may do it. */
  fail(sentence: string): void {
    this.failedCount += 1;
    if (this.failed.length < KEPT) this.failed.push(sentence);
    this.print(`failed: ${sentence}`);
  }

  /** A kind of thing that the other server does not show here; `unknown`: it does not know such things at all. */
  miss(kind: string, unknown: boolean): void {
    this.missed.set(kind, unknown || (this.missed.get(kind) ?? false));
  }

  /** Whether asking the other server for such things is of no use. */
  isUnknown(kind: string): boolean {
    return this.missed.get(kind) ?? false;
  }

  get missing(): string[] {
    return [...this.missed.keys()];
  }
}
