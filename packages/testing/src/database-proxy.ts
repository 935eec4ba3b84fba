import type { AddressInfo } from 'node:net';
import { connect, createServer, type Server, type Socket } from 'node:net';

/** How a database is away: connections are refused, or its server says that it is starting. */
export type Away = 'gone' | 'starting';

/** What a server that is starting answers to every connection. */
const STARTING = fatal('57P03', 'the database system is starting up');

/** What of a node's connections a proxy holds up: those that listen for notices, all, or those there are now. */
export type Held = 'listener' | 'all' | 'now';

interface Pair {
  readonly inner: Socket;
  readonly outer: Socket;
  listener: boolean;
  /** Held up for good. */
  lost: boolean;
  /** False while it is held up, and before it has begun. */
  passes: boolean;
}

/**
 * A proxy between a node and its database that can hold up what goes through, without closing anything: as a network does
 * that loses packets.
 */
export class DatabaseProxy {
  private readonly pairs = new Set<Pair>();
  private held: Held | undefined;
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
    return url.href;
  }

  /** From now on nothing passes, in no direction; `undefined` lets it pass again, but not what was held with `now`. */
  hold(held: Held | undefined): void {
    this.held = held === 'now' ? undefined : held;
    if (held === 'now') for (const pair of this.pairs) pair.lost = true;
    for (const pair of this.pairs) this.apply(pair);
  }

  /** From now on every connection is closed, those there are and new ones; `undefined` takes new ones again. */
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
    const pair: Pair = { inner, outer, listener: false, lost: false, passes: false };
    this.pairs.add(pair);
    // The first message of a connection says what it is for.
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
    const { inner, outer, listener, lost } = pair;
    const passes = !lost && this.held !== 'all' && !(this.held === 'listener' && listener);
    if (passes === pair.passes) return;
    pair.passes = passes;
    if (passes) {
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
