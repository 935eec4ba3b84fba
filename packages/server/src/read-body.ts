import type { IncomingMessage } from 'node:http';

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

const nothing = Buffer.alloc(0);

/**
 * Reads a whole request body of at most `limit` bytes.
 *
 * An announced length above the limit is refused before a byte is read. Throws `BodyTooLarge` or `BodyAborted`; after
 * the former the rest of the body is thrown away as it arrives, so that the answer can still be delivered, and the
 * connection is closed by the server once it has been.
 */
export function readBody(req: IncomingMessage, { limit }: { limit: number }): Promise<Buffer> {
  const announced = req.headers['content-length'];
  if (announced === '0' || (announced === undefined && req.headers['transfer-encoding'] === undefined)) {
    return Promise.resolve(nothing);
  }
  if (announced !== undefined && Number(announced) > limit) {
    discard(req);
    return Promise.reject(new BodyTooLarge(limit));
  }
  return new Promise((resolve, reject) => {
    let first: Buffer | undefined;
    let more: Buffer[] | undefined;
    let length = 0;
    let over = false;
    req.on('data', (chunk: Buffer) => {
      if (over) return;
      length += chunk.length;
      if (length > limit) {
        over = true;
        first = more = undefined;
        discard(req);
        reject(new BodyTooLarge(limit));
      } else if (first === undefined) first = chunk;
      else if (more === undefined) more = [first, chunk];
      else more.push(chunk);
    });
    req.on('end', () => {
      if (over) return;
      resolve(more === undefined ? (first ?? nothing) : Buffer.concat(more, length));
    });
    req.on('error', (cause) => reject(new BodyAborted({ cause })));
    req.on('close', () => {
      if (!req.complete) reject(new BodyAborted());
    });
  });
}

// A client that is still sending reads no answer: the rest is taken off the wire, and the connection is not used again.
function discard(req: IncomingMessage): void {
  const { res } = req as IncomingMessage & { res?: { shouldKeepAlive: boolean } };
  if (res !== undefined) res.shouldKeepAlive = false;
  req.resume();
}
