import type { IncomingMessage } from 'node:http';

/** The compression of a request body, which is not decompressed here. */
export function contentCoding({ headers }: IncomingMessage): string | undefined {
  const coding = headers['content-encoding']?.trim().toLowerCase();
  return coding === '' || coding === 'identity' ? undefined : coding;
}

/** The request's body is longer than the limit; it was not read to its end. */
export class BodyTooLarge extends Error {
  override readonly name = 'BodyTooLarge';
  constructor(readonly limit: number) {
    super(`the request body is larger than ${limit} bytes`);
  }
}

/** The client went away, or was cut off, before the body was complete. */
export class BodyAborted extends Error {
  override readonly name = 'BodyAborted';
  constructor(options?: { cause?: unknown }) {
    super('the request body ended early', options);
  }
}

/** The body was sent too slowly. */
export class BodyLate extends Error {
  override readonly name = 'BodyLate';
  constructor() {
    super('the request body was sent too slowly');
  }
}

/** How fast a body must arrive: after `graceMs`, this average since reading started. */
export interface Pace {
  readonly graceMs: number;
  readonly bytesPerSecond: number;
}

/** How a body is read. */
export interface BodyOptions {
  /** The maximum number of bytes it may have. */
  readonly limit: number;
  /** Reading pauses until `turn` resolves if the body has more than this many bytes, announced or received. */
  readonly large?: { readonly above: number; turn(): Promise<unknown> };
  /** Default: 128 KiB a second, after the first 15 s. */
  readonly pace?: Pace;
}

const usualPace: Pace = { graceMs: 15_000, bytesPerSecond: 128 * 1024 };

const nothing = Buffer.alloc(0);
/**
 * A longer body of known length is read directly into one buffer. Collecting pieces and joining them would take twice
 * the memory.
 */
const inPlaceBytes = 128 * 1024;
/** The maximum number of bytes that are read and discarded so that the client gets its answer. */
const discardedBytes = 64 * 1024 * 1024;

/**
 * Reads a whole request body of at most `limit` bytes.
 *
 * A Content-Length above the limit is refused before a byte is read. Throws `BodyTooLarge`, `BodyLate`, `BodyAborted`,
 * or the error of `turn`. Unless the client has disconnected, the rest of the body is then discarded as it arrives, so
 * that the response can be delivered.
 */
export function readBody(req: IncomingMessage, { limit, large, pace = usualPace }: BodyOptions): Promise<Buffer> {
  const arrived = arrivedBody(req, limit);
  if (arrived !== undefined) return Promise.resolve(arrived);
  const announced = req.headers['content-length'];
  if (announced !== undefined && Number(announced) > limit) {
    discardBody(req);
    return Promise.reject(new BodyTooLarge(limit));
  }
  const length = announced === undefined ? undefined : Number(announced);
  if (large === undefined || (length !== undefined && length <= large.above)) {
    return new BodyReader(length, pace).read(req, limit);
  }
  if (length !== undefined) return waited(req, large.turn).then(() => new BodyReader(length, pace).read(req, limit));
  return new BodyReader(undefined, pace).read(req, limit, large);
}

/**
 * The body of a request, if it has already arrived completely. Small bodies arrive with their headers, and waiting for
 * events would cost more than the rest of the reading. Undefined if the body is incomplete or larger than `limit`.
 */
export function arrivedBody(req: IncomingMessage, limit: number): Buffer | undefined {
  const announced = req.headers['content-length'];
  if (announced === undefined) return req.headers['transfer-encoding'] === undefined ? nothing : undefined;
  const length = Number(announced);
  // The header may also be `00`.
  if (length === 0) return nothing;
  return length === req.readableLength && length <= limit ? (req.read() as Buffer) : undefined;
}

/**
 * The pieces of a body as they arrive, without keeping them in memory. Only time spent waiting for the sender counts.
 * Throws `BodyLate`.
 */
export async function* atPace(req: IncomingMessage, { graceMs, bytesPerSecond } = usualPace): AsyncGenerator<Buffer> {
  const pieces = req.iterator({ destroyOnReturn: false });
  let waitedMs = 0;
  let length = 0;
  for (;;) {
    const turnFromMs = performance.now();
    const piece = await within(pieces.next(), graceMs + (length * 1000) / bytesPerSecond - waitedMs);
    if (piece === undefined) {
      discardBody(req, 0);
      throw new BodyLate();
    }
    if (piece.done) return;
    waitedMs += performance.now() - turnFromMs;
    length += piece.value.length;
    yield piece.value;
  }
}

/** The value of a promise; undefined if the promise takes longer than `ms`. */
async function within<T>(promise: Promise<T>, ms: number): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(() => resolve(undefined), Math.max(ms, 0));
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

async function waited(req: IncomingMessage, turn: () => Promise<unknown>): Promise<void> {
  try {
    await turn();
  } catch (error) {
    discardBody(req);
    throw error;
  }
  if (req.destroyed) throw new BodyAborted();
}

/** Collects a body: in one buffer if the length is known, otherwise piece by piece. */
class BodyReader {
  private readonly buffer: Buffer | undefined;
  private pieces: Buffer[] = [];
  private length = 0;
  private begunMs = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    announced: number | undefined,
    private readonly pace: Pace,
  ) {
    this.buffer = announced !== undefined && announced > inPlaceBytes ? Buffer.allocUnsafe(announced) : undefined;
  }

  read(req: IncomingMessage, limit: number, large?: BodyOptions['large']): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      let turn = large;
      let finished = false;
      const stop = (error: unknown) => {
        finished = true;
        this.pieces = [];
        clearTimeout(this.timer);
        reject(error);
      };
      const late = () => {
        discardBody(req, 0);
        stop(new BodyLate());
      };
      // Most bodies arrive with their headers and need no timer.
      if (!req.complete) this.watch(late);
      req.on('data', (piece: Buffer) => {
        if (finished) return;
        this.add(piece);
        if (this.length > limit) {
          discardBody(req);
          stop(new BodyTooLarge(limit));
        } else if (turn !== undefined && this.length > turn.above) {
          req.pause();
          clearTimeout(this.timer);
          waited(req, turn.turn).then(() => {
            this.watch(late);
            req.resume();
          }, stop);
          turn = undefined;
        }
      });
      req.on('end', () => {
        clearTimeout(this.timer);
        if (!finished) resolve(this.take());
      });
      req.on('error', (cause) => stop(new BodyAborted({ cause })));
      req.on('close', () => {
        if (!req.complete) stop(new BodyAborted());
      });
    });
  }

  /**
   * Calls `late` when the body is too slow. If the body had to wait for its turn, the bytes from before the wait are
   * included in the calculation.
   */
  private watch(late: () => void): void {
    this.begunMs = performance.now();
    const look = () => {
      const dueMs = this.begunMs + this.pace.graceMs + (this.length * 1000) / this.pace.bytesPerSecond;
      const leftMs = dueMs - performance.now();
      if (leftMs <= 0) late();
      else this.timer = setTimeout(look, Math.max(leftMs, 50));
    };
    this.timer = setTimeout(look, this.pace.graceMs);
  }

  private add(piece: Buffer): void {
    if (this.buffer === undefined) this.pieces.push(piece);
    else piece.copy(this.buffer, this.length);
    this.length += piece.length;
  }

  private take(): Buffer {
    return this.buffer ?? (this.pieces.length === 1 ? this.pieces[0]! : Buffer.concat(this.pieces, this.length));
  }
}

/**
 * Discards the rest of a body that will not be read. A client that is still sending does not read the response, and may
 * lose it if its connection is closed. So up to `bytes` of data with a known length are read, and the connection is
 * kept. If there is more, or the length is unknown, the connection is closed after the response.
 */
export function discardBody(req: IncomingMessage, bytes = discardedBytes): void {
  const { res } = req as IncomingMessage & { res?: { shouldKeepAlive: boolean } };
  if (res !== undefined && isTooLongToDiscard(req, bytes)) res.shouldKeepAlive = false;
  req.resume();
}

/** Whether a request announces a body of more than `bytes`, or of unknown length. */
export function isTooLongToDiscard({ headers }: IncomingMessage, bytes = discardedBytes): boolean {
  const announced = headers['content-length'];
  return announced === undefined ? headers['transfer-encoding'] !== undefined : !(Number(announced) <= bytes);
}
