import type http from 'node:http';
import https from 'node:https';
import type { Socket } from 'node:net';

const sweepMs = 25;

/**
 * Prepares to end a server without cutting off an answer, and returns the function that does so.
 *
 * It accepts no new connection, closes idle ones at once and busy ones after their answer; whatever is still open after
 * `seconds` is closed by force.
 */
export function drainable(server: http.Server): (seconds: number) => Promise<void> {
  const sockets = new Set<Socket>();
  server.on(server instanceof https.Server ? 'secureConnection' : 'connection', (socket: Socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  const closeIdle = () => {
    server.closeIdleConnections();
    // Node counts a connection that has not sent a byte yet as busy.
    for (const socket of sockets) if (socket.bytesRead === 0) socket.destroy();
  };
  return (seconds) =>
    new Promise((resolve) => {
      // A connection that has just become idle is only noticed by asking again.
      const sweep = setInterval(closeIdle, sweepMs);
      const force = setTimeout(() => server.closeAllConnections(), seconds * 1000);
      server.close(() => {
        clearInterval(sweep);
        clearTimeout(force);
        resolve();
      });
      closeIdle();
    });
}
