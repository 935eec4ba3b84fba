import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** How a database is unavailable: connections are refused, or its server is starting. */
export type Away = 'gone' | 'starting';

/** The response of a starting server to every connection. */
const STARTING = fatal('57P03', 'the database system is starting up');

/** Which of a node's connections a proxy blocks: those that listen for notices, all, or the current ones. */
export type Held = 'listener' | 'all' | 'now';

interface Pair {
  readonly inner: Socket;
  readonly outer: Socket;
  listener: boolean;
  /** Blocked permanently. */
  blocked: boolean;
  /** False while it is blocked, and before it starts. */
  forwards: boolean;
}

/**
 * A proxy between a node and its database that can block traffic without closing anything, like a network that loses
 * packets.
 */
export class DatabaseProxy {
  private readonly pairs = new Set<Pair>();
  private heldMode: Held | undefined;
  private away: Away | undefined;

  private constructor(
    private readonly server: Server,
    private readonly target: URL,
  ) {
    server.on('connection', (socket) => this.accept(socket));
  }

  static async start(databaseUrl: string): Promise<DatabaseProxy> {
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new DatabaseProxy(server, new URL(databaseUrl));
  }

  /** The same database, through this proxy. */
  get url(): string {
    const url = new URL(this.target.href);
    url.hostname = '127.0.0.1';
    url.port = String((this.server.address() as AddressInfo).port);
    url.searchParams.delete('host');
    return url.href;
  }

  /**
   * From now on nothing passes in either direction; `undefined` lets traffic pass again, except on connections that
   * were blocked with `now`.
   */
  hold(mode: Held | undefined): void {
    this.heldMode = mode === 'now' ? undefined : mode;
    if (mode === 'now') for (const pair of this.pairs) pair.blocked = true;
    for (const pair of this.pairs) this.apply(pair);
  }

  /** From now on all connections are closed, current and new ones; `undefined` accepts new ones again. */
  leave(away: Away | undefined): void {
    this.away = away;
    if (away !== undefined)
      for (const { inner, outer } of this.pairs) for (const socket of [inner, outer]) socket.destroy();
  }

  async close(): Promise<void> {
    for (const { inner, outer } of this.pairs) for (const socket of [inner, outer]) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private accept(outer: Socket): void {
    if (this.away !== undefined) {
      this.turnAway(outer);
      return;
    }
    const inner = connect(Number(this.target.port), this.target.hostname);
    const pair: Pair = { inner, outer, listener: false, blocked: false, forwards: false };
    this.pairs.add(pair);
    // The first message of a connection shows its purpose.
    outer.once('data', (first: Buffer) => {
      pair.listener = first.includes('listener');
      inner.write(first);
      this.apply(pair);
    });
    for (const socket of [inner, outer]) {
      socket.on('error', () => {});
      socket.on('close', () => {
        this.pairs.delete(pair);
        inner.destroy();
        outer.destroy();
      });
    }
  }

  private turnAway(outer: Socket): void {
    outer.on('error', () => {});
    if (this.away === 'gone') outer.destroy();
    else outer.once('data', () => outer.end(STARTING));
  }

  private apply(pair: Pair): void {
    const { inner, outer, listener, blocked } = pair;
    const forwards = !blocked && this.heldMode !== 'all' && !(this.heldMode === 'listener' && listener);
    if (forwards === pair.forwards) return;
    pair.forwards = forwards;
    if (forwards) {
      inner.pipe(outer);
      outer.pipe(inner);
    } else {
      inner.unpipe(outer);
      outer.unpipe(inner);
      inner.pause();
      outer.pause();
    }
  }
}

/** An error message of the server, after which it closes the connection. */
function fatal(code: string, message: string): Buffer {
  const fields = Buffer.from(`SFATAL\0VFATAL\0C${code}\0M${message}\0\0`);
  const head = Buffer.alloc(5);
  head.write('E');
  head.writeInt32BE(fields.length + 4, 1);
  return Buffer.concat([head, fields]);
}
