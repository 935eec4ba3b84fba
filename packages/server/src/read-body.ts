import type { IncomingMessage } from 'node:http';

/** How the body of a request is compressed, where it is: nothing here undoes that. */
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

/** The body came too slowly to be waited for. */
export class BodyLate extends Error {
  override readonly name = 'BodyLate';
  constructor() {
    super('the request body comes too slowly');
  }
}

/** How fast a body has to come: after `graceMs`, on average so much since it was begun to be read. */
export interface Pace {
  readonly graceMs: number;
  readonly bytesPerSecond: number;
}

/** How a body is read. */
export interface BodyOptions {
  /** The most bytes it may have. */
  readonly limit: number;
  /** A body of more than this many bytes, announced or received, is left on the wire until `turn` resolves. */
  readonly large?: { readonly above: number; turn(): Promise<unknown> };
  /** 15 s of grace, and 128 KiB a second from then on. */
  readonly pace?: Pace;
}

const usualPace: Pace = { graceMs: 15_000, bytesPerSecond: 128 * 1024 };

const nothing = Buffer.alloc(0);
/** Above this, having the pieces and the whole would be felt. */
const inPlaceBytes = 128 * 1024;
/** The most that is read for nothing, so that an answer is delivered. */
const discardedBytes = 64 * 1024 * 1024;

/**
 * Reads a whole request body of at most `limit` bytes.
 *
 * An announced length above the limit is refused before a byte is read. Throws `BodyTooLarge`, `BodyLate`, `BodyAborted`,
 * or what `turn` throws; except after a client that left, the rest of the body is thrown away as it arrives, so that the answer
 * can still be delivered.
 */
export function readBody(req: IncomingMessage, { limit, large, pace = usualPace }: BodyOptions): Promise<Buffer> {
  const announced = req.headers['content-length'];
  if (announced === '0' || (announced === undefined && req.headers['transfer-encoding'] === undefined)) {
    return Promise.resolve(nothing);
  }
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
 * The pieces of a body that is not kept in memory, as they come. Only the time its reader waits for the sender counts.
 * Throws `BodyLate`.
 */
export async function* atPace(req: IncomingMessage, { graceMs, bytesPerSecond } = usualPace): AsyncGenerator<Buffer> {
  const pieces = req.iterator({ destroyOnReturn: false });
  let waitedMs = 0;
  let length = 0;
  for (;;) {
    const asked = performance.now();
    const piece = await within(pieces.next(), graceMs + (length * 1000) / bytesPerSecond - waitedMs);
    if (piece === undefined) {
      discardBody(req, 0);
      throw new BodyLate();
    }
    if (piece.done) return;
    waitedMs += performance.now() - asked;
    length += piece.value.length;
    yield piece.value;
  }
}

/** What a promise gives; undefined if it takes longer. */
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

/** The bytes of a body as they come: in their place where the length is known, else piece by piece. */
class BodyReader {
  private readonly whole: Buffer | undefined;
  private pieces: Buffer[] = [];
  private length = 0;
  private begunMs = 0;
  private timer: NodeJS.Timeout | undefined;

  constructor(
    announced: number | undefined,
    private readonly pace: Pace,
  ) {
    this.whole = announced !== undefined && announced > inPlaceBytes ? Buffer.allocUnsafe(announced) : undefined;
  }

  read(req: IncomingMessage, limit: number, large?: BodyOptions['large']): Promise<Buffer> {
    return new Promise((resolve, reject) => {
      let turn = large;
      let over = false;
      const stop = (error: unknown) => {
        over = true;
        this.pieces = [];
        clearTimeout(this.timer);
        reject(error);
      };
      const late = () => {
        discardBody(req, 0);
        stop(new BodyLate());
      };
      // Most bodies come with their heads, and need no clock.
      if (!req.complete) this.watch(late);
      req.on('data', (piece: Buffer) => {
        if (over) return;
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
        if (!over) resolve(this.take());
      });
      req.on('error', (cause) => stop(new BodyAborted({ cause })));
      req.on('close', () => {
        if (!req.complete) stop(new BodyAborted());
      });
    });
  }

  /** Calls `late` once the body is behind its pace. What had come before a wait for its turn counts as come since. */
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
    if (this.whole === undefined) this.pieces.push(piece);
    else piece.copy(this.whole, this.length);
    this.length += piece.length;
  }

  private take(): Buffer {
    return this.whole ?? (this.pieces.length === 1 ? this.pieces[0]! : Buffer.concat(this.pieces, this.length));
  }
}

/**
 * Throws away what is left of a body that will not be read. A client that is still sending reads no answer, and one whose
 * connection is closed while it sends may lose it: what was announced, up to `bytes`, is taken off the wire, and the
 * connection goes on. Of what is too much for that, or has no known end, the connection is not used again.
 */
export function discardBody(req: IncomingMessage, bytes = discardedBytes): void {
  const { res } = req as IncomingMessage & { res?: { shouldKeepAlive: boolean } };
  const announced = Number(req.headers['content-length']);
  if (res !== undefined && !(announced <= bytes)) res.shouldKeepAlive = false;
  req.resume();
}
