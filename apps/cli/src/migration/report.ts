/** The number of messages of each kind that are stored. The rest is only counted, because it was already printed. */
const KEPT = 1_000;

/** The report of an import: what it did or would do, what it cannot copy, and failures. */
export class Report {
  readonly created: Record<string, number> = {};
  readonly present: Record<string, number> = {};
  readonly left: string[] = [];
  readonly failed: string[] = [];
  leftCount = 0;
  failedCount = 0;
  private readonly missed = new Map<string, boolean>();

  /** `told` is called with every sentence immediately. */
  constructor(private readonly print: (sentence: string) => void = () => {}) {}

  add(kind: string, count = 1): void {
    if (count > 0) this.created[kind] = (this.created[kind] ?? 0) + count;
  }

  /** Counts an object that already existed, because an earlier run or another user created it. */
  skip(kind: string, count = 1): void {
    if (count > 0) this.present[kind] = (this.present[kind] ?? 0) + count;
  }

  /** A manual task, in one sentence. */
  manualStep(sentence: string): void {
    this.leftCount += 1;
    if (this.left.length < KEPT) this.left.push(sentence);
    this.print(`by hand: ${sentence}`);
  }

  /** Something that was not copied; another run may copy it. */
  fail(sentence: string): void {
    this.failedCount += 1;
    if (this.failed.length < KEPT) this.failed.push(sentence);
    this.print(`failed: ${sentence}`);
  }

  /** A kind of resource that the other server hides. `unknown`: the server does not have this kind at all. */
  miss(kind: string, unknown: boolean): void {
    this.missed.set(kind, unknown || (this.missed.get(kind) ?? false));
  }

  /** Whether the other server does not have this kind of resource. */
  isUnknown(kind: string): boolean {
    return this.missed.get(kind) ?? false;
  }

  get missing(): string[] {
    return [...this.missed.keys()];
  }
}
