import fs from 'node:fs';
import type { DestinationStream } from 'pino';

const batchCharacters = 16 * 1024;
const latestMs = 20;
const retryMs = 5;
const limitCharacters = 16 * 1024 * 1024;
const nothing = Buffer.alloc(0);

/**
 * A destination for log lines. It collects lines for at most 20 ms or 16 Ki characters and writes them with one system
 * call. This costs much less than a system call, or a turn of the thread pool, for each line. A full pipe is tried
 * again later. If more than 16 Mi characters are waiting, lines are dropped.
 */
export class LineWriter implements DestinationStream {
  #waiting = '';
  /** Text that a full pipe did not accept. */
  #left: Buffer = nothing;
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly fd: number) {}

  write(line: string): void {
    if (this.#waiting.length > limitCharacters) return;
    this.#waiting += line;
    if (this.#waiting.length >= batchCharacters && this.#left.length === 0) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), latestMs);
  }

  /** Writes the waiting lines now, as far as the destination accepts them. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    try {
      do {
        if (this.#left.length === 0) {
          this.#left = Buffer.from(this.#waiting);
          this.#waiting = '';
        }
        while (this.#left.length > 0) this.#left = this.#left.subarray(fs.writeSync(this.fd, this.#left));
      } while (this.#waiting !== '');
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') this.#timer = setTimeout(() => this.flush(), retryMs);
      // If the destination is closed (for example a pipe without a reader), the service must continue.
      else this.#left = nothing;
    }
  }

  /** Writes the waiting lines, and waits for a full pipe for at most a second; for the end of the process. */
  flushSync(): void {
    const until = performance.now() + 1000;
    do this.flush();
    while (this.#left.length > 0 && performance.now() < until);
    clearTimeout(this.#timer);
  }
}

/**
 * The descriptor for writing to standard output. A pipe is opened a second time as non-blocking: a slow reader must not
 * stop the service, and the mode of the inherited descriptor is shared with other processes.
 */
export function standardOutputDescriptor(): number {
  try {
    // Asks for bigints. Otherwise Node 22 leaves the state of the pipe in an array that it also uses to resolve links,
    // and then loads modules behind symbolic links twice or does not find them.
    if (!fs.fstatSync(1, { bigint: true }).isFIFO()) return 1;
    return fs.openSync('/proc/self/fd/1', fs.constants.O_WRONLY | fs.constants.O_NONBLOCK);
  } catch {
    return 1;
  }
}
