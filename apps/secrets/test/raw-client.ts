import { connect, type Socket } from 'node:net';

/** The answer: status, and body as text. */
export interface RawAnswer {
  readonly status: number;
  readonly text: string;
}

/** A connection that sends request targets unchanged, byte for byte, one after the other. */
export class RawClient {
  private socket: Socket | undefined;
  private received = Buffer.alloc(0);
  private waiting: { resolve: (answer: RawAnswer) => void; reject: (error: Error) => void } | undefined;

  constructor(private readonly port: number) {}

  /** Sends a request. If the server has closed the connection, the next request opens another. */
  send(verb: string, target: string, headers: Readonly<Record<string, string>>, body?: string): Promise<RawAnswer> {
    const lines = [`${verb} ${target} HTTP/1.1`, 'Host: x'];
    for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
    if (body !== undefined) lines.push(`Content-Length: ${Buffer.byteLength(body)}`);
    return new Promise((resolve, reject) => {
      this.waiting = { resolve, reject };
      this.open().write(`${lines.join('\r\n')}\r\n\r\n${body ?? ''}`);
    });
  }

  close(): void {
    this.socket?.destroy();
    this.socket = undefined;
  }

  private open(): Socket {
    if (this.socket?.writable) return this.socket;
    this.received = Buffer.alloc(0);
    const socket = connect(this.port, '127.0.0.1');
    socket.setNoDelay(true);
    socket.on('data', (bytes) => {
      this.received = this.received.length === 0 ? bytes : Buffer.concat([this.received, bytes]);
      this.read();
    });
    socket.on('error', () => {});
    socket.on('close', () => {
      if (this.socket !== socket) return;
      this.socket = undefined;
      this.waiting?.reject(new Error('the server ended the connection without an answer'));
      this.waiting = undefined;
    });
    this.socket = socket;
    return socket;
  }

  private read(): void {
    const end = this.received.indexOf('\r\n\r\n');
    if (end < 0 || !this.waiting) return;
    const head = this.received.toString('latin1', 0, end);
    const status = Number(head.slice(9, 12));
    const length = Number(/^content-length: *(\d+)/im.exec(head)?.[1] ?? 0);
    if (this.received.length < end + 4 + length) return;
    const text = this.received.toString('utf8', end + 4, end + 4 + length);
    this.received = this.received.subarray(end + 4 + length);
    const { resolve } = this.waiting;
    this.waiting = undefined;
    if (/^connection: close/im.test(head)) this.close();
    resolve({ status, text });
  }
}
