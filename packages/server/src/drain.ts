import type http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';

const sweepMs = 25;
/** The first request of a connection that was made a moment ago may be on its way. */
const freshMs = 1000;

/** How a server is ended. */
export interface DrainTimes {
  /** Resolves when no new connections are sent here any more; until then they are accepted. At once unless given. */
  delay?: () => Promise<unknown>;
  /** How long answers under way may take after that. */
  seconds: number;
}

interface BusySocket extends Socket {
  readonly _httpMessage?: http.ServerResponse | null;
}

/**
 * Prepares to end a server without cutting off an answer, and returns the function that does so.
 *
 * At first it goes on, and every answer closes its connection. Then it accepts no new connection, closes idle ones and, after
 * their answer, busy ones; connections still open when the time is over are closed by force. A server that does not listen
 * itself has a `leave`, after which it is handed no connection any more.
 */
export function drainable(server: http.Server, leave?: () => void): (times: DrainTimes) => Promise<void> {
  const sockets = new Map<BusySocket, number>();
  server.on(server instanceof https.Server ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.set(socket, performance.now());
    socket.on('close', () => sockets.delete(socket));
  });
  const closeIdle = (sparedMs: number) => {
    server.closeIdleConnections();
    // Node counts a connection that has not sent a byte yet as busy.
    for (const [socket, sinceMs] of sockets) {
      if (socket.bytesRead === 0 && performance.now() - sinceMs >= sparedMs) socket.destroy();
    }
  };
  return async ({ delay, seconds }) => {
    // What is being answered closes its connection as well: who has to wait that long for an answer asks again at once.
    for (const { _httpMessage: answer } of sockets.keys())
      if (answer?.headersSent === false) answer.shouldKeepAlive = false;
    await delay?.();
    const sparedMs = delay ? freshMs : 0;
    await new Promise<void>((resolve) => {
      // A connection that has just become idle is only noticed by asking again.
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
