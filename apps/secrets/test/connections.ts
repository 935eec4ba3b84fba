import net from 'node:net';
import { afterAll, beforeAll } from '@jest/globals';

/** A proxy for an address that counts connections. */
export function connectionsTo(target: () => string): { readonly address: string; readonly count: number } {
  let count = 0;
  const open = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    count++;
    let further: net.Socket;
    try {
      const { hostname, port } = new URL(target());
      further = net.connect(Number(port), hostname);
    } catch {
      // The target has ended, and the service calls it once more. A socket that is left open would keep `close`
      // waiting.
      socket.destroy();
      return;
    }
    for (const one of [socket, further]) {
      open.add(one);
      one.on('error', () => one.destroy()).on('close', () => open.delete(one));
    }
    socket.pipe(further).pipe(socket);
  });
  beforeAll(() => new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve)));
  afterAll(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return {
    get address() {
      return `http://127.0.0.1:${(server.address() as net.AddressInfo).port}`;
    },
    get count() {
      return count;
    },
  };
}
