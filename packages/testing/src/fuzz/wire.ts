import net from 'node:net';

/** A raw answer. */
export interface Answer {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: ReadonlyMap<string, string>;
  readonly body: Buffer;
}

/** The reason why there was no response; `cut` means that the response was incomplete. */
export type NoAnswer = 'closed' | 'cut' | 'silent' | 'malformed';

const read = new WeakMap<Answer, { value: unknown } | null>();

/** The JSON of an answer, parsed once; undefined if it has none. */
export function jsonIn(answer: Answer): { readonly value: unknown } | undefined {
  let found = read.get(answer);
  if (found === undefined) {
    try {
      found = { value: JSON.parse(answer.body.toString()) };
    } catch {
      found = null;
    }
    read.set(answer, found);
  }
  return found ?? undefined;
}

interface Waiting {
  readonly head: boolean;
  readonly resolve: (answer: Answer | NoAnswer) => void;
  readonly timer: NodeJS.Timeout;
}

/** A connection for raw bytes, with strict parsing of answers. */
export class Wire {
  private buffer: Buffer = Buffer.alloc(0);
  private waiting: Waiting | undefined;
  closed = false;

  private constructor(private readonly socket: net.Socket) {
    socket.setNoDelay(true);
    socket.on('data', (piece) => {
      this.buffer = this.buffer.length === 0 ? piece : Buffer.concat([this.buffer, piece]);
      this.settle();
    });
    socket.on('error', () => undefined);
    socket.on('close', () => {
      this.closed = true;
      this.settle();
    });
    socket.on('end', () => {
      this.closed = true;
      this.settle();
    });
  }

  static open(port: number, host = '127.0.0.1'): Promise<Wire> {
    return new Promise((resolve, reject) => {
      const socket = net.connect({ port, host });
      socket.once('error', reject);
      socket.once('connect', () => {
        socket.off('error', reject);
        resolve(new Wire(socket));
      });
    });
  }

  write(bytes: string | Buffer): void {
    if (!this.socket.destroyed) this.socket.write(bytes);
  }

  /** Half-closes the connection. */
  halfClose(): void {
    this.socket.end();
  }

  destroy(): void {
    this.closed = true;
    this.socket.destroy();
  }

  /** Bytes that belong to no expected answer. */
  get surplus(): Buffer {
    return this.buffer;
  }

  /** The next answer; `head` if it has no body, despite its headers. */
  receive(options: { head?: boolean; patienceMs: number }): Promise<Answer | NoAnswer> {
    return new Promise((resolve) => {
      const timer = setTimeout(() => this.finish('silent'), options.patienceMs);
      this.waiting = { head: options.head === true, resolve, timer };
      this.settle();
    });
  }

  private settle(): void {
    if (this.waiting === undefined) return;
    const read = readAnswer(this.buffer, this.waiting.head, this.closed);
    if (read === 'malformed') this.finish('malformed');
    else if (read !== undefined) {
      this.buffer = this.buffer.subarray(read.length);
      // An interim answer, such as 100, is not the answer.
      if (read.answer.status < 200) this.settle();
      else this.finish(read.answer);
    } else if (this.closed) this.finish(this.buffer.length === 0 ? 'closed' : 'cut');
  }

  private finish(answer: Answer | NoAnswer): void {
    const waiting = this.waiting;
    if (waiting === undefined) return;
    this.waiting = undefined;
    clearTimeout(waiting.timer);
    waiting.resolve(answer);
  }
}

const nothing = Buffer.alloc(0);

/** The answer at the start of the bytes and its length; undefined while it is not complete. */
function readAnswer(
  bytes: Buffer,
  head: boolean,
  ended: boolean,
): { answer: Answer; length: number } | 'malformed' | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n');
  if (headEnd < 0)
    return bytes.length > 0 && !'HTTP/1.1 '.startsWith(bytes.toString('latin1', 0, 9)) ? 'malformed' : undefined;
  const [first, ...lines] = bytes.toString('latin1', 0, headEnd).split('\r\n');
  const status = Number(/^HTTP\/1\.1 ([1-5]\d\d) /.exec(`${first} `)?.[1]);
  if (Number.isNaN(status)) return 'malformed';
  const headers = new Map<string, string>();
  for (const line of lines) {
    const colon = line.indexOf(':');
    if (colon < 1 || /[\s\0]/.test(line.slice(0, colon))) return 'malformed';
    headers.set(line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim());
  }
  const start = headEnd + 4;
  // A HEAD request that could not be read is refused with a body.
  const bodiless = head && !(status === 400 && bytes.length > start);
  if (bodiless || status < 200 || status === 204 || status === 304) {
    return { answer: { status, headers, body: nothing }, length: start };
  }
  if (headers.get('transfer-encoding') === 'chunked') {
    const read = readChunks(bytes, start);
    return typeof read === 'object' ? { answer: { status, headers, body: read.body }, length: read.end } : read;
  }
  const announced = headers.get('content-length');
  if (announced === undefined) {
    return ended ? { answer: { status, headers, body: bytes.subarray(start) }, length: bytes.length } : undefined;
  }
  if (!/^\d+$/.test(announced)) return 'malformed';
  const end = start + Number(announced);
  return bytes.length < end
    ? undefined
    : { answer: { status, headers, body: bytes.subarray(start, end) }, length: end };
}

function readChunks(bytes: Buffer, from: number): { body: Buffer; end: number } | 'malformed' | undefined {
  const pieces: Buffer[] = [];
  for (let at = from; ; ) {
    const lineEnd = bytes.indexOf('\r\n', at);
    if (lineEnd < 0) return undefined;
    const size = bytes.toString('latin1', at, lineEnd);
    if (!/^[0-9a-f]+$/i.test(size)) return 'malformed';
    const start = lineEnd + 2;
    const end = start + Number.parseInt(size, 16);
    if (bytes.length < end + 2) return undefined;
    if (end === start) return { body: Buffer.concat(pieces), end: end + 2 };
    pieces.push(bytes.subarray(start, end));
    at = end + 2;
  }
}
