interface ShownError {
  readonly type?: string;
  readonly message?: string;
  readonly code?: unknown;
  readonly stack?: string;
  readonly cause?: ShownError;
  readonly errors?: readonly ShownError[];
}

/** Errors of `fetch` for outside systems that do not answer. */
const notOurs = new Set(['fetch failed', 'terminated']);

/**
 * Reads a log and keeps errors that only a bug in our own code can cause, such as a TypeError. So tests notice failures
 * in background work that they do not wait for.
 */
export class Mistakes {
  readonly found: string[] = [];

  constructor(private readonly passOn?: { write(line: string): void }) {}

  write(line: string): void {
    this.passOn?.write(line);
    const { err, msg } = JSON.parse(line) as { err?: ShownError; msg?: string };
    this.look(err, msg);
  }

  private look(error: ShownError | undefined, note: string | undefined): void {
    if (error === undefined || error === null) return;
    const { type, message, code, stack, cause, errors = [] } = error;
    // Node's own errors have a code: for example a wrong argument from outside.
    const isOurs = type === 'ReferenceError' || (type === 'TypeError' && code === undefined && !notOurs.has(message!));
    if (isOurs) this.found.push(`${note}: ${stack}`);
    for (const inner of [cause, ...errors]) this.look(inner, note);
  }
}
