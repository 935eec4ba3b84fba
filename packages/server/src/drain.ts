import type http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';

const sweepMs = 25;
/** A new connection is kept for this long, because its first request may still be on its way. */
const freshMs = 1000;

/** How a server shuts down. */
export interface DrainTimes {
  /**
   * Resolves when load balancers no longer send new connections. Until then connections are accepted. Default:
   * immediately.
   */
  delay?: () => Promise<unknown>;
  /** How long running answers may then take. */
  seconds: number;
}

interface BusySocket extends Socket {
  readonly _httpMessage?: http.ServerResponse | null;
}

/**
 * Prepares a graceful shutdown and returns the function that performs it. At first the server keeps answering, but
 * every response closes its connection. Then it accepts no new connections, closes idle connections, and closes each
 * busy connection after its response. Connections that are still open at the time limit are closed by force. If the
 * server does not listen itself, `leave` stops it from getting new connections.
 */
export function drainable(server: http.Server, leave?: () => void): (times: DrainTimes) => Promise<void> {
  const sockets = new Map<BusySocket, number>();
  server.on(server instanceof https.Server ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.set(socket, performance.now());
    socket.on('close', () => sockets.delete(socket));
  });
  const closeIdle = (sparedMs: number) => {
    server.closeIdleConnections();
    // Node regards a connection as busy if it has not yet sent a byte.
    for (const [socket, sinceMs] of sockets) {
      if (socket.bytesRead === 0 && performance.now() - sinceMs >= sparedMs) socket.destroy();
    }
  };
  return async ({ delay, seconds }) => {
    // Active responses also close their connections, because clients of long polls send their next request immediately.
    for (const { _httpMessage: answer } of sockets.keys())
      if (answer?.headersSent === false) answer.shouldKeepAlive = false;
    await delay?.();
    const sparedMs = delay ? freshMs : 0;
    await new Promise<void>((resolve) => {
      // A connection that has just become idle is only noticed by polling.
      const sweep = setInterval(() => closeIdle(sparedMs), sweepMs);
      const force = setTimeout(() => server.closeAllConnections(), seconds * 1000);
      const end = () => {
        clearInterval(sweep);
        clearTimeout(force);
        resolve();
      };
      if (leave) {
        leave();
        server.close();
        const wait = () => (sockets.size > 0 ? setTimeout(wait, sweepMs) : end());
        setTimeout(wait, sweepMs);
      } else {
        server.close(end);
      }
      closeIdle(sparedMs);
    });
  };
}
