import fs from 'node:fs';
import type { DestinationStream } from 'pino';

const batchCharacters = 16 * 1024;
const latestMs = 20;
const limitBytes = 16 * 1024 * 1024;

/**
 * A destination for log lines: gathered for at most 20 ms, or 16 Ki characters, and written by one system call, which
 * costs a fraction of a call, or of a turn of the thread pool, for each line.
 *
 * A full non-blocking pipe is tried again later; what its reader leaves unread above 16 MiB is dropped.
 */
export class LineWriter implements DestinationStream {
  #waiting = '';
  #left: Buffer = Buffer.alloc(0);
  #timer: NodeJS.Timeout | undefined;

  constructor(private readonly fd: number) {}

  write(line: string): void {
    this.#waiting += line;
    if (this.#waiting.length >= batchCharacters) this.flush();
    else this.#timer ??= setTimeout(() => this.flush(), latestMs);
  }

  /** Writes what is waiting now, as far as the destination takes it. */
  flush(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    if (this.#left.length < limitBytes) this.#left = Buffer.concat([this.#left, Buffer.from(this.#waiting)]);
    this.#waiting = '';
    try {
      while (this.#left.length > 0) this.#left = this.#left.subarray(fs.writeSync(this.fd, this.#left));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code === 'EAGAIN') this.#timer = setTimeout(() => this.flush(), latestMs);
      // A destination that is gone (a closed pipe) must not take the service with it.
      else this.#left = Buffer.alloc(0);
    }
  }

  /** Writes what is waiting, and for at most a second waits for a pipe that is full; for the end of the process. */
  flushSync(): void {
    const until = Date.now() + 1000;
    do this.flush();
    while (this.#left.length > 0 && Date.now() < until);
    clearTimeout(this.#timer);
  }
}
