import { type AddressInfo, connect, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

const ASKS_EVERY_MS = 500;

/**
 * A TCP load balancer: it distributes connections in turn to the nodes whose `/readyz` answered 200 at the last check,
 * twice a second, and never parses them. A node that accepts no connection is skipped.
 */
export class Balancer {
  private readonly ready = new Set<number>();
  private readonly sockets = new Set<Socket>();
  private turn = 0;
  private closed = false;

  private constructor(
    private readonly server: Server,
    private readonly ports: readonly number[],
  ) {
    server.on('connection', (socket) => this.accept(socket));
    for (const port of ports) void this.watch(port);
  }

  static async start(ports: readonly number[]): Promise<Balancer> {
    const server = createServer({ pauseOnConnect: true });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return new Balancer(server, ports);
  }

  get url(): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}`;
  }

  isReady(port: number): boolean {
    return this.ready.has(port);
  }

  async close(): Promise<void> {
    this.closed = true;
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private async watch(port: number): Promise<void> {
    while (!this.closed) {
      const answer = await fetch(`http://127.0.0.1:${port}/readyz`, { signal: AbortSignal.timeout(5000) }).catch(
        () => undefined,
      );
      await answer?.text().catch(() => {});
      if (answer?.ok) this.ready.add(port);
      else this.ready.delete(port);
      await sleep(ASKS_EVERY_MS);
    }
  }

  private accept(outer: Socket, passedOver = 0): void {
    const there = this.ports.filter((port) => this.ready.has(port));
    const port = there[this.turn++ % Math.max(1, there.length)];
    if (port === undefined || passedOver > this.ports.length) {
      outer.destroy();
      return;
    }
    const inner = connect(port, '127.0.0.1');
    const refused = () => this.accept(outer, passedOver + 1);
    inner.once('error', refused);
    inner.once('connect', () => {
      inner.off('error', refused);
      for (const socket of [inner, outer]) {
        this.sockets.add(socket);
        socket.on('error', () => {});
        socket.once('close', () => this.sockets.delete(socket));
      }
      // If one side ends the connection in some way, the other side gets the same kind of end.
      inner.once('close', (failed) => (failed ? outer.resetAndDestroy() : outer.destroySoon()));
      outer.once('close', () => inner.destroy());
      inner.pipe(outer);
      outer.pipe(inner);
    });
  }
}
