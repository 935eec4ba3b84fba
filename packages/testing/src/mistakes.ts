interface ShownError {
  readonly type?: string;
  readonly message?: string;
  readonly code?: unknown;
  readonly stack?: string;
  readonly cause?: ShownError;
  readonly errors?: readonly ShownError[];
}

/** What outside systems that do not answer become in `fetch`. */
const notOurs = new Set(['fetch failed', 'terminated']);

/**
 * Takes a log, and keeps what only a mistake in our own code can lead to: a value used as what it is not. So work in the background, whose
 * end no test waits for, does not fail unseen.
 */
export class Mistakes {
  readonly found: string[] = [];

  constructor(private readonly passOn?: { write(line: string): void }) {}

  write(line: string): void {
    this.passOn?.write(line);
    const { err, msg } = JSON.parse(line) as { err?: ShownError; msg?: string };
    this.look(err, msg);
  }

  private look(error: ShownError | undefined, said: string | undefined): void {
    if (error === undefined || error === null) return;
    const { type, message, code, stack, cause, errors = [] } = error;
    // Those of Node have a code: a wrong argument from outside, say.
    const isOurs = type === 'ReferenceError' || (type === 'TypeError' && code === undefined && !notOurs.has(message!));
    if (isOurs) this.found.push(`${said}: ${stack}`);
    for (const inner of [cause, ...errors]) this.look(inner, said);
  }
}
