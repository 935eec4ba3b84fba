/** How many callers resume at the same time. Other requests are handled before the next callers. */
const PER_TURN = 32;

/**
 * Resumes hundreds of callers of one commit a few at a time, so that other work gets turns of the event loop in
 * between. A few callers are not delayed.
 */
export function resumeInSlices<T>(waiting: readonly T[], goOn: (one: T) => void): void {
  for (const one of waiting.slice(0, PER_TURN)) goOn(one);
  if (waiting.length > PER_TURN) setImmediate(() => resumeInSlices(waiting.slice(PER_TURN), goOn));
}

/** How long work may take in one turn of the event loop. */
const TURN_MS = 10;
/** The maximum number of rows that are decrypted in one turn. */
const ROWS_PER_TURN = 100;

/** Measures how long work takes, so that the work can yield to others. */
export class Pauses {
  private beganMs = performance.now();

  /** Whether the work has used its share of this turn. */
  get due(): boolean {
    return performance.now() - this.beganMs > TURN_MS;
  }

  /** Resolves in the next turn. */
  async take(): Promise<void> {
    await new Promise((go) => setImmediate(go));
    this.beganMs = performance.now();
  }
}

/** Work that can be interrupted wherever it yields. */
export type SlicedWork<R> = Generator<void, R>;

/** Runs work to completion, yielding to the event loop whenever a slice is over. */
export async function runInSlices<R>(steps: SlicedWork<R>): Promise<R> {
  const pauses = new Pauses();
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
    if (pauses.due) await pauses.take();
  }
}

/** Runs work to completion. */
export function runToEnd<R>(steps: SlicedWork<R>): R {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** Maps many rows, and yields to the event loop every `ROWS_PER_TURN` rows, and each time it has taken long. */
export async function mapInSlices<T, R>(rows: readonly T[], map: (row: T) => R | Promise<R>): Promise<R[]> {
  const mapped: R[] = [];
  const pauses = new Pauses();
  for (const row of rows) {
    if (mapped.length > 0 && (mapped.length % ROWS_PER_TURN === 0 || pauses.due)) await pauses.take();
    mapped.push(await map(row));
  }
  return mapped;
}
