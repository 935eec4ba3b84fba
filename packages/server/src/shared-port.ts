import type http from 'node:http';
import net, { type Socket } from 'node:net';
import type { Listen } from '@keystead/settings';

/** A process that receives connections. */
export interface Receiver {
  send(
    message: object,
    socket?: Socket,
    options?: { keepOpen?: boolean },
    sent?: (error: Error | null) => void,
  ): boolean;
  isConnected(): boolean;
}

type Message =
  | { readonly type: 'port:open'; readonly host: string; readonly port: number }
  | { readonly type: 'port:opened'; readonly port: number; readonly error?: undefined }
  | { readonly type: 'port:opened'; readonly error: { readonly code?: string; readonly message: string } }
  | { readonly type: 'port:connection'; readonly id: number }
  | { readonly type: 'port:taken'; readonly id: number }
  | { readonly type: 'port:leave' };

/** How many connections may wait while no process accepts any. */
const WAITING = 1000;
const LAST_WORDS_MS = 50;

/**
 * A port whose connections are passed to processes in turn. Each process confirms its connections. If a process dies,
 * its unconfirmed connections go to the next process. With `node:cluster`, in contrast, such a connection stays open
 * and is never answered.
 */
export class SharedPort {
  private server: net.Server | undefined;
  private opening: Promise<number> | undefined;
  private readonly takers: Receiver[] = [];
  private readonly untaken = new Map<number, { readonly socket: Socket; readonly by: Receiver }>();
  private readonly waiting: Socket[] = [];
  private handed = 0;

  /** A message of a process; other messages are ignored. */
  async hear(from: Receiver, message: Message): Promise<void> {
    if (message.type === 'port:open') await this.admit(from, message);
    if (message.type === 'port:leave') {
      this.leave(from);
      // All processes are shutting down: new connections are refused, as with a single process.
      if (this.takers.length === 0) this.close();
    }
    if (message.type === 'port:taken') {
      this.untaken.get(message.id)?.socket.destroy();
      this.untaken.delete(message.id);
    }
  }

  /** A process has ended: the connections that it has not confirmed go to the others. */
  drop(receiver: Receiver): void {
    this.leave(receiver);
    // The last messages of the process may still arrive.
    setTimeout(() => this.handAgain(receiver), LAST_WORDS_MS);
  }

  private handAgain(receiver: Receiver): void {
    for (const [id, { socket, by }] of this.untaken) {
      if (by !== receiver) continue;
      this.untaken.delete(id);
      this.hand(socket);
    }
  }

  /** The processes that answer at this port. */
  get receivers(): readonly Receiver[] {
    return this.takers;
  }

  close(): void {
    this.server?.close();
    this.opening = undefined;
    for (const socket of this.waiting.splice(0)) socket.destroy();
  }

  private async admit(from: Receiver, { host, port }: { host: string; port: number }): Promise<void> {
    this.opening ??= this.open(host, port);
    try {
      from.send({ type: 'port:opened', port: await this.opening } satisfies Message);
    } catch (error) {
      const { code, message } = error as NodeJS.ErrnoException;
      this.opening = undefined;
      from.send({ type: 'port:opened', error: { code, message } } satisfies Message);
      return;
    }
    this.takers.push(from);
    for (const socket of this.waiting.splice(0)) this.hand(socket);
  }

  private open(host: string, port: number): Promise<number> {
    const server = net.createServer({ pauseOnConnect: true }, (socket) => this.hand(socket));
    this.server = server;
    return new Promise((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, host, () => {
        server.off('error', reject);
        resolve((server.address() as net.AddressInfo).port);
      });
    });
  }

  private hand(socket: Socket): void {
    const by = this.takers.shift();
    if (!by) {
      if (this.server?.listening && this.waiting.length < WAITING) this.waiting.push(socket);
      else socket.destroy();
      return;
    }
    this.takers.push(by);
    const id = ++this.handed;
    this.untaken.set(id, { socket, by });
    // An error here only means that the client or the process no longer exists.
    socket.on('error', () => undefined);
    by.send({ type: 'port:connection', id } satisfies Message, socket, { keepOpen: true }, () => undefined);
  }

  private leave(receiver: Receiver): void {
    const at = this.takers.indexOf(receiver);
    if (at >= 0) this.takers.splice(at, 1);
  }
}

/**
 * Lets a server answer connections of a port that another process owns. Resolves with the port; rejects like `listen`.
 * `leave` ends this, but connections that were already received are still answered.
 */
export async function shareOut(server: http.Server, { host, port }: Listen): Promise<{ port: number; leave(): void }> {
  const opened = new Promise<number>((resolve, reject) => {
    process.on('message', (message: Message, socket?: Socket) => {
      if (message.type === 'port:opened') {
        if (message.error) reject(Object.assign(new Error(message.error.message), { code: message.error.code }));
        else resolve(message.port);
      }
      if (message.type !== 'port:connection') return;
      // Confirmed before a byte is read, because the next process can still answer an unconfirmed connection.
      process.send!({ type: 'port:taken', id: message.id } satisfies Message);
      if (!socket) return;
      socket.setNoDelay(true);
      server.emit('connection', socket);
      socket.resume();
    });
  });
  process.send!({ type: 'port:open', host, port } satisfies Message);
  const found = await opened;
  // From here on, the timeouts for headers, bodies and idle connections apply.
  server.emit('listening');
  return {
    port: found,
    leave: () => void (process.connected && process.send!({ type: 'port:leave' } satisfies Message)),
  };
}
